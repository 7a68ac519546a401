/*
 * turn.c - a prompt from its sending to its end. The end is agent_settled: agent_end can be followed by a retry, a
 * compaction or queued messages. A prompt that an extension's command handled has no run and ends with its answer.
 * The numbers of the last call's context come in an answer of their own, which the end waits for, but not long.
 */
#include "harnesses/pi/internal.h"

#include "harnesses/adapter.h"
#include "json/json.h"

/* Limit for an answer that only updates the context gauge. */
#define STATS_WAIT_MS 500

/* --- the end ---------------------------------------------------------------------------------------- */

static void finish_turn(struct harness *h, const struct harness_turn_end *end)
{
	h->turn.running = false;
	pi_asks_drop(h, true);
	pi_calls_free(h);
	h->host.ops->timer(h->host.ctx, 0);
	/* last, with all of the turn reset: the core may start the next one before this returns */
	h->host.ops->turn_end(h->host.ctx, end);
}

static void finish_settled(struct harness *h)
{
	const struct pi_turn *t = &h->turn;
	struct harness_turn_end end = { .stop_reason = t->stop };

	/* Whatever the last message reported: a cancelled turn must not end as an error. */
	if (t->cancelled || t->aborted)
		end.stop_reason = "cancelled";
	end.failed = !end.stop_reason;
	if (end.failed)
		end.error = t->error;
	finish_turn(h, &end);
}

void pi_on_settled(struct harness *h, const struct pi_record *r)
{
	h->turn.settled = true;
	h->turn.aborted = jobj_get(r->line, "aborted").type == J_TRUE;
	if (h->stats_open && !h->turn.aborted && !h->turn.cancelled)
		h->host.ops->timer(h->host.ctx, STATS_WAIT_MS);
	else
		finish_settled(h);
}

/* STATS_WAIT_MS have passed: the end is reported without the numbers. */
void pi_on_timer(struct harness *h)
{
	if (h->turn.running && h->turn.settled)
		finish_settled(h);
}

/* --- context gauge ------------------------------------------------------------------------------------ */

static void emit_stats(struct harness *h, struct slice data)
{
	JW_BUF(w, b);
	struct slice context = jobj_get(data, "contextUsage").raw;
	struct jval cost = jobj_get(data, "cost");
	int64_t used, size, amount;

	if (jdec_int(jobj_get(context, "tokens"), &used) < 0 || used < 0 ||
	    jdec_int(jobj_get(context, "contextWindow"), &size) < 0 || size <= 0)
		return;
	harness_update_open(&w, UPDATE_USAGE);
	jw_int(&w, "used", used);
	jw_int(&w, "size", size);
	/* 0 is what a model without prices costs */
	if (cost.type == J_NUMBER && harness_cost_parse(cost.raw, &amount) && amount > 0)
		jw_object(&w, "cost", JW_RAW("amount", cost.raw), JW_STR("currency", "USD"));
	jw_end_obj(&w);
	harness_send_update(&h->host, UPDATE_USAGE, &b);
}

static void on_stats(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	h->stats_open = false;
	if (!m)
		return;
	/* a cancelled turn does not wait for it */
	if (!m->error.n && h->turn.running)
		emit_stats(h, m->result);
	if (h->stats_stale)
		pi_ask_stats(h);
	/* The turn has ended and waited only for these numbers. */
	if (!h->stats_open && h->turn.running && h->turn.settled)
		finish_settled(h);
}

void pi_ask_stats(struct harness *h)
{
	/* One request at a time; another one follows when the running one is answered. */
	h->stats_stale = h->stats_open;
	if (!h->stats_open)
		h->stats_open = pi_call_of(h, "get_session_stats", NULL, on_stats, 0) >= 0;
}

/* --- what the client says ------------------------------------------------------------------------------- */

static void add_resource(struct buf *b, struct slice block)
{
	struct slice resource = jobj_get(block, "resource").raw;

	if (jobj_get(resource, "text").type != J_STRING)
		return;
	buf_puts(b, "<resource uri=\"");
	harness_add_text(b, jobj_get(resource, "uri"));
	buf_puts(b, "\">\n");
	harness_add_text(b, jobj_get(resource, "text"));
	buf_puts(b, "\n</resource>");
}

static void add_link(struct buf *b, struct slice block)
{
	buf_putc(b, '[');
	harness_add_text(b, jobj_get(block, "name"));
	buf_puts(b, "](");
	harness_add_text(b, jobj_get(block, "uri"));
	buf_putc(b, ')');
}

static void add_prompt_block(struct buf *text, struct jw *images, struct slice block)
{
	struct jval type = jobj_get(block, "type");

	if (jstr_is(type, "image")) {
		jw_object(images, NULL, JW_STR("type", "image"),
			  JW_RAW("data", jobj_get(block, "data").raw),
			  JW_RAW("mimeType", jobj_get(block, "mimeType").raw));
		return;
	}
	if (buf_len(text))
		buf_putc(text, '\n');
	if (jstr_is(type, "text"))
		harness_add_text(text, jobj_get(block, "text"));
	else if (jstr_is(type, "resource"))
		add_resource(text, block);
	else if (jstr_is(type, "resource_link"))
		add_link(text, block);
}

