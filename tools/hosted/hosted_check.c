/*
 * hosted_check.c - reads the tools/list of a server page by page, counts the tools, measures the
 * first answer.
 *
 * check_end takes `done` and cancels everything before it calls it, so `done` may start the next
 * check. A server that answers METHOD_NOT_FOUND has no tools and passes. Pages and time are
 * limited, because the server decides how many pages there are.
 */
#include "tools/hosted/hosted_check.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"
#include "tools/mcp/msg.h"

static void check_end(struct hosted_check *l, const struct err *why)
{
	struct hosted_check_result result = { .tools = l->tools,
					      .latency_ms = l->latency_ms,
					      .why = why };
	void (*done)(void *, const struct hosted_check_result *) = TAKE_PTR(l->done);

	hosted_check_cancel(l);
	done(l->ctx, &result);
}

void hosted_check_cancel(struct hosted_check *l)
{
	if (l->call)
		mcp_call_cancel(TAKE_PTR(l->call));
	loop_timer_cancel(&l->deadline);
	loop_task_cancel(&l->next);
	buf_done(&l->cursor);
	l->done = NULL;
}

static int hosted_check_error(struct slice error, struct err *e)
{
	_cleanup_(freep) char *message = NULL;
	int64_t code = jobj_int(error, "code");

	if (jstr_decode_shown(jobj_get(error, "message"), 4 * KIB, &message) < 0)
		message = xstrdup("no message");
	err_set(e, -EIO, (int)code, "SERVER_ERROR", "tools/list: %s", message);
	return code == RPC_METHOD_NOT_FOUND ? -ENOSYS : -EIO;
}

static void hosted_check_ask(void *ctx);

static void hosted_check_on_done(void *ctx, struct slice result, struct slice error)
{
	struct hosted_check *l = ctx;
	struct jval next = jobj_get(result, "nextCursor"), tools = jobj_get(result, "tools");
	struct err e = { 0 };

	l->call = NULL;
	/* The first page alone: later ones are as fast as we ask for them. */
	if (!l->pages++)
		l->latency_ms = (unsigned)(clock_mono_ms() - l->began_ms);
	if (error.n) {
		check_end(l, hosted_check_error(error, &e) == -ENOSYS ? NULL : &e);
		return;
	}
	if (tools.type != J_ARRAY) {
		err_set(&e, -EINVAL, 0, "SERVER_PROTOCOL",
			"tools/list: the result has no array of tools");
		check_end(l, &e);
		return;
	}
	l->tools = MAX(l->tools, 0) + (int)jarr_length(tools);
	if (next.type != J_STRING || l->pages == HOSTED_PAGES_MAX) {
		check_end(l, NULL);
		return;
	}
	buf_reset(&l->cursor);
	buf_add_slice(&l->cursor, next.raw);
	loop_defer(l->loop, &l->next, hosted_check_ask, l);
}

static const struct mcp_reply_ops reply_ops = { mcp_call_hear_nothing, hosted_check_on_done };

/* What every request of 2026-07-28 says of its client; this one needs no capability. */
static void hosted_check_put_meta(struct jw *w)
{
	jw_obj(w, "_meta");
	jw_str(w, MCP_META_VERSION, MCP_MODERN);
	jw_raw(w, MCP_META_CAPABILITIES, SLICE("{}"));
	jw_self(w, MCP_META_CLIENT, "acpd", NULL);
	jw_end_obj(w);
}

static void hosted_check_ask(void *ctx)
{
	JW_BUF(w, params);
	struct hosted_check *l = ctx;

	jw_obj(&w, NULL);
	jw_raw(&w, "cursor", buf_slice(&l->cursor));
	hosted_check_put_meta(&w);
	jw_end_obj(&w);
	l->call = mcp_backend_call(l->backend, "tools/list", buf_slice(&params), &reply_ops, l);
}

static void hosted_check_on_deadline(void *ctx)
{
	struct err e;

	err_set(&e, -ETIMEDOUT, 0, "SERVER_SILENT", "no list of tools within %d s",
		HOSTED_CHECK_MS / 1000);
	check_end(ctx, &e);
}

void hosted_check_begin(struct hosted_check *l,
			void (*done)(void *, const struct hosted_check_result *), void *ctx)
{
	hosted_check_cancel(l);
	l->done = done;
	l->ctx = ctx;
	l->began_ms = clock_mono_ms();
	l->pages = 0;
	l->tools = -1;
	l->latency_ms = 0;
	loop_timer_set(l->loop, &l->deadline, HOSTED_CHECK_MS, hosted_check_on_deadline, l);
	hosted_check_ask(l);
}
