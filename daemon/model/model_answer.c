/*
 * model_answer.c - answers to a harness: a provider's, in chunks as it comes, or our own refusal.
 *
 * A refusal is JSON in the form that the clients of all four APIs read; its head says where no retry helps, or when. Of a
 * provider's answer only the headers pass that model_api.c lists; its length is never passed on, since the daemon sends
 * chunks. An answer that breaks off has no last chunk: the harness sees that it is not whole.
 */
#include "model/model_internal.h"

#include "base/http/http_fields.h"
#include "base/limits.h"
#include "base/os/buf_io.h"
#include "json/jstr.h"

#include <sys/socket.h>

/* Of a refusal that no retry changes. */
#define FOR_GOOD "x-should-retry: false\r\n"

/* Texts are for the people who read a harness's error: no key, no amount, no other session. */
static const struct {
	int status;
	const char *word, *text, *field; /* field: a line of the head */
	unsigned retry;			 /* seconds; 0: not said */
} refusals[MODEL_REFUSAL_MAX] = {
	[MODEL_KEY_WRONG] = { 401, "UNAUTHORIZED", "", "", 0 },
	[MODEL_REQUEST_INVALID] = { 400, "MODEL_REQUEST_INVALID",
				    "this is no request of the session's model API", "", 0 },
	[MODEL_PATH_NOT_ALLOWED] = { 403, "MODEL_PATH_NOT_ALLOWED",
				     "the session's provider takes no such call", "", 0 },
	[MODEL_UPGRADE] = { 426, "MODEL_UPGRADE", "model calls are plain HTTP/1.1 here",
			    "upgrade: HTTP/1.1\r\n", 0 },
	[MODEL_HEAD_TOO_LARGE] = { 431, "MODEL_HEAD_TOO_LARGE", "the head is too large", "", 0 },
	[MODEL_BODY_TOO_LARGE] = { 413, "MODEL_BODY_TOO_LARGE", "the body is too large", "", 0 },
	[MODEL_TOO_MANY_CALLS] = { 429, "MODEL_TOO_MANY_CALLS",
				   "too many model calls of this session are open", "", 1 },
	[MODEL_CALLS_PER_MINUTE] = { 429, "MODEL_CALLS_PER_MINUTE",
				     "this session makes too many model calls in a minute", "", 1 },
	[MODEL_NOT_ALLOWED] = { 402, "MODEL_NOT_ALLOWED",
				"the session's provider does not have this model", FOR_GOOD, 0 },
	[MODEL_BUDGET_SPENT] = { 402, "MODEL_BUDGET_SPENT", "a budget of this session is spent",
				 FOR_GOOD, 0 },
	[MODEL_NO_MEMORY] = { 503, "MODEL_BUSY", "too many model calls wait in this sandbox", "",
			      1 },
	[MODEL_NO_TAKER] = { 503, "MODEL_NO_TAKER",
			     "no client that makes this session's model calls is connected", "",
			     1 },
	[MODEL_CALL_FAILED] = { 502, "MODEL_CALL_FAILED", "the call to the provider failed", "",
				0 },
	[MODEL_CALL_TIMEOUT] = { 504, "MODEL_CALL_TIMEOUT", "the provider did not answer", "", 0 },
	[MODEL_UNREACHABLE] = { 502, "MODEL_UNREACHABLE", "the provider could not be reached", "",
				0 },
	[MODEL_ADDRESS_REFUSED] = { 403, "MODEL_ADDRESS_REFUSED",
				    "the provider's address may not be called from here", "", 0 },
	[MODEL_NO_FETCH] = { 503, "FETCH_UNAVAILABLE",
			     "the program that makes the calls cannot be started", "", 0 },
	[MODEL_NO_LOCK] = { 503, "MEMORY_LOCK_REFUSED",
			    "cannot lock memory for the provider's key: set LimitMEMLOCK or allow "
			    "@memlock, or start acpd with --unlocked-keys",
			    "", 0 },
};

/* --- bytes out -------------------------------------------------------------------------------------------- */

/* All of it has left. */
static void on_empty(struct model_call *c)
{
	buf_trim(&c->out, MODEL_PIECE_MAX);
	if (c->state == CALL_ANSWERED && c->answered) {
		c->taken += c->answered;
		c->answered = 0;
		model_conn_defer(c);
	}
	/* what still comes is dropped: a reset could take the answer away */
	if (c->state == CALL_LAST) {
		shutdown(c->io.fd, SHUT_WR);
		model_conn_limit(c, BODY_LINGER_MS);
	}
}

void model_answer_flush(struct model_call *c)
{
	int r = buf_send(&c->out, c->io.fd);

	if (r == 0)
		on_empty(c);
	else if (r != -EAGAIN)
		model_conn_drop(c);
}

void model_answer_write(struct model_call *c, struct slice bytes)
{
	if (buf_add_slice(&c->out, bytes) < 0)
		model_conn_drop(c);
}

/* --- our own ---------------------------------------------------------------------------------------------- */

const char *model_refusal_word(enum model_refusal why)
{
	return refusals[why].word;
}

