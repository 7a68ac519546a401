/* acp_server.c - what all connections share. */
#include "acp/acp_internal.h"

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
	free(srv->default_harness);
	free(srv->workspaces);
	free(srv);
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
	srv->resumed_at = at;
	srv->resumed_gap = gap_ms;
	list_each(c, &srv->conns, struct acp_conn, link)
		if (c->phase & CONN_EITHER)
			conn_tell_resumed(c);
}
