/*
 * nft_program.h - nft(8), which carries out one transaction and ends: the text is its standard input, and all of it
 * holds or nothing does.
 *
 * nft_run is the ordinary way: from the loop, bounded by proc_stop's ladder. nft_run_now is for the moments when there
 * is no loop, or no time to wait for it; it blocks for some milliseconds, at most NFT_WAIT_MS.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "proc/proc.h"

struct nft_run;

/* Absolute path; NULL: it is not installed. */
const char *nft_program(void);

/* why: NULL, or its first words. From the loop, once; the run is gone after. */
typedef void (*nft_ended_fn)(void *ctx, const char *why);
struct nft_run *nft_run(struct proc_host *procs, const char *program, struct slice text,
			nft_ended_fn ended, void *ctx, struct err *e);
/* Kills it and waits for that: what it was about to do is then done whole, or not at all. Takes NULL. */
struct nft_run *nft_run_end(struct nft_run *r);

/* check: nothing changes, it only says whether it would work. 0 or negative with e. */
int nft_run_now(const char *program, bool check, struct slice text, struct err *e);

/* 1: this kernel has that table of family inet, 0: it has not; else -errno, as where it has no nf_tables or we may not ask.
 * Asks the kernel itself: microseconds. */
int nft_table_there(const char *table);
