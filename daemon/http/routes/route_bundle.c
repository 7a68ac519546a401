/* route_bundle.c - GET /v1/sessions/{id}/bundle: a session with all that belongs to it, as one archive. */
#include "http/routes/helper_body.h"

#include "session/parts/bundle/bundle_cut.h"
#include "session/parts/confinement/session_limits.h"

/* One bundle: its files are written first, then acpd-unpack makes the archive while it is sent. */
struct bundle_export {
	struct helper_body body;
	const struct http_context *ctx;
	char *session_id; /* which may be deleted meanwhile */
	struct bundle_cut *cut;
};

static const struct query_field no_query[] = { { 0 } };

static void on_over(struct helper_body *b)
{
	struct bundle_export *x = container_of(b, struct bundle_export, body);

	bundle_cut_free(x->cut);
	free(x->session_id);
	free(x);
}

static struct proc_group *group_of(const struct bundle_export *x)
{
	struct session *s = store_find(x->ctx->store, x->session_id);

	return s ? session_limits_group(s) : NULL;
}

static void on_cut(void *ctx, const struct err *failed)
{
	_cleanup_(buf_done) struct buf job = { 0 };
	struct bundle_export *x = ctx;
	struct err e = { 0 };

	if (!failed) {
		bundle_cut_put_job(x->cut, &job);
		if (helper_body_start(&x->body, x->ctx,
				      &(struct helper_job_spec){ .verb = "bundle",
								 .job = buf_slice(&job),
								 .group = group_of(x) },
				      &e) == 0)
			return;
		failed = &e;
	}
	helper_body_fail(&x->body, failed);
}

void http_get_bundle(const struct http_call *c, struct http_reply *ret)
{
	struct bundle_export *x;
	struct session *s;
	struct err e = { 0 };

	if (!http_query(c, no_query, NULL, ret))
		return;
	s = http_session(c, ret);
	if (!s)
		return;
	x = new0(struct bundle_export);
	x->ctx = c->ctx;
	x->session_id = xstrdup(session_id(s));
	x->body.type = "application/zstd";
	x->body.disposition = "attachment; filename=\"session.acpd.tar.zst\"";
	x->body.over = on_over;
	x->body.waiting = true;
	helper_body_init(&x->body, c->ctx->loop);
	x->cut = bundle_cut_start(s, on_cut, x, &e);
	if (x->cut) {
		ret->sink = &x->body.sink;
		return;
	}
	http_reply_error(ret, strcmp(e.reason, "TOO_MANY") == 0 ? 503 : 500, e.reason, e.msg);
	free(x->session_id);
	free(x);
}
