/* tcp_listen.h - the TCP listener: bound by us, so that what is wrong can be said, and accepted by us
 * (loop/acceptor.h). */
#pragma once

#include "base/err.h"

/* A listening, non-blocking descriptor. host: an address, or a name; port 0: any. */
int listen_tcp(const char *host, int port, struct err *e);
/* The port of a listening or connected socket; 0 if there is none. */
int listen_port(int fd);
/* For a connection: no delay, and a client that is gone without a word is noticed. */
void listen_tune(int fd);
