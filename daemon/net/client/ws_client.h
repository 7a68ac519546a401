/* ws_client.h - a WebSocket client connection by libwebsockets; used through net/client/daemon_link.h only. */
#pragma once

#include "net/client/daemon_link.h"

struct ws_client;

struct ws_client *ws_client_new(struct loop *loop, const char *url, struct slice token,
				const struct daemon_link_events *ev, void *ctx, struct err *e);
void ws_client_send(struct ws_client *w, struct slice text);
void ws_client_close(struct ws_client *w);
void ws_client_run(struct ws_client *w);
struct ws_client *ws_client_free(struct ws_client *w);
