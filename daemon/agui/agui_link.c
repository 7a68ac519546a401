/*
 * agui_link.c - the ACP client end of a run: requests, calls to front-end tools, and parking.
 *
 * A call to a front-end tool arrives twice, in either order: as a tool_call and as an MCP request.
 * The first report waits in `announced` or `calls` until tool name and arguments match its
 * counterpart. The thread's file records the end of a call before its result is sent to the
 * session. Without a run a link lives for --mcp-hold at most; then its calls end as TOOL_CALL_LOST.
 * AGUI_PENDING_MAX bounds both lists.
 */
#include "agui/agui_link.h"

#include "agui/agui_run.h"
#include "base/limits.h"
#include "json/jenc.h"
#include "rpc/rpc.h"
#include "session/parts/mcp/mcp_servers.h"

#include <inttypes.h>

/* --- the transport -------------------------------------------------------------------------------------------------- */

static void on_conn_dirty(void *ctx)
{
	struct agui_link *l = ctx;

	if (l->run)
		agui_run_wake(l->run);
}

/* Not inside its own call. */
static void on_link_end(void *ctx)
{
	struct agui_link *l = ctx;

	l->conn = acp_conn_free(l->conn);
	if (l->run)
		agui_run_wake(l->run);
	else
		agui_link_free(l);
}

static void close_link(struct agui_link *l, const char *why)
{
	if (!*l->closed)
		snprintf(l->closed, sizeof(l->closed), "%s", why);
	loop_defer(l->owner->loop, &l->end, on_link_end, l);
}

static void on_conn_close(void *ctx, int code, const char *reason _unused_)
{
	/* The close codes of acp_server.h. */
	close_link(ctx, code == 1008 ? "READER_TOO_SLOW" :
			code == 1001 ? "SHUTTING_DOWN" :
				       "CONNECTION_CLOSED");
}

static void on_link_cut(void *ctx, const char *why)
{
	struct agui_link *l = ctx;

	/* Before the cut, which calls on_close: close_link does not overwrite a reason. */
	snprintf(l->closed, sizeof(l->closed), "TOKEN_OVER");
	if (l->conn)
		acp_conn_cut(l->conn, why);
}

/* --- out ------------------------------------------------------------------------------------------------------------ */

/* To the session, that is: what a client would send. */
static void feed_conn(struct agui_link *l, struct buf *b)
{
	if (l->conn && !*l->closed && !b->failed)
		acp_conn_feed(l->conn, b->data, buf_len(b));
	/* The params of session/new and session/load can contain keys. */
	if (b->data)
		secret_wipe(b->data, b->cap);
}

static void feed_members(struct agui_link *l, const struct jw_member *members)
{
	JW_BUF(w, b);

	jw_object_of(&w, NULL, members);
	feed_conn(l, &b);
}

uint64_t agui_link_ask(struct agui_link *l, const char *method, struct slice params)
{
	feed_members(l, JW_MEMBERS(JW_STR("jsonrpc", "2.0"), JW_UINT("id", ++l->last_id),
				   JW_STR("method", method), JW_RAW("params", params)));
	return l->last_id;
}

void agui_link_answer(struct agui_link *l, uint64_t id, struct slice result)
{
	feed_members(l, JW_MEMBERS(JW_STR("jsonrpc", "2.0"), JW_UINT("id", id),
				   JW_RAW("result", result)));
}

void agui_link_refuse(struct agui_link *l, uint64_t id)
{
	feed_members(l, JW_MEMBERS(JW_STR("jsonrpc", "2.0"), JW_UINT("id", id),
				   JW_OBJ("error", JW_INT("code", RPC_METHOD_NOT_FOUND),
					  JW_STR("message", "Method not found"))));
}

static void send_cancel(struct agui_link *l)
{
	feed_members(l, JW_MEMBERS(JW_STR("jsonrpc", "2.0"), JW_STR("method", "session/cancel"),
				   JW_OBJ("params", JW_STR("sessionId", l->thread->session_id))));
}

/* --- calls to the front end ----------------------------------------------------------------------------------------- */

