/*
 * evlog.h - a session's event log: every event encoded once, numbered from 1, kept in memory at its newest end and in
 * an append-only journal file in full. Subscribers are only cursors into it, so a slow or absent reader costs nothing.
 *
 * Memory: blocks of whole events, at most LOG_TAIL_BYTES (the journal has the rest); evlog_shrink gives even those
 * back when a session falls idle. Without a journal (--journal off) the tail is all there is: what falls off its end is
 * gone and readers are told so by evlog_first().
 *
 * Descriptor: a log that is held (from the start, and again from evlog_hold on: a turn runs) keeps its journal open
 * until evlog_shrink; any other opens it for each write or read. So sessions that are idle, closed or recovered hold
 * none, however many there are.
 *
 * Journal: one JSON object per line, as session/core/log/journal_record.h has it; records that are no events (the session's
 * own data) have number 0. Bytes are collected and written once per loop turn. What cannot be written is held back from
 * every reader and tried again, each JOURNAL_RETRY_MS and at each flush; meanwhile error says why, and the turn
 * must fail. What is taken back (evlog_rollback) nobody has seen, so its numbers are given again.
 */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "loop/loop.h"

struct journal_record;
struct jw;

struct evlog_entry {
	uint64_t seq;
	uint64_t origin;    /* connection the event came from and need not go back to; 0: none */
	uint8_t kind;	    /* enum session_event_kind */
	struct slice frame; /* complete JSON-RPC message */
	uint64_t time_ms;   /* unix; 0 given to evlog_append: now */
};

/* Events that are not there any more. */
struct evlog_gap {
	uint64_t from, to;
	const char *
		reason; /* "damaged"; "trimmed": given up; NULL: without a journal no more are kept */
};

struct evlog_index {
	uint64_t seq;
	off_t offset;
};

struct evlog_large;

struct evlog {
	struct loop *loop;
	struct list blocks;
	size_t tail_bytes, tail_max;
	uint64_t last;	     /* newest seq; 0: none */
	uint64_t first;	     /* oldest seq that can still be read, unless it is damaged */
	uint64_t tail_first; /* oldest seq in memory; last + 1 if none */
	struct {
		uint64_t seq;
		const void *block; /* NULL: not known */
		size_t at;
	} read_next; /* where reading the tail stopped: the next read mostly goes on there */
	int fd;	     /* journal; -1: not open now */
	bool held;
	bool synced; /* its owner's: it has been made durable since it was opened */
	char *path;  /* NULL: no journal */
	struct buf pending;
	off_t written, journal_max;
	struct evlog_gap *gaps; /* what damage has taken, in order */
	size_t ngaps, bad_lines;
	uint64_t trimmed;	  /* events up to this one have been given up (evlog_trim) */
	off_t freed;		  /* bytes of the file that are holes, or will be */
	off_t trim_next, free_to; /* from here to there they are still to be made */
	bool trimming, cannot_trim;
	struct loop_timer trim_timer;
	struct evlog_index *index;
	size_t nindex;
	struct loop_task flush_task, settled_task;
	struct evlog_large *large; /* an event that a thread writes; NULL: none (evlog_large.c) */
	int error; /* -errno of the last write; -EFBIG: journal_max reached. 0 again once there is room */
	uint64_t flushed; /* newest seq in the journal */
	uint64_t hole;	  /* the first that did not go into it, whatever came after; 0: none */
	size_t need;	  /* bytes that there was no room for */
	off_t ahead;	  /* where the record of evlog_note_ahead stands; -1: nowhere */
	struct loop_timer retry_timer;
	void (*full)(
		void *ctx,
		int error); /* -EFBIG: journal_max; else the disk: the last moment for evlog_trim */
	void (*recovered)(void *ctx); /* what was held back can be read */
	void (*settled)(void *ctx);   /* a large event has been written, or could not be */
	void *ctx;		      /* of all three */
};

/* The bytes that a buffer has before the frame that evlog_append_whole takes. */
#define EVLOG_BEFORE_FRAME 32

/* path NULL: no journal. */
int evlog_open(struct evlog *l, struct loop *loop, const char *path, size_t journal_max);
/* Takes up a journal that an earlier daemon left: fn gets every record in order, a torn last line is cut off. Damaged
 * lines are passed over and left as they are; the numbers missing for them are gaps, and none of them is given
 * again. */
int evlog_reopen(struct evlog *l, struct loop *loop, const char *path, size_t journal_max,
		 void (*fn)(void *ctx, const struct journal_record *rec), void *ctx);
