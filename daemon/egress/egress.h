/*
 * egress.h - what a session may call by itself, through acpd-proxy: a confined program of its own, one for the daemon.
 *
 * Each session has a door: a listening socket, whose clients speak HTTP proxy to it, and the rules of where they may go
 * (wire/egress_rules.h). The program is started with the first door. If it dies, what passed is lost; the sockets stay
 * ours, so clients wait, and the next run gets all doors again, with the answers that were given.
 *
 * Where the rules say ask, a host that no entry names is asked for once (ask). Its clients wait for egress_answer, but not
 * for ever. A yes opens the host, a no keeps it shut, both until other rules are set. No more than EGRESS_ASKS_MAX
 * questions of one door are open; more hosts are refused.
 *
 * blocked is called for the first refusal of each host of a door, used for bytes that went to a host and came from it,
 * some seconds late and not for the last bytes of a door that is closed. Host texts of blocked come from the sandboxed
 * side: visible ASCII, and perhaps no host at all. There are at most EGRESS_HOSTS_TOLD of each; what is used of others is
 * one sum, of EGRESS_OTHERS.
 *
 * Ownership: whoever opens a door closes it, before the egress is freed. Callbacks come from the loop, never from inside
 * a function called here. Any function may be called from a callback.
 */
#pragma once

#include "base/err.h"
#include "base/limits.h"
#include "egress/wire/egress_frame.h" /* EGRESS_OTHERS, rules, reasons */
#include "loop/loop.h"
#include "proc/proc.h"

struct egress;
struct egress_door;

/* The texts are copied; all of them may be NULL. */
struct egress_config {
	struct loop *loop;
	struct proc_host *procs;
	const char *program; /* NULL: egress_program() */
	const char *
		user; /* as root, who it runs as: --fetch-user; NULL: acpd-proxy, nobody or daemon */
	const char *agent_user; /* who it may not be */
	const char *allow;	/* --upstream-allow; has passed upstream_allow_check */
	const char *resolvers;	/* ADDRESS[:PORT],... instead of those of /etc/resolv.conf */
};

/* Starts nothing. */
struct egress *egress_new(const struct egress_config *cfg);
/* Before the program is started: another list of --upstream-allow. */
void egress_allow(struct egress *x, const char *allow);
/* Ends the program, and waits for it. */
struct egress *egress_free(struct egress *x);
/* NULL: doors can be opened; else why not. Takes NULL: there is no egress. */
const char *egress_missing(const struct egress *x);

struct egress_door_config {
	int fd; /* listens on TCP; is taken, also by a failure */
	bool one_user;
	uid_t uid; /* with one_user, who alone may come: its address is one of our own namespace */
	const struct egress_rules *rules;
};

struct egress_ops {
	void (*blocked)(void *ctx, const char *host, int port, enum egress_reason why);
	/* To be answered by egress_answer, at any time. */
	void (*ask)(void *ctx, const char *host, int port);
	/* host: EGRESS_OTHERS for all beyond those that are told by name. */
	void (*used)(void *ctx, const char *host, uint64_t up, uint64_t down);
};

/* NULL with e: NETWORK_POLICY_UNSUPPORTED, or OUT_OF_DESCRIPTORS. */
struct egress_door *egress_open(struct egress *x, const struct egress_door_config *c,
				const struct egress_ops *ops, void *ctx, struct err *e);
/* What is under way and not allowed any more is closed. Answers are forgotten. */
void egress_set_rules(struct egress_door *d, const struct egress_rules *rules);
/* Of a host that was asked for; else it does nothing. */
void egress_answer(struct egress_door *d, const char *host, bool allow);
/* No callback after it; always NULL. */
struct egress_door *egress_close(struct egress_door *d);

/* Where acpd-proxy is: ACPD_PROXY, or beside our own executable. NULL: not there. The caller frees. */
char *egress_program(void);
/* Who acpd-proxy runs as where the daemon is root. False: it is not there. x may be NULL. */
bool egress_user(const struct egress *x, uid_t *ret);
