/*
 * index.h - the kinds of files that record a tree: the index (the state at the last snapshot), turn-N (the changes of
 * turn N: for each path its entry before and after), and lists of what a delivery wrote and removed (delivered.c). They
 * hold no contents: an entry has the place of its content in the pack.
 *
 * Files are written into a descriptor that is empty, the header last; the caller renames.
 *
 * Functions return 0 or a negative errno, where nothing else is said.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "digest/digest.h"

enum index_entry_type { INDEX_NONE, INDEX_FILE, INDEX_LINK, INDEX_OMITTED };

/* Why something is not in a snapshot, or not in a patch. */
enum omit_reason {
	OMIT_NOT,
	OMIT_TOO_LARGE,
	OMIT_STORE_FULL,
	OMIT_UNREADABLE,
	OMIT_CHANGING,
	OMIT_FIFO,
	OMIT_SOCKET,
	OMIT_DEVICE,
	OMIT_NAME_RESERVED,
	OMIT_PATH_TOO_LONG,
	OMIT_PATH_TOO_DEEP,
	OMIT_OTHER_FILE_SYSTEM,
	OMIT_PATCH_TOO_LARGE,
	OMIT_IGNORED, /* in no index */
	OMIT_N,
};

struct index_entry {
	enum index_entry_type type;
	enum omit_reason reason; /* of INDEX_OMITTED */
	bool proven;		 /* with the same stat data the file need not be read */
	uint32_t mode;		 /* st_mode */
	uint64_t size, ino;
	int64_t mtime, ctime; /* ns */
	uint64_t at; /* in the pack; only if size is not 0. INDEX_DELIVERED: it and packed may be 0 */
	uint64_t packed;
	struct sha256 digest;
};

/* True if both are the same for a diff: type, contents, executable bit. */
bool index_entry_same(const struct index_entry *a, const struct index_entry *b);
/* Order of paths, as of strcmp. */
int index_compare(const char *a, const char *b);
/* The path that comes first; NULL is the end. */
const char *index_first(const char *a, const char *b);

enum index_kind { INDEX_STATE, INDEX_TURN, INDEX_DELIVERED };

struct index_head {
	enum index_kind kind;
	uint64_t epoch;
	uint32_t turn, from; /* from: the turn before, of a turn */
	uint64_t entries;    /* records */
	uint64_t files, bytes;
	uint64_t pack; /* length of the pack that belongs to it */
};

struct index_reader {
	int fd; /* borrowed */
	struct index_head head;
	struct buf in;
	uint64_t left, offset;
	char path[2][PATH_BYTES_MAX + 1];
	unsigned turn; /* which of the two is the last */
};

/* Checks the whole file. -EBADMSG: damaged, or of the other kind. After an error r must not be used. */
int index_open(struct index_reader *r, int fd, enum index_kind kind);
void index_close(struct index_reader *r);
/* The next record of INDEX_STATE and INDEX_DELIVERED. 1: *path (valid until the one after the next) and *e are set; 0: the end. */
int index_next(struct index_reader *r, const char **path, struct index_entry *e);
/* The next two of INDEX_TURN. */
int index_next_change(struct index_reader *r, const char **path, struct index_entry *before,
		      struct index_entry *after);

struct index_writer {
	int fd; /* borrowed; -1: nothing is written */
	struct buf out;
	uint64_t offset, entries;
	uint32_t crc;
};

void index_begin(struct index_writer *w, int fd);
int index_put(struct index_writer *w, const char *path, const struct index_entry *e);
/* head->entries is filled in. */
int index_end(struct index_writer *w, struct index_head *head);
void index_writer_done(struct index_writer *w);

struct history_item {
	char *path;
	struct index_entry was;
	bool pinned;
};

struct history {
	struct history_item *v; /* in the order of index.h */
	size_t n;
	uint64_t epoch;
	uint32_t turn; /* whose end the history is at */
};

void history_init(struct history *h, const struct index_head *index);
void history_done(struct history *h);
/* The file of h->turn; h is at the turn before afterwards. 0; -EBADMSG if the file is damaged or not of this chain. */
int history_back(struct history *h, int turn_fd);
/* Before history_back: the list of what was delivered after h->turn. The same results. */
int history_deliver(struct history *h, int list_fd);