/* What reading the whole file would show, as members of an object. False: something of it is damaged, or not written yet. */
bool evlog_outline_put(struct evlog *l, struct jw *w);
/* Takes up a journal that is as its outline says. -ESTALE or another error: it is not, and nothing has been opened. */
int evlog_outline_take(struct evlog *l, struct loop *loop, const char *path, size_t journal_max,
		       struct slice outline);
/* Reads again, a piece at a time, what has been written of a log that was taken up by its outline. NULL: its file cannot be
 * opened. Step: 1 until all was read, else 0 or -errno. End: true if it is damaged, which l then knows. l may be written
 * meanwhile, and trimmed. */
struct evlog_check;
struct evlog_check *evlog_check_begin(const struct evlog *l);
int evlog_check_step(struct evlog_check *c);
bool evlog_check_end(struct evlog_check *c, struct evlog *l);
struct evlog_check *evlog_check_free(struct evlog_check *c);
void evlog_close(struct evlog *l);
/* e->seq must be last + 1. kind_name goes to the journal. */
void evlog_append(struct evlog *l, const struct evlog_entry *e, const char *kind_name);
/* The same. A large frame, which ends b, is not copied: the log takes the memory of b, which is then empty. */
void evlog_append_whole(struct evlog *l, const struct evlog_entry *e, const char *kind_name,
			struct buf *b);
/* A journal record that is no event. */
void evlog_note(struct evlog *l, const char *kind_name, struct slice value);
/* One that has to precede the next event, and goes where no other would have room. If what it stands before is taken
 * back, then it may be, too: evlog_ahead says whether it is there. */
void evlog_note_ahead(struct evlog *l, const char *kind_name, struct slice value);
bool evlog_ahead(const struct evlog *l);
/* 0: everything is in the journal. Waits for a large event. */
int evlog_flush(struct evlog *l);
/* The same for a reader, which gets what is there: does not wait. settled is called later. */
void evlog_flush_for_reader(struct evlog *l);
/* If there is room again for what could not be written, it is written now and not at the next try: recovered follows. */
void evlog_try_again(struct evlog *l);
/* Newest seq that may be read: all of them, unless they cannot be written. */
uint64_t evlog_readable(const struct evlog *l);
/* The journal's descriptor, opened if it is not, until evlog_journal_put. 0 or -errno; flags: of open, beside those for
 * reading and appending. */
int evlog_journal_get(struct evlog *l, int flags);
void evlog_journal_put(struct evlog *l);
/* Drops what could not be written. */
void evlog_rollback(struct evlog *l);
/* Where a log may be cut so that events from upto + 1 on stay, at the latest. ret: the first that stays, which begins a
 * record. False: it would not free as much as least bytes. */
bool evlog_cut(const struct evlog *l, uint64_t upto, size_t least, struct evlog_index *ret);
/* Gives up the events before at: their bytes go back to the file system, a piece at a time. What a later life needs of
 * them must have been noted and flushed. False: the file system cannot do that. */
bool evlog_trim(struct evlog *l, const struct evlog_index *at);
/* A log that is still empty takes up one that has been cut after seq. */
void evlog_begin_after(struct evlog *l, uint64_t seq);
/* In evlog_reopen's fn: they were given up in an earlier life. */
void evlog_was_trimmed(struct evlog *l, uint64_t upto);
/* Much will be written: the descriptor is kept until evlog_shrink. */
void evlog_hold(struct evlog *l);
/* Lets the descriptor go, and the memory tail if the journal holds everything. */
void evlog_shrink(struct evlog *l);

/* True: seq is not there, and so up to ret->to; ret->from is seq. */
bool evlog_gap(const struct evlog *l, uint64_t seq, struct evlog_gap *ret);
/* How many events damage has taken. */
uint64_t evlog_missing(const struct evlog *l);
static inline bool evlog_damaged(const struct evlog *l)
{
	return l->ngaps || l->bad_lines;
}
/* Hands out events from seq on, in order, until fn refuses one (returns false), the next gap or the end. The entry is
 * valid during fn only. Returns 0, or -errno if the journal could not be read back. */
int evlog_read(struct evlog *l, uint64_t from, bool (*fn)(void *ctx, const struct evlog_entry *e),
	       void *ctx);
/* The same, until the events from the journal have max bytes or more: a large one is not read for a reader that is full. */
int evlog_read_some(struct evlog *l, uint64_t from, size_t max,
		    bool (*fn)(void *ctx, const struct evlog_entry *e), void *ctx);
/* Bytes of output a reader at seq has before it, at most; exact in the tail, by the index below it. */
uint64_t evlog_behind(const struct evlog *l, uint64_t seq);