/* What a harness really stops on differs between them (enum harness_stop). */
static bool stops_by_quota(const struct model_call *c, enum model_refusal why)
{
	return refusals[why].status == 402 && c->listener->ops->terms(c->listener->ctx).quota;
}

/* In a form that the clients of all four APIs read. */
static void model_put_refusal(struct buf *b, enum model_refusal why, bool quota)
{
	const char *type = refusals[why].status < 500 ? "invalid_request_error" : "api_error";
	struct jw w = JW(b);

	jw_object(&w, NULL, JW_STR("type", "error"),
		  JW_OBJ("error", JW_STR("type", quota ? "insufficient_quota" : type),
			 JW_STR("code", quota ? "insufficient_quota" : refusals[why].word),
			 JW_STR("message", refusals[why].text),
			 JW_STR("reason", quota ? refusals[why].word : NULL)));
}

static void count_refusal(const struct model_call *c, enum model_refusal why)
{
	c->listener->all->refused[why]++;
	c->listener->ops->refused(c->listener->ctx, why);
}

static void answer_refusal(struct model_call *c, enum model_refusal why, unsigned secs)
{
	bool quota = stops_by_quota(c, why);
	_cleanup_(buf_done) struct buf b = { 0 };

	count_refusal(c, why);
	model_put_refusal(&b, why, quota);
	buf_printf(&c->out,
		   "HTTP/1.1 %d \r\ncontent-type: application/json\r\ncontent-length: %zu\r\n"
		   "connection: close\r\n%s",
		   quota ? 429 : refusals[why].status, buf_len(&b), refusals[why].field);
	if (secs)
		buf_printf(&c->out, "retry-after: %u\r\n", secs);
	model_answer_write(c, SLICE("\r\n"));
	model_answer_write(c, buf_slice(&b));
	model_conn_last(c);
}

void model_answer_refuse(struct model_call *c, enum model_refusal why)
{
	answer_refusal(c, why, refusals[why].retry);
}

void model_call_refuse_until(struct model_call *c, enum model_refusal why, unsigned secs)
{
	if (c->state == CALL_OPEN)
		answer_refusal(c, why, secs ? secs : refusals[why].retry);
}

/* --- the provider's ----------------------------------------------------------------------------------------- */

static void put_answer_fields(struct buf *b, struct slice headers)
{
	jobj_each(name, v, headers) {
		_cleanup_(freep) char *value = NULL;

		/* The values are untrusted: a line break in one would add a header, or end the head. */
		if (model_answer_header_passes(name) && header_name_ok(name) &&
		    jstr_decode(v, MODEL_HEAD_MAX, &value) == 0 && header_value_ok(value))
			buf_printf(b, "%.*s: %s\r\n", (int)name.n, name.p, value);
	}
}

/* Neither an interim answer nor one that cannot have a body. */
static bool status_fits(int status)
{
	/* RFC 9112, section 6.3, and for 205 RFC 9110, section 15.3.6. */
	return status >= 200 && status <= 599 && status != 204 && status != 205 && status != 304;
}

bool model_call_head(struct model_call *c, int status, struct slice headers)
{
	if (c->state != CALL_OPEN)
		return true;
	if (!status_fits(status)) {
		model_answer_refuse(c, MODEL_CALL_FAILED);
		return false;
	}
	buf_printf(&c->out, "HTTP/1.1 %d \r\n", status);
	put_answer_fields(&c->out, headers);
	buf_printf(&c->out, "transfer-encoding: chunked\r\n%s\r\n",
		   c->stays ? "" : "connection: close\r\n");
	model_conn_answered(c);
	model_answer_flush(c);
	model_conn_watch(c);
	return true;
}

void model_call_data(struct model_call *c, struct slice bytes)
{
	/* A chunk of length 0 would end the body (RFC 9112, section 7.1). */
	if (c->state != CALL_ANSWERED || !bytes.n)
		return;
	buf_printf(&c->out, "%zx\r\n", bytes.n);
	model_answer_write(c, bytes);
	model_answer_write(c, SLICE("\r\n"));
	c->answered += bytes.n;
	model_answer_flush(c);
	model_conn_watch(c);
}

void model_call_end(struct model_call *c)
{
	/* An end without a head: there is no status that could be forwarded. */
	if (c->state == CALL_OPEN) {
		model_answer_refuse(c, MODEL_CALL_FAILED);
		return;
	}
	c->ops = NULL;
	if (c->state != CALL_ANSWERED)
		return;
	model_answer_write(c, SLICE("0\r\n\r\n"));
	model_answer_flush(c);
	/* The flush found the connection broken; on_turn frees it. */
	if (c->state == CALL_DEAD)
		return;
	if (c->stays)
		model_conn_next(c);
	else
		model_conn_last(c);
}

void model_call_refuse(struct model_call *c, enum model_refusal why)
{
	if (c->state == CALL_OPEN) {
		model_answer_refuse(c, why);
		return;
	}
	c->ops = NULL;
	/* The status is out. Without its last chunk the harness sees that the answer is not whole. */
	if (c->state == CALL_ANSWERED) {
		count_refusal(c, why);
		model_conn_last(c);
	}
}
