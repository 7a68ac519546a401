/*
 * evlog_internal.h - the insides of an event log, for the evlog*.c files alone: its blocks in memory, its index and its
 * journal's descriptor.
 *
 * Blocks belong to the log and go by evlog_block_free. A descriptor from evlog_journal_get is given back by
 * evlog_journal_put. What fails returns a negative errno; a write that fails is kept and tried again (evlog_fail_for).
 */
#pragma once

#include "base/limits.h"
#include "session/core/log/evlog.h"
#include "session/core/log/journal_record.h"

#define FLUSH_AT (256 * KIB)
#define READ_CHUNK (256 * KIB)

struct log_item {
	uint64_t seq, origin, time_ms;
	uint32_t len;
	uint8_t kind;
};

struct log_block {
	struct list link;
	uint64_t first;
	size_t used, cap;
	char *data; /* own, or memory that the log was given */
	char own[];
};

/* What the memory and the journal hold of e, at that time. */
static inline void evlog_describe(const struct evlog_entry *e, uint64_t time_ms,
				  struct log_item *item, struct journal_record *rec)
{
	*item = (struct log_item){ e->seq, e->origin, time_ms, (uint32_t)e->frame.n, e->kind };
	*rec = (struct journal_record){ .seq = e->seq,
					.origin = e->origin,
					.kind = e->kind,
					.time_ms = time_ms,
					.value = e->frame };
}

static inline size_t item_size(size_t len)
{
	return (sizeof(struct log_item) + len + 7) & ~(size_t)7;
}

/* What was given back to the file system (or what it has lost) reads as zeros, and no line begins with one. */
static inline struct slice evlog_line(struct slice raw)
{
	while (raw.n && !*raw.p) {
		raw.p++;
		raw.n--;
	}
	return raw;
}

/* A log with nothing in it; flags: for opening its journal. */
int evlog_init(struct evlog *l, struct loop *loop, const char *path, size_t journal_max, int flags);
/* Once, when this turn of the loop is over. */
void evlog_flush_later(struct evlog *l);
void evlog_index_add(struct evlog *l, uint64_t seq, off_t offset, bool always);
/* Asks for it; what is noted meanwhile has no bound. */
void evlog_make_room(struct evlog *l, int error);
void evlog_block_free(struct evlog *l, struct log_block *b);
/* A new block, the newest. data: memory of cap bytes, which the log takes; NULL: the block has its own. */
struct log_block *evlog_block_add(struct evlog *l, uint64_t seq, size_t cap, char *data);
/* Whether the journal would be longer than it may be. */
bool evlog_over(const struct evlog *l, const struct journal_record *rec);
/* Drops the oldest blocks beyond the limit of the memory. */
void evlog_tail_trim(struct evlog *l);
/* evlog_large.c: waits for the thread. 0, or -errno: the event has been taken back. */
int evlog_large_wait(struct evlog *l);
/* Where the next record will stand in the journal. */
off_t evlog_end(const struct evlog *l);
/* From now on each turn is refused, until there is room for what there was none for. Returns error. */
int evlog_fail_for(struct evlog *l, int error, size_t need);
