/*
 * upcall.c - MCP requests to the client: which connection has them, when they are sent again, and how they end.
 *
 * A port exists before session/new, load or resume is answered, since a harness lists its tools while it starts. The newest
 * port gets new calls. An older one that is still connected keeps its calls, because its client works on them; it is closed
 * when the last of them ends.
 *
 * A call keeps its requestId. If the connection that has it disconnects, it is unknown whether the client carried it out. The
 * next port gets it once more, with the same id and marked as reissued, only if that is harmless: the caller says that it is
 * repeatable, or both clients store answers by requestId. Otherwise, or if that port disconnects too, the call ends with
 * TOOL_CALL_LOST and an event. A call that no client has had waits --mcp-hold for a port, then ends with NO_DRIVER.
 *
 * Ends that the daemon decides are reported from the loop (UP_ENDING), so upcall_new never calls back.
 */
#include "session/parts/mcp/upcall.h"

#include "base/os/file.h"
#include "base/log.h"
#include "json/json.h"
#include "session/core/session_internal.h"
#include "session/parts/mcp/session_mcp_internal.h"

#define REQUEST_ID_SIZE sizeof("mcp-request:0123456789abcdef0123456789abcdef")

/* UP_QUEUED: no port has it, or none that could send it. UP_ENDING: its end is reported from the loop. */
enum upcall_state { UP_QUEUED, UP_SENT, UP_ENDING };

struct upcall {
	struct list link;
	struct session *session;
	enum upcall_state state;
	char *server, *method, *params;
	char request_id[REQUEST_ID_SIZE];
	const struct upcall_ops *ops;
	void *ctx;
	struct port *port;     /* UP_SENT: who has it */
	unsigned sent;	       /* how often */
	bool repeatable, kept; /* kept: the connection that had it keeps answers */
	const char *reason;    /* UP_ENDING */
	struct loop_timer hold;
	struct loop_task end_task;
};

static void upcall_free(struct upcall *c)
{
	loop_timer_cancel(&c->hold);
	loop_task_cancel(&c->end_task);
	list_del(&c->link);
	mcp_of(c->session)->nupcalls--;
	activity_note(c->session);
	free_each(c->server, c->method, c->params, c);
}

/* --- ends ------------------------------------------------------------------------------------------------- */

static void upcall_end(struct upcall *c, struct slice result, struct slice error)
{
	const struct upcall_ops *ops = c->ops;
	void *ctx = c->ctx;

	upcall_free(c);
	ops->done(ctx, result, error);
}

/* What happened between us and the client, in the words of JSON-RPC: the client's MCP server has said nothing. */
static void put_upcall_error(struct buf *b, const char *reason, const char *text,
			     struct slice outer)
{
	struct jw w = JW(b);

	jw_object(&w, NULL, JW_INT("code", RPC_INTERNAL_ERROR), JW_STR("message", text),
		  JW_OBJ("data", JW_STR("reason", reason),
			 JW_RAW("binding", jobj_get(outer, "code").raw)));
}

#define BINDING_SAID_MAX 1024 /* bytes of the client's message */

/* With the client's own words, which say what is wrong. */
static void put_binding_error(struct buf *b, struct slice error)
{
	_cleanup_(freep) char *said = NULL, *text = NULL;

	if (jstr_decode_shown(jobj_get(error, "message"), BINDING_SAID_MAX, &said) < 0)
		said = xstrdup("it gives no message");
	text = xprintf("the client could not carry out this MCP request: %s", said);
	put_upcall_error(b, "MCP_BINDING_FAILED", text, error);
}

static const struct {
	const char *reason, *text;
} ends[] = {
	{ "NO_DRIVER", "no client that serves this session's tools is connected" },
	{ "TOOL_CALL_LOST",
	  "the client that had this call has disconnected; nobody knows whether it was carried out" },
	{ "MCP_SERVER_UNKNOWN", "the session has no MCP server of this name any more" },
	{ "TOO_MANY_CALLS", "too many MCP calls are open in this session" },
};

