/*
 * route_bundle.c - GET /v1/sessions/{id}/bundle and POST /v1/bundles?archive=DIGEST: a session with all that belongs to it as
 * one archive, and a session made from such an archive in the store.
 *
 * An export writes its files first; then acpd-unpack makes the archive while it is sent. An import is answered when it has
 * ended, and a body is ignored.
 */
#include "http/routes/handlers.h"

#include "json/jenc.h"

#include "session/parts/bundle/session_bundle.h"
#include "session/parts/confinement/session_limits.h"

/* --- export --------------------------------------------------------------------------------------------------- */

/* One bundle: its files are written first, then acpd-unpack makes the archive while it is sent. */
struct bundle_export {
	struct helper_body body;
	const struct http_context *ctx;
	char *session_id; /* which may be deleted meanwhile */
	struct bundle_cut *cut;
};

static void on_bundle_over(struct helper_body *b)
{
	struct bundle_export *x = container_of(b, struct bundle_export, body);

	bundle_cut_free(x->cut);
	free_each(x->session_id, x);
}

static struct proc_group *bundle_group_of(const struct bundle_export *x)
{
	struct session *s = store_find(x->ctx->store, x->session_id);

	return s ? session_limits_group(s) : NULL;
}

static void on_bundle_cut(void *ctx, const struct err *failed)
{
	_cleanup_(buf_done) struct buf job = { 0 };
	struct bundle_export *x = ctx;
	struct err e = { 0 };

	if (!failed) {
		bundle_cut_put_job(x->cut, &job);
		if (helper_body_start(&x->body, x->ctx,
				      &(struct helper_job_spec){ .verb = "bundle",
								 .job = buf_slice(&job),
								 .group = bundle_group_of(x) },
				      &e) == 0)
			return;
		failed = &e;
	}
	helper_body_fail(&x->body, failed);
}

void http_get_bundle(const struct http_call *c, struct http_reply *ret)
{
	struct session *s = http_session(c, ret);
	struct bundle_export *x;
	struct err e = { 0 };

	if (!s)
		return;
	x = new0(struct bundle_export);
	x->ctx = c->ctx;
	x->session_id = xstrdup(session_id(s));
	x->body.type = "application/zstd";
	x->body.disposition = "attachment; filename=\"session.acpd.tar.zst\"";
	x->body.over = on_bundle_over;
	x->body.waiting = true;
	helper_body_init(&x->body, c->ctx->loop);
	x->cut = bundle_cut_start(s, on_bundle_cut, x, &e);
	if (x->cut) {
		ret->sink = &x->body.sink;
		return;
	}
	http_reply_error(ret, strcmp(e.reason, "TOO_MANY") == 0 ? 503 : 500, e.reason, e.msg);
	free_each(x->session_id, x);
}

/* --- import --------------------------------------------------------------------------------------------------- */

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

static enum http_take route_bundle_check(struct http_sink *base)
{
	struct bundle_taking *t = container_of(base, struct bundle_taking, sink);

	return t->over ? HTTP_TAKE_ANSWER : HTTP_TAKE_WAIT;
}

static enum http_take bundle_take(struct http_sink *base, struct slice piece _unused_)
{
	return route_bundle_check(base);
}

static void bundle_reply_refused(struct http_reply *ret, const struct err *e)
{
	static const struct reason_status rows[] = {
		{ "ARCHIVE_NOT_FOUND", 404 },  { "SESSION_EXISTS", 409 }, { "TOO_MANY", 503 },
		{ "DRAINING", 503 },	       { "SHUTTING_DOWN", 503 },  { "NO_SPACE", 507 },
		{ "STATE_NOT_WRITABLE", 500 }, { "HELPER_FAILED", 500 },  { NULL, 0 },
	};

	http_reply_error(ret, http_status_of(e, rows, 400), e->reason, e->msg);
}

static void bundle_answer(struct http_sink *base, struct http_reply *ret)
{
	struct bundle_taking *t = container_of(base, struct bundle_taking, sink);
	struct jw w = JW(&ret->body);

	if (!t->id) {
		bundle_reply_refused(ret, &t->error);
		return;
	}
	ret->status = 201;
	jw_object(&w, NULL, JW_STR("sessionId", t->id));
}

static void taking_free(struct http_sink *base)
{
	struct bundle_taking *t = container_of(base, struct bundle_taking, sink);

	bundle_import_free(t->import);
	free_each(t->id, t);
}

static const struct http_sink_ops ops = { bundle_take, route_bundle_check, route_bundle_check,
					  bundle_answer, taking_free };

void http_post_bundle(const struct http_call *c, struct http_reply *ret)
{
	struct bundle_args a = { 0 };
	struct bundle_taking *t;
	struct sha256 archive;
	struct err e = { 0 };

	if (!http_query(c, fields, &a, ret))
		return;
	if (!a.archive.n || sha256_parse(a.archive, &archive) < 0) {
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
	bundle_reply_refused(ret, &e);
	free(t);
}
