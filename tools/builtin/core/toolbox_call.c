/*
 * toolbox_call.c - the life of one call of a tool, between the loop and the thread that runs it.
 *
 * A thread posts events and never calls back; the eventfd wakes the loop, which delivers them in
 * order. The loop writes `stop`, the thread `ended`: once `ended` is set, only the queued event
 * frees the call. Calls that mostly sleep have a limit of their own, so they do not delay others.
 * Closing waits TOOL_CLOSE_MS for calls to stop. A thread that has not ended by then still uses the
 * box and posts its end, so the box is never freed.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "base/os/threads.h"
#include "json/jdec.h"
#include "tools/builtin/core/toolbox_internal.h"

#include <math.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

/* --- from any thread to the loop -------------------------------------------------------------------------- */

void toolbox_call_post(struct toolbox_call *c, enum event_kind kind, struct buf *text)
{
	struct toolbox *b = c->tool.box;
	struct event *ev = new0(struct event);
	bool first;

	if (kind == EVENT_RESULT || kind == EVENT_ERROR)
		/* Before the event is visible: abandon() must not stop a call that has ended. */
		atomic_store(&c->ended, true);
	ev->call = c;
	ev->kind = kind;
	ev->text = *text;
	*text = (struct buf){ 0 };
	pthread_mutex_lock(&b->lock);
	first = list_empty(&b->events);
	list_add_tail(&b->events, &ev->link);
	pthread_mutex_unlock(&b->lock);
	/* Others are in the list already, so the loop was woken and reads all of them. */
	if (first)
		eventfd_write(b->wake.fd, 1);
}

void toolbox_call_listening(struct toolbox_call *c)
{
	struct buf text = { 0 };

	buf_puts(&text, "{\"notifications\":{}}");
	toolbox_call_post(c, EVENT_LISTENING, &text);
}

void toolbox_call_error(struct toolbox_call *c, int code, const char *reason, const char *message)
{
	struct buf text = { 0 };
	struct jw w = JW(&text);

	jw_object(&w, NULL, JW_INT("code", code), JW_STR("message", message),
		  JW_OBJ("data", JW_STR("reason", reason)));
	toolbox_call_post(c, EVENT_ERROR, &text);
}

static void number_put(struct jw *w, const char *key, double v)
{
	const char *text = SHORT_TEXT(40, "%.17g", v);

	/* JSON has neither NaN nor infinity (RFC 8259, 6). */
	if (isfinite(v))
		jw_raw(w, key, slice_of(text));
}

void tool_progress(struct builtin_call *t, double progress, double total, struct slice message)
{
	struct toolbox_call *c = toolbox_call_of(t);
	struct buf out = { 0 };
	struct jw w = JW(&out);

	if (!c->token.n || atomic_load(&c->stop) == STOP_CLIENT_GONE)
		return;
	jw_obj(&w, NULL);
	jw_raw(&w, "progressToken", c->token);
	number_put(&w, "progress", progress);
	if (total > 0)
		number_put(&w, "total", total);
	if (message.n)
		jw_slice(&w, "message", message);
	jw_end_obj(&w);
	toolbox_call_post(c, EVENT_PROGRESS, &out);
}

bool tool_cancelled(const struct builtin_call *t)
{
	return atomic_load(&container_of(t, const struct toolbox_call, tool)->stop) != STOP_NONE;
}

/* --- their life, on the loop --------------------------------------------------------------------------------- */

/* Reads what the client needs for its model. */
static void take_text_limits(struct toolbox_call *c, struct slice members)
{
	struct jval most = jobj_get(members, "textMax");
	int64_t n = 0;

	c->text_only = jobj_get(members, "textOnly").type == J_TRUE;
	c->text_max = TOOL_SHOW_BYTES;
	if (most.type == J_NUMBER && jdec_int(most, &n) == 0 && n < TOOL_SHOW_BYTES)
		c->text_max = (size_t)MAX(n, TOOL_SHOW_BYTES_MIN);
}

