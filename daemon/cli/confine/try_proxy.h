/*
 * try_proxy.h - the proxy of one command (egress/egress.h), as a session behind a wall has it.
 *
 * acpd-proxy needs a loop and somebody who takes what it says; the command line only waits for its command. So both are
 * in a process of their own, which ends with try_proxy_stop, or with us. What was refused it writes into a pipe.
 */
#pragma once

#include "base/err.h"
#include "confine/watch/refusal.h"
#include "egress/wire/egress_rules.h"
#include "proc/netns.h"

#include <netinet/in.h>

struct try_proxy {
	pid_t pid;	       /* 0: there is none */
	int stop, told;	       /* our ends */
	struct sockaddr_in at; /* where it listens */
};

struct try_proxy_config {
	const struct netns *netns;
	const struct egress_rules *rules;
	const char *agent_user; /* who it may not run as */
	const char *allow;	/* --upstream-allow */
};

/* NULL: it can be had; else why not. */
const char *try_proxy_missing(void);
/* 0 or -errno with e. */
int try_proxy_start(struct try_proxy *p, const struct try_proxy_config *c, struct err *e);
/* Adds the hosts that it refused to r, which may be NULL. Harmless without one, and when repeated. */
void try_proxy_stop(struct try_proxy *p, struct refusals *r);
