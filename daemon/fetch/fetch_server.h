/*
 * fetch_server.h - acpd-fetch as the daemon sees it: takes the frames of its socket, holds keys, runs transfers. What
 * the daemon says against the rules of the socket, and the end of the socket, end it.
 */
#pragma once

#include "loop/loop.h"

struct fetch_server;

/* Owns fd. ca_file may be NULL, and stays the caller's. The loop is quit once the daemon is gone. */
struct fetch_server *fetch_server_new(struct loop *loop, int fd, const char *ca_file);
struct fetch_server *fetch_server_free(struct fetch_server *s);