struct mcp_call *toolbox_call_new(struct toolbox *b, struct slice params,
				  const struct mcp_reply_ops *ops, void *ctx)
{
	struct toolbox_call *c = new0(struct toolbox_call);
	struct jval meta;

	c->base = (struct mcp_call){ &b->base, ops, ctx };
	c->tool.box = b;
	c->result_max = -1;
	/* A copy: token and arguments point into it, and the call outlives its caller's params. */
	c->params.max = params.n + 1;
	buf_add_slice(&c->params, params);
	meta = jobj_get(buf_slice(&c->params), "_meta");
	c->token = jobj_get(meta.raw, "progressToken").raw;
	take_text_limits(c, jobj_get(meta.raw, "acpd").raw);
	list_add_tail(&b->calls, &c->link);
	return &c->base;
}

static void *toolbox_call_work(void *arg)
{
	struct toolbox_call *c = arg;
	const struct builtin_tool *t = c->tool.tool;
	struct err e = { 0 };
	JW_BUF(w, out);

	if (!t->result)
		t->work(&c->tool);
	else if (t->result(&c->tool, &w, &e) < 0)
		tool_fail(&c->tool, &e, SLICE_NONE);
	else
		tool_done(&c->tool, buf_slice(&out));
	return NULL;
}

static bool is_threaded(const struct builtin_tool *t)
{
	return t->work || t->result;
}

/* Calls that mostly wait have a limit of their own. */
static unsigned *counter(struct toolbox_call *c)
{
	return c->tool.tool->waits ? &c->tool.box->waiting : &c->tool.box->working;
}

static void toolbox_call_count(struct toolbox_call *c, int by)
{
	if (c->tool.tool && is_threaded(c->tool.tool))
		*counter(c) += (unsigned)by;
}

/* Frees its events on the way to the loop, except its end. */
static void forget_events(struct toolbox_call *c)
{
	struct toolbox *b = c->tool.box;

	pthread_mutex_lock(&b->lock);
	list_each(ev, &b->events, struct event, link)
		if (ev->call == c) {
			list_del(&ev->link);
			buf_done(&ev->text);
			free(ev);
		}
	pthread_mutex_unlock(&b->lock);
}

static void toolbox_call_free(struct toolbox_call *c)
{
	if (c->state == CALL_LISTENING)
		forget_events(c);
	if (c->state == CALL_RUNNING)
		toolbox_call_count(c, -1);
	if (c->threaded)
		/* toolbox_call_work() holds the call until its thread has ended. */
		pthread_join(c->thread, NULL);
	loop_timer_cancel(&c->timer);
	list_del(&c->link);
	buf_done(&c->params);
	free(c);
}

/* Its client is answered although it has not ended: its later result is dropped. */
static void toolbox_call_on_grace_over(void *ctx)
{
	struct toolbox_call *c = ctx;
	struct mcp_call call = c->base;
	_cleanup_(buf_done) struct buf out = { 0 };
	struct err e;

	err_set(&e, -ETIMEDOUT, 0, "TIMEOUT", "the tool did not end in time");
	toolbox_error_put(c, &e, SLICE_NONE, &out);
	c->base.ops = NULL;
	if (call.ops)
		mcp_call_done(&call, buf_slice(&out), SLICE_NONE);
}

static void on_time_over(void *ctx)
{
	struct toolbox_call *c = ctx;

	if (atomic_load(&c->ended))
		return;
	atomic_store(&c->stop, STOP_TIMED_OUT);
	loop_timer_set(c->tool.box->loop, &c->timer, TOOL_STOP_GRACE_MS, toolbox_call_on_grace_over,
		       c);
	if (c->tool.tool->cancel)
		c->tool.tool->cancel(&c->tool, true);
}

static void call_run(struct toolbox_call *c)
{
	const struct builtin_tool *t = c->tool.tool;
	/* Tools on the loop, and those that wait, have limits of their own. */
	int64_t ms = c->time_ms ? c->time_ms : is_threaded(t) && !t->waits ? TOOL_TIME_MS : 0;
	struct err e;

	c->state = CALL_RUNNING;
	toolbox_call_count(c, 1);
	if (ms)
		loop_timer_set(c->tool.box->loop, &c->timer, (uint64_t)ms, on_time_over, c);
	if (!is_threaded(t)) {
		t->start(&c->tool);
		return;
	}
	c->threaded = thread_start_sized(&c->thread, TOOL_STACK_BYTES, toolbox_call_work, c) == 0;
	if (!c->threaded) {
		err_set(&e, -EAGAIN, 0, "BUSY", "no thread can be had for this call");
		tool_fail(&c->tool, &e, SLICE_NONE);
	}
}

