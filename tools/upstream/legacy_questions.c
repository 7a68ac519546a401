/*
 * legacy_questions.c - questions of a legacy server to its client, as rounds of "input_required".
 *
 * The request of the server stays open while the caller fetches answers, at most MCP_HELD_MS.
 * requestState has a key, a time and an HMAC over them, the request and the caller, so no other
 * caller or request continues the call. The key is cleared at the first return, so a state is valid
 * once. initialize announced every capability; check_ask tests the one of the call.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"
#include "tools/mcp/msg.h"
#include "tools/upstream/upstream_legacy_internal.h"

#include <inttypes.h>

#define STATE_HEAD "acpd1." /* then key and time of expiry, 16 hex digits each, and the HMAC */
#define STATE_SIGNED (sizeof(STATE_HEAD) - 1 + 16 + 1 + 16 + 1)
#define STATE_CHARS (STATE_SIGNED + 2 * SHA256_BYTES)

static void legacy_question_free(struct legacy_question *a)
{
	list_del(&a->link);
	buf_done(&a->id);
	buf_done(&a->params);
	free(a);
}

/* Ends the time in which the caller fetches answers. The key is what makes a requestState
 * valid, so it goes first. */
static void away_over(struct legacy_call *lc)
{
	if (!lc->key)
		return;
	lc->key = 0;
	lc->l->held--;
	loop_timer_cancel(&lc->ttl);
}

void legacy_questions_free(struct legacy_call *lc)
{
	away_over(lc);
	list_each(a, &lc->asks, struct legacy_question, link)
		legacy_question_free(a);
	loop_task_cancel(&lc->task);
	buf_done(&lc->caps);
	buf_done(&lc->result);
	buf_done(&lc->error);
	free(lc->who);
}

/* --- the identity of a request ------------------------------------------------------------------------------------ */

/* Method and params but for _meta, of which trace ids and the like may change from round to round. */
static void digest_request(const char *method, struct slice sent, struct sha256 *ret)
{
	static const char *const meta[] = { "_meta", NULL };
	_cleanup_(buf_done) struct buf b = { 0 };
	struct sha256_stream s;

	mcp_object_strip(&b, sent, meta);
	sha256_begin(&s);
	/* With its NUL, so method and params cannot run into each other. */
	sha256_add(&s, method, strlen(method) + 1);
	sha256_add(&s, buf_slice(&b).p, buf_len(&b));
	sha256_end(&s, ret);
}

static void remember_caps(struct legacy_call *lc, struct slice params)
{
	struct jval caps = mcp_meta_get(params, MCP_META_CAPABILITIES);

	buf_reset(&lc->caps);
	buf_add_slice(&lc->caps, caps.type == J_OBJECT ? caps.raw : SLICE("{}"));
}

void legacy_questions_begin(struct legacy_call *lc, const struct upstream_call *c,
			    struct slice params, struct slice sent)
{
	lc->who = xstrdup(c->who);
	if (!lc->may_ask)
		return;
	remember_caps(lc, params);
	digest_request(c->method, sent, &lc->digest);
}

/* --- requestState ----------------------------------------------------------------------------------------- */

/* The part that is signed, and the HMAC over it, the request and the caller. */
static void legacy_call_state(const struct legacy_call *lc, char out[STATE_SIGNED + 1],
			      struct sha256 *mac)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	snprintf(out, STATE_SIGNED + 1, STATE_HEAD "%016" PRIx64 ".%016" PRIx64 ".", lc->key,
		 lc->expires);
	buf_add(&b, out, STATE_SIGNED);
	buf_add(&b, lc->digest.bytes, SHA256_BYTES);
	buf_puts(&b, lc->who ? lc->who : "");
	hmac_sha256((struct slice){ (const char *)lc->l->secret, sizeof(lc->l->secret) },
		    buf_slice(&b), mac);
}

/* Compares the signed text, then the HMAC in constant time. text has STATE_CHARS characters. */
static bool state_is(const struct legacy_call *lc, const char *text)
{
	char want[STATE_SIGNED + 1];
	struct sha256 mac, given;

	legacy_call_state(lc, want, &mac);
	return memcmp(text, want, STATE_SIGNED) == 0 &&
	       sha256_from_hex(slice_of(text + STATE_SIGNED), &given) == 0 &&
	       sha256_equal(&mac, &given);
}

static bool state_read_hex(const char *p, uint64_t *ret)
{
	*ret = 0;
	for (int i = 0; i < 16; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *at = p[i] ? strchr(digits, p[i]) : NULL;

		if (!at)
			return false;
		*ret = *ret << 4 | (uint64_t)(at - digits);
	}
	return true;
}

