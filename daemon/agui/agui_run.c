/*
 * agui_run.c - POST /v1/agui/{harness}: checks the head, reads the body, and is then the stream of the reply. The stream pulls
 * frames from the connection of its run when the reader takes more, and releases that at the end.
 *
 * A request that is refused before run_begin gets an HTTP error; later errors are events of the stream. The profile is read
 * for the check only to refuse early; its text can contain keys and is wiped. The grant is referenced while the body arrives:
 * if the token is revoked in that time, the answer is 401. AGUI_RUNS_MAX and AGUI_BODY_MAX bound the memory of runs.
 *
 * run_fill() takes at most AGUI_PIECE bytes of frames from acp_conn, which gives a slow front end
 * back-pressure. While `filling` is set, a wake only sets `again`, so run_fill() is never entered from
 * within itself. AG-UI has no message for Stop, so run_left() cancels the turn. A stream that the
 * daemon ends cancels nothing.
 */
#include "agui/agui_run.h"

#include "base/limits.h"
#include "http/request_parts.h"
#include "json/jstr.h"
#include "session/parts/mcp/mcp_servers.h"

/* --- the stream of a run ---------------------------------------------------------------------------------------------- */

/* It says what it has to say when it is asked next. */
void agui_run_wake(struct agui_run *r)
{
	if (r->filling)
		r->again = true;
	else
		http_stream_wake(&r->base);
}

static bool run_take_frame(void *ctx, struct slice frame)
{
	struct agui_run *r = ctx;

	/* false leaves the frame in the connection, so back-pressure reaches the session. */
	if (r->stage == STAGE_OVER || !r->budget)
		return false;
	r->budget -= MIN(r->budget, frame.n);
	agui_run_frame(r, frame);
	return true;
}

/* A frame may be large: it counts as what it is, and the next one waits. */
static void run_pump(struct agui_run *r, size_t room)
{
	struct agui_link *l = r->link;

	r->budget = MIN(room, AGUI_PIECE);
	if (l->conn && !*l->closed && acp_conn_pump(l->conn, run_take_frame, r))
		r->again = true;
	if (r->stage == STAGE_LIVE)
		agui_run_pause(r);
	if (r->stage != STAGE_OVER && *l->closed)
		agui_run_fail(r, l->closed, "the connection to the session was closed");
}

/* The link outlives the run: it takes the harness's open calls along, for the next run of the thread. */
static void run_let_go(struct agui_run *r)
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

static enum http_fill run_fill(struct http_stream *base, struct buf *out, size_t room)
{
	struct agui_run *r = container_of(base, struct agui_run, base);

	r->filling = true;
	r->again = false;
	if (r->link && r->stage != STAGE_OVER)
		run_pump(r, room);
	/* Also after the end: these are the events that say how the run ended. */
	buf_add_slice(out, buf_slice(&r->out));
	buf_reset(&r->out);
	buf_trim(&r->out, CONN_BATCH_BYTES);
	if (r->stage == STAGE_OVER)
		run_let_go(r);
	r->filling = false;
	if (r->stage == STAGE_OVER)
		return HTTP_FILL_END;
	return r->again || buf_len(out) ? HTTP_FILL_MORE : HTTP_FILL_WAIT;
}

static void free_run(struct agui_run *r)
{
	r->filling = true; /* nothing is woken from here on */
	r->stage = STAGE_OVER;
	run_let_go(r);
	agui_talk_done(&r->talk);
	agui_news_done(&r->news);
	agui_input_done(&r->in);
	secret_buf_done(&r->body);
	buf_done(&r->prompt);
	free(r->tracestate);
	buf_done(&r->out);
	r->owner->runs--;
	free(r);
}

static void run_stream_free(struct http_stream *base)
{
	free_run(container_of(base, struct agui_run, base));
}

/* A client has no other way to stop the agent: abortRun, and CopilotKit's Stop, close the stream. A connection that was
 * closed here (the token is over, the daemon ends) is not its client's word. */
static void run_left(struct http_stream *base)
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
	agui_event(&r->out, "RUN_STARTED", JW_STR("threadId", r->in.thread_id),
		   JW_STR("runId", r->in.run_id),
		   JW_STR("protocolVersion", agui_input_is_old(&r->in) ? NULL : "1.0"),
		   JW_STR("parentRunId", r->in.parent));
}

static void run_begin(struct agui_run *r, const struct grant *g)
{
	struct err e = { 0 };

	r->filling = true; /* the driver asks by itself */
	tell_started(r);
	if (agui_run_start(r, g, &e) < 0)
		agui_run_fail(r, e.reason, e.msg);
	r->filling = false;
}

