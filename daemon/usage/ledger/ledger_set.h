/*
 * ledger_set.h - the files of one usage ledger: <dir>/usage.jsonl, which is written to; beside it the closed ones,
 * usage-<N>.jsonl, where N (19 digits, so that names sort) is the number of the first record in it; and usage.state,
 * further data on them: how far clients have read, and the last record that was removed.
 *
 * The state is a line of JSON of a fixed size, written in place: that needs no room on a disk that is full, and 256
 * bytes are written whole or not.
 */
#pragma once

#include "usage/ledger/ledger_check.h"

#include <sys/types.h>

struct ledger_closed {
	uint64_t first; /* number of its first record */
	off_t size;
	uint64_t ended_ms; /* when its last record was written */
};

struct ledger_set {
	char *dir, *stem; /* <dir>/<stem>.jsonl */
	struct ledger_closed *closed;
	size_t n; /* oldest first */
};

/* path: of the file that is written to. */
void ledger_set_init(struct ledger_set *s, const char *path);
void ledger_set_done(struct ledger_set *s);
/* Reads the directory: what is closed. 0 or -errno. */
int ledger_set_list(struct ledger_set *s);
void ledger_set_add(struct ledger_set *s, const struct ledger_closed *c);
/* Removes the oldest from the list. */
void ledger_set_shift(struct ledger_set *s);
/* The path of the file whose first record this is; 0: the one that is written to. The caller frees. */
char *ledger_set_path(const struct ledger_set *s, uint64_t first);
/* <stem><suffix> in the directory; the caller frees. */
char *ledger_set_beside(const struct ledger_set *s, const char *suffix);

struct ledger_state {
	uint64_t read; /* records up to it were handed to a client, which has asked for what follows */
	uint64_t handed;	      /* up to it they were handed out */
	struct ledger_anchor removed; /* the last record that was removed; n 0: none was */
};

#define LEDGER_STATE_SIZE 256
/* -errno; -EBADMSG: it is no such line. A file of 0 bytes is a state of zeros. */
int ledger_state_load(int fd, struct ledger_state *ret);
int ledger_state_store(int fd, const struct ledger_state *s);
