/*
 * era_probe.c - the handshake that finds the era of a server: server/discover, initialize, or both.
 *
 * A server of unknown era gets server/discover first. Without an answer in MCP_PROBE_MS it gets
 * initialize, too, and the first success decides. A server that was legacy the last time gets
 * initialize first, because some of them exit at any other message. The connection ends if both
 * fail, or after start_ms.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"
#include "tools/mcp/msg.h"
#include "tools/upstream/upstream.h"
#include "tools/upstream/upstream_legacy.h"

void era_probe_put_discover(struct buf *b)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_obj(&w, "_meta");
	jw_str(&w, MCP_META_VERSION, MCP_MODERN);
	jw_raw(&w, MCP_META_CAPABILITIES, SLICE("{}"));
	jw_self(&w, MCP_META_CLIENT, "acpd", NULL);
	jw_end_obj(&w);
	jw_end_obj(&w);
}

void era_probe_put_initialize(struct buf *b)
{
	struct jw w = JW(b);

	/* each call says what its client can do: a server that asks a client without that gets an error then */
	jw_obj(&w, NULL);
	jw_str(&w, "protocolVersion", MCP_LEGACY);
	jw_raw(&w, "capabilities",
	       SLICE("{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{\"tools\":{}},"
		     "\"roots\":{}}"));
	jw_self(&w, "clientInfo", "acpd", NULL);
	jw_end_obj(&w);
}

static void send_discover(struct upstream *u)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	era_probe_put_discover(&b);
	upstream_rpc_call(&u->rpc, &u->discover, "server/discover", buf_slice(&b));
}

/* Called by the probe timer, too. Sends it at most once in a handshake. */
static void send_initialize(void *ctx)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct upstream *u = ctx;

	loop_timer_cancel(&u->probe_timer);
	if (u->initialize.id || u->initialize_failed)
		return;
	era_probe_put_initialize(&b);
	upstream_rpc_call(&u->rpc, &u->initialize, "initialize", buf_slice(&b));
}

/* Ends the handshake, in whatever state; an answer that is still to come finds no request. */
void era_probe_over(struct upstream *u)
{
	loop_timer_cancel(&u->start_timer);
	loop_timer_cancel(&u->probe_timer);
	upstream_rpc_forget(&u->discover);
	upstream_rpc_forget(&u->initialize);
}

static void went_up(struct upstream *u, bool is_legacy, struct jval server)
{
	_cleanup_(freep) char *name = NULL, *version = NULL;
	struct mcp_server_info info = { .is_legacy = is_legacy };

	era_probe_over(u);
	jstr_decode(jobj_get(server.raw, "name"), MCP_TEXT_MAX, &name);
	jstr_decode(jobj_get(server.raw, "version"), MCP_TEXT_MAX, &version);
	/* Before the event, whose receiver may call, and before the flush. */
	u->state = UPSTREAM_UP;
	/* Remembered over restarts: the next handshake starts with this era. */
	u->legacy_first = is_legacy;
	info.revision = u->revision;
	info.name = name ? name : "";
	info.version = version ? version : "";
	info.latency_ms = (unsigned)(clock_mono_ms() - u->started);
	if (u->events->up)
		u->events->up(u->ctx, &info);
	upstream_flush(u);
}

static void era_probe_refuse(struct upstream *u, const char *reason, const char *text)
{
	struct err e;

	err_set(&e, -EPROTO, RPC_INTERNAL_ERROR, reason, "%s", text);
	u->transport->refused(u, &e);
}

/* Both requests failed; the error has the server's answer to the second one. */
static void both_failed(struct upstream *u, struct slice error)
{
	_cleanup_(freep) char *said = NULL;

	jstr_decode_shown(jobj_get(error, "message"), MCP_TEXT_MAX, &said);
	era_probe_refuse(u, "HANDSHAKE_FAILED",
			 SHORT_TEXT(200, "neither server/discover nor initialize succeeded: %s",
				    said ? said : "it answered what no known revision has"));
}

/* A server that answers server/discover may know only revisions after this one. */
static bool speaks_modern(struct slice result)
{
	struct jval list = jobj_get(result, "supportedVersions");

	jarr_each(v, list)
		if (jstr_is(v, MCP_MODERN))
			return true;
	return false;
}

/* A modern server wins, even if initialize is on its way: then its answer is forgotten by
 * went_up(). */
static void era_probe_on_discover(void *ctx, struct slice result, struct slice error)
{
	struct upstream *u = ctx;
	struct jval server;

	if (result.n && speaks_modern(result)) {
		server = jobj_get(jobj_get(result, "_meta").raw, MCP_META_SERVER);
		u->is_legacy = false;
		xstrset(&u->revision, MCP_MODERN);
		went_up(u, false, server);
		return;
	}
	u->discover_failed = true;
	if (u->initialize_failed)
		both_failed(u, error);
	else
		send_initialize(u);
}

static void era_probe_on_initialize(void *ctx, struct slice result, struct slice error)
{
	_cleanup_(freep) char *revision = NULL;
	struct upstream *u = ctx;
	struct legacy *legacy = result.n ? legacy_new(u, result, &revision) : NULL;

	if (legacy) {
		u->legacy = legacy;
		u->is_legacy = true;
		xstrset(&u->revision, revision);
		upstream_rpc_cancel(&u->rpc,
				    &u->discover); /* still open if it was not answered in time */
		/* Before went_up(), which sends the waiting calls: the server expects it first. */
		upstream_rpc_notify(&u->rpc, "notifications/initialized", SLICE("{}"));
		went_up(u, true, jobj_get(legacy_hello(legacy), "serverInfo"));
		return;
	}
	u->initialize_failed = true;
	if (u->discover_failed)
		both_failed(u, error);
	/* A server that was legacy may have been replaced by a modern one. */
	else if (!u->discover.id)
		send_discover(u);
}

static void era_probe_on_start_over(void *ctx)
{
	struct upstream *u = ctx;

	era_probe_refuse(u, "START_TIMEOUT",
			 SHORT_TEXT(100, "no answer to the handshake within %u ms", u->start_ms));
}

void upstream_begin(struct upstream *u)
{
	era_probe_over(u); /* there may be one that made the server exit */
	u->state = UPSTREAM_PROBING;
	u->discover_failed = u->initialize_failed = false;
	u->started = clock_mono_ms();
	loop_timer_set(u->loop, &u->start_timer, u->start_ms, era_probe_on_start_over, u);
	if (u->legacy_first) {
		send_initialize(u);
		return;
	}
	send_discover(u);
	loop_timer_set(u->loop, &u->probe_timer, MCP_PROBE_MS, send_initialize, u);
}

/* At most once for each start, because legacy_first is set then, and only if initialize was
 * not refused before. */
bool upstream_may_retry(struct upstream *u)
{
	if (u->state != UPSTREAM_PROBING || u->legacy_first || u->initialize_failed)
		return false;
	u->legacy_first = true;
	return true;
}

void era_probe_init(struct upstream *u)
{
	u->discover = (struct upstream_rpc_request){ .reply = era_probe_on_discover, .ctx = u };
	u->initialize = (struct upstream_rpc_request){ .reply = era_probe_on_initialize, .ctx = u };
}
