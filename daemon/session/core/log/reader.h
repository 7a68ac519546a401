/*
 * reader.h - a passive cursor on a session's event log. It gets a call for new events, reads them at its own pace,
 * never drives the session, never fences anybody and sees every kind of event, from every sender. Any number of them
 * may follow one session.
 *
 * Embedded in its owner, who detaches it before it goes. A reader ends in two ways: its session was finished (the
 * daemon stops; what is in the log can still be read), or deleted: ops->leaving is the last moment to read, then the
 * log is gone, and reader_is_lost says what was not read.
 */
#pragma once

#include "session/core/session.h"

struct log_reader_ops {
	/* There are events, or it ended; never called inside reader_pump. */
	void (*wake)(void *ctx);
	/* The session is being deleted: reader_pump works here for the last time. */
	void (*leaving)(void *ctx);
};

struct log_reader {
	struct list link;
	struct session *session; /* NULL: detached or deleted */
	uint64_t next;		 /* the next seq to be read */
	uint64_t last;		 /* deleted: the newest seq there was */
	bool finished;		 /* no event will be added */
	const struct log_reader_ops *ops;
	void *ctx;
};

/* from: first seq wanted. The reader must not be attached. */
void reader_attach(struct log_reader *r, struct session *s, uint64_t from,
		   const struct log_reader_ops *ops, void *ctx);
/* Legal on a reader that is all zeros or has ended. */
void reader_detach(struct log_reader *r);
/* Sends events from the cursor on, until the sink refuses one; sink->gap first where some are gone. -errno if the
 * journal cannot be read. */
int reader_pump(struct log_reader *r, const struct watcher_sink *sink);
/* Something is left to read. */
bool reader_is_behind(const struct log_reader *r);
/* The session was deleted before these were read. */
bool reader_is_lost(const struct log_reader *r, uint64_t *from, uint64_t *to);