/* The call whose state this text is, for this request of this caller. */
static struct legacy_call *find_state(struct legacy *l, const struct upstream_call *c,
				      const char *text, struct slice sent, struct err *e)
{
	size_t at = sizeof(STATE_HEAD) - 1;
	uint64_t key, expires;
	struct sha256 digest;

	err_field(e, "requestState", "REQUEST_STATE_INVALID",
		  "requestState is not what this server gave for this request");
	if (strlen(text) != STATE_CHARS || !state_read_hex(text + at, &key) ||
	    !state_read_hex(text + at + 17, &expires))
		return NULL;
	digest_request(c->method, sent, &digest);
	list_each(lc, &l->calls, struct legacy_call, link) {
		/* 0 is the key of every call whose caller is not away. */
		if (!key || lc->key != key || !sha256_equal(&lc->digest, &digest) ||
		    strcmp(lc->who ? lc->who : "", c->who ? c->who : "") != 0)
			continue;
		return state_is(lc, text) ? lc : NULL;
	}
	/* Only for a better error: the time in the text is not yet verified here, and nothing
	 * depends on it. */
	if (expires < clock_mono_ms())
		err_field(e, "requestState", "REQUEST_STATE_EXPIRED",
			  "the answers came too late: the call was cancelled");
	return NULL;
}

/* --- asking ----------------------------------------------------------------------------------------------- */

/* Refuses the questions that are still open, so the server does not wait for answers that
 * never come. */
void legacy_questions_drop_asks(struct legacy_call *lc)
{
	struct err e;

	err_set(&e, -ECANCELED, RPC_INTERNAL_ERROR, "CANCELLED", "the call is over");
	list_each(a, &lc->asks, struct legacy_question, link) {
		upstream_rpc_refuse(&lc->l->u->rpc, buf_slice(&a->id), &e);
		legacy_question_free(a);
	}
	lc->nasks = 0;
}

/* The caller has not come back within MCP_HELD_MS: the server's request is cancelled. */
static void too_late(void *ctx)
{
	struct legacy_call *lc = ctx;

	legacy_questions_drop_asks(lc);
	upstream_rpc_cancel(&lc->l->u->rpc, &lc->rq);
	legacy_call_free(lc);
}

/* The keys of the questions stay the same over rounds, so an answer that comes later still
 * fits. */
static void put_asks(struct buf *b, const struct legacy_call *lc)
{
	char state[STATE_CHARS + 1], key[24];
	struct sha256 mac;
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "resultType", "input_required");
	jw_obj(&w, "inputRequests");
	list_each(a, (struct list *)&lc->asks, struct legacy_question, link) {
		snprintf(key, sizeof(key), "ask-%u", a->no);
		jw_object(&w, key, JW_STR("method", a->method),
			  JW_RAW("params", buf_slice(&a->params)));
	}
	jw_end_obj(&w);
	legacy_call_state(lc, state, &mac);
	sha256_hex(&mac, state + STATE_SIGNED);
	jw_str(&w, "requestState", state);
	jw_end_obj(&w);
}

/* Answers the caller, which gets the answers to the questions. */
static void ask_caller(void *ctx)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct legacy_call *lc = ctx;
	struct upstream_call *c = lc->outer;

	/* The caller, or the last question, may have gone since this was deferred. */
	if (!c || list_empty(&lc->asks))
		return;
	lc->key = ++lc->l->last_key;
	lc->l->held++;
	lc->expires = clock_mono_ms() + MCP_HELD_MS;
	put_asks(&b, lc);
	if (b.failed) {
		away_over(lc);
		legacy_questions_drop_asks(lc);
		return;
	}
	/* Detached before the answer: the caller may come back from inside it. */
	lc->outer = NULL;
	c->inner = NULL;
	loop_timer_set(lc->l->u->loop, &lc->ttl, MCP_HELD_MS, too_late, lc);
	upstream_call_done(c, buf_slice(&b), SLICE_NONE);
}

static bool legacy_capability_has(struct slice object, const char *key)
{
	return jobj_get(object, key).type == J_OBJECT;
}

static bool can_elicit(struct slice cap, struct slice params)
{
	/* without a mode it is a form, which an empty capability means, too */
	if (jstr_is(jobj_get(params, "mode"), "url"))
		return legacy_capability_has(cap, "url");
	return legacy_capability_has(cap, "form") || !legacy_capability_has(cap, "url");
}

/* Tools in a question need a capability of their own. */
static bool can_sample(struct slice cap, struct slice params)
{
	return jobj_get(params, "tools").type == J_NONE || legacy_capability_has(cap, "tools");
}

static const struct question {
	const char *method, *capability;
	bool (*can)(struct slice capability, struct slice params);
} questions[] = {
	{ "elicitation/create", "elicitation", can_elicit },
	{ "sampling/createMessage", "sampling", can_sample },
	{ "roots/list", "roots", NULL },
};

