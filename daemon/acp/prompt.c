/*
 * prompt.c - session/prompt, steering and its two cancellations, and _acpd/check, which runs checks by hand.
 *
 * _meta.acpd of a prompt is between the client and the daemon: the harness gets the rest of _meta only.
 */
#include "acp/params.h"

#include "base/limits.h"
#include "session/parts/check/check.h"
#include "session/core/turn/prompt_content.h"

struct prompt_args {
	char *session_id, *key, *when_busy;
	struct slice prompt, meta, budgets, checks, retry;
	struct budget budget;
};

static const struct jfield prompt_fields[] = {
	JF_STR(struct prompt_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_ARR(struct prompt_args, prompt, "prompt", JF_REQUIRED),
	JF_OBJ(struct prompt_args, meta, "_meta", JF_LENIENT),
	JF_END,
};

static const struct jfield acpd_fields[] = {
	JF_STR(struct prompt_args, key, "key", JF_FILLED, SESSION_KEY_LEN),
	JF_STR(struct prompt_args, when_busy, "whenBusy", 0, 16),
	JF_OBJ(struct prompt_args, budgets, "budgets", 0),
	JF_ARR(struct prompt_args, checks, "checks", 0),
	JF_OBJ(struct prompt_args, retry, "retry", 0),
	JF_END,
};

static void on_turn_done(void *ctx, const struct turn_result *r)
{
	JW_BUF(w, b);
	struct method_call *k = ctx;
	struct err e;

	if (!r->failed) {
		call_result(k, r->result);
		return;
	}
	err_set(&e, -EIO, RPC_INTERNAL_ERROR, r->error->reason ? r->error->reason : "TURN_FAILED",
		"%s", r->error->message);
	snprintf(e.session, sizeof(e.session), "%s", r->session);
	turn_error_put(&w, "turn", r->error);
	jw_members(&w, r->proof, NULL);
	call_error(k, &e, buf_slice(&b));
}

/* The meta that goes on to the harness: everything but what is between the client and us. */
static void meta_for_harness(struct buf *b, struct slice meta)
{
	struct jw w = JW(b);

	if (!meta.n)
		return;
	jw_obj(&w, NULL);
	jw_members(&w, meta, "acpd");
	jw_end_obj(&w);
	if (buf_len(b) == 2) /* "{}": nothing is left */
		buf_reset(b);
}

static int decode_prompt_acpd(struct prompt_args *a, struct err *e)
{
	struct jval acpd = jobj_get(a->meta, "acpd");
	int r = 0;

	if (acpd.type == J_OBJECT)
		r = jdec_strict(acpd.raw, acpd_fields, "_meta.acpd.",
				"a prompt has no such parameter", a, e);
	else if (acpd.type != J_NONE && acpd.type != J_NULL)
		r = err_field(e, "_meta.acpd", "FIELD_INVALID", "_meta.acpd must be an object");
	if (r == 0 && a->when_busy && strcmp(a->when_busy, "queue") != 0 &&
	    strcmp(a->when_busy, "reject") != 0)
		r = err_field(e, "_meta.acpd.whenBusy", "FIELD_INVALID",
			      "whenBusy must be queue or reject");
	if (r == 0 && a->budgets.n)
		r = budget_parse(a->budgets, "_meta.acpd.budgets", &a->budget, e);
	if (r == 0)
		r = checks_check(a->checks, "_meta.acpd.checks", e);
	return r == 0 ? retry_check(a->retry, "_meta.acpd.retry", e) : r;
}

static int start_prompt(const struct acp_request *q, const struct prompt_args *a, struct err *e)
{
	_cleanup_(buf_done) struct buf meta = { 0 };
	struct prompt_params p = {
		.content = a->prompt,
		.key = a->key,
		.budget = &a->budget,
		.origin = q->conn->no,
		.checks = a->checks,
		.retry = a->retry,
		.reject_if_busy = a->when_busy && strcmp(a->when_busy, "reject") == 0,
	};
	struct method_call *k;

	if (prompt_content_check(a->prompt, session_caps(q->session), e) < 0)
		return -EINVAL;
	meta_for_harness(&meta, a->meta);
	p.meta = buf_slice(&meta);
	k = request_call(q);
	return call_started(k, session_prompt(q->session, &p, on_turn_done, k, e));
}

static int prompt_session(struct acp_request *q, struct err *e)
{
	struct prompt_args *a = q->args;
	int r = decode_prompt_acpd(a, e);

	if (r == 0)
		r = start_prompt(q, a, e);
	/* The dispatcher frees only the strings of prompt_fields. */
	jdec_free(acpd_fields, a);
	return r;
}

ACP_HANDLER(on_prompt, prompt_session, struct prompt_args, prompt_fields);

/* --- steering ------------------------------------------------------------------------------------------ */

static void on_prompt_steered(void *ctx, struct slice result, const struct err *e)
{
	call_done(ctx, result.n ? result : SLICE("{\"outcome\":\"injected\"}"), e);
}

static int steer_session(struct acp_request *q, struct err *e)
{
	const struct prompt_args *a = q->args;
	struct method_call *k;

	if (prompt_content_check(a->prompt, session_caps(q->session), e) < 0)
		return -EINVAL;
	k = request_call(q);
	return call_started(k, session_steer(q->session, a->prompt, q->conn->no, on_prompt_steered,
					     k, e));
}

ACP_HANDLER(on_steer, steer_session, struct prompt_args, prompt_fields);

/* --- cancelling ---------------------------------------------------------------------------------------- */

static int cancel_session(struct acp_request *q, struct err *e _unused_)
{
	session_cancel(q->session);
	return 0;
}

const struct acp_handler on_cancel = { .run = cancel_session };

static void cancel_call_work(struct acp_conn *c, struct method_call *k)
{
	struct session *s = k->view	  ? k->view->w.session :
			    k->session_id ? store_find(c->srv->store, k->session_id) :
					    NULL;

	/* k is the context of a prompt, a check or work on files: each function finds only its own. */
	if (s && !session_cancel_prompt(s, k))
		session_cancel_work(s, k);
}

static int cancel_request(struct acp_request *q, struct err *e _unused_)
{
	struct slice id = jobj_get(q->msg->params, "requestId").raw;

	/* An unknown id is not an error: the response may have crossed the cancellation. */
	list_each(k, &q->conn->calls, struct method_call, link)
		if (slice_is(id, k->id)) {
			cancel_call_work(q->conn, k);
			return 0;
		}
	return 0;
}

const struct acp_handler on_cancel_request = { .run = cancel_request };

/* --- checks by hand ------------------------------------------------------------------------------------ */

struct check_method_args {
	char *session_id;
	struct slice checks, meta;
};

static const struct jfield check_fields[] = {
	JF_STR(struct check_method_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_ARR(struct check_method_args, checks, "checks", 0),
	JF_OBJ(struct check_method_args, meta, "_meta", 0),
	JF_END,
};

static void on_check_done(void *ctx, const struct check_outcome *o)
{
	JW_BUF(w, b);

	check_outcome_put(&w, NULL, o->verdict, o->results);
	call_result(ctx, buf_slice(&b));
}

static int check_now(struct acp_request *q, struct err *e)
{
	const struct check_method_args *a = q->args;
	struct method_call *k;

	if (checks_check(a->checks, "checks", e) < 0)
		return -EINVAL;
	k = request_call(q);
	return call_started(k, session_check(q->session, a->checks, on_check_done, k, e));
}

ACP_HANDLER(on_check, check_now, struct check_method_args, check_fields);
