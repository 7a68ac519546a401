/*
 * proxy_server.h - acpd-proxy as the daemon sees it: takes the frames of its socket and has the doors. What the daemon
 * says against the rules of the socket, and the end of the socket, end it.
 */
#pragma once

#include "loop/loop.h"

struct proxy_server;

/* Owns fd. owners: of base/os/sock_owner.h, or negative. The loop is quit once the daemon is gone. */
struct proxy_server *proxy_server_new(struct loop *loop, int fd, int owners);
struct proxy_server *proxy_server_free(struct proxy_server *s);
