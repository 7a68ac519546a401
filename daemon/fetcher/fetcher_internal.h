/*
 * fetcher_internal.h - the parts of the daemon's end of acpd-fetch: the program's runs (fetch_helper.c), keys
 * (fetch_key.c), requests (fetch_call.c), and the fetcher that has them (fetcher.c).
 *
 * A run is one process and its socket. It is given up when the socket ends, and freed once its process is gone; the
 * next run may begin before. A request belongs to the run that it was opened in.
 */
#pragma once

#include "fetcher/fetcher.h"
#include "fetcher/wire/fetch_channel.h"

struct fetch_run {
	struct list link; /* in runs */
	struct fetcher *fetcher;
	struct proc *proc;
	struct fetch_channel channel;
	uint64_t started_ms;
	uint32_t serial;
	bool ready; /* it has said so */
	bool lost;  /* its socket has ended */
};

struct fetcher {
	struct loop *loop;
	struct proc_host *procs;
	char *program, *user, *agent_user, *ca_file;
	struct fetch_settings settings;
	struct list runs;
	struct fetch_run *run; /* the one that takes requests, or NULL */
	uint32_t serial;
	uint64_t wait_ms, not_before_ms; /* after it died: no run before that time */
	struct list keys;
	unsigned nkeys;
	uint32_t last_key;
	struct fetch *places[FETCHES_MAX]; /* by number, modulo their count */
	uint32_t last_number;
	unsigned nfetches;
	size_t body_bytes;
};

struct fetch_key {
	struct list link;
	struct fetcher *fetcher;
	uint32_t number;
	uint32_t given_to; /* serial of the run that has it; 0: none */
	char *name, *prefix;
	struct locked_text *value;
};

struct fetch {
	struct fetcher *fetcher;
	struct fetch_run *run; /* NULL: it was never sent, or its run is lost */
	uint32_t number;
	const struct fetch_ops *ops;
	void *ctx;
	bool has_head, ended;
	size_t body_n;
	size_t untaken; /* given to the owner, who has not said that it is taken */
	size_t owed;	/* taken, and acpd-fetch does not know it */
	struct loop_task task;
	struct fetch_verdict verdict; /* of the task */
};

/* fetch_helper.c */
/* The run for the next request; NULL with why: there is none, and none can be started now. */
struct fetch_run *fetch_run_get(struct fetcher *f, char why[FETCH_WHY_SIZE]);
void fetch_runs_end(struct fetcher *f);

/* fetch_key.c */
/* Makes sure that the run has it. */
void fetch_key_give(struct fetch_key *k, struct fetch_run *run);

/* fetch_call.c */
/* A frame for one of the requests; <0: it is against the rules. */
int fetch_take_frame(struct fetch_run *run, const struct fetch_frame *f);
/* Ends all requests of a run, from the loop. */
void fetch_end_all(struct fetch_run *run, enum fetch_end how, const char *why);
