/* daemon_status.c - the pushed _acpd/status: one frame for all clients (and one for those whose token is
 * limited to some sessions), and of each connection one bit. */
#include "acp/acp_internal.h"

static void put_status(struct acp_server *srv, struct buf *frame,
		       void (*put)(const struct lifecycle *l, struct jw *w))
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "incarnation", store_incarnation(srv->store));
	put(srv->life, &w);
	jw_end_obj(&w);
	buf_reset(frame);
	rpc_put_notification(frame, "_acpd/status", buf_slice(&b));
}

static void on_told(void *ctx)
{
	struct acp_server *srv = ctx;

	put_status(srv, &srv->status, lifecycle_put);
	put_status(srv, &srv->status_brief, lifecycle_put_brief);
	list_each(c, &srv->conns, struct acp_conn, link) {
		if (c->phase != CONN_READY || !(c->client & CLIENT_ACPD))
			continue;
		c->status_due = true;
		conn_dirty(c);
	}
}

void daemon_status_follow(struct acp_server *srv)
{
	lifecycle_follow(srv->life, on_told, srv);
}
