/* loopback.h - addresses of 127.0.0.0/8 for listeners that one session is to find, and nobody to guess. */
#pragma once

#include <netinet/in.h>

/* Binds given (-1: a new socket that does not block) to a random address and port of the loopback, and listens if
 * backlog is above 0. given is taken, also by a failure. The descriptor and where it is, or -errno. */
int loopback_bind(int given, int backlog, struct sockaddr_in *at);