static struct agui_run *run_new(struct agui *a)
{
	static const struct http_stream_ops ops = { run_fill, run_stream_free, run_left };
	struct agui_run *r = new0(struct agui_run);

	r->base.ops = &ops;
	r->owner = a;
	r->body.max = AGUI_BODY_MAX;
	/* Already here: free_run releases it also if the run never starts. */
	agui_talk_init(&r->talk, &r->out, false, &(struct agui_names){ 0 });
	a->runs++;
	return r;
}

/* --- how other systems find a run again: the trace of its request, and its own id ------------------------ */

static void run_set_trace(struct agui_run *r, struct slice parent, struct slice state)
{
	char text[TRACEPARENT_SIZE];

	if (parent.n >= sizeof(text))
		return;
	snprintf(text, sizeof(text), "%.*s", (int)parent.n, parent.n ? parent.p : "");
	if (trace_parent_set(r->traceparent, text) && state.n > 1) /* "?": too long */
		r->tracestate = xstrndup(state.p, state.n);
}

/* Who sent the request is nearer than who made its body. */
void agui_run_put_trace(const struct agui_run *r, struct jw *w)
{
	struct slice given = jobj_get(r->in.given_props.raw, "_meta").raw;

	if (*r->traceparent) {
		jw_str(w, "traceparent", r->traceparent);
		jw_str(w, "tracestate", r->tracestate);
	} else {
		jw_raw(w, "traceparent", jobj_get(given, "traceparent").raw);
		jw_raw(w, "tracestate", jobj_get(given, "tracestate").raw);
	}
	jw_raw(w, "baggage", jobj_get(given, "baggage").raw);
	jw_str(w, "requestId", r->in.run_id);
}

/* --- which tool calls of the harness are calls to tools of the front end --------------------------------- */

/* Its name, or what it calls itself, has server and tool in it. */
static bool names_front_tool(const struct session *s, struct slice update, char **tool)
{
	struct jval name = jobj_get(update, "name");
	_cleanup_(freep) char *said = NULL, *served = NULL;
	struct slice own;

	if (jstr_decode(name.type == J_STRING ? name : jobj_get(update, "title"), RPC_ID_MAX,
			&said) < 0)
		return false;
	/* mcp_servers_named returns SERVER/TOOL, or NULL. */
	served = mcp_servers_named(s, said);
	own = slice_of(served);
	if (!slice_skip(&own, AGUI_SERVER "/"))
		return false;
	*tool = xstrdup(own.p);
	return true;
}

/* A history has no calls that may still come: its own are found by what is known of them. */
static enum agui_tool_owner owner_by_words(struct agui_run *r, struct slice update,
					   const char *call_id, struct agui_call_owner *ret)
{
	struct slice args = jobj_get(update, "rawInput").raw;
	const char *tool = NULL;

	if (!agui_said_read(update, &ret->said))
		return OWNER_HARNESS;
	if (!r->talk.is_history)
		tool = agui_link_match(r->link, call_id, &ret->said);
	/* Larger arguments would be released at once (agui_call_note). */
	if (!tool && args.n <= AGUI_HELD_ARGS_MAX &&
	    agui_said_may_fit(&ret->said, args, buf_slice(&r->link->tools)))
		return OWNER_UNKNOWN;
	agui_said_done(&ret->said);
	ret->tool = xstrdup(tool);
	return tool ? OWNER_FRONT_END : OWNER_HARNESS;
}

enum agui_tool_owner agui_run_owner_of(void *ctx, struct slice update, const char *call_id,
				       struct agui_call_owner *ret)
{
	struct agui_run *r = ctx;
	struct session *s = store_find(r->owner->store, r->thread->session_id);
	struct agui_over *o = agui_thread_named(r->thread, call_id);

	if (!s || !r->thread->has_front_end)
		return OWNER_HARNESS;
	if (names_front_tool(s, update, &ret->tool)) {
		if (!o && !r->talk.is_history)
			agui_link_announce(r->link, call_id, ret->tool);
	} else if (o && o->tool) {
		ret->tool = xstrdup(o->tool);
	} else {
		return owner_by_words(r, update, call_id, ret);
	}
	ret->id = o ? xstrdup(o->id) : NULL;
	return OWNER_FRONT_END;
}

/* --- the request ---------------------------------------------------------------------------------------------------- */

/* The body of a request, and then its run. */
struct agui_ask {
	struct http_sink base;
	struct agui_run *run; /* NULL: it is the answer's */
	struct grant_hold hold;
	bool over; /* its token is */
	bool too_large;
};

static enum http_take run_request_take(struct http_sink *base, struct slice piece)
{
	struct agui_ask *k = container_of(base, struct agui_ask, base);

