/*
 * spool.h - the events that wait for one receiver, on disk: numbered, in order, until each was accepted or given up.
 *
 * A directory of files of lines (spool_record.h), the newest is appended to. What is added is written once in a turn of the
 * loop, or by spool_flush, and has survived the process then; it is not synced. In memory is where each event stands, not
 * what it says. A file goes once nothing in it or before it waits. Beyond the bounds (bytes on disk, events, age) the oldest
 * are dropped, and the gap grows by them.
 *
 * The gap is one range of numbers that somebody has to be told of: some of them are lost. The others were accepted, or wait.
 *
 * What cannot be written stays in memory, up to a bound, and is tried again; beyond that an event is lost, and in the gap.
 * Opening reads all of it. A torn end is cut off; a line that is none is passed over, and what it was is in the gap.
 *
 * Ownership: events are the spool's. `gone` is called for one that is freed, from within spool_add, spool_expire,
 * spool_done and spool_clear.
 */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "loop/loop.h"
#include "outbox/spool_record.h"

struct spool;

/* An event that waits. */
struct spooled {
	struct list link;   /* all of the spool, the oldest first */
	struct list queued; /* the owner's */
	void *owner;	    /* the owner's */
	uint64_t n, time_ms;
	uint64_t file; /* serial of the one that it stands in */
	off_t at;
	uint32_t size; /* of its line, with newline */
};

struct spool_ops {
	/* A new one, also of those that are read at the opening. */
	void (*added)(void *ctx, struct spooled *x, struct slice session);
	void (*gone)(void *ctx, struct spooled *x);
	/* All that was added is on disk. */
	void (*written)(void *ctx);
};

struct spool_bounds {
	uint64_t bytes, age_ms;
	unsigned events;
};

/* NULL with e: the directory cannot be made or read. ops are called during it. */
struct spool *spool_open(struct loop *loop, const char *dir, const struct spool_bounds *bounds,
			 const struct spool_ops *ops, void *ctx, struct err *e);
/* Writes what is not written, if it can be. The files stay. No op is called. */
struct spool *spool_close(struct spool *s);
/* Drops everything, files too, and closes. */
struct spool *spool_remove(struct spool *s);

void spool_bound(struct spool *s, const struct spool_bounds *bounds);
/* What the head says besides: of which sandbox the events are, and which types (words, separated by commas; "": all). */
void spool_describe(struct spool *s, const char *sandbox, const char *events);
const char *spool_sandbox(const struct spool *s);
const char *spool_events(const struct spool *s);
/* Random, of this spool alone. */
const char *spool_id(const struct spool *s);

/* Its number; line and n of r are not looked at. It may be lost for want of room, and then is part of the gap. */
uint64_t spool_add(struct spool *s, const struct spool_record *r);
/* An event that is not even tried to be kept. */
void spool_lose(struct spool *s);
/* 0 or -errno: it will be tried again. */
int spool_flush(struct spool *s);
/* Drops those that are too old. now: unix ms. */
void spool_expire(struct spool *s, uint64_t now);
/* It was accepted. */
void spool_done(struct spool *s, struct spooled *x);
/* It cannot be read: part of the gap. */
void spool_drop(struct spool *s, struct spooled *x);
/* All that waits goes, into the gap. */
void spool_clear(struct spool *s);
bool spool_is_written(const struct spool *s, const struct spooled *x);
/* What x says, read from its file into b. 0, -EBADMSG or -errno. */
int spool_read(const struct spool *s, const struct spooled *x, struct buf *b,
	       struct spool_record *ret);
/* False: there is none. */
bool spool_gap(const struct spool *s, uint64_t *from, uint64_t *to);
/* Up to that number it was told. */
void spool_gap_told(struct spool *s, uint64_t to);

struct spool_counts {
	unsigned waiting;
	uint64_t bytes, dropped; /* dropped: since the opening */
	size_t damaged;		 /* lines that were none */
	int error;		 /* -errno of the last write; 0: it was written */
};
void spool_count(const struct spool *s, struct spool_counts *ret);
