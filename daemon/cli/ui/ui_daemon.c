/*
 * ui_daemon.c - the daemon's side of a request: it is dialled, asked, and what it answers is passed on as it comes.
 *
 * The daemon is not trusted to speak HTTP: its head is parsed before any of it is passed on, and nothing that
 * follows the measured end of its body is. A WebSocket is a tunnel
 * after the 101. Each side is read only as far as the other takes it (UI_WINDOW).
 */
#include "cli/ui/ui.h"

#include "base/limits.h"

/* --- to it --------------------------------------------------------------------------------------------------------- */

bool ui_daemon_is_full(const struct ui_visit *v)
{
	return buf_len(&v->in) > UI_WINDOW || (v->up && raw_stream_pending(v->up) > UI_WINDOW);
}

static void visit_send_body(struct ui_visit *v)
{
	struct slice part = buf_slice(&v->in);

	if (!v->is_tunnel && http_body_part(&v->sent, buf_slice(&v->in), &part) < 0) {
		if (v->answered)
			ui_visit_end(v);
		else
			ui_refuse(v, &ui_bad_request, NULL);
		return;
	}
	raw_stream_send(v->up, part);
	buf_reset(&v->in);
	buf_trim(&v->in, IO_KEEP_BYTES);
}

/* A browser says nothing on a WebSocket before that is one. */
void ui_daemon_more(struct ui_visit *v)
{
	if (v->open && (!v->asks_upgrade || v->is_tunnel) && buf_len(&v->in))
		visit_send_body(v);
}

static void on_daemon_open(void *ctx)
{
	struct ui_visit *v = ctx;

	v->open = true;
	/* The head first, then what the browser has sent of the body meanwhile. */
	raw_stream_send(v->up, buf_slice(&v->ask));
	buf_done(&v->ask);
	ui_daemon_more(v);
	ui_visit_flow(v);
}

/* --- from it -------------------------------------------------------------------------------------------------------- */

/* The answer is over, or it will never be: then a browser sees that by its length. */
static void pass_down(struct ui_visit *v, struct slice bytes)
{
	struct slice part = bytes;
	bool whole = v->is_tunnel || http_body_part(&v->got, bytes, &part) == 0;

	buf_add_slice(&v->out, part);
	if (!whole)
		ui_visit_end(v);
	else if (!v->is_tunnel && http_body_has_ended(&v->got))
		ui_visit_finish(v);
	else
		ui_visit_flow(v);
}

static void visit_begin_answer(struct ui_visit *v, const struct http_head *h)
{
	loop_timer_cancel(&v->timer);
	v->answered = true;
	v->is_tunnel = h->status == 101;
	ui_pass_answer(h, v->is_tunnel, &v->out);
}

/* True: the head of the answer was taken off v->head. */
static bool visit_take_head(struct ui_visit *v)
{
	struct http_head h;
	ssize_t n = http_answer_begin(&v->head, v->is_head, &h, &v->got);

	if (n < 0 || (n > 0 && h.status == 101 && !v->asks_upgrade)) {
		ui_refuse(v, &ui_daemon_strange, NULL);
	} else if (n > 0) {
		visit_begin_answer(v, &h);
		buf_consume(&v->head, (size_t)n);
	}
	return v->answered;
}

static void on_daemon_bytes(void *ctx, struct slice bytes)
{
	struct ui_visit *v = ctx;

	if (v->answered) {
		pass_down(v, bytes);
		return;
	}
	buf_add_slice(&v->head, bytes);
	if (!visit_take_head(v))
		return;
	pass_down(v, buf_slice(&v->head));
	buf_done(&v->head);
	if (!v->ended && v->state == UI_VISIT_PASS)
		ui_daemon_more(v);
}

static void on_daemon_drained(void *ctx)
{
	ui_visit_flow(ctx);
}

static void on_daemon_closed(void *ctx, bool opened, const char *why)
{
	struct ui_visit *v = ctx;

	if (v->answered)
		ui_visit_finish(v);
	else
		ui_refuse(v, opened ? &ui_daemon_lost : &ui_daemon_away, opened ? NULL : why);
}

static void on_daemon_silent(void *ctx)
{
	ui_refuse(ctx, &ui_daemon_silent, NULL);
}

void ui_daemon_ask(struct ui_visit *v, const struct http_request_head *h, struct slice path)
{
	static const struct raw_stream_events events = { on_daemon_open, on_daemon_bytes,
							 on_daemon_drained, on_daemon_closed };

	v->state = UI_VISIT_PASS;
	v->asks_upgrade = ui_pass_is_upgrade(h);
	http_body_begin_request(&v->sent, &h->body);
	ui_pass_request(h, path, v->server->target, &v->ask);
	loop_timer_set(v->server->loop, &v->timer, UI_ANSWER_MS, on_daemon_silent, v);
	v->up = raw_client_dial(v->server->daemon, &events, v);
}
