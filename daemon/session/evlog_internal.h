/* evlog_internal.h - the insides of an event log, for evlog.c and evlog_write.c. */
#pragma once

#include "base/limits.h"
#include "session/evlog.h"

#define FLUSH_AT (256 * KIB)

struct item {
	uint64_t seq, origin, time_ms;
	uint32_t len;
	uint8_t kind;
};

struct block {
	struct list link;
	uint64_t first;
	size_t used, cap;
	char data[];
};

static inline size_t item_size(size_t len)
{
	return (sizeof(struct item) + len + 7) & ~(size_t)7;
}

/* The journal's descriptor, opened if it is not. */
int evlog_journal_get(struct evlog *l, int flags);
void evlog_journal_put(struct evlog *l);
void evlog_block_free(struct evlog *l, struct block *b);
/* From now on each turn is refused, until there is room for what there was none for. Returns error. */
int evlog_fail_for(struct evlog *l, int error, size_t need);
