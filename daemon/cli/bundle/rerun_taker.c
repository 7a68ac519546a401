/*
 * rerun_taker.c - answers model calls of a rerun from the recording, as a model-call client of the
 * tunnel.
 *
 * A call is matched when its body is complete, by method, path and body; a recorded call is used
 * once. Answers are sent in chunks of RERUN_PIECE within the credit that the daemon grants
 * (protocol/models.md). A call ends as it did in the recording: complete, cut, failed, or abandoned
 * by the harness. A call without a match gets status 400, after which no harness retries.
 */
#include "cli/bundle/rerun.h"

#include "base/limits.h"
#include "digest/base64.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "model/model_listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct taken_call {
	struct list link;
	char *id, *request; /* callId; raw id of the daemon's request */
	char *method, *path;
	uint64_t left; /* bytes of the body that are to come */
	struct buf body;
	const struct recorded_call *as; /* NULL: the body is not whole */
	/* bytes of the answer that were sent, the number of the next chunk, and what the daemon still takes */
	uint64_t sent, seq, credit;
};

void rerun_taker_init(struct rerun_taker *t, struct acp_client *client, struct recorded_calls *from,
		      bool (*given_up)(void *ctx), void *ctx)
{
	t->client = client;
	t->from = from;
	t->given_up = given_up;
	t->ctx = ctx;
	t->cwd = "";
	list_init(&t->calls);
}

static void taken_call_free(struct taken_call *c)
{
	list_del(&c->link);
	buf_done(&c->body);
	free_each(c->id, c->request, c->method, c->path, c);
}

void rerun_taker_done(struct rerun_taker *t)
{
	while (t->from && !list_empty(&t->calls))
		taken_call_free(list_first(&t->calls, struct taken_call, link));
}

static struct taken_call *find_taken(struct rerun_taker *t, const struct rpc_msg *m)
{
	struct jval id = jobj_get(m->params, "callId");

	list_each(c, &t->calls, struct taken_call, link)
		if (jstr_is(id, c->id))
			return c;
	return NULL;
}

/* --- what is sent -------------------------------------------------------------------------------------------- */

/* Begins the parameters of a notification about c; send_params ends and sends them. */
static struct jw begin_params(struct buf *b, const struct taken_call *c)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "callId", c->id);
	return w;
}

static void send_params(struct rerun_taker *t, const char *method, struct jw *w)
{
	_cleanup_(buf_done) struct buf line = { 0 };

	jw_end_obj(w);
	rpc_put_notification(&line, method, buf_slice(w->b));
	daemon_link_send(t->client->link, buf_slice(&line));
}

static void taken_call_send_head(struct rerun_taker *t, const struct taken_call *c, unsigned status,
				 const char *headers)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = begin_params(&b, c);

	jw_uint(&w, "status", status);
	jw_raw(&w, "headers", slice_of(headers));
	send_params(t, "_acpd/model/head", &w);
}

static void taken_call_send_piece(struct rerun_taker *t, struct taken_call *c, struct slice piece)
{
	_cleanup_(buf_done) struct buf b = { 0 }, b64 = { 0 };
	struct jw w = begin_params(&b, c);

	base64_encode(piece, &b64);
	jw_uint(&w, "seq", c->seq++);
	jw_slice(&w, "b64", buf_slice(&b64));
	send_params(t, "_acpd/model/chunk", &w);
}

static void taken_call_fail(struct rerun_taker *t, struct taken_call *c, const char *reason,
			    const char *text)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err e;

	err_set(&e, -ENOENT, RPC_INTERNAL_ERROR, reason, "%s", text);
	rpc_put_error(&b, slice_of(c->request), &e, SLICE_NONE);
	daemon_link_send(t->client->link, buf_slice(&b));
	taken_call_free(c);
}

static void taken_call_end(struct rerun_taker *t, struct taken_call *c, bool complete)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_result(&b, slice_of(c->request),
		       complete ? SLICE("{\"complete\":true}") : SLICE("{\"complete\":false}"));
	daemon_link_send(t->client->link, buf_slice(&b));
	taken_call_free(c);
}

/* An answer of the daemon's, not of the recording. */
static void taken_call_answer_json(struct rerun_taker *t, struct taken_call *c, unsigned status,
				   struct slice body)
{
	taken_call_send_head(t, c, status, "{\"content-type\":\"application/json\"}");
	taken_call_send_piece(t, c, body);
	taken_call_end(t, c, true);
}

/* With a status after which no harness asks again. */
static void taken_call_refuse(struct rerun_taker *t, struct taken_call *c)
{
	t->refused++;
	taken_call_answer_json(
		t, c, 400,
		SLICE("{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\","
		      "\"code\":\"CALL_NOT_RECORDED\",\"message\":\"CALL_NOT_RECORDED: the recording has "
		      "no such call, or no more of them\"}}"));
}

/* --- as it ended then ---------------------------------------------------------------------------------------- */

static void taken_call_end_cut(struct rerun_taker *t, struct taken_call *c)
{
	if (c->as->status)
		taken_call_end(t, c, false);
	else
		taken_call_fail(t, c, "RECORDED_CUT", "its end is not in the recording");
}

