/* receiver_internal.h - what the files of a receiver share: receiver.c, its life; lanes.c, the queue; delivery.c, a request. */
#pragma once

#include "outbox/receiver.h"

#define LANE_BUCKETS 256

/* The events of one session that wait, or the gap. */
struct lane {
	struct list same;   /* of its bucket */
	struct list link;   /* of ready or late; empty while it sends */
	struct list events; /* struct spooled: queued */
	char *session;	    /* NULL: the gap's */
	uint64_t due, wait_ms;
};

struct lanes {
	struct list bucket[LANE_BUCKETS];
	struct list ready, late; /* struct lane: link */
	struct lane gap;
};

/* One request. */
struct delivery {
	struct list link;
	struct receiver *receiver;
	struct lane *lane;
	struct spooled *event; /* NULL: the gap, or it was dropped meanwhile */
	uint64_t gap_to;       /* of the gap that is told; 0: it is an event */
	struct fetch *fetch;
	struct loop_timer timer;
	int status; /* 0: no answer yet */
	size_t body;
	uint64_t retry_after_ms;
};

struct receiver {
	struct receiver_config cfg;
	char key[WEBHOOK_KEY_SIZE];
	struct webhook who; /* without a url: not named */
	struct spool *spool;
	struct lanes lanes;
	struct list deliveries;
	unsigned ndeliveries;
	bool held, gone; /* gone: it said so, 410 */
	unsigned streak; /* failures in a row */
	uint64_t due, wait_ms;
	struct loop_timer timer;
	struct loop_task task;
	uint64_t sent, failed;
	char error[160]; /* of the last attempt that failed; "": there was none since one succeeded */
	uint64_t error_at;
};

/* lanes.c */
void lanes_init(struct lanes *l);
void lanes_done(struct lanes *l);
void lanes_add(struct lanes *l, struct spooled *x, struct slice session);
/* x goes: a lane without events goes with its last one, if it does not send. */
void lanes_remove(struct lanes *l, struct spooled *x, bool sending);
/* It has sent: it waits until due, or goes on; it may be gone after. */
void lanes_return(struct lanes *l, struct lane *lane, bool gap);
/* Those whose time has come are ready. Returns when the next one's will have; 0: never. */
uint64_t lanes_wake(struct lanes *l, uint64_t now);
/* All are ready, whatever they waited for. */
void lanes_wake_all(struct lanes *l);
/* The first that is ready, taken off; NULL: none. gap: there is one to tell. */
struct lane *lanes_next(struct lanes *l, bool gap, uint64_t now);
struct spooled *lane_first(const struct lane *lane);

/* delivery.c */
/* A message as it is signed. */
struct webhook_message {
	const char *id;
	uint64_t time_secs; /* of the attempt */
	struct slice body;
};

/* Appends the headers of the request: a JSON object. A signature for each secret of w. 0 or negative. */
int webhook_headers_put(struct buf *b, const struct webhook *w, const struct webhook_message *m);
/* Begins the request for the first event of the lane, or for the gap. */
void delivery_begin(struct receiver *r, struct lane *lane);
/* Without an outcome. */
void delivery_drop(struct delivery *d);

/* receiver.c */
/* d is gone after. why: one sentence, if it failed. */
void receiver_delivered(struct delivery *d);
void receiver_failed(struct delivery *d, const char *why);
