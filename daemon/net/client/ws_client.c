/*
 * ws_client.c - the WebSocket client of subcommands, by libwebsockets.
 *
 * libwebsockets waits in its own poll(2). A duplicate of the loop's epoll descriptor is adopted as
 * a raw file, so RAW_RX_FILE dispatches timers and other descriptors. Each writeable callback
 * writes one message, with LWS_PRE bytes in front of it for the frame header. `reported` limits
 * on_closed to one call, and suppresses calls from lws_context_destroy.
 */
#include "net/client/daemon_link.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/log.h"

#include <libwebsockets.h>

struct ws_message {
	struct list link;
	size_t n;
	unsigned char data[]; /* LWS_PRE, then the text */
};

struct ws_client {
	struct loop *loop;
	const struct daemon_link_events *ev;
	void *ctx;
	struct lws_context *context;
	struct lws *wsi;
	char *url, *header; /* header: "Bearer <token>" */
	struct list out;
	struct buf in;
	bool open, closing, reported;
};

static void report_closed(struct ws_client *w, const char *why)
{
	if (w->reported)
		return;
	w->reported = true;
	w->wsi = NULL;
	w->ev->on_closed(w->ctx, w->open, why);
}

const char *daemon_status_text(unsigned status)
{
	static const struct {
		unsigned status;
		const char *text;
	} rows[] = {
		{ 401, "the token is missing or wrong; give the daemon's token by --token-file" },
		{ 403, "this address is not served; serve --allow-host names further ones" },
		{ 404, "there is nothing at this path; is it acpd that listens there?" },
		{ 503, "the daemon is not claimed, or has no room; acpd claim gives it its token" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].status == status)
			return rows[i].text;
	return "no answer that acpd would give; is it acpd that listens there?";
}

/* Prints where, why and what to do. lws gives the status of an answer, or a few words if there was no answer. */
static void report_refused(struct ws_client *w, struct lws *wsi, const char *words)
{
	unsigned status = lws_http_client_http_response(wsi);
	_cleanup_(freep) char *why = NULL;
	int r;

	if (status && status != 101)
		r = asprintf(&why, "%s answered %u: %s", w->url, status,
			     daemon_status_text(status));
	else
		r = asprintf(&why, "no daemon answers on %s: %s", w->url,
			     words ? words : "the connection failed");
	if (r < 0)
		abort();
	report_closed(w, why);
}

static int ws_client_send_next(struct ws_client *w)
{
	struct ws_message *m;
	int r;

	if (list_empty(&w->out))
		return w->closing ? -1 : 0;
	m = list_first(&w->out, struct ws_message, link);
	list_del(&m->link);
	r = lws_write(w->wsi, m->data + LWS_PRE, m->n, LWS_WRITE_TEXT);
	free(m);
	if (!list_empty(&w->out) || w->closing)
		lws_callback_on_writable(w->wsi);
	return r < 0 ? -1 : 0;
}

static int ws_client_receive(struct ws_client *w, const char *data, size_t n)
{
	if (buf_add(&w->in, data, n) < 0)
		return -1;
	if (!lws_is_final_fragment(w->wsi) || lws_remaining_packet_payload(w->wsi))
		return 0;
	w->ev->on_message(w->ctx, buf_slice(&w->in));
	buf_reset(&w->in);
	return 0;
}

static int add_authorization(struct ws_client *w, unsigned char **p, size_t len)
{
	if (!w->header)
		return 0;
	return lws_add_http_header_by_name(
		w->wsi, (const unsigned char *)"Authorization:", (const unsigned char *)w->header,
		(int)strlen(w->header), p, *p + len);
}

static int on_ws_client_event(struct lws *wsi, enum lws_callback_reasons reason,
			      void *user _unused_, void *in, size_t len)
{
	struct ws_client *w = lws_context_user(lws_get_context(wsi));

	switch (reason) {
	case LWS_CALLBACK_RAW_RX_FILE:
		loop_dispatch(w->loop);
		return 0;
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		/* lws_client_connect_via_info has not returned yet. */
		w->wsi = wsi;
		return add_authorization(w, in, len);
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		w->wsi = wsi;
		w->open = true;
		w->ev->on_open(w->ctx);
		return 0;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		return ws_client_receive(w, in, len);
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		return ws_client_send_next(w);
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		report_refused(w, wsi, in);
		return 0;
	case LWS_CALLBACK_CLIENT_CLOSED:
		report_closed(w, w->closing ? "closed" : "the daemon closed the connection");
		return 0;
	default:
		return 0;
	}
}

static const struct lws_protocols protocols[] = {
	{ "acp-client", on_ws_client_event, 0, 64 * KIB, 0, NULL, 64 * MIB },
	{ NULL, NULL, 0, 0, 0, NULL, 0 },
};

static void on_ws_client_lws_log(int level _unused_, const char *line)
{
	log_write(LOG_DEBUG, "lws", line, NULL);
}

