/*
 * ui_visit.c - one connection of a browser: its request, what goes back, and its end.
 *
 * A connection serves one request, and its states only go forward: UI_VISIT_HEAD, then UI_VISIT_PASS unless we answer ourselves, then UI_VISIT_DONE. A visit that ends is
 * freed from the loop, because the functions that end it are called by its own callbacks.
 */
#include "cli/ui/ui.h"

#include "base/limits.h"
#include "base/os/buf_io.h"

#include <sys/epoll.h>
#include <sys/socket.h>

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
	loop_io_close(v->server->loop, &v->io);
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
	shutdown(v->io.fd, SHUT_WR);
	loop_timer_set(v->server->loop, &v->timer, UI_LINGER_MS, on_visit_time, v);
}

static bool visit_write_out(struct ui_visit *v)
{
	int r = buf_send(&v->out, v->io.fd);

	if (r == 0)
		buf_trim(&v->out, IO_KEEP_BYTES);
	return r == 0 || r == -EAGAIN;
}

/* The daemon is heard as far as the browser listens. */
static void hold_daemon(struct ui_visit *v)
{
	bool pause = buf_len(&v->out) > UI_WINDOW;

	if (!v->up || pause == v->paused)
		return;
	v->paused = pause;
	raw_stream_pause(v->up, pause);
}

void ui_visit_flow(struct ui_visit *v)
{
	uint32_t events = 0;

	if (v->ended)
		return;
	if (!visit_write_out(v)) {
		ui_visit_end(v);
		return;
	}
	hold_daemon(v);
	if (buf_len(&v->out))
		events |= EPOLLOUT;
	else if (v->state == UI_VISIT_DONE)
		linger(v);
	/* The browser is not read while the daemon does not take what it has sent. */
	if (v->state != UI_VISIT_PASS || !ui_daemon_is_full(v))
		events |= EPOLLIN;
	loop_io_set(v->server->loop, &v->io, events);
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

static void read_browser(struct ui_visit *v)
{
	static void (*const take[])(struct ui_visit * v) = {
		[UI_VISIT_HEAD] = visit_take_request,
		[UI_VISIT_PASS] = ui_daemon_more,
		[UI_VISIT_DONE] = drop_rest,
	};
	ssize_t n = buf_receive(&v->in, v->io.fd, RAW_PIECE);

	if (n > 0)
		take[v->state](v);
	else if (n != -EAGAIN)
		ui_visit_end(v);
}

static void on_browser(void *ctx, uint32_t events)
{
	struct ui_visit *v = ctx;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_browser(v);
	ui_visit_flow(v);
}

void ui_visit_begin(struct ui_server *s, int fd, bool crowded)
{
	struct ui_visit *v = new0(struct ui_visit);

	v->server = s;
	v->crowded = crowded;
	v->io = (struct loop_io){ .fd = fd, .fn = on_browser, .ctx = v };
	list_add_tail(&s->visits, &v->link);
	s->nvisits++;
	loop_timer_set(s->loop, &v->timer, UI_HEAD_MS, on_visit_time, v);
	ui_visit_flow(v);
}
