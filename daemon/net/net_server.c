/*
 * net_server.c - the libwebsockets context: its settings, its callback, and the turn of the loop.
 *
 * lws neither accepts nor waits: visitor.c adopts sockets, socket_wait.c decides when lws runs. A
 * nonzero return of the callback closes the connection. Raw sockets are refused, because lws
 * converts CONNECT to one and never times it out. After the socket callbacks of a turn deferred
 * tasks run, then ws_flush_dirty, so output of these tasks is written in the same turn.
 */
#include "net/ws.h"

#include "base/limits.h"
#include "base/log.h"
#include "net/tcp_listen.h"

#define SUBPROTOCOL "acp.v1"

/* The connection is gone. What is streamed is told where that was its client's word. */
static void http_lost(struct peer *p)
{
	if (p->stream && p->stream->ops->left && !visitor_of(p->wsi)->is_cut)
		p->stream->ops->left(p->stream);
	http_closed(p);
}

static int handle(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
		  size_t len)
{
	struct net_server *n = lws_context_user(lws_get_context(wsi));
	struct peer *p = user;

	switch (reason) {
	case LWS_CALLBACK_RAW_ADOPT:
	case LWS_CALLBACK_RAW_CONNECTED:
	case LWS_CALLBACK_RAW_RX:
		return -1; /* lws turns CONNECT into a raw socket by itself, and would keep it for ever */
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return upgrade_check(n, wsi);
	case LWS_CALLBACK_ADD_HEADERS:
		return lws_hdr_total_length(wsi, WSI_TOKEN_UPGRADE) ? upgrade_headers(wsi, in) : 0;
	case LWS_CALLBACK_HTTP:
		/* lws has answered that upgrade itself, see upgrade_check */
		return lws_hdr_total_length(wsi, WSI_TOKEN_UPGRADE) ? -1 : http_serve(n, p, wsi);
	case LWS_CALLBACK_HTTP_BODY:
		return body_receive(p, in, len);
	case LWS_CALLBACK_HTTP_BODY_COMPLETION:
		return body_complete(p);
	case LWS_CALLBACK_HTTP_WRITEABLE:
		return http_writeable(p);
	case LWS_CALLBACK_CLOSED_HTTP:
		if (p)
			http_lost(p);
		return 0;
	case LWS_CALLBACK_ESTABLISHED:
		return ws_established(n, p, wsi);
	case LWS_CALLBACK_RECEIVE:
		return ws_receive(p, in, len);
	case LWS_CALLBACK_RECEIVE_PONG:
		ws_heard(p);
		return 0;
	case LWS_CALLBACK_SERVER_WRITEABLE:
		return ws_writeable(p);
	case LWS_CALLBACK_WSI_DESTROY:
		visitor_leave(n, wsi);
		return 0;
	case LWS_CALLBACK_CLOSED:
		ws_closed(p);
		return 0;
	default:
		return 0;
	}
}

static int on_net_server_event(struct lws *wsi, enum lws_callback_reasons reason, void *user,
			       void *in, size_t len)
{
	int r = handle(wsi, reason, user, in, len);

	socket_wait_called(lws_context_user(lws_get_context(wsi)), reason, r);
	return r;
}

/* The first serves HTTP and clients without a subprotocol; the second clients that offer ours. */
static const struct lws_protocols protocols[] = {
	{ "http", on_net_server_event, sizeof(struct peer), 64 * KIB, 0, NULL,
	  CONN_BATCH_BYTES + 64 },
	{ SUBPROTOCOL, on_net_server_event, sizeof(struct peer), 64 * KIB, 0, NULL,
	  CONN_BATCH_BYTES + 64 },
	{ NULL, NULL, 0, 0, 0, NULL, 0 },
};

static void on_net_server_lws_log(int level, const char *line)
{
	char *text = SHORT_TEXT(512, "%s", line);

	text[strcspn(text, "\n")] = '\0';
	log_write(level & LLL_ERR ? LOG_ERROR : LOG_DEBUG, "lws", text, NULL);
}

static int net_server_open_context(struct net_server *n, const struct net_config *cfg,
				   struct err *e)
{
	struct lws_context_creation_info info = { 0 };

