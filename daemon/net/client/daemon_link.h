/*
 * daemon_link.h - the client side of a connection to a daemon, for the command line: JSON messages over a UNIX socket
 * (lines) or over a WebSocket (text frames), behind one interface. Content is passed on byte for byte.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "loop/loop.h"

struct daemon_link;

struct daemon_link_events {
	void (*on_open)(void *ctx);
	void (*on_message)(void *ctx, struct slice text);
	/* Once; opened tells whether on_open was called before. why is one line. */
	void (*on_closed)(void *ctx, bool opened, const char *why);
};

struct daemon_link *daemon_link_open_socket(struct loop *loop, const char *path,
					    const struct daemon_link_events *ev, void *ctx,
					    struct err *e);
/* url: ws:// or wss://; token may be empty. */
struct daemon_link *daemon_link_open_url(struct loop *loop, const char *url, struct slice token,
					 const struct daemon_link_events *ev, void *ctx,
					 struct err *e);
void daemon_link_send(struct daemon_link *l, struct slice text);
/* Writes everything that was sent first. on_closed follows. */
void daemon_link_close(struct daemon_link *l);
/* Runs the loop until loop_quit. */
void daemon_link_run(struct daemon_link *l);
struct daemon_link *daemon_link_free(struct daemon_link *l);

/* --- ws_client.c: the connection by libwebsockets, for daemon_link.c, and what its refusals mean --- */
struct ws_client;

struct ws_client *ws_client_new(struct loop *loop, const char *url, struct slice token,
				const struct daemon_link_events *ev, void *ctx, struct err *e);
void ws_client_send(struct ws_client *w, struct slice text);
void ws_client_close(struct ws_client *w);
void ws_client_run(struct ws_client *w);
struct ws_client *ws_client_free(struct ws_client *w);
/* What an HTTP status of a daemon means to the user of the command, and what to do about it; one line. */
const char *daemon_status_text(unsigned status);