/* The bridge's commands are the adapter's alone: after a space they are text for the model. */
static void keep_from_bridge(struct buf *text)
{
	_cleanup_(buf_done) struct buf spaced = { 0 };

	if (!slice_starts(buf_slice(text), PI_BRIDGE_COMMANDS))
		return;
	buf_putc(&spaced, ' ');
	buf_add_slice(&spaced, buf_slice(text));
	buf_reset(text);
	buf_add_slice(text, buf_slice(&spaced));
}

/* message and images as members of a command. */
static int put_prompt_content(struct buf *members, struct slice content, struct err *e)
{
	_cleanup_(buf_done) struct buf text = { 0 }, images = { 0 };
	struct jw w = JW(members), list = JW(&images);

	jw_arr(&list, NULL);
	jarr_each_at(i, v, content) {
		if (v.type == J_OBJECT)
			add_prompt_block(&text, &list, v.raw);
		if (text.failed || images.failed)
			return harness_refuse_block(i, e);
	}
	jw_end_arr(&list);
	keep_from_bridge(&text);
	jw_slice(&w, "message", buf_len(&text) ? buf_slice(&text) : SLICE(""));
	/* More than "[]". */
	if (images.len > 2)
		jw_raw(&w, "images", buf_slice(&images));
	return 0;
}

static void on_prompt_answered(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	struct harness_turn_end end = { .stop_reason = "end_turn" };
	char text[256];

	if (!m || !h->turn.running)
		return;
	if (m->error.n) {
		pi_reply_error(m, text, sizeof(text));
		end.failed = true;
		pi_error_classify(text, &end.error);
		/* it never reached a provider */
		if (strcmp(end.error.cls, "provider") == 0)
			end.error = (struct turn_error){ .cls = "harness_error" };
		snprintf(end.error.message, sizeof(end.error.message), "%s", text);
		finish_turn(h, &end);
	} else if (jstr_is(jobj_get(m->result, "disposition"), "handled")) {
		/* A command of an extension: no run follows, so no agent_settled either. */
		end.quiet = true;
		finish_turn(h, &end);
	}
}

void pi_limit(struct harness *h, int64_t tool_calls)
{
	unsigned rules = h->host.ops->rules(h->host.ctx);
	char command[96], calls[24] = "null";

	/* Without a limit before and now, and with the same rules, there is nothing to send. */
	if (tool_calls < 0 && !h->limited && rules == h->rules)
		return;
	if (tool_calls >= 0)
		snprintf(calls, sizeof(calls), "%lld", (long long)tool_calls);
	snprintf(command, sizeof(command), PI_BRIDGE_COMMANDS "set {\"calls\":%s,\"rules\":%u}",
		 calls, rules);
	h->limited = tool_calls >= 0;
	h->rules = rules;
	/* should Pi be gone, the prompt fails */
	pi_call(h, "prompt", harness_reply_ignored, 0, JW_STR("message", command));
}

int pi_prompt(struct harness *h, struct slice content, struct slice meta _unused_, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	int r = put_prompt_content(&b, content, e);

	if (r < 0)
		return r;
	h->turn = (struct pi_turn){ .running = true };
	/* The error of a turn that ends without any message; each message replaces it. */
	pi_error_classify("Pi ended the turn without an answer of the model", &h->turn.error);
	h->turn.error.cls = "harness_error";
	r = pi_call(h, "prompt", on_prompt_answered, 0, JW_RAW(NULL, buf_slice(&b)));
	if (r == 0)
		return 0;
	h->turn.running = false;
	return harness_gone(r, "Pi", e);
}

/* --- steering and cancel ---------------------------------------------------------------------------------- */

static void on_pi_steered(void *ctx, uint64_t token, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	harness_steered(&h->host, token, m);
}

int pi_steer(struct harness *h, uint64_t token, struct slice content, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	int r = put_prompt_content(&b, content, e);

	if (r < 0)
		return r;
	return harness_gone(pi_call(h, "steer", on_pi_steered, token, JW_RAW(NULL, buf_slice(&b))),
			    "Pi", e);
}

static void send_abort(struct harness *h)
{
	/* after an abort alone Pi goes on with the queue; agent_settled reports the end */
	pi_call_of(h, "clear_queue", NULL, harness_reply_ignored, 0);
	pi_call_of(h, "abort", NULL, harness_reply_ignored, 0);
}

void pi_cancel(struct harness *h)
{
	if (!h->turn.running || h->turn.cancelled)
		return;
	h->turn.cancelled = true;
	send_abort(h);
}

/* An abort that came before the run began has aborted nothing. */
void pi_on_agent_start(struct harness *h, const struct pi_record *r _unused_)
{
	if (h->turn.cancelled)
		send_abort(h);
}
