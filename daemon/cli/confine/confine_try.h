/* confine_try.h - the parts of `acpd confine try`: what it found, and the proxy of its command. */
#pragma once

#include "base/err.h"
#include "confine/confinement.h"
#include "confine/watch/refusal.h"
#include "egress/wire/egress_rules.h"
#include "proc/spaces/netns.h"

#include <netinet/in.h>

#define TRY_MISSING_MAX 16

/*
 * --- confine_report.c: what it found, for a human or as one JSON object ---
 *
 *	{level: {requested, achieved, missing: [{what, why}]}, exitCode | signal,
 *	 refused: [{call, detail?, errno, count, why?, rule, harmless?}], more?}
 */
struct try_result {
	enum confine_level level;
	struct {
		const char *what, *why;
	} missing[TRY_MISSING_MAX];
	size_t n_missing;
	bool exited; /* else killed */
	int code;    /* exit code or signal */
	struct refusal *refused;
	size_t n_refused;
	uint64_t more; /* that found no room */
};

/* Something is refused that has to be allowed before the command works as it would without a level. */
bool confine_report_refused(const struct try_result *t);
/* One line. */
void confine_report_json(const struct try_result *t, struct buf *b);
void confine_report_text(const struct try_result *t, struct buf *b);

/* --- try_proxy.c: the proxy of its command (egress/egress.h) --- */

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
