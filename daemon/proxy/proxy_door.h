/*
 * proxy_door.h - the listener of one session: who may come in, which rules hold, what is told to the daemon.
 *
 * A door is told once of each host that it is blocked, asks once for each host, and sums up bytes by host. All of that
 * is bounded: an agent can name as many hosts as it likes.
 *
 * With new rules every connection is judged anew, at once. Connections belong to their door.
 */
#pragma once

#include "egress/wire/host_set.h"
#include "loop/acceptor.h"
#include "proxy/proxy_world.h"

#include <netinet/in.h>

/* What went to and from one host, and was not reported yet. */
struct host_use {
	char *host; /* NULL: all others */
	uint64_t up, down;
};

struct proxy_door {
	struct list link; /* in the server's */
	struct proxy_world *world;
	uint32_t number;
	struct acceptor acceptor;
	struct sockaddr_in at;
	int64_t uid; /* who may come; -1: anybody */
	struct egress_rules *rules;
	struct list conns; /* struct proxy_conn, oldest first */
	unsigned nconns;
	struct host_set told;
	struct list questions;
	unsigned nquestions, nopen;
	struct host_use uses[EGRESS_HOSTS_TOLD + 1]; /* the last: all others */
	unsigned nuses;
	struct loop_timer timer;
	struct loop_task task;
};

/* Owns fd and order's rules. NULL: fd does not listen. */
struct proxy_door *proxy_door_open(struct proxy_world *w, uint32_t number, int fd,
				   struct egress_order *order);
/* Ends all that came through it. It is freed from the loop. */
void proxy_door_shut(struct proxy_door *d);
/* Owns the rules. */
void proxy_door_set_rules(struct proxy_door *d, struct egress_rules *rules);
/* The answer to a question is no. */
void proxy_door_deny(struct proxy_door *d, const char *host, enum egress_reason why);

/* For connections: */

/* EGRESS_FINE: the question is open, and its answer comes by proxy_conn_judge or proxy_conn_refuse. */
enum egress_reason proxy_door_ask(struct proxy_door *d, const char *host, int port);
void proxy_door_blocked(struct proxy_door *d, const char *host, int port, enum egress_reason why);
/* Where bytes to and from this host are counted. */
struct host_use *proxy_door_use(struct proxy_door *d, const char *host);
