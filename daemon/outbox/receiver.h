/*
 * receiver.h - one receiver of webhooks: its spool, the order in which what waits is sent, and when it is tried again.
 *
 * The events of a session are a lane: the first of them is sent alone, and the next follows once that was accepted or given
 * up. Lanes know nothing of each other; up to WEBHOOK_PARALLEL of them send at a time. The gap is a lane, too, and the first
 * in the queue.
 *
 * A failure makes its lane wait, longer each time (base/clock.h). Failures in a row, of whichever lanes, make all of them
 * wait, and one alone tries: a receiver that is down is not asked by each session. The first success after such a time lets
 * all lanes try. 410 Gone disables the receiver until it is named anew.
 *
 * A receiver of which only the spool is there waits for somebody to name it: an address and a secret are in memory alone.
 *
 * Everything is on the loop; nothing is sent from within a function that is called here.
 */
#pragma once

#include "fetcher/fetcher.h"
#include "outbox/spool.h"
#include "outbox/webhook_list.h"

struct receiver;
struct jw;

struct receiver_config {
	struct loop *loop;
	struct fetcher *fetcher;
	const char *dir; /* of all spools */
	struct spool_bounds bounds;
};

struct receiver_totals {
	uint64_t sent, failed, dropped;	    /* accepted events; attempts; events that nobody got */
	uint64_t waiting, bytes, unwritten; /* unwritten: spools that cannot be written just now */
};

/* Opens its spool. NULL with e. */
struct receiver *receiver_new(const struct receiver_config *cfg, const char *key, struct err *e);
/* The spool stays. */
struct receiver *receiver_free(struct receiver *r);
/* And all that is in it is gone. */
struct receiver *receiver_remove(struct receiver *r);

const char *receiver_key(const struct receiver *r);
/* Who it is, from now on; taken over, and empty after. */
void receiver_name(struct receiver *r, struct webhook *w, const char *sandbox);
/* Of which sandbox the events in its spool are; "": not known. */
const char *receiver_sandbox(const struct receiver *r);
void receiver_bound(struct receiver *r, const struct spool_bounds *bounds);
/* Nothing new is sent while held. */
void receiver_hold(struct receiver *r, bool held);

bool receiver_wants(const struct receiver *r, enum webhook_type type);
/* If it wants that type. */
void receiver_add(struct receiver *r, enum webhook_type type, const struct spool_record *record);
void receiver_flush(struct receiver *r);
/* Something is sent, or could be at once. */
bool receiver_busy(const struct receiver *r);
void receiver_put_status(const struct receiver *r, struct jw *w);
void receiver_count(const struct receiver *r, struct receiver_totals *add);
