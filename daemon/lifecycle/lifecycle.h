/*
 * lifecycle.h - the life of the daemon as others see it: its state in one word, whether it works, until when it should be
 * let live, and how it ends in good order.
 *
 * One follower is notified when any of it has changed. It asks for the members itself (lifecycle_put), as every other part
 * does. Draining never ends but by over(), and its time only becomes shorter.
 *
 * Owned by cmd_serve, on the loop. Functions that say "may be NULL" do nothing without a lifecycle: parts of the daemon
 * run without one in their tests.
 */
#pragma once

#include "json/jenc.h"
#include "lifecycle/life_state.h"
#include "loop/loop.h"
#include "session/core/session.h"

#define LEASE_HORIZON_SECS 300 /* while there is work, from now on */
#define LEASE_GRACE_SECS 60    /* after the last work */
#define LEASE_EXIT_SECS 10     /* after the end of draining: children, records, last messages */
#define STATUS_PUSH_MS 250     /* between two pushed statuses, at least */
#define DRAIN_MAX_SECS 86400
#define SHUTDOWN_BODY_MAX 4096 /* bytes of what POST /v1/shutdown is told */
#define DEADLINE_SLACK_MS 1000 /* a deadline that moves by less is not told anew */

struct lifecycle;

struct life_times {
	unsigned drain, idle_exit, max_life; /* seconds; of the last two 0: never */
};

struct lifecycle_config {
	struct loop *loop;
	struct session_store *store;
	struct life_times times;
	void (*over)(void *ctx);
	void *ctx;
};

/* What holds the daemon from outside its sessions. */
enum life_hold { HOLD_UPLOAD, HOLD_MAX };

/* The store must outlive it. */
struct lifecycle *lifecycle_new(const struct lifecycle_config *cfg);
struct lifecycle *lifecycle_free(struct lifecycle *l);
/* Those of a claim: idle_exit and max_life count from now. l may be NULL. */
void lifecycle_set(struct lifecycle *l, const struct life_times *times);
void lifecycle_follow(struct lifecycle *l, void (*told)(void *ctx), void *ctx);

/* --- the facts ------------------------------------------------------------------------------------------ */

/* It has a token or not. l may be NULL. */
void lifecycle_claimed(struct lifecycle *l, bool claimed);
/* It holds still, or goes on. While it drains the word stays. */
void lifecycle_paused(struct lifecycle *l, bool paused);
/* Each needs its release. l may be NULL. */
void lifecycle_hold(struct lifecycle *l, enum life_hold what);
void lifecycle_release(struct lifecycle *l, enum life_hold what);

/* --- the end -------------------------------------------------------------------------------------------- */

#define DRAIN_AS_SET (-1) /* as --drain says */

/* why: static word. A second call can only make the time shorter. */
void lifecycle_drain(struct lifecycle *l, const char *why, int64_t secs);
/* The same without a turn of the loop between: where it is over at once, over() is called from here. */
void lifecycle_drain_now(struct lifecycle *l, const char *why, int64_t secs);
/* Drains, and then another program takes this one's place. -EALREADY with e: the daemon ends already. */
int lifecycle_restart(struct lifecycle *l, int64_t secs, struct err *e);
/* That is still so: nobody has told it to end. l may be NULL. */
bool lifecycle_restarts(const struct lifecycle *l);
/* Seconds until draining is over, at most. */
unsigned lifecycle_drain_left(const struct lifecycle *l);
/* l may be NULL. */
bool lifecycle_draining(const struct lifecycle *l);
/* Seconds until whoever was refused finds another daemon here, at the earliest. */
unsigned lifecycle_retry_after(const struct lifecycle *l);

/* --- as it is told -------------------------------------------------------------------------------------- */

/* Members state, busy, idleSince?, work, nextDeadline?, leaseUntil, leaseSeconds, draining?; none if l is NULL. */
void lifecycle_put(const struct lifecycle *l, struct jw *w);
/* Of these only what says nothing of sessions: state, leaseUntil, leaseSeconds, draining?. */
void lifecycle_put_brief(const struct lifecycle *l, struct jw *w);

/* --- the lease ------------------------------------------------------------------------------------------ */

/* Monotonic milliseconds; 0: there is none. */
struct lease_facts {
	uint64_t now;
	bool busy;
	uint64_t idle_since; /* if it is not busy */
	uint64_t drain_due;  /* when a draining daemon ends whatever runs */
	uint64_t life_due;   /* when it ends by --max-life and --drain at the latest */
};

/* Until when the platform should let the sandbox live. Pure. */
uint64_t lease_until(const struct lease_facts *f);
