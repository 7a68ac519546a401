/*
 * acp_server.c - what all connections share, and the watch over clients that do not read what they asked for.
 *
 * A client may lag far behind as long as it takes something: its events stay in the journal. One that takes nothing is
 * closed with 1008, so that its queue does not grow for ever.
 */
#include "acp/acp_internal.h"

#include "base/clock.h"
#include "base/limits.h"

void acp_server_set(struct acp_server *srv, const struct acp_config *cfg)
{
	xstrset(&srv->default_harness, cfg->default_harness);
	srv->backlog_max = cfg->backlog_max;
}

struct acp_server *acp_server_new(struct loop *loop, struct session_store *store,
				  const struct acp_config *cfg)
{
	struct acp_server *srv = new0(struct acp_server);

	srv->loop = loop;
	srv->store = store;
	srv->harnesses = store_harnesses(store);
	acp_server_set(srv, cfg);
	srv->workspaces = xstrdup(cfg->workspaces);
	list_init(&srv->conns);
	srv->tokens = cfg->tokens;
	srv->life = cfg->life;
	if (srv->life)
		daemon_status_follow(srv);
	return srv;
}

struct acp_server *acp_server_free(struct acp_server *srv)
{
	if (!srv)
		return NULL;
	loop_timer_cancel(&srv->watch_timer);
	buf_done(&srv->status);
	buf_done(&srv->status_brief);
	free_each(srv->default_harness, srv->workspaces, srv);
	return NULL;
}

unsigned acp_server_count(const struct acp_server *srv)
{
	return srv->count;
}

const struct harness_def *acp_server_harness(const struct acp_server *srv, const char *id)
{
	return harness_table_find(srv->harnesses, id ? id : srv->default_harness);
}

void acp_server_resumed(struct acp_server *srv, uint64_t at, uint64_t gap_ms)
{
	/* Stored for connections that initialize later (conn_initialize). */
	srv->resumed_at = at;
	srv->resumed_gap = gap_ms;
	list_each(c, &srv->conns, struct acp_conn, link)
		if (c->phase & CONN_EITHER)
			conn_tell_resumed(c);
}

#define WATCH_MS 1000

/* --- slow readers --------------------------------------------------------------------------------- */

static uint64_t conn_backlog(const struct acp_conn *c)
{
	uint64_t n = c->out_bytes;

	/* Only views in `ready` may have unsent events. */
	list_each(v, (struct list *)&c->ready, struct view, ready_link)
		n += watcher_backlog(&v->w);
	return n;
}

/* True if the reader is to be given up. */
static bool conn_too_slow(struct acp_conn *c, uint64_t backlog)
{
	uint64_t now = clock_mono_ms(), still;

	/* a reader that takes something is not too slow, however much it asked for */
	if (!c->stalled_since || c->sent_bytes != c->sent_seen || backlog < CONN_BACKLOG_SOFT) {
		c->sent_seen = c->sent_bytes;
		c->stalled_since = now;
	}
	still = now - c->stalled_since;
	/* Three limits: much unsent and no progress for a while, the queue in memory, no progress for long. */
	return (backlog > c->srv->backlog_max && still > CONN_LAG_MS) ||
	       c->out_bytes > CONN_QUEUE_MAX || still > CONN_STALL_MS;
}

static void watch_readers(void *ctx)
{
	struct acp_server *srv = ctx;
	bool again = false;

	list_each(c, &srv->conns, struct acp_conn, link) {
		uint64_t backlog = c->phase == CONN_CLOSING ? 0 : conn_backlog(c);

		/* Without unsent output a reader cannot stall: its time starts with the next. */
		if (!backlog) {
			c->stalled_since = 0;
			continue;
		}
		again = true;
		if (conn_too_slow(c, backlog))
			conn_close(c, 1008, "Reader too slow");
	}
	/* Not armed while nothing is unsent: conn_dirty arms it. */
	if (again)
		loop_timer_set(srv->loop, &srv->watch_timer, WATCH_MS, watch_readers, srv);
}

void conn_dirty(struct acp_conn *c)
{
	if (c->phase == CONN_CLOSING)
		return;
	/* All connections share the timer. */
	if (!c->srv->watch_timer.due)
		loop_timer_set(c->srv->loop, &c->srv->watch_timer, WATCH_MS, watch_readers, c->srv);
	c->transport.dirty(c->transport.ctx);
}
