/* ws_client.h - a WebSocket client connection by libwebsockets; used through net/client/daemon_link.h only. */
#pragma once

#include "net/client/daemon_link.h"

struct wsclient;

struct wsclient *wsclient_new(struct loop *loop, const char *url, struct slice token,
			      const struct link_events *ev, void *ctx, struct err *e);
void wsclient_send(struct wsclient *w, struct slice text);
void wsclient_close(struct wsclient *w);
void wsclient_run(struct wsclient *w);
struct wsclient *wsclient_free(struct wsclient *w);
