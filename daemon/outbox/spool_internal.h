/* spool_internal.h - what the files of a spool share: spool.c, which keeps it, and spool_load.c, which opens it. */
#pragma once

#include "outbox/spool.h"

#define SPOOL_ID_BYTES 8

struct spool_file {
	uint64_t serial;
	int fd;
	off_t size;
	unsigned waiting; /* events in it that wait */
};

struct spool {
	struct loop *loop;
	char *dir, *sandbox, *events;
	char id[2 * SPOOL_ID_BYTES + 1];
	struct spool_bounds bounds;
	const struct spool_ops *ops;
	void *ctx;
	struct spool_file *files; /* the oldest first; the last is appended to */
	size_t nfiles;
	struct list waiting; /* struct spooled */
	unsigned nwaiting;
	uint64_t next, from, to; /* from, to: the gap; 0: none */
	bool gap_changed, closing;
	struct buf out;
	int error;
	struct loop_task task;
	struct loop_timer again;
	uint64_t dropped;
	size_t damaged;
};

/* spool.c */
struct spooled *spool_take(struct spool *s, const struct spool_record *r, off_t at, uint32_t size);
void spool_release(struct spool *s, struct spooled *x);
void spool_gap_grow(struct spool *s, uint64_t from, uint64_t to);
/* The next file is appended to, its head is to be written. 0 or -errno, and nothing has changed. */
int spool_roll(struct spool *s);
char *spool_path(const struct spool *s, uint64_t serial);

/* spool_load.c */
int spool_load(struct spool *s, struct err *e);
