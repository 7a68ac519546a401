/*
 * route_approvals.c - GET /v1/approvals and POST /v1/approvals/{id}: the open questions, and an answer to one.
 *
 * An id names its session, so a token that does not see the session gets the answer of an id that does not exist. A question is
 * answered once: who comes second gets 409 with the answer that was first.
 */
#include "http/routes/handlers.h"

#include "base/limits.h"
#include "json/json.h"
#include "session/parts/approval/approvals.h"

struct approvals_query {
	struct slice session, cursor;
};

static const struct query_field fields[] = {
	{ "session", QUERY_TEXT, offsetof(struct approvals_query, session), NULL },
	{ "cursor", QUERY_TEXT, offsetof(struct approvals_query, cursor), NULL },
	{ 0 },
};

static char *approvals_text_of(struct slice s)
{
	return s.n ? xstrndup(s.p, s.n) : NULL;
}

void http_get_approvals(const struct http_call *c, struct http_reply *ret)
{
	_cleanup_(freep) char *session = NULL, *cursor = NULL;
	JW_BUF(w, b);
	struct approvals_query a = { 0 };
	struct err e = { 0 };
	int r;

	if (!http_query(c, fields, &a, ret))
		return;
	session = approvals_text_of(a.session);
	cursor = approvals_text_of(a.cursor);
	jw_obj(&w, NULL);
	r = approvals_put(c->ctx->store, &(struct approval_query){ session, c->rq->grant, cursor },
			  &w, &e);
	jw_end_obj(&w);
	if (r < 0)
		http_reply_error(ret, r == -ENOENT ? 404 : 400, e.reason, e.msg);
	else
		buf_add_slice(&ret->body, buf_slice(&b));
}

/* --- answering ------------------------------------------------------------------------------------------------------ */

struct approval_body {
	char *option_id, *action, *by;
	struct slice outcome, content;
};

static const struct jfield body_fields[] = {
	JF_STR(struct approval_body, option_id, "optionId", 0, APPROVAL_OPTION_MAX),
	JF_OBJ(struct approval_body, outcome, "outcome", 0),
	JF_STR(struct approval_body, action, "action", 0, 16),
	JF_OBJ(struct approval_body, content, "content", 0),
	JF_STR(struct approval_body, by, "by", 0, 16),
	JF_END,
};

/* more: raw members that say who was first. */
static void approvals_refuse(struct http_reply *ret, const struct err *e, struct slice more)
{
	bool gone = strcmp(e->reason, "APPROVAL_UNKNOWN") == 0;
	bool late = strcmp(e->reason, "APPROVAL_ANSWERED") == 0;
	struct jw w = JW(&ret->body);

	ret->status = gone ? 404 : late ? 409 : 400;
	jw_obj(&w, NULL);
	jw_obj(&w, "error");
	jw_str(&w, "reason", e->reason);
	jw_str(&w, "field", *e->field ? e->field : NULL);
	jw_str(&w, "message", e->msg);
	jw_raw(&w, NULL, more);
	jw_end_obj(&w);
	jw_end_obj(&w);
}

static int approvals_decode(struct slice text, struct approval_body *ret, struct err *e)
{
	struct jval v;

	if (jscan_value(text, &v) != JSCAN_OK || v.type != J_OBJECT)
		return err_field(e, "", "BODY_INVALID", "the body is a JSON object");
	return jdec_strict(v.raw, body_fields, NULL, "an answer has no such member", ret, e);
}

static void approvals_take_answer(const struct http_context *ctx, const char *id, struct slice body,
				  struct http_reply *ret)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct approval_body a = { 0 };
	struct jw w = JW(&ret->body);
	struct err e = { 0 };
	int r = approvals_decode(body, &a, &e);

	if (r == 0) {
		r = approval_answer(ctx->store, id,
				    &(struct approval_reply){ a.option_id, a.outcome, a.action,
							      a.content, a.by },
				    "http", &b, &e);
		jdec_free(body_fields, &a);
	}
	if (r < 0) {
		approvals_refuse(ret, &e, r == -EALREADY ? buf_slice(&b) : SLICE_NONE);
		return;
	}
	jw_object(&w, NULL, JW_STR("id", id), JW_RAW("answer", buf_slice(&b)));
}

void http_post_approval(const struct http_call *c, struct http_reply *ret)
{
	_cleanup_(freep) char *id = xstrndup(c->params[0].p, c->params[0].n),
			      *session = approval_session(id);
	struct err e;

	if (grant_sees(c->rq->grant, session)) {
		http_take_body(c, APPROVAL_BODY_MAX, approvals_take_answer, ret);
	} else {
		approval_unknown(&e);
		approvals_refuse(ret, &e, SLICE_NONE);
	}
}
