/* tcp_listen.h - the TCP listener. We bind it ourselves, so that errors can be reported, and accept on it
 * (loop/acceptor.h). */
#pragma once

#include "base/err.h"

/* A listening, non-blocking descriptor. host: an address, or a name; port 0: any. */
int listen_tcp(const char *host, int port, struct err *e);
/* The port of a listening or connected socket; 0 if there is none. */
int listen_port(int fd);
/* For a connection: no delay, and keepalive detects a client that is gone silently. */
void listen_tune(int fd);
