/*
 * ui_visit.c - one connection of a browser: its request, what goes back, and its end.
 *
 * A connection serves one request, and its states only go forward: UI_VISIT_HEAD, then UI_VISIT_PASS unless we answer ourselves, then UI_VISIT_DONE. A visit that ends is
 * freed from the loop, because the functions that end it are called by its own callbacks.
 */
#include "cli/ui/ui.h"

#include "base/limits.h"

static void visit_free(void *ctx)
{
	struct ui_visit *v = ctx;

	list_del(&v->link);
	v->server->nvisits--;
	buf_done(&v->in);
	buf_done(&v->out);
	buf_done(&v->ask);
	buf_done(&v->head);
	free(v);
}

void ui_visit_end(struct ui_visit *v)
{
	if (v->ended)
		return;
	v->ended = true;
	loop_timer_cancel(&v->timer);
	raw_stream_drop(TAKE_PTR(v->browser));
	/* The daemon sees that nobody waits for its answer any more. */
	raw_stream_drop(TAKE_PTR(v->up));
	loop_defer(v->server->loop, &v->dead, visit_free, v);
}

static void on_visit_time(void *ctx)
{
	ui_visit_end(ctx);
}

void ui_visit_finish(struct ui_visit *v)
{
	v->state = UI_VISIT_DONE;
	raw_stream_drop(TAKE_PTR(v->up));
	buf_reset(&v->in);
	loop_timer_cancel(&v->timer);
	ui_visit_flow(v);
}

/* A browser that still sends would lose the answer if we closed at once. */
static void linger(struct ui_visit *v)
{
	/* Lingering already: the timer was cancelled when the answer was complete. */
	if (v->timer.due)
		return;
	raw_stream_shut(v->browser);
	loop_timer_set(v->server->loop, &v->timer, UI_LINGER_MS, on_visit_time, v);
}

void ui_visit_flow(struct ui_visit *v)
{
	if (v->ended)
		return;
	raw_stream_send(v->browser, buf_slice(&v->out));
	buf_reset(&v->out);
	/* Each side is read only as far as the other takes it. */
	if (v->up)
		raw_stream_pause(v->up, raw_stream_pending(v->browser) > UI_WINDOW);
	raw_stream_pause(v->browser, v->state == UI_VISIT_PASS && ui_daemon_is_full(v));
	if (v->state == UI_VISIT_DONE && !raw_stream_pending(v->browser))
		linger(v);
}

static void visit_take_request(struct ui_visit *v)
{
	const struct ui_refusal *why;
	struct http_request_head h;
	struct slice path;
	ssize_t n = http_request_parse(buf_slice(&v->in), UI_HEAD_MAX, &h);

	if (n == 0)
		return;
	if (n < 0) {
		ui_refuse(v, &ui_bad_request, NULL);
		return;
	}
	loop_timer_cancel(&v->timer);
	v->is_head = slice_is(h.method, "HEAD");
	/* A crowded visit is refused here, as the answer to its request. */
	why = v->crowded ? &ui_crowded : ui_admit(v->server, &h, &path);
	if (why) {
		ui_refuse(v, why, NULL);
	} else if (ui_is_own(path)) {
		ui_answer_own(v, &h, path);
	} else {
		ui_daemon_ask(v, &h, path);
		buf_consume(&v->in, (size_t)n);
		ui_daemon_more(v);
	}
}

static void drop_rest(struct ui_visit *v)
{
	buf_reset(&v->in);
}

static void on_browser_bytes(void *ctx, struct slice bytes)
{
	static void (*const take[])(struct ui_visit * v) = {
		[UI_VISIT_HEAD] = visit_take_request,
		[UI_VISIT_PASS] = ui_daemon_more,
		[UI_VISIT_DONE] = drop_rest,
	};
	struct ui_visit *v = ctx;

	buf_add_slice(&v->in, bytes);
	take[v->state](v);
	ui_visit_flow(v);
}

static void on_browser_drained(void *ctx)
{
	ui_visit_flow(ctx);
}

static void on_browser_closed(void *ctx, bool opened _unused_, const char *why _unused_)
{
	ui_visit_end(ctx);
}

void ui_visit_begin(struct ui_server *s, int fd, bool crowded)
{
	static const struct raw_stream_events events = { NULL, on_browser_bytes, on_browser_drained,
							 on_browser_closed };
	struct ui_visit *v = new0(struct ui_visit);

	v->server = s;
	v->crowded = crowded;
	v->browser = raw_stream_adopt(s->loop, fd, &events, v);
	list_add_tail(&s->visits, &v->link);
	s->nvisits++;
	loop_timer_set(s->loop, &v->timer, UI_HEAD_MS, on_visit_time, v);
}
