/*
 * agui_run.c - the stream of one run: pulls frames from its connection when the reader takes more,
 * and releases it at the end.
 *
 * fill() takes at most AGUI_PIECE bytes of frames from acp_conn, which gives a slow front end
 * back-pressure. While `filling` is set, a wake only sets `again`, so fill() is never entered from
 * within itself. AG-UI has no message for Stop, so left() cancels the turn. A stream that the
 * daemon ends cancels nothing.
 */
#include "agui/agui_run.h"

#include "base/limits.h"

/* It says what it has to say when it is asked next. */
void agui_run_wake(struct agui_run *r)
{
	if (r->filling)
		r->again = true;
	else
		http_stream_wake(&r->base);
}

static bool take_frame(void *ctx, struct slice frame)
{
	struct agui_run *r = ctx;

	if (r->stage == STAGE_OVER || !r->budget)
		return false;
	r->budget -= MIN(r->budget, frame.n);
	agui_run_frame(r, frame);
	return true;
}

/* A frame may be large: it counts as what it is, and the next one waits. */
static void pump(struct agui_run *r, size_t room)
{
	struct agui_link *l = r->link;

	r->budget = MIN(room, AGUI_PIECE);
	if (l->conn && !*l->closed && acp_conn_pump(l->conn, take_frame, r))
		r->again = true;
	if (r->stage == STAGE_LIVE)
		agui_run_pause(r);
	if (r->stage != STAGE_OVER && *l->closed)
		agui_run_fail(r, l->closed, "the connection to the session was closed");
}

static void let_go(struct agui_run *r)
{
	if (r->link)
		agui_calls_move(&r->talk.calls, &r->link->told);
	if (r->link)
		agui_link_leave(TAKE_PTR(r->link));
	if (r->thread && r->thread->run == r)
		r->thread->run = NULL;
	/* No session was created: the thread's id is free again. */
	if (r->thread && !r->thread->session_id)
		agui_thread_drop(r->thread);
	r->thread = NULL;
}

static enum http_fill fill(struct http_stream *base, struct buf *out, size_t room)
{
	struct agui_run *r = container_of(base, struct agui_run, base);

	r->filling = true;
	r->again = false;
	if (r->link && r->stage != STAGE_OVER)
		pump(r, room);
	buf_add_slice(out, buf_slice(&r->out));
	buf_reset(&r->out);
	buf_trim(&r->out, CONN_BATCH_BYTES);
	if (r->stage == STAGE_OVER)
		let_go(r);
	r->filling = false;
	if (r->stage == STAGE_OVER)
		return HTTP_FILL_END;
	return r->again || buf_len(out) ? HTTP_FILL_MORE : HTTP_FILL_WAIT;
}

void agui_run_free(struct agui_run *r)
{
	r->filling = true; /* nothing is woken from here on */
	r->stage = STAGE_OVER;
	let_go(r);
	agui_talk_done(&r->talk);
	agui_news_done(&r->news);
	agui_input_done(&r->in);
	if (r->body.data)
		secret_wipe(r->body.data, r->body.cap);
	buf_done(&r->body);
	buf_done(&r->prompt);
	free(r->tracestate);
	buf_done(&r->out);
	r->owner->runs--;
	free(r);
}

static void free_stream(struct http_stream *base)
{
	agui_run_free(container_of(base, struct agui_run, base));
}

/* A client has no other way to stop the agent: abortRun, and CopilotKit's Stop, close the stream. A connection that was
 * closed here (the token is over, the daemon ends) is not its client's word. */
static void left(struct http_stream *base)
{
	struct agui_run *r = container_of(base, struct agui_run, base);

	if (!r->link || *r->link->closed || r->stage != STAGE_LIVE || r->thread->goes_on)
		return;
	r->filling = true; /* nothing is woken from here on */
	r->stage = STAGE_OVER;
	agui_link_stop_turn(TAKE_PTR(r->link));
}

static void tell_started(struct agui_run *r)
{
	struct jw w = agui_event_begin(&r->out, "RUN_STARTED");

	jw_str(&w, "threadId", r->in.thread_id);
	jw_str(&w, "runId", r->in.run_id);
	if (!agui_input_is_old(&r->in))
		jw_str(&w, "protocolVersion", "1.0");
	jw_str(&w, "parentRunId", r->in.parent);
	agui_event_end(&w);
}

void agui_run_begin(struct agui_run *r, const struct grant *g)
{
	struct err e = { 0 };

	r->filling = true; /* the driver asks by itself */
	tell_started(r);
	if (agui_run_start(r, g, &e) < 0)
		agui_run_fail(r, e.reason, e.msg);
	r->filling = false;
}

struct agui_run *agui_run_new(struct agui *a)
{
	static const struct http_stream_ops ops = { fill, free_stream, left };
	struct agui_run *r = new0(struct agui_run);

	r->base.ops = &ops;
	r->owner = a;
	r->body.max = AGUI_BODY_MAX;
	agui_talk_init(&r->talk, &r->out, false, &(struct agui_names){ 0 });
	a->runs++;
	return r;
}
