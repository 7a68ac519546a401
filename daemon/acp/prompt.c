/* prompt.c - session/prompt and its two cancellations. */
#include "acp/params.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "session/parts/check/check.h"
#include "session/core/turn/prompt_content.h"

#include <errno.h>
#include <stdio.h>

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
	_cleanup_(buf_done) struct buf b = { 0 };
	struct method_call *k = ctx;
	struct jw w = JW(&b);
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

static int decode_prompt(const struct rpc_msg *m, struct prompt_args *a, struct err *e)
{
	int r = jdec_object(m->params, prompt_fields, NULL, a, e);
	struct jval acpd;

	if (r < 0)
		return r;
	acpd = jobj_get(a->meta, "acpd");
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

/* The active session that takes such content; NULL with e. */
static struct view *view_for(struct acp_conn *c, const struct prompt_args *a, struct err *e)
{
	struct view *v = view_need(c, a->session_id, e);

	return v && prompt_content_check(a->prompt, session_caps(v->w.session), e) == 0 ? v : NULL;
}

static int start_prompt(struct acp_conn *c, const struct rpc_msg *m, const struct prompt_args *a,
			struct err *e)
{
	_cleanup_(buf_done) struct buf meta = { 0 };
	struct view *v = view_for(c, a, e);
	struct prompt_params p = {
		.content = a->prompt, .key = a->key, .budget = &a->budget, .origin = c->no
	};
	struct method_call *k;
	int r;

	if (!v)
		return -EINVAL;
	meta_for_harness(&meta, a->meta);
	p.meta = buf_slice(&meta);
	p.checks = a->checks;
	p.retry = a->retry;
	p.reject_if_busy = a->when_busy && strcmp(a->when_busy, "reject") == 0;
	k = call_new(c, m->id);
	k->view = v;
	r = session_prompt(v->w.session, &p, on_turn_done, k, e);
	if (r < 0)
		call_free(k);
	return r;
}

int on_prompt(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	struct prompt_args a = { 0 };
	int r = decode_prompt(m, &a, e);

	if (r == 0)
		r = start_prompt(c, m, &a, e);
	jdec_free(prompt_fields, &a);
	jdec_free(acpd_fields, &a);
	return r;
}

/* --- steering ------------------------------------------------------------------------------------------ */

static void on_steered(void *ctx, struct slice result, const struct err *e)
{
	struct method_call *k = ctx;

	if (e)
		call_error(k, e, SLICE_NONE);
	else
		call_result(k, result.n ? result : SLICE("{\"outcome\":\"injected\"}"));
}

static int steer(struct acp_conn *c, const struct rpc_msg *m, const struct prompt_args *a,
		 struct err *e)
{
	struct view *v = view_for(c, a, e);
	struct method_call *k;
	int r;

	if (!v)
		return -EINVAL;
	k = call_new(c, m->id);
	k->view = v;
	r = session_steer(v->w.session, a->prompt, c->no, on_steered, k, e);
	if (r < 0)
		call_free(k);
	return r;
}

int on_steer(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	struct prompt_args a = { 0 };
	int r = jdec_object(m->params, prompt_fields, NULL, &a, e);

	if (r == 0)
		r = steer(c, m, &a, e);
	jdec_free(prompt_fields, &a);
	return r;
}

/* --- cancelling ---------------------------------------------------------------------------------------- */

int on_cancel(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	_cleanup_(freep) char *id = NULL;
	struct view *v;

	if (jstr_decode(jobj_get(m->params, "sessionId"), RPC_ID_MAX, &id) < 0)
		return -EINVAL;
	v = view_need(c, id, e);
	if (v)
		session_cancel(v->w.session);
	return 0;
}

static void cancel_call(struct acp_conn *c, struct method_call *k)
{
	struct session *s = k->view	  ? k->view->w.session :
			    k->session_id ? store_find(c->srv->store, k->session_id) :
					    NULL;

	if (s && !session_cancel_prompt(s, k) && !session_uncheck(s, k))
		session_cancel_work(s, k);
}

int on_cancel_request(struct acp_conn *c, const struct rpc_msg *m, struct err *e _unused_)
{
	struct slice id = jobj_get(m->params, "requestId").raw;

	list_each(k, &c->calls, struct method_call, link)
		if (slice_is(id, k->id)) {
			cancel_call(c, k);
			return 0;
		}
	return 0;
}