	lws_set_log_level(LLL_ERR | LLL_WARN, on_net_server_lws_log);
	n->ping_ms = 1000 * cfg->ping_interval;
	n->pong_ms = 1000 * cfg->ping_timeout;
	info.port = CONTEXT_PORT_NO_LISTEN_SERVER;
	info.protocols = protocols;
	/* lws changes to these; -1 keeps the daemon's own. */
	info.gid = info.uid = (gid_t)-1;
	info.options = LWS_SERVER_OPTION_VALIDATE_UTF8 | LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
		       LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME;
	info.user = n;
	/* with room for those that are being closed */
	info.fd_limit_per_thread =
		cfg->max_connections + STRANGERS_MAX + KNOWN_MAX + 4 * ACCEPTS_PER_TURN;
	info.pt_serv_buf_size = 64 * KIB;
	info.max_http_header_data = HTTP_HEADERS_MAX;
	info.timeout_secs = HANDSHAKE_SECS;
	info.keepalive_timeout = HTTP_KEEPALIVE_SECS;
	info.retry_and_idle_policy = &n->keepalive;
	info.server_string = "acpd";
	n->context = lws_create_context(&info);
	n->vhost = n->context ? lws_create_vhost(n->context, &info) : NULL;
	if (!n->vhost || socket_wait_open(n) < 0)
		return err_set(e, -ENOMEM, 0, "LISTEN_FAILED", "the server could not be made");
	return 0;
}

static int net_server_open_listener(struct net_server *n, const struct net_config *cfg,
				    struct err *e)
{
	int fd = cfg->listener ? cfg->listener : listen_tcp(cfg->host, cfg->port, e);

	if (fd < 0)
		return fd;
	if (acceptor_open(&n->listener, n->loop, fd, visitor_arrive, n) < 0)
		return err_set(e, -ENOMEM, 0, "LISTEN_FAILED", "the listener could not be watched");
	return 0;
}

struct net_server *net_server_new(struct loop *loop, struct acp_server *acp,
				  struct admission *admission, struct http_context *http,
				  const struct net_config *cfg, struct err *e)
{
	struct net_server *n = new0(struct net_server);

	n->loop = loop;
	n->acp = acp;
	n->admission = admission;
	n->http = http;
	list_init(&n->dirty);
	list_init(&n->unauthenticated_list);
	list_init(&n->authenticated_list);
	list_init(&n->other_list);
	n->max_connections = cfg->max_connections;
	n->batch = xalloc(LWS_PRE + CONN_BATCH_BYTES);
	return net_server_open_context(n, cfg, e) < 0 || net_server_open_listener(n, cfg, e) < 0 ?
		       net_server_free(n) :
		       n;
}

struct net_server *net_server_free(struct net_server *n)
{
	if (!n)
		return NULL;
	acceptor_close(&n->listener);
	if (n->context)
		lws_context_destroy(n->context);
	/* Destroying the context ends the watches of all sockets, which are in this epoll set. */
	socket_wait_close(n);
	free_each(n->batch, n);
	return NULL;
}

void net_server_adopt(void *server, int fd)
{
	visitor_adopt(server, fd, true);
}

int net_server_port(const struct net_server *n)
{
	return listen_port(n->listener.io.fd);
}

int net_server_listener(const struct net_server *n)
{
	return n->listener.io.fd;
}

void net_server_hold(struct net_server *n, bool hold)
{
	acceptor_hold(&n->listener, hold);
	if (hold)
		visitors_reset(n, false);
}

void net_server_drop_local(struct net_server *n)
{
	visitors_reset(n, true);
}

bool net_server_busy(const struct net_server *n)
{
	return n->connections > 0;
}

void net_server_run(struct net_server *n)
{
	loop_run_deferred(n->loop);
	while (!loop_quitting(n->loop)) {
		if (socket_wait_turn(n) < 0)
			return;
		/* tasks that socket callbacks deferred; those of the loop itself ran inside it */
		loop_run_deferred(n->loop);
		ws_flush_dirty(n);
	}
}