static bool may_run(struct toolbox_call *c)
{
	const struct builtin_tool *t = c->tool.tool;

	return !is_threaded(t) || *counter(c) < (t->waits ? TOOL_WAITS_MAX : TOOL_THREADS_MAX);
}

void toolbox_call_start(struct toolbox_call *c)
{
	c->state = CALL_WAITING;
	if (may_run(c))
		call_run(c);
}

/* In the order of their arrival, as far as the limits allow. */
static void start_waiting(struct toolbox *b)
{
	list_each(c, &b->calls, struct toolbox_call, link)
		if (c->state == CALL_WAITING && may_run(c))
			call_run(c);
}

/* Its client is gone. A call whose end is on the way to the loop is freed there. */
static void abandon(struct toolbox_call *c)
{
	c->base.ops = NULL;
	if (c->state == CALL_WAITING || c->state == CALL_LISTENING) {
		toolbox_call_free(c);
		return;
	}
	if (c->state != CALL_RUNNING || atomic_load(&c->ended))
		return;
	atomic_store(&c->stop, STOP_CLIENT_GONE);
	loop_timer_cancel(&c->timer);
	if (c->tool.tool->cancel)
		c->tool.tool->cancel(&c->tool, false);
}

void toolbox_call_cancel(struct mcp_call *base)
{
	abandon(container_of(base, struct toolbox_call, base));
}

static const char *const notifications[] = {
	[EVENT_PROGRESS] = "notifications/progress",
	[EVENT_LISTENING] = "notifications/subscriptions/acknowledged",
};

static void toolbox_event_deliver(struct event *ev)
{
	struct toolbox_call *c = ev->call;
	struct toolbox *b = c->tool.box;
	struct mcp_call call = c->base;
	struct slice text = buf_slice(&ev->text);

	if (ev->kind < EVENT_RESULT) {
		if (call.ops)
			mcp_call_notify(&call, notifications[ev->kind], text);
		return;
	}
	toolbox_call_free(c);
	start_waiting(b);
	if (call.ops && ev->kind == EVENT_RESULT)
		mcp_call_done(&call, text, SLICE_NONE);
	else if (call.ops)
		mcp_call_done(&call, SLICE_NONE, text);
}

/* One at a time, because a receiver may post, or free calls with their events. */
static struct event *toolbox_event_next(struct toolbox *b)
{
	struct event *ev = NULL;

	pthread_mutex_lock(&b->lock);
	if (!list_empty(&b->events)) {
		ev = list_first(&b->events, struct event, link);
		list_del(&ev->link);
	}
	pthread_mutex_unlock(&b->lock);
	return ev;
}

static void toolbox_on_wake(void *ctx, uint32_t events _unused_)
{
	struct toolbox *b = ctx;
	eventfd_t n;
	struct event *ev;

	/* Before the events are removed: a later event then wakes the loop again. */
	eventfd_read(b->wake.fd, &n);
	while ((ev = toolbox_event_next(b))) {
		toolbox_event_deliver(ev);
		buf_done(&ev->text);
		free(ev);
	}
}

int toolbox_calls_open(struct toolbox *b)
{
	list_init(&b->calls);
	list_init(&b->events);
	pthread_mutex_init(&b->lock, NULL);
	b->wake = (struct loop_io){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
				    .fn = toolbox_on_wake,
				    .ctx = b };
	return b->wake.fd < 0 ? -errno : loop_io_set(b->loop, &b->wake, EPOLLIN);
}

bool toolbox_calls_close(struct toolbox *b)
{
	uint64_t until = clock_mono_ms() + TOOL_CLOSE_MS;

	list_each(c, &b->calls, struct toolbox_call, link)
		abandon(c);
	/* threads check stop themselves; a tool on the loop needs a call */
	while (!list_empty(&b->calls) && clock_mono_ms() < until) {
		struct pollfd p = { .fd = loop_fd(b->loop), .events = POLLIN };

		poll(&p, 1, 100);
		loop_dispatch(b->loop);
	}
	loop_io_set(b->loop, &b->wake, 0);
	if (!list_empty(&b->calls))
		return false;
	closep(&b->wake.fd);
	pthread_mutex_destroy(&b->lock);
	return true;
}