	k->too_large = buf_add_slice(&k->run->body, piece) < 0;
	return k->too_large ? HTTP_TAKE_ANSWER : HTTP_TAKE_MORE;
}

static enum http_take run_request_end(struct http_sink *base _unused_)
{
	return HTTP_TAKE_ANSWER;
}

static void run_request_answer(struct http_sink *base, struct http_reply *ret)
{
	struct agui_ask *k = container_of(base, struct agui_ask, base);
	struct err e = { 0 };

	if (k->too_large || k->over) {
		http_reply_error(ret, k->over ? 401 : 413,
				 k->over ? "UNAUTHORIZED" : "BODY_TOO_LARGE",
				 k->over ? "the token is over" : "the body is too large");
		return;
	}
	/* In place: halves of surrogate pairs are repaired. Bytes that are not UTF-8 remain an error. */
	jstr_repair_halves(k->run->body.data + k->run->body.pos, buf_len(&k->run->body));
	if (agui_input_parse(buf_slice(&k->run->body), &k->run->in, &e) < 0) {
		http_reply_err(ret, 400, &e);
		return;
	}
	run_begin(k->run, k->hold.grant);
	ret->content_type = "text/event-stream";
	http_reply_header(ret, "Cache-Control:", "no-cache");
	ret->stream = &TAKE_PTR(k->run)->base;
}

static void run_request_free(struct http_sink *base)
{
	struct agui_ask *k = container_of(base, struct agui_ask, base);

	if (k->run)
		free_run(k->run);
	grant_let_go(&k->hold);
	free(k);
}

static void on_run_request_cut(void *ctx, const char *why _unused_)
{
	struct agui_ask *k = ctx;

	grant_let_go(&k->hold);
	k->over = true;
}

static int check_run_head(const struct agui *a, const struct http_request *rq, const char *harness,
			  struct http_reply *ret)
{
	if (!route_accepts(rq->content_type, "application/json"))
		http_reply_error(ret, 415, "CONTENT_TYPE_UNSUPPORTED",
				 "Content-Type must be application/json");
	else if (!acp_server_harness(a->acp, harness))
		http_reply_error(ret, 404, "HARNESS_UNKNOWN", "there is no such harness");
	else if (a->runs >= AGUI_RUNS_MAX)
		http_reply_error(ret, 503, "TOO_MANY_RUNS", "too many runs are open");
	else
		return 0;
	return -EINVAL;
}

static int check_profile(const struct agui *a, const char *profile, struct http_reply *ret)
{
	_cleanup_(secret_buf_done) struct buf text = { 0 };
	struct err e = { 0 };
	int r = profile ? agui_profile_read(a->profiles, profile, &text, &e) : 0;

	if (r < 0)
		http_reply_err(ret, r == -EINVAL && *e.field ? 404 : 500, &e);
	return r;
}

void agui_ask(void *ctx, const struct http_request *rq, struct slice harness, struct slice profile,
	      struct http_reply *ret)
{
	static const struct http_sink_ops ops = { run_request_take, run_request_end,
						  run_request_end, run_request_answer,
						  run_request_free };
	_cleanup_(freep) char *id = xstrndup(harness.p, harness.n),
			      *name = profile.n ? xstrndup(profile.p, profile.n) : NULL;
	struct agui *a = ctx;
	struct agui_ask *k;

	if (check_run_head(a, rq, id, ret) < 0 || check_profile(a, name, ret) < 0)
		return;
	k = new0(struct agui_ask);
	k->base.ops = &ops;
	/* The run counts against AGUI_RUNS_MAX from here on, while its body arrives. */
	k->run = run_new(a);
	run_set_trace(k->run, rq->traceparent, rq->tracestate);
	/* Without an id until the body has been read (find_run_thread). */
	k->run->thread = agui_thread_add(a->threads, NULL, id, name);
	grant_keep(&k->hold, rq->grant, on_run_request_cut, k);
	ret->sink = &k->base;
}

/* --- what all runs share ---------------------------------------------------------------------------------------------- */

struct agui *agui_new(struct loop *loop, struct session_store *store, struct acp_server *acp,
		      const char *state, const char *profiles)
{
	struct agui *a = new0(struct agui);

	a->loop = loop;
	a->store = store;
	a->acp = acp;
	a->profiles = xstrdup(profiles);
	a->threads = agui_threads_new(state, store);
	list_init(&a->links);
	return a;
}

struct agui *agui_free(struct agui *a)
{
	if (!a)
		return NULL;
	/* Links refer to threads and save them, so they are freed first. */
	while (!list_empty(&a->links))
		agui_link_free(list_first(&a->links, struct agui_link, link));
	agui_threads_free(a->threads);
	free_each(a->profiles, a);
	return NULL;
}