/* The owner of the tool may have to check what became of it. */
static void note_upcall_lost(const struct upcall *c)
{
	JW_BUF(w, b);
	struct jval tool = jobj_get(slice_of(c->params), "name");

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "tool_call_lost");
	jw_str(&w, "server", c->server);
	jw_str(&w, "method", c->method);
	if (tool.type == J_STRING && strcmp(c->method, "tools/call") == 0)
		jw_raw(&w, "tool", tool.raw);
	jw_str(&w, "requestId", c->request_id);
	event_note(c->session, EVENT_LIFECYCLE, buf_slice(&b));
}

static void upcall_end_now(void *ctx)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct upcall *c = ctx;

	if (strcmp(c->reason, "TOOL_CALL_LOST") == 0)
		note_upcall_lost(c);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (strcmp(ends[i].reason, c->reason) == 0)
			put_upcall_error(&b, c->reason, ends[i].text, SLICE_NONE);
	upcall_end(c, SLICE_NONE, buf_slice(&b));
}

/* reason: of the table above. */
static void upcall_end_later(struct upcall *c, const char *reason)
{
	loop_timer_cancel(&c->hold);
	c->state = UP_ENDING;
	c->port = NULL;
	c->reason = reason;
	loop_defer(c->session->store->loop, &c->end_task, upcall_end_now, c);
}

static void on_upcall_held_too_long(void *ctx)
{
	struct upcall *c = ctx;

	upcall_end_later(c, c->sent ? "TOOL_CALL_LOST" : "NO_DRIVER");
}

/* --- to a port ---------------------------------------------------------------------------------------------- */

static struct port *newest_port(struct session *s)
{
	return list_empty(&mcp_of(s)->ports) ? NULL :
					       list_entry(mcp_of(s)->ports.prev, struct port, link);
}

static void upcall_hold(struct upcall *c)
{
	c->state = UP_QUEUED;
	c->port = NULL;
	loop_timer_set(c->session->store->loop, &c->hold,
		       c->session->store->terms.mcp_hold * 1000ul, on_upcall_held_too_long, c);
}

static void upcall_hand(struct upcall *c, struct port *p)
{
	loop_timer_cancel(&c->hold);
	c->state = UP_SENT;
	c->port = p;
	c->kept = p->keeps_answers;
	/* First: send writes the call, and one that is sent again is marked by this number. */
	c->sent++;
	if (!p->ops->send(p->ctx, c)) {
		c->sent--;
		upcall_end_later(c, "TOO_MANY_CALLS");
	}
}

/* Once, or a second time where that does no harm. p NULL: the next port is not known yet, and the call
 * waits for it. */
static bool may_send(const struct upcall *c, const struct port *p)
{
	if (!c->sent || (c->sent == 1 && c->repeatable))
		return true;
	return c->sent == 1 && c->kept && (!p || p->keeps_answers);
}

static void upcall_send(struct upcall *c)
{
	struct port *p = newest_port(c->session);

	if (!may_send(c, p))
		upcall_end_later(c, "TOOL_CALL_LOST");
	else if (!p)
		upcall_hold(c);
	else if (!setup_server_id(&c->session->setup, c->server).n)
		upcall_end_later(c, "MCP_SERVER_UNKNOWN");
	else
		upcall_hand(c, p);
}

struct upcall *upcall_new(struct session *s, const struct upcall_spec *spec,
			  const struct upcall_ops *ops, void *ctx)
{
	struct upcall *c = new0(struct upcall);

	c->session = s;
	c->ops = ops;
	c->ctx = ctx;
	c->server = xstrdup(spec->server);
	c->method = xstrdup(spec->method);
	c->params = xstrndup(spec->params.p, spec->params.n);
	c->repeatable = spec->repeatable;
	memcpy(c->request_id, "mcp-request:", 12);
	random_hex(c->request_id + 12, 16);
	list_add_tail(&mcp_of(s)->upcalls, &c->link);
	if (++mcp_of(s)->nupcalls > UPCALLS_MAX)
		upcall_end_later(c, "TOO_MANY_CALLS");
	else
		upcall_send(c);
	activity_note(s);
	return c;
}