struct agui_front_call *agui_link_call(struct agui_link *l, const char *id)
{
	list_each(c, &l->calls, struct agui_front_call, link)
		if (strcmp(c->id, id) == 0)
			return c;
	return NULL;
}

/* The one that the harness told of first. */
static void take_announced(struct agui_link *l, struct agui_front_call *c)
{
	/* The oldest of that tool: the two reports of a call have no id in common. */
	list_each(o, &l->announced, struct agui_front_call, link) {
		if (strcmp(o->tool, c->tool) != 0)
			continue;
		c->harness_id = TAKE_PTR(o->harness_id);
		l->nannounced--;
		agui_front_call_free(o);
		return;
	}
}

bool agui_link_add_call(struct agui_link *l, struct agui_front_call *c)
{
	if (l->ncalls == AGUI_PENDING_MAX) {
		agui_front_call_free(c);
		return false;
	}
	take_announced(l, c);
	list_add_tail(&l->calls, &c->link);
	l->ncalls++;
	return true;
}

static void over_told(struct agui_link *l, struct agui_over *o, const char *harness_id)
{
	struct err e;

	xstrset(&o->harness_id, harness_id);
	o->awaited = false;
	/* A file that cannot be written costs this only after a restart, so the run continues. */
	(void)agui_thread_save(l->owner->threads, l->thread, &e);
}

/* The harness tells of it when it has its result. */
static bool note_over(struct agui_link *l, const char *harness_id, const char *tool)
{
	struct agui_over *o = agui_thread_untold(l->thread, tool);

	if (!o)
		return false;
	over_told(l, o, harness_id);
	return true;
}

void agui_link_announce(struct agui_link *l, const char *harness_id, const char *tool)
{
	struct agui_front_call *o;

	list_each(c, &l->calls, struct agui_front_call, link)
		if (!c->harness_id && strcmp(c->tool, tool) == 0) {
			c->harness_id = xstrdup(harness_id);
			return;
		}
	if (note_over(l, harness_id, tool) || l->nannounced == AGUI_PENDING_MAX)
		return;
	o = new0(struct agui_front_call);
	o->harness_id = xstrdup(harness_id);
	o->tool = xstrdup(tool);
	list_add_tail(&l->announced, &o->link);
	l->nannounced++;
}

static struct agui_front_call *find_fitting_call(const struct agui_link *l,
						 const struct agui_said *said)
{
	struct agui_front_call *named = NULL;

	list_each(c, (struct list *)&l->calls, struct agui_front_call, link) {
		enum agui_fit fit = c->harness_id ? FIT_NONE :
						    agui_said_fits(said, c->tool, c->digest);

		/* Wherever it is in the list: a match of the name alone is the second choice. */
		if (fit == FIT_WHOLE)
			return c;
		if (fit == FIT_NAME && !named)
			named = c;
	}
	return named;
}

static struct agui_over *find_over_fit(struct agui_thread *t, const struct agui_said *said)
{
	struct agui_over *named = NULL;

	for (size_t i = 0; i < t->nover; i++) {
		struct agui_over *o = &t->over[i];
		enum agui_fit fit = o->awaited ? agui_said_fits(said, o->tool, o->args) : FIT_NONE;

		if (fit == FIT_WHOLE)
			return o;
		if (fit == FIT_NAME && !named)
			named = o;
	}
	return named;
}

const char *agui_link_match(struct agui_link *l, const char *harness_id,
			    const struct agui_said *said)
{
	struct agui_front_call *c = find_fitting_call(l, said);
	struct agui_over *o = c ? NULL : find_over_fit(l->thread, said);

	if (c)
		c->harness_id = xstrdup(harness_id);
	if (o)
		over_told(l, o, harness_id);
	return c ? c->tool : o ? o->tool : NULL;
}

