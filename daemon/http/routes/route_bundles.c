/* route_bundles.c - POST /v1/bundles?archive=DIGEST: a session is made of a bundle that is in the archive store. */
#include "http/routes/handlers.h"

#include "json/jenc.h"
#include "session/parts/bundle/bundle_import.h"

struct bundle_args {
	struct slice archive;
};

static const struct query_field fields[] = {
	{ "archive", QUERY_TEXT, offsetof(struct bundle_args, archive), NULL },
	{ 0 },
};

/* Waits for the import; a body is ignored. */
struct bundle_taking {
	struct http_sink sink;
	struct bundle_import *import;
	bool over;
	char *id; /* NULL: it failed */
	struct err error;
};

static void on_imported(void *ctx, struct session *s, const struct err *e)
{
	struct bundle_taking *t = ctx;

	t->over = true;
	if (e)
		t->error = *e;
	else
		t->id = xstrdup(session_id(s));
	http_sink_wake(&t->sink);
}

static enum http_take check(struct http_sink *base)
{
	struct bundle_taking *t = container_of(base, struct bundle_taking, sink);

	return t->over ? HTTP_TAKE_ANSWER : HTTP_TAKE_WAIT;
}

static enum http_take take(struct http_sink *base, struct slice piece _unused_)
{
	return check(base);
}

static void reply_refused(struct http_reply *ret, const struct err *e)
{
	static const struct {
		const char *reason;
		int status;
	} rows[] = { { "ARCHIVE_NOT_FOUND", 404 },  { "SESSION_EXISTS", 409 }, { "TOO_MANY", 503 },
		     { "DRAINING", 503 },	    { "SHUTTING_DOWN", 503 },  { "NO_SPACE", 507 },
		     { "STATE_NOT_WRITABLE", 500 }, { "HELPER_FAILED", 500 } };
	int status = 400;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].reason, e->reason) == 0)
			status = rows[i].status;
	http_reply_error(ret, status, e->reason, e->msg);
}

static void answer(struct http_sink *base, struct http_reply *ret)
{
	struct bundle_taking *t = container_of(base, struct bundle_taking, sink);
	struct jw w = JW(&ret->body);

	if (!t->id) {
		reply_refused(ret, &t->error);
		return;
	}
	ret->status = 201;
	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", t->id);
	jw_end_obj(&w);
}

static void taking_free(struct http_sink *base)
{
	struct bundle_taking *t = container_of(base, struct bundle_taking, sink);

	bundle_import_free(t->import);
	free(t->id);
	free(t);
}

static const struct http_sink_ops ops = { take, check, check, answer, taking_free };

void http_post_bundle(const struct http_call *c, struct http_reply *ret)
{
	struct bundle_args a = { 0 };
	struct bundle_taking *t;
	struct sha256 archive;
	struct err e = { 0 };

	if (!http_query(c, fields, &a, ret))
		return;
	if (!a.archive.n || archive_digest_parse(a.archive, &archive) < 0) {
		http_reply_error(ret, 400, "QUERY_INVALID",
				 "query parameter 'archive' must be sha256: and 64 hex digits");
		return;
	}
	t = new0(struct bundle_taking);
	t->sink.ops = &ops;
	t->import = bundle_import_start(c->ctx->store, &archive, on_imported, t, &e);
	if (t->import) {
		ret->sink = &t->sink;
		return;
	}
	reply_refused(ret, &e);
	free(t);
}