/* A daemon has one address for everything, so its HTTP schemes are accepted too. */
static bool known_scheme(const char *scheme, bool *tls)
{
	*tls = strcmp(scheme, "wss") == 0 || strcmp(scheme, "https") == 0;
	return *tls || strcmp(scheme, "ws") == 0 || strcmp(scheme, "http") == 0;
}

static int connect_url(struct ws_client *w, struct err *e)
{
	struct lws_client_connect_info ci = { .context = w->context };
	_cleanup_(freep) char *copy = xstrdup(w->url), *path = NULL, *host = NULL;
	const char *scheme, *address, *rest;
	int port;
	bool tls;

	if (lws_parse_uri(copy, &scheme, &address, &port, &rest) || !*address || port < 1 ||
	    port > 65535 || !known_scheme(scheme, &tls))
		return err_field(e, "url", "OPTION_INVALID",
				 "--url: '%s' is not a ws://, wss://, http:// or https:// URL",
				 w->url);
	rest += *rest == '/'; /* the path that lws gives for a URL without one */
	if (asprintf(&path, "/%s", rest) < 0 || asprintf(&host, "%s:%d", address, port) < 0)
		abort();
	ci.address = address;
	ci.port = port;
	ci.path = strcmp(path, "/") == 0 ? "/acp" : path;
	ci.host = ci.origin = host;
	/* The daemon checks an Origin if there is one, and only browsers have to send it. */
	ci.origin = NULL;
	ci.protocol = NULL;
	ci.local_protocol_name = protocols[0].name;
	ci.ssl_connection = tls ? LCCSCF_USE_SSL : 0;
	w->wsi = lws_client_connect_via_info(&ci);
	if (!w->wsi && !w->reported)
		return err_set(e, -ECONNREFUSED, 0, "UNREACHABLE", "cannot connect to %s", w->url);
	return 0;
}

static int ws_client_open_context(struct ws_client *w, struct err *e)
{
	struct lws_context_creation_info info = { 0 };
	/* A duplicate, because lws closes what it has adopted. */
	lws_sock_file_fd_type fd = { .filefd = (lws_filefd_type)dup(loop_fd(w->loop)) };

	lws_set_log_level(LLL_ERR | LLL_WARN, on_ws_client_lws_log);
	info.port = CONTEXT_PORT_NO_LISTEN;
	info.protocols = protocols;
	info.gid = info.uid = (gid_t)-1;
	info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
	info.user = w;
	info.fd_limit_per_thread = 64;
	info.pt_serv_buf_size = 64 * KIB;
	w->context = lws_create_context(&info);
	if (!w->context || fd.filefd < 0 ||
	    !lws_adopt_descriptor_vhost(lws_get_vhost_by_name(w->context, "default"),
					LWS_ADOPT_RAW_FILE_DESC, fd, protocols[0].name, NULL))
		return err_set(e, -EIO, 0, "UNREACHABLE", "cannot set up a WebSocket client");
	return 0;
}

struct ws_client *ws_client_new(struct loop *loop, const char *url, struct slice token,
				const struct daemon_link_events *ev, void *ctx, struct err *e)
{
	struct ws_client *w = new0(struct ws_client);

	w->loop = loop;
	w->ev = ev;
	w->ctx = ctx;
	w->url = xstrdup(url);
	if (token.n && asprintf(&w->header, "Bearer %.*s", (int)token.n, token.p) < 0)
		abort();
	list_init(&w->out);
	if (ws_client_open_context(w, e) < 0 || connect_url(w, e) < 0)
		return ws_client_free(w);
	return w;
}

void ws_client_send(struct ws_client *w, struct slice text)
{
	struct ws_message *m;

	if (!w->wsi)
		return;
	m = malloc(sizeof(*m) + LWS_PRE + text.n);
	if (!m)
		abort();
	m->n = text.n;
	memcpy(m->data + LWS_PRE, text.p, text.n);
	list_add_tail(&w->out, &m->link);
	lws_callback_on_writable(w->wsi);
}

void ws_client_close(struct ws_client *w)
{
	w->closing = true;
	if (w->wsi && w->open)
		lws_callback_on_writable(w->wsi);
	else
		report_closed(w, "closed");
}

void ws_client_run(struct ws_client *w)
{
	loop_run_deferred(w->loop);
	while (!loop_quitting(w->loop)) {
		if (lws_service(w->context, 0) < 0)
			return;
		loop_run_deferred(w->loop);
	}
}

struct ws_client *ws_client_free(struct ws_client *w)
{
	if (!w)
		return NULL;
	w->reported = true; /* no callbacks into a half-dead owner */
	if (w->context)
		lws_context_destroy(w->context);
	list_drain(m, &w->out, struct ws_message, link) {
		list_del(&m->link);
		free(m);
	}
	buf_done(&w->in);
	/* This header has the token. */
	secret_text_wipe(w->header);
	free_each(w->header, w->url, w);
	return NULL;
}
