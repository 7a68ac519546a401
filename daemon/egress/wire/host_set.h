/*
 * host_set.h - hosts that were seen, and hosts that were asked for; on both sides of the socket to acpd-proxy. Pure.
 *
 * A set has at most EGRESS_HOSTS_TOLD of them: whoever makes more of them changes nothing. How many questions there may be is
 * the owner's affair.
 */
#pragma once

#include "base/list.h"
#include "egress/wire/egress_host.h"
#include "egress/wire/egress_reason.h"

struct host_set {
	char **hosts;
	unsigned n;
};

bool host_set_has(const struct host_set *s, const char *host);
/* True: it is new, and in it now. False: it was in it, or there is no room. */
bool host_set_add(struct host_set *s, const char *host);
void host_set_done(struct host_set *s);

struct host_question {
	struct list link;
	char host[EGRESS_HOST_SIZE];
	int port;
	enum egress_reason no; /* EGRESS_FINE: it is open */
};

struct host_questions {
	struct list all; /* oldest first */
	unsigned n, nopen;
};

void host_questions_init(struct host_questions *q);
void host_questions_clear(struct host_questions *q);
/* NULL: that host was not asked for. */
struct host_question *host_questions_find(const struct host_questions *q, const char *host);
/* A new one, which is open. */
void host_questions_add(struct host_questions *q, const char *host, int port);
/* Of one that is open. */
void host_questions_deny(struct host_questions *q, struct host_question *x, enum egress_reason why);
void host_questions_drop(struct host_questions *q, struct host_question *x);
