/*
 * provider_call.c - the life of a model call, the same for each carrier.
 *
 * Usage comes first, then the recording, then the harness: when the harness has the last byte, it can end its turn
 * at once, and account and record must be complete by then. Every path ends in provider_call_free.
 */
#include "session/core/session_internal.h"

#include "base/http/http_fields.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "json/json.h"
#include "session/parts/model/session_model_internal.h"

/* --- answers that are held back --------------------------------------------------------------------------------- */

/*
 * Some gateways answer 200 with {"error": ...}. A harness takes that for an answer without text: it asks again or ends
 * its turn, and the provider's message is lost. So an answer 200 whose body is one JSON object and no event stream waits,
 * up to MODEL_HELD_MAX bytes of it. If it is an error, the harness gets it with the status that its code represents.
 */
static void held_answer_drop(struct provider_call *c)
{
	buf_done(&c->held.headers);
	buf_done(&c->held.body);
	c->held = (struct held_answer){ 0 };
}

static void held_answer_release(struct provider_call *c, int status)
{
	struct held_answer *h = &c->held;

	if (!h->holds)
		return;
	h->holds = false;
	if (model_call_head(c->call, status, buf_slice(&h->headers)))
		model_call_data(c->call, buf_slice(&h->body));
	held_answer_drop(c);
}

static bool is_event_stream(struct slice headers)
{
	static const char type[] = "text/event-stream";

	jobj_each(name, v, headers) {
		_cleanup_(freep) char *value = NULL;

		if (http_word_is(name, "content-type") &&
		    jstr_decode(v, MODEL_HEAD_MAX, &value) == 0)
			return strncasecmp(value, type, sizeof(type) - 1) == 0;
	}
	return false;
}

static bool held_answer_begin(struct provider_call *c, int status, struct slice headers)
{
	struct held_answer *h = &c->held;

	if (status != 200 || !c->use.meter || is_event_stream(headers))
		return false;
	h->holds = true;
	buf_add_slice(&h->headers, headers);
	return true;
}

/* What is no object is no error: events without their content type, or google's array, which is a stream as well. */
static bool may_be_error(struct slice body)
{
	while (body.n && strchr(" \t\r\n", body.p[0]))
		body = slice_after(body, 1);
	return !body.n || body.p[0] == '{';
}

/* Releases an answer that grows too long, or that cannot be an error. */
static bool held_answer_take(struct provider_call *c, struct slice bytes)
{
	struct held_answer *h = &c->held;

	if (!h->holds)
		return false;
	buf_add_slice(&h->body, bytes);
	if (h->body.failed || buf_len(&h->body) > MODEL_HELD_MAX ||
	    !may_be_error(buf_slice(&h->body)))
		held_answer_release(c, 200);
	return true;
}

/* --- the life of a call ------------------------------------------------------------------------------------------ */

static void provider_call_free(struct provider_call *c)
{
	struct session *s = c->session;

	c->carrier->forget(c);
	call_record_forget(c);
	held_answer_drop(c);
	list_del(&c->link);
	activity_note(s);
	free(c);
	/* Last: it reviews calls that wait, and this one must no longer count. */
	call_limits_ended(s);
}

/* --- from the listener ------------------------------------------------------------------------------------------ */

static void provider_call_on_taken(void *ctx, size_t n)
{
	struct provider_call *c = ctx;

	c->carrier->taken(c, n);
}

static void provider_call_on_gone(void *ctx)
{
	struct provider_call *c = ctx;

	call_use_end(c, CALL_CANCELLED);
	call_record_end(c, "cancelled", NULL);
	c->carrier->stop(c);
	provider_call_free(c);
}

static const struct model_call_ops call_ops = { provider_call_on_taken, provider_call_on_gone };

static void provider_call_on_call(void *ctx, struct model_call *call)
{
	struct provider_call *c = new0(struct provider_call);
	struct session *s = ctx;

	c->session = s;
	c->call = call;
	c->carrier = s->setup.gateway.via == PROVIDER_DIRECT ? &direct_carrier : &tunnel_carrier;
	/* The turn is fixed here: a call can outlive it. */
	c->turn = session_running(s);
	memcpy(c->id, "model-call:", 11);
	random_hex(c->id + 11, 16);
	list_add_tail(&model_of(s)->calls, &c->link);
	activity_note(s);
	model_call_follow(call, &call_ops, c);
	if (call_limits_admit(c))
		c->carrier->ask(c);
}

const struct model_listener_ops provider_call_listener_ops = { provider_call_on_call,
							       call_limits_terms,
							       call_limits_refused };

void provider_call_refuse(struct provider_call *c, enum model_refusal why, unsigned secs)
{
	model_call_refuse_until(c->call, why, secs);
	provider_call_free(c);
}

/* --- from the carrier ------------------------------------------------------------------------------------------- */

void provider_call_attempt(struct provider_call *c)
{
	store_model_of(c->session->store)->asked_again += c->attempt > 0;
	call_use_begin(c);
	c->attempt++;
	call_record_begin(c);
}

bool provider_call_head(struct provider_call *c, int status, struct slice headers)
{
	c->answered = true;
	call_use_head(c, status, headers);
	call_record_head(c, status, headers);
	if (held_answer_begin(c, status, headers) || model_call_head(c->call, status, headers))
		return true;
	call_use_end(c, CALL_FAILED);
	call_record_end(c, "failed", model_refusal_word(MODEL_CALL_FAILED));
	c->carrier->stop(c);
	provider_call_free(c);
	return false;
}

void provider_call_data(struct provider_call *c, struct slice bytes)
{
	call_use_data(c, bytes);
	call_record_data(c, bytes);
	if (!held_answer_take(c, bytes))
		model_call_data(c->call, bytes);
}

void provider_call_end(struct provider_call *c)
{
	int status = call_use_error_status(c);

	call_use_end(c, CALL_ENDED);
	call_record_end(c, "complete", NULL);
	held_answer_release(c, status ? status : 200);
	model_call_end(c->call);
	provider_call_free(c);
}

void provider_call_fail(struct provider_call *c, enum model_refusal why)
{
	call_use_end(c, CALL_FAILED);
	call_record_end(c, "failed", model_refusal_word(why));
	model_call_refuse(c->call, why);
	provider_call_free(c);
}

void provider_call_break(struct provider_call *c, enum model_refusal why)
{
	c->carrier->stop(c);
	provider_call_fail(c, why);
}

/* --- headers -------------------------------------------------------------------------------------------------- */

static bool has_header(struct slice headers, struct slice name)
{
	jobj_each(own, v, headers)
		if (http_words_same(own, name))
			return true;
	return false;
}

void provider_call_put_headers(const struct provider_call *c, struct jw *w, const char *key,
			       struct slice given)
{
	struct slice passed = model_call_request(c->call)->headers;

	jw_obj(w, key);
	if (given.n)
		jw_members(w, given, NULL);
	jobj_each(name, v, passed)
		if (!has_header(given, name))
			jw_member_raw(w, name, v.raw);
	jw_end_obj(w);
}