void agui_link_call_over(struct agui_link *l, struct agui_front_call *c, struct slice result,
			 bool lost)
{
	struct agui_over *o;
	struct err e;

	agui_thread_call_over(l->thread, c->id, lost);
	o = agui_thread_over(l->thread, c->id);
	xstrset(&o->harness_id, c->harness_id);
	xstrset(&o->tool, c->tool);
	o->args = c->digest;
	o->awaited = !c->harness_id;
	/* The file is named after the session: without one there is none. */
	if (l->thread->session_id)
		(void)agui_thread_save(l->owner->threads, l->thread, &e);
	if (result.n)
		agui_link_answer(l, c->rpc_id, result);
	l->ncalls--;
	agui_front_call_free(c);
}

static void on_hold_over(void *ctx)
{
	_cleanup_(buf_done) struct buf lost = { 0 };
	struct agui_link *l = ctx;

	/* The answers need the connection, so the calls end before the link is freed. */
	agui_tools_lost(&lost);
	while (!list_empty(&l->calls))
		agui_link_call_over(l, list_first(&l->calls, struct agui_front_call, link),
				    buf_slice(&lost), true);
	agui_link_free(l);
}

/* --- life ----------------------------------------------------------------------------------------------------------- */

void agui_link_set_tools(struct agui_link *l, struct slice tools)
{
	buf_reset(&l->tools);
	buf_add_slice(&l->tools, tools);
}

void agui_link_adopt(struct agui_link *l, struct agui_run *run)
{
	loop_timer_cancel(&l->hold_over);
	l->thread->parked = NULL;
	l->run = run;
}

void agui_link_leave(struct agui_link *l)
{
	l->run = NULL;
	/* Only open calls need the connection: another run would open its own. */
	if (*l->closed || list_empty(&l->calls) || !l->thread->session_id) {
		agui_link_free(l);
		return;
	}
	l->thread->parked = l;
	loop_timer_set(l->owner->loop, &l->hold_over, store_mcp_hold(l->owner->store) * 1000ul,
		       on_hold_over, l);
}

static void lose_calls(struct agui_link *l)
{
	/* Without answers: the connection ends. */
	while (!list_empty(&l->calls))
		agui_link_call_over(l, list_first(&l->calls, struct agui_front_call, link),
				    SLICE_NONE, true);
	while (!list_empty(&l->announced))
		agui_front_call_free(list_first(&l->announced, struct agui_front_call, link));
}

void agui_link_free(struct agui_link *l)
{
	/* before the connection goes: the thread's file has that they are lost */
	lose_calls(l);
	if (l->thread && l->thread->parked == l)
		l->thread->parked = NULL;
	loop_timer_cancel(&l->hold_over);
	loop_task_cancel(&l->end);
	grant_let_go(&l->hold);
	acp_conn_free(l->conn);
	list_del(&l->link);
	agui_calls_free(&l->told);
	buf_done(&l->tools);
	free(l);
}

void agui_link_stop_turn(struct agui_link *l)
{
	send_cancel(l);
	agui_link_free(l);
}

struct agui_link *agui_link_open(struct agui *a, struct agui_thread *t, const struct grant *g)
{
	static uint64_t last;
	struct agui_link *l = new0(struct agui_link);
	struct acp_transport transport = { on_conn_dirty, on_conn_close, l, l->name, g };

	l->owner = a;
	l->thread = t;
	/* Names are unique as long as the daemon runs: the log has them as connections. */
	snprintf(l->name, sizeof(l->name), "agui-%" PRIu64, ++last);
	l->tools.max = AGUI_BODY_MAX;
	list_init(&l->calls);
	list_init(&l->announced);
	agui_calls_init(&l->told);
	list_add_tail(&a->links, &l->link);
	grant_keep(&l->hold, g, on_link_cut, l);
	l->conn = acp_conn_new(a->acp, &transport, t->harness);
	agui_link_ask(
		l, "initialize",
		SLICE("{\"protocolVersion\":1,\"clientCapabilities\":{\"elicitation\":{\"form\":{}},"
		      "\"session\":{\"notices\":{},\"compaction\":{}},\"plan\":{},\"subagents\":{},"
		      "\"_meta\":{\"acpd\":{}}}}"));
	return l;
}