void upcall_put(const struct upcall *c, struct buf *params)
{
	struct jw w = JW(params);

	jw_obj(&w, NULL);
	jw_raw(&w, "serverId", setup_server_id(&c->session->setup, c->server));
	jw_str(&w, "requestId", c->request_id);
	jw_str(&w, "method", c->method);
	jw_raw(&w, "params", slice_of(c->params));
	if (c->sent > 1)
		jw_raw(&w, "_meta", SLICE("{\"acpd\":{\"reissued\":true}}"));
	jw_end_obj(&w);
}

/* An old port without calls. */
static void close_if_idle(struct port *p)
{
	if (p == newest_port(p->session))
		return;
	list_each(c, &mcp_of(p->session)->upcalls, struct upcall, link)
		if (c->port == p)
			return;
	list_del(&p->link);
	p->session = NULL;
	p->ops->closed(p->ctx);
}

void upcall_cancel(struct upcall *c)
{
	struct port *p = c->port;

	if (p)
		p->ops->cancel(p->ctx, c);
	upcall_free(c);
	/* This may have been the last call that an old port stayed open for. */
	if (p)
		close_if_idle(p);
}

void upcall_notified(struct upcall *c, const char *method, struct slice params)
{
	c->ops->notify(c->ctx, method, params);
}

/* The inner outcome travels in a successful response; the outer error is the connection's. */
void upcall_answered(struct upcall *c, struct slice result, struct slice error)
{
	struct jval inner = jobj_get(result, "result"), failure = jobj_get(result, "error");
	_cleanup_(buf_done) struct buf b = { 0 };
	struct port *p = c->port;

	/* Before the call ends: its callback may end the port. */
	c->port = NULL;
	close_if_idle(p);
	if (inner.type == J_OBJECT) {
		upcall_end(c, inner.raw, SLICE_NONE);
	} else if (failure.type == J_OBJECT && jobj_get(failure.raw, "code").type == J_NUMBER) {
		upcall_end(c, SLICE_NONE, failure.raw);
	} else {
		if (error.n)
			put_binding_error(&b, error);
		else
			put_upcall_error(&b, "MCP_ANSWER_INVALID",
					 "the client's answer is not an MCP outcome", SLICE_NONE);
		upcall_end(c, SLICE_NONE, buf_slice(&b));
	}
}

/* --- ports ---------------------------------------------------------------------------------------------------- */

void port_attach(struct port *p, struct session *s)
{
	struct port *old = newest_port(s);

	if (p->session)
		list_del(&p->link);
	p->session = s;
	list_add_tail(&mcp_of(s)->ports, &p->link);
	if (old && old != p)
		close_if_idle(old);
	list_each(c, &mcp_of(s)->upcalls, struct upcall, link)
		if (c->state == UP_QUEUED)
			upcall_send(c);
}

void port_detach(struct port *p)
{
	struct session *s = p->session;

	if (!s)
		return;
	/* Off the list first, so that newest_port does not find it again. */
	list_del(&p->link);
	p->session = NULL;
	list_each(c, &mcp_of(s)->upcalls, struct upcall, link)
		if (c->port == p)
			upcall_send(c);
}

struct upcall *port_find(struct port *p, const char *request_id)
{
	if (!p->session)
		return NULL;
	list_each(c, &mcp_of(p->session)->upcalls, struct upcall, link)
		if (c->port == p && strcmp(c->request_id, request_id) == 0)
			return c;
	return NULL;
}

void upcall_ports_drop(struct session *s)
{
	list_drain(p, &mcp_of(s)->ports, struct port, link) {
		list_del(&p->link);
		p->session = NULL;
		p->ops->closed(p->ctx);
	}
}
