/*
 * fetcher_internal.h - the parts of the daemon's end of acpd-fetch: keys (fetch_key.c), requests (fetch_call.c), and the fetcher
 * that has them, with the program's runs (fetcher.c).
 *
 * A request belongs to the run (proc/standing.h) that it was opened in.
 */
#pragma once

#include "fetcher/fetcher.h"
#include "proc/standing.h"

struct fetcher {
	struct loop *loop;
	struct standing helper;
	struct fetch_settings settings;
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
	struct standing_run *run; /* NULL: it was never sent, or its run is lost */
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

/* fetch_key.c */
/* Makes sure that the run has it. */
void fetch_key_give(struct fetch_key *k, struct standing_run *run);

/* fetch_call.c */
/* A frame for one of the requests; <0: it is against the rules. */
int fetch_take_frame(void *fetcher, struct standing_run *run, const struct frame *f);
/* Ends all requests of a run, from the loop. */
void fetch_end_all(struct fetcher *f, struct standing_run *run, enum fetch_end how,
		   const char *why);
