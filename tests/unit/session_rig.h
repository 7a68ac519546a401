/*
 * session_rig.h - one session of a real store, between a harness and a client that do what the test says, and nothing
 * else. What lies beneath it is session_world.h.
 *
 * The rig holds what must be true after each step: a prompt is answered once, and after its record; a turn ends once,
 * and nothing of it follows; a question is answered once; no question outlives its turn. The first fault stays in `fault`.
 */
#pragma once

#include "session/core/session_internal.h"
#include "session_world.h"
#include "unit.h"

#define RIG_PROMPTS 12
#define RIG_WAITERS 12
#define RIG_TURNS 32

/* The answer to a prompt. */
struct rig_prompt {
	unsigned answers;
	bool failed, cancelled;
	uint64_t turn;
	char how[32]; /* the class of the error, or the reason that it stopped */
	/* of a failed one */
	char reason[40], message[256];
	bool retryable;
};

/* Who waits for the session to be opened, or to be closed. */
struct rig_waiter {
	unsigned answers;
	char reason[40]; /* "": it went well */
};

struct rig {
	struct loop *loop;
	struct archive_store *archives;
	struct session_store *store;
	struct harness_def def;
	struct harness_table harnesses;
	char dir[64];
	struct session *s; /* NULL: gone */
	struct err err;	   /* of the last call that was refused */
	char fault[160];   /* what was not as it must be; "": nothing */

	/* the harness */
	struct harness_host host;
	bool ready, prompted, cancelled, restore;
	unsigned prompts_seen, asks;   /* asks: bits of the open ones */
	int (*refuses)(struct err *e); /* of every prompt, if not NULL */
	uint64_t last_ask;
	char answer[160]; /* the last one it was given */

	/* the client */
	struct watcher client, other;
	struct session_question *shown;
	unsigned shown_times, withdrawn;

	struct rig_prompt prompts[RIG_PROMPTS];
	struct rig_waiter opens[RIG_WAITERS], closes[RIG_WAITERS];
	unsigned nprompts, nopens, ncloses;

	uint32_t told; /* bits of the turns whose prompts have been answered */
	uint64_t seen; /* last event looked at */
	unsigned ended[RIG_TURNS], shown_events; /* ends in the log of each turn */
};

/* detached: of the session; request: what it is made with, or NULL. The session is opening, its client attached. */
void rig_new(struct rig *r, enum when_detached detached, const struct request *request,
	     const struct budgets *budgets);
/* And the harness has come up. */
void rig_open_ready(struct rig *r);
void rig_free(struct rig *r);

/* The index in prompts; -1: refused, err says why. */
int rig_prompt(struct rig *r, const char *key, bool reject_if_busy);
/* The same with a check, and another attempt if it fails. */
int rig_prompt_checked(struct rig *r);
int rig_prompt_text(struct rig *r, const char *content, const char *key, bool reject_if_busy);
void rig_cancel(struct rig *r);
bool rig_load(struct rig *r, const char *system_prompt);
void rig_end(struct rig *r, bool remove);
void rig_attach(struct rig *r);
void rig_detach(struct rig *r);
void rig_answer(struct rig *r, const char *option);
/* Question no of the session, by somebody who is not the client; the reason of the refusal, or "". */
const char *rig_answer_elsewhere(struct rig *r, uint64_t no, const char *option);

/* What the harness says: "ready", "refuse", "output", "ask", "elicit", "unask", "end", "fail", "tokens", "nonsense". */
void rig_say(struct rig *r, const char *what);
/* It can say so now. */
bool rig_may_say(const struct rig *r, const char *what);

/* What its adapter is made of, and how it finds the rig. */
extern const struct harness_ops rig_agent_ops;
struct rig *rig_at_hand(void);
void rig_fault(struct rig *r, const char *what);

/* The earliest timer of the session fires; false: none is armed. */
bool rig_fire(struct rig *r);
/* That one fires, and those before it do not. */
void rig_fire_this(struct rig *r, struct loop_timer *t);
bool rig_is_timer(const void *rig, const struct loop_timer *t);
/* Looks at what has happened since. */
void rig_check(struct rig *r);
/* Unanswered prompts, opens and closes. */
unsigned rig_waiting(const struct rig *r);