static const struct question *legacy_question_find(const char *method)
{
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		if (strcmp(questions[i].method, method) == 0)
			return &questions[i];
	return NULL;
}

/* 0, or why the client of this call is not asked. */
static int check_ask(const struct legacy *l, const struct legacy_call *lc, const struct question *q,
		     struct slice params, struct err *e)
{
	struct jval cap;

	if (!lc)
		return err_set(e, -ENOENT, RPC_METHOD_NOT_FOUND, "CALL_UNKNOWN",
			       "it cannot be told in which call this is asked, or there is none");
	cap = jobj_get(buf_slice(&lc->caps), q->capability);
	if (cap.type != J_OBJECT || (q->can && !q->can(cap.raw, params)))
		return err_set(e, -ENOTSUP, RPC_METHOD_NOT_FOUND, "CAPABILITY_MISSING",
			       "the client does not have the capability %s for this",
			       q->capability);
	if (lc->nasks >= MCP_ASKS_MAX || l->held >= MCP_HELD_CALLS_MAX)
		return err_set(e, -EBUSY, RPC_INTERNAL_ERROR, "LIMIT",
			       "too many questions are open");
	return 0;
}

void legacy_questions_asked(struct legacy *l, struct legacy_call *lc, struct slice id,
			    const char *method, struct slice params)
{
	const struct question *q = legacy_question_find(method);
	struct legacy_question *a;
	struct err e;

	if (!q)
		err_set(&e, -ENOSYS, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND",
			"there is no such method here");
	if (!q || check_ask(l, lc, q, params, &e) < 0) {
		upstream_rpc_refuse(&l->u->rpc, id, &e);
		return;
	}
	a = new0(struct legacy_question);
	a->no = ++lc->last_ask;
	a->method = q->method;
	buf_add_slice(&a->id, id);
	buf_add_slice(&a->params, params);
	list_add_tail(&lc->asks, &a->link);
	lc->nasks++;
	/* at the end of this turn: questions of the same turn go together */
	loop_defer(l->u->loop, &lc->task, ask_caller, lc);
}

/* The server takes back a question. A caller that was sent it already answers in vain. */
void legacy_questions_unasked(struct legacy *l, struct slice id)
{
	list_each(lc, &l->calls, struct legacy_call, link) {
		list_each(a, &lc->asks, struct legacy_question, link) {
			if (!mcp_id_equal(buf_slice(&a->id), id))
				continue;
			legacy_question_free(a);
			lc->nasks--;
			return;
		}
	}
}

/* --- answers ---------------------------------------------------------------------------------------------- */

/* Answers that are missing leave their questions open; the next round asks them again. */
static void give_answers(struct legacy_call *lc, struct slice responses)
{
	list_each(a, &lc->asks, struct legacy_question, link) {
		struct jval v;
		const char *key = SHORT_TEXT(24, "ask-%u", a->no);

		v = jobj_get(responses, key);
		if (v.type != J_OBJECT)
			continue;
		upstream_rpc_answer(&lc->l->u->rpc, buf_slice(&a->id), v.raw);
		legacy_question_free(a);
		lc->nasks--;
	}
}

/* Progress of the server's request now goes under the token of the retry. */
static void new_token(struct legacy_call *lc, struct slice params)
{
	struct jval token = mcp_meta_get(params, "progressToken");

	if (!buf_len(&lc->rq.token) || token.type == J_NONE)
		return;
	buf_reset(&lc->rq.token);
	buf_add_slice(&lc->rq.token, token.raw);
}

void legacy_questions_resume(struct legacy *l, struct upstream_call *c, struct slice params,
			     struct slice sent)
{
	_cleanup_(freep) char *text = NULL;
	struct legacy_call *lc;
	struct err e;

	if (jstr_decode(jobj_get(params, "requestState"), STATE_CHARS, &text) < 0)
		text = xstrdup("");
	lc = find_state(l, c, text, sent, &e);
	if (!lc) {
		upstream_call_refuse(c, &e);
		return;
	}
	away_over(lc);
	if (!lc->rq.id) { /* the server did not wait */
		c->result = lc->result;
		c->error = lc->error;
		lc->result = lc->error = (struct buf){ 0 };
		legacy_call_free(lc);
		upstream_call_later(c);
		return;
	}
	lc->outer = c;
	c->inner = lc;
	/* Every request names its client's capabilities, and this one may name others. */
	remember_caps(lc, params);
	new_token(lc, params);
	give_answers(lc, jobj_get(params, "inputResponses").raw);
	if (!list_empty(&lc->asks))
		loop_defer(l->u->loop, &lc->task, ask_caller, lc);
}
