/*
 * mcp_servers.c - the session's side of mcp_servers.h: calls to the layer that serves MCP servers, and what that layer reads.
 *
 * tools/relay stands above this layer and registers its functions (store_set_mcp_servers). Without it
 * the harness gets the client's list of servers as it is.
 */
#include "session/core/session_internal.h"

#include "json/jenc.h"
#include "session/parts/mcp/session_mcp_internal.h"

void store_set_mcp_servers(struct session_store *st, const struct mcp_servers_ops *ops, void *ctx)
{
	store_mcp_of(st)->ops = ops;
	store_mcp_of(st)->ctx = ctx;
}

void *mcp_servers_handle(const struct session *s)
{
	return mcp_of(s)->handle;
}

void mcp_servers_set_handle(struct session *s, void *own)
{
	mcp_of(s)->handle = own;
}

/* The longest call that the policy allows, at least MCP_CALL_MS, and the time for a human who is asked before it. */
void mcp_servers_set_call_ms(struct session *s, int64_t ms)
{
	mcp_of(s)->call_ms = MAX(ms, (int64_t)MCP_CALL_MS) + MCP_ASK_MS;
}

/* Checked in acp/meta.c: tools/ starts the servers. */
const struct session_parameter mcp_parameter = {
	PARAMETER("mcp", OBJ, "MCP servers besides `mcpServers`, and their policy"),
	.order = { .checked = 70, .stored = 140 },
	.change = SETUP_RESTARTS(2),
};

struct slice mcp_servers_given(const struct session *s)
{
	return slice_of(s->setup.mcp_servers);
}

struct slice session_mcp(const struct session *s)
{
	return slice_of(setup_text(&s->setup, &mcp_parameter));
}

int mcp_servers_place(struct session *s, struct mcp_place *ret, struct err *e)
{
	*ret = (struct mcp_place){ 0 };
	return store_mcp_of(s->store)->ops ?
		       store_mcp_of(s->store)->ops->place(store_mcp_of(s->store)->ctx, s, ret, e) :
		       0;
}

/* What the harness is to be given, to mcp_of(s)->given; no harness may start if it fails. */
static int open_mcp_servers(struct session *s, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	const struct mcp_servers_ops *ops = store_mcp_of(s->store)->ops;
	int r = ops ? ops->open(store_mcp_of(s->store)->ctx, s, &b, e) : 0;

	if (r < 0)
		return r;
	/* A provider that serves nothing gives the harness nothing, not the client's list. */
	free(mcp_of(s)->given);
	mcp_of(s)->given = buf_len(&b) ? xstrndup(b.data, b.len) :
			   ops	       ? NULL :
					 xstrdup(s->setup.mcp_servers);
	return 0;
}

static void close_mcp_servers(struct session *s)
{
	if (store_mcp_of(s->store)->ops)
		store_mcp_of(s->store)->ops->close(store_mcp_of(s->store)->ctx, s);
}

static void forget_mcp_servers(struct session *s)
{
	if (store_mcp_of(s->store)->ops)
		store_mcp_of(s->store)->ops->forget(store_mcp_of(s->store)->ctx, s);
}

unsigned store_mcp_hold(const struct session_store *st)
{
	return st->terms.mcp_hold;
}

char *mcp_servers_named(const struct session *s, const char *said)
{
	const struct mcp_servers_ops *ops = store_mcp_of(s->store)->ops;

	return ops ? ops->named(store_mcp_of(s->store)->ctx, s, said) : NULL;
}

/* Member "mcp": the session's MCP servers, and which of them have reached the harness. Omitted if it has none. */
static void put_mcp_status(struct jw *w, const struct session *s)
{
	if (store_mcp_of(s->store)->ops)
		store_mcp_of(s->store)->ops->put(store_mcp_of(s->store)->ctx, s, w);
}

static void create_mcp(struct session *s)
{
	list_init(&mcp_of(s)->ports);
	list_init(&mcp_of(s)->upcalls);
}

static void free_mcp(struct session *s)
{
	free(mcp_of(s)->given);
}

static bool has_upcalls(const struct session *s)
{
	return mcp_of(s)->nupcalls;
}

static void put_upcalls_work(const struct session *s, struct store_work *ret)
{
	ret->tool_calls += mcp_of(s)->nupcalls;
}

/* Borrowed until the next open_mcp_servers: that is before the next harness. */
static void put_servers(const struct session *s, struct harness_request *r)
{
	r->of.mcp_servers = slice_of(mcp_of(s)->given);
	r->of.mcp_call_ms = mcp_of(s)->call_ms ? mcp_of(s)->call_ms : MCP_CALL_MS;
}

const struct session_part mcp_part = {
	.name = "mcp",
	.size = sizeof(struct session_mcp),
	.parameters = PARAMETERS(&mcp_parameter),
	.create = create_mcp,
	.put_status = put_mcp_status,
	.shut = forget_mcp_servers,
	.drop = upcall_ports_drop,
	.free = free_mcp,
	.stop = forget_mcp_servers,
	.store_size = sizeof(struct store_mcp),
	.holds_harness = has_upcalls,
	.put_work = put_upcalls_work,
	.connect = open_mcp_servers,
	.disconnect = close_mcp_servers,
	.put_request = put_servers,
	.stop_helpers = forget_mcp_servers,
};
