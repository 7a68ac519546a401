/* archive_internal.h - what the files of the archive store share: archive_store.c (what is there), scan.c (what was
 * there at the start), eviction.c (how much may be there) and upload.c. */
#pragma once

#include "archive/archive_store.h"

#include "base/list.h"

#define BUCKETS 256

struct upload;

/* All that is known of one digest. Lives as long as there is a file, a pin or an upload. */
struct stored {
	struct list bucket, lru; /* lru: the least recently used first */
	struct sha256 digest;
	char hex[SHA256_HEX];
	bool whole, baked, has_part;
	uint64_t size, derived,
		part; /* bytes of the files; part: also those still on their way to it */
	struct sha256 derived_digest;
	uint64_t reserved; /* what the upload may grow to */
	uint64_t charged;  /* in store->used */
	uint64_t used_ns;  /* wall clock: so fine that the order of uses is kept */
	unsigned pins;
	struct upload *upload;
};

struct archive_store {
	struct loop *loop;
	char *dir, *baked;
	uint64_t max, upload_max, used;
	unsigned count;
	struct list buckets[BUCKETS], lru;
	struct list uploads; /* upload.link */
	struct loop_timer tidy;
	uint64_t damaged;
	archive_problem_fn problem;
	void *problem_ctx;
};

/* archive_store.c */
struct stored *stored_find(struct archive_store *s, const struct sha256 *d);
struct stored *stored_get(struct archive_store *s,
			  const struct sha256 *d); /* made if it is not there */
/* Call it after a change of e: counts e again, and forgets it if nothing is left. */
void stored_recount(struct archive_store *s, struct stored *e);
void stored_use(struct archive_store *s, struct stored *e);
char *stored_file(const struct archive_store *s, const struct stored *e, const char *suffix);
#define DERIVED_SUFFIX_SIZE (SHA256_HEX + sizeof(".tar")) /* .<hex>.tar and a NUL */
/* Removes the file and what entry says of it; stored_recount follows. */
void stored_remove_whole(struct archive_store *s, struct stored *e);
void stored_remove_derived(struct archive_store *s, struct stored *e);
void stored_remove_part(struct archive_store *s, struct stored *e);

/* scan.c: finds the files that are there; STORE_FAILED. */
int archive_scan(struct archive_store *s, struct err *e);

/* eviction.c: what a file of so many bytes counts as. */
uint64_t eviction_charge(uint64_t bytes);
/* Evicts until the store is below its limit and the file system has room for more bytes; -ENOSPC. keep is not
 * touched. */
int eviction_make_space(struct archive_store *s, const struct stored *keep, uint64_t store_more,
			uint64_t disk_more, struct err *e);
/* Removes old parts, now and then again and again. */
void eviction_tidy(void *store);

/* upload.c: no client sends it. */
bool upload_is_idle(const struct upload *u);
/* Removes it from its entry, which is returned; for others: an idle upload whose part is gone or unwanted. */
struct stored *upload_leave(struct upload *u);
uint64_t upload_offset(const struct upload *u);
void uploads_close(struct archive_store *s);