/* Of the failures that the daemon can be told it knows two; the others it is given as answers, in its own words. */
static void taken_call_end_failed(struct rerun_taker *t, struct taken_call *c)
{
	_cleanup_(buf_done) struct buf body = { 0 };
	const char *why = c->as->reason ? c->as->reason : "MODEL_CALL_FAILED";
	int status = c->as->status ? 0 : model_refusal_again(why, &body);

	if (c->as->status)
		taken_call_end_cut(t, c);
	else if (!status || strcmp(why, "MODEL_CALL_FAILED") == 0)
		taken_call_fail(t, c, "MODEL_CALL_FAILED", "it failed when it was recorded");
	else if (strcmp(why, "MODEL_CALL_TIMEOUT") == 0)
		taken_call_fail(t, c, "MODEL_TIMEOUT", "it was not answered when it was recorded");
	else
		taken_call_answer_json(t, c, (unsigned)status, buf_slice(&body));
}

static void taken_call_end_answer(struct rerun_taker *t, struct taken_call *c)
{
	switch (c->as->end) {
	case RECORDED_OPEN:
		taken_call_end_cut(t, c);
		break;
	case RECORDED_COMPLETE:
		taken_call_end(t, c, true);
		break;
	case RECORDED_FAILED:
		taken_call_end_failed(t, c);
		break;
	case RECORDED_CANCELLED:
		/* The harness did not wait for the end: it gives up again, by itself or because its turn is cancelled. */
		t->given_up(t->ctx);
		break;
	}
}

static void taken_call_send_more(struct rerun_taker *t, struct taken_call *c)
{
	struct slice all = buf_slice(&c->as->answer);

	while (c->sent < all.n) {
		size_t n = MIN(all.n - c->sent, RERUN_PIECE);

		/* on_taken_credit resumes from here */
		if (c->credit < n)
			return;
		taken_call_send_piece(t, c, (struct slice){ all.p + c->sent, n });
		c->sent += n;
		c->credit -= n;
	}
	taken_call_end_answer(t, c);
}

static void taken_call_answer(struct rerun_taker *t, struct taken_call *c)
{
	struct recorded_match m =
		recorded_calls_take(t->from, c->method, c->path, buf_slice(&c->body), t->cwd);

	/* A turn that is being cancelled makes a call more or less than then: it is left open. */
	if (!m.call) {
		if (!t->given_up(t->ctx))
			taken_call_refuse(t, c);
		return;
	}
	t->answered++;
	t->alike += !m.exact;
	c->as = m.call;
	if (c->as->status)
		taken_call_send_head(t, c, c->as->status, c->as->headers);
	taken_call_send_more(t, c);
}

/* --- what comes ---------------------------------------------------------------------------------------------- */

static void on_taken_request(struct rerun_taker *t, const struct rpc_msg *m)
{
	struct taken_call *c = new0(struct taken_call);

	list_add_tail(&t->calls, &c->link);
	c->request = xstrndup(m->id.p, m->id.n);
	/* Each end begins with a full window (protocol/models.md). */
	c->credit = MODEL_WINDOW;
	c->body.max = MODEL_BODY_MAX;
	c->left = jobj_uint(m->params, "bodyBytes");
	if (jstr_decode(jobj_get(m->params, "callId"), RPC_ID_MAX, &c->id) < 0 ||
	    jstr_decode(jobj_get(m->params, "method"), 16, &c->method) < 0 ||
	    jstr_decode(jobj_get(m->params, "path"), MODEL_HEAD_MAX, &c->path) < 0)
		taken_call_fail(t, c, "PARAM_INVALID", "no call");
	else if (!c->left)
		taken_call_answer(t, c);
}

static void on_taken_body(struct rerun_taker *t, const struct rpc_msg *m)
{
	struct taken_call *c = find_taken(t, m);
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t before, n;
	struct jw w;

	if (!c || c->as)
		return;
	before = buf_len(&c->body);
	if (jstr_decode_bytes(jobj_get(m->params, "text"), &c->body) < 0) {
		taken_call_fail(t, c, "PARAM_INVALID", "the text of a body is no string");
		return;
	}
	n = buf_len(&c->body) - before;
	c->left -= MIN(n, c->left);
	if (!c->left) {
		taken_call_answer(t, c);
		return;
	}
	w = begin_params(&b, c);
	jw_uint(&w, "bytes", n);
	send_params(t, "_acpd/model/credit", &w);
}

static void on_taken_credit(struct rerun_taker *t, const struct rpc_msg *m)
{
	struct taken_call *c = find_taken(t, m);

	if (!c || !c->as)
		return;
	c->credit += jobj_uint(m->params, "bytes");
	taken_call_send_more(t, c);
}

static void on_taken_cancel(struct rerun_taker *t, const struct rpc_msg *m)
{
	struct slice id = jobj_get(m->params, "requestId").raw;

	list_each(c, &t->calls, struct taken_call, link)
		if (slice_is(id, c->request)) {
			taken_call_free(c);
			return;
		}
}

static const struct {
	const char *method;
	enum rpc_kind kind;
	void (*fn)(struct rerun_taker *t, const struct rpc_msg *m);
} methods[] = {
	{ "_acpd/model/request", RPC_REQUEST, on_taken_request },
	{ "_acpd/model/body", RPC_NOTIFICATION, on_taken_body },
	{ "_acpd/model/credit", RPC_NOTIFICATION, on_taken_credit },
	{ "$/cancel_request", RPC_NOTIFICATION, on_taken_cancel },
};

bool rerun_taker_message(struct rerun_taker *t, const struct rpc_msg *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (m->kind != methods[i].kind || strcmp(m->method, methods[i].method) != 0)
			continue;
		methods[i].fn(t, m);
		return true;
	}
	return false;
}
