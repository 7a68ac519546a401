/* toolgate_rig.h - a gate between a server whose answers the test gives and a client that keeps its own. */
#pragma once

#include "unit.h"

#include "base/clock.h"
#include "json/jscan.h"
#include "tools/relay/gate/toolgate.h"

#include <poll.h>

#define FIELD "policy"

/* A server whose answers the test gives. */
struct fake_call {
	struct mcp_call call;
	const struct mcp_reply_ops *ops;
	void *ctx;
	bool open;
	char *method, *params;
};

static struct fake_call fakes[32];
static size_t nfakes, cancelled;

static struct mcp_call *fake_new(struct mcp_backend *b, const char *method, struct slice params,
				 const struct mcp_reply_ops *ops, void *ctx)
{
	struct fake_call *f = &fakes[nfakes++];

	assert_true(nfakes < ARRAY_SIZE(fakes));
	*f = (struct fake_call){
		{ .backend = b }, ops, ctx, true, xstrdup(method), xstrndup(params.p, params.n)
	};
	return &f->call;
}

static void fake_cancel(struct mcp_call *c)
{
	struct fake_call *f = container_of(c, struct fake_call, call);

	assert_true(f->open);
	f->open = false;
	cancelled++;
}

static const struct mcp_backend_ops fake_ops = { .call = fake_new, .cancel = fake_cancel };
static struct mcp_backend fake = { &fake_ops };

static void fake_done(size_t i, const char *result, const char *error)
{
	struct slice r = exact_copy(slice_of(result)), e = exact_copy(slice_of(error));

	assert_true(i < nfakes && fakes[i].open);
	fakes[i].open = false;
	fakes[i].ops->done(fakes[i].ctx, r, e);
	slice_freep(&r);
	slice_freep(&e);
}

/* A client. */
struct reply {
	bool done;
	char *result, *error, *note;
};

static void on_note(void *ctx, const char *method, struct slice params)
{
	struct reply *r = ctx;

	assert_string_equal(method, "notifications/progress");
	xstrset(&r->note, NULL);
	r->note = xstrndup(params.p, params.n);
}

static void on_reply(void *ctx, struct slice result, struct slice error)
{
	struct reply *r = ctx;

	assert_false(r->done);
	r->done = true;
	r->result = result.n ? xstrndup(result.p, result.n) : NULL;
	r->error = error.n ? xstrndup(error.p, error.n) : NULL;
}

static const struct mcp_reply_ops reply_ops = { on_note, on_reply };

static struct loop *loop;
static struct toolgate *gate;
static struct mcp_policy *rules;
static struct reply replies[8];
static struct toolgate_ask *asked;
static char *question, *record;
static size_t nasked, nunasked;

static void on_ask(void *ctx _unused_, struct toolgate_ask *a, const struct toolgate_question *q)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	asked = a;
	nasked++;
	buf_printf(&b, "%s|%.*s|%.*s|%.*s", q->tool, (int)q->title.n, q->title.p, (int)q->args.n,
		   q->args.p, (int)q->permission.n, q->permission.p);
	buf_putc(&b, '\0');
	xstrset(&question, b.data);
}

static void on_unask(void *ctx _unused_, struct toolgate_ask *a)
{
	assert_ptr_equal(a, asked);
	nunasked++;
}

static void on_recorded(void *ctx _unused_, const char *tool, struct slice args)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "%s %.*s", tool, (int)args.n, args.p);
	buf_putc(&b, '\0');
	xstrset(&record, b.data);
}

static void on_artifact(void *ctx _unused_, struct slice artifact, struct buf *ret)
{
	buf_printf(ret, "{\"id\":\"art_1\",\"was\":%zu}", artifact.n);
}

/* Budgets: so many calls may begin, and so many have not ended. */
static size_t may_begin, not_ended, outsiders;

static void *on_begin(void *ctx _unused_, const char *tool _unused_, bool outside, uint64_t *limit)
{
	*limit = 7;
	outsiders += outside;
	if (!may_begin)
		return NULL;
	may_begin--;
	not_ended++;
	return &not_ended;
}

static void on_end(void *ctx _unused_, void *begun)
{
	assert_ptr_equal(begun, &not_ended);
	not_ended--;
}

static const struct toolgate_ops gate_ops = { .ask = on_ask,
					      .unask = on_unask,
					      .artifact = on_artifact,
					      .begin = on_begin,
					      .end = on_end,
					      .recorded = on_recorded };

static void replies_reset(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
		free(replies[i].result);
		free(replies[i].error);
		free(replies[i].note);
	}
	memset(replies, 0, sizeof(replies));
}

static int teardown(void **state _unused_)
{
	gate = toolgate_free(gate);
	rules = mcp_policy_free(rules);
	loop = loop_free(loop);
	for (size_t i = 0; i < nfakes; i++) {
		free(fakes[i].method);
		free(fakes[i].params);
	}
	replies_reset();
	xstrset(&question, NULL);
	xstrset(&record, NULL);
	nfakes = cancelled = nasked = nunasked = 0;
	may_begin = SIZE_MAX;
	not_ended = outsiders = 0;
	asked = NULL;
	return 0;
}

static void gate_make(const char *text, bool builtin, enum policy_verdict fallback)
{
	struct toolgate_config config = { .server = "srv",
					  .fallback = fallback,
					  .builtin = builtin };
	struct err e;

	teardown(NULL);
	loop = loop_new();
	if (mcp_policy_parse(slice_of(text), FIELD, &rules, &e) < 0)
		fail_msg("%s: %s", e.field, e.msg);
	config.rules = rules;
	gate = toolgate_new(loop, &fake, &config, &gate_ops, NULL);
}

static struct mcp_call *call(size_t i, const char *method, const char *params)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(slice_of(params));

	return mcp_backend_call(toolgate_backend(gate), method, copy, &reply_ops, &replies[i]);
}

static struct mcp_call *call_tool(size_t i, const char *tool)
{
	char params[128];

	snprintf(params, sizeof(params), "{\"name\":\"%s\",\"arguments\":{\"n\":1.0}}", tool);
	return call(i, "tools/call", params);
}

static void turn(void)
{
	loop_run_deferred(loop);
}

/* The call was refused by the gate, and the server has not seen it. */
static void check_refused(size_t i, const char *code)
{
	char want[64];

	turn();
	assert_true(replies[i].done);
	assert_non_null(replies[i].result);
	snprintf(want, sizeof(want), "\"code\":\"%s\"", code);
	if (!strstr(replies[i].result, want))
		fail_msg("%s: %s", code, replies[i].result);
	assert_non_null(strstr(replies[i].result, "\"resultType\":\"complete\""));
	assert_int_equal(jscan_value(slice_of(replies[i].result), NULL), JSCAN_OK);
}
