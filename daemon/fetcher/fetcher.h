/*
 * fetcher.h - the daemon's outward HTTP(S) requests, made by acpd-fetch, a confined program of its own.
 *
 * The program is started at the first request and ends with the fetcher. All requests share one socket to it. If it
 * dies, every open request ends with FETCH_GONE, and the next one starts it anew; one that dies again and again is
 * started less and less often, and requests meanwhile end with FETCH_UNAVAILABLE.
 *
 * A secret header is a fetch_key. Its value is in locked memory, here and there, and is wiped when it is dropped. The
 * program gets it with the first request that needs it.
 *
 * Which addresses may be called is decided in the program, for each address that it is about to connect to
 * (base/net/address_rules.h).
 *
 * Ownership: whoever opens a fetch closes it, before the fetcher is freed, and the same holds for keys. A key may be
 * freed while a fetch with it is open. Callbacks come from the loop, never from inside a function called here: head
 * once, data any number of times, end once and last. Any function may be called from a callback, fetch_close too.
 */
#pragma once

#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"
#include "fetcher/wire/fetch_frame.h" /* enum fetch_end */
#include "loop/loop.h"
#include "proc/proc.h"

struct jw;
struct fetcher;
struct fetch;
struct fetch_key;
struct locked_text;

/* The texts are copied; all of them may be NULL. */
struct fetcher_config {
	struct loop *loop;
	struct proc_host *procs;
	const char *program;	/* NULL: fetcher_program() */
	const char *user;	/* as root, who it runs as: fetcher_user() */
	const char *agent_user; /* who it may not be */
	const char *ca_file;	/* PEM; NULL: the system's */
	const char *http_proxy, *https_proxy,
		*no_proxy;  /* as the variables of these names say it */
	const char *allow;  /* --upstream-allow; has passed upstream_allow_check */
	bool unlocked_keys; /* --unlocked-keys */
};

/* Starts nothing. */
struct fetcher *fetcher_new(const struct fetcher_config *cfg);
/* Before the program is started: another list of --upstream-allow. */
void fetcher_allow(struct fetcher *f, const char *allow);
/* Ends the program, and waits for it. */
struct fetcher *fetcher_free(struct fetcher *f);

/* The connections of all that is open are dead: each request fails now, and not when it has been silent for long. */
void fetcher_break_off(struct fetcher *f);

/* A header with a secret, e.g. name "authorization", prefix "Bearer ". The key is one owner more of the value. NULL with e:
 * it is no header. */
struct fetch_key *fetch_key_new(struct fetcher *f, const char *name, const char *prefix,
				struct locked_text *value, struct err *e);
struct fetch_key *fetch_key_free(struct fetch_key *k);

struct fetch_request {
	const char *method, *url;
	struct slice headers; /* raw JSON object of strings, or empty; sent as they are */
	struct slice body;    /* copied */
	const struct fetch_key *key;
	bool named; /* an operator or a client wrote the host, so a literal one may be private */
	unsigned idle_ms;
};

struct fetch_ops {
	/* headers: raw JSON object of strings, names in lower case. */
	void (*head)(void *ctx, int status, struct slice headers);
	void (*data)(void *ctx, struct slice bytes);
	/* why: one sentence; "" for FETCH_COMPLETE. */
	void (*end)(void *ctx, enum fetch_end how, const char *why);
};

/* The header retry-after of an answer, in ms and at most max_ms; 0: there is none. Seconds alone: a date is not looked at. */
uint64_t fetch_retry_after(struct slice headers, uint64_t max_ms);

/* NULL with e for what is wrong at once: a member that is no such thing or too large, too many requests. */
struct fetch *fetch_open(struct fetcher *f, const struct fetch_request *r,
			 const struct fetch_ops *ops, void *ctx, struct err *e);
/* So many bytes of the answer have been taken. At most FETCH_WINDOW come without it. */
void fetch_taken(struct fetch *x, size_t n);
/* No callback after it; always NULL. Cancels the transfer at once. */
struct fetch *fetch_close(struct fetch *x);

/* How keys are kept: "locked"; "unlocked" where the machine locks no memory and --unlocked-keys allows that; "refused". */
const char *fetcher_key_memory(const struct fetcher *f);
/* -EPERM with e, MEMORY_LOCK_REFUSED: no request that has a key can be made. */
int fetcher_check_keys(const struct fetcher *f, const char *field, struct err *e);

/* Where acpd-fetch is: ACPD_FETCH, or beside our own executable. NULL: not there. The caller frees. */
char *fetcher_program(void);
/* A member of w: whether requests can be made, and how. {program?, missing?, user?, caFile?, proxy, allowed?,
 * keyMemory, keyMemoryWhy?} */
void fetcher_put_status(const struct fetcher *f, struct jw *w, const char *key);
/* -EINVAL with e: it cannot be read, or has no certificate. */
int fetcher_ca_check(const char *path, struct err *e);
/* The system's file of trusted certificates; NULL: there is none. The caller frees. */
char *fetcher_ca_file(void);
/* Who it runs as where the daemon is root: who was asked for, else the first of acpd-fetch, nobody and daemon that is
 * there and not the agent's. -EINVAL with e: that user is not there, is root, or the agent's. */
int fetcher_user(const char *asked, const char *agent_user, uid_t *uid, gid_t *gid, struct err *e);
