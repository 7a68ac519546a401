/*
 * net_server.h - the TCP side of the daemon: one libwebsockets context with one listener, WebSocket on /acp and plain
 * HTTP elsewhere. The files net/ws*.c and net/lws.h are the only ones that know libwebsockets.
 *
 * Our own loop waits for all: children, timers, UNIX sockets, and the sockets that lws serves (net/socket_wait.h).
 */
#pragma once

#include "acp/acp_server.h"
#include "http/endpoints.h"
#include "net/claim/admission.h"

struct net_config {
	const char *host;		      /* address to listen on */
	int port;			      /* 0: any */
	int listener;			      /* that the program before has left; 0: none */
	unsigned ping_interval, ping_timeout; /* seconds */
	unsigned max_connections;
};

struct net_server;

struct net_server *net_server_new(struct loop *loop, struct acp_server *acp,
				  struct admission *admission, struct http_context *http,
				  const struct net_config *cfg, struct err *e);
struct net_server *net_server_free(struct net_server *n);
int net_server_port(const struct net_server *n);
int net_server_listener(const struct net_server *n);
/* Serves the HTTP client on fd, which it then owns; another listener has accepted it and trusts it. */
void net_server_adopt(void *server, int fd);
/* The machine was away: every TCP client is reset at once, and nobody is let in until hold is false. */
void net_server_hold(struct net_server *n, bool hold);
/* Who came through acp.sock goes, too. */
void net_server_drop_local(struct net_server *n);
/* True if a client is connected, or has a stream open. */
bool net_server_busy(const struct net_server *n);
/* Runs until loop_quit. */
void net_server_run(struct net_server *n);
