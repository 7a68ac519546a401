/*
 * rerun.h - the parts of `acpd bundle rerun`: what of a bundle a run is made again with (rerun_plan.c), who answers its model
 * calls (rerun_taker.c), and in what it differs from the run of the bundle (rerun_result.c).
 */
#pragma once

#include "cli/session/client.h"
#include "json/jenc.h"
#include "session/parts/bundle/recorded_calls.h"

/* --- rerun_plan.c: prompts, how their turns ended, what the agent said, and how questions were answered --------------- */

struct rerun_turn {
	struct list link;
	uint64_t no;
	struct buf prompt; /* raw content blocks, with commas between them */
	struct buf said;   /* by the agent */
	char *stop_reason; /* NULL: the turn did not end, or failed: */
	char *error;	   /* the class, and its reason */
	uint64_t begun_ms; /* when its prompt came, of the real clock; 0: not known */
	uint64_t took_ms;  /* from its prompt to its end; 0: not known */
};

struct rerun_plan {
	struct buf session; /* text of session.json */
	struct slice facts; /* the object in it */
	char *cwd, *harness, *model;
	struct list turns; /* struct rerun_turn, in their order */
	unsigned nturns;
	struct buf
		answers; /* optionIds of questions, in order, each with a 0 at its end; "": cancelled */
	struct buf
		servers; /* raw names of the MCP servers that a new session lacks, with commas between them */
	const char *next_answer; /* NULL: there are no more */
	char *state; /* of the workspace, as it differs from its baseline; NULL: it is not known, */
	char *no_state; /* and why */
};

/* From dir of bundle_files.h. e: BUNDLE_INVALID, or NO_PROMPT. p is to be given to rerun_plan_done in both cases. */
int rerun_plan_read(struct rerun_plan *p, const char *dir, struct err *e);
void rerun_plan_done(struct rerun_plan *p);
/* Members of _meta.acpd for session/new, but for the provider. own_cwd: the workspace is given. */
void rerun_plan_put(const struct rerun_plan *p, bool own_cwd, struct jw *w);
/* The optionId that the next question got; NULL or "": none. */
const char *rerun_plan_answer(struct rerun_plan *p);
/* "class" or "class REASON" of a turn's error, raw; NULL: it has none. The caller frees. */
char *rerun_error_text(struct slice error);

/* --- rerun_taker.c: answers model calls from a recording, as the client's side of a tunnel (protocol/models.md) ---------- */

struct rerun_taker {
	struct acp_client *client;
	struct recorded_calls *from;
	/* The harness gave a call up then, or makes one that the recording lacks. True: its turn is being cancelled. */
	bool (*given_up)(void *ctx);
	void *ctx;
	const char *cwd;   /* where the session works now; "" until that is known */
	struct list calls; /* those that are being answered */
	unsigned answered; /* from the recording */
	unsigned alike;	   /* of these, such that their requests' texts differ */
	unsigned refused;  /* CALL_NOT_RECORDED */
};

void rerun_taker_init(struct rerun_taker *t, struct acp_client *client, struct recorded_calls *from,
		      bool (*given_up)(void *ctx), void *ctx);
/* All zeros is allowed. */
void rerun_taker_done(struct rerun_taker *t);
/* Methods of the daemon about model calls; false: m is none. */
bool rerun_taker_message(struct rerun_taker *t, const struct rpc_msg *m);

/* --- rerun_result.c --------------------------------------------------------------------------------------------------- */

struct rerun_result {
	unsigned turns, turns_same;
	char *state;	/* of the workspace now; NULL: it was not asked for, or is not to be had: */
	char *no_state; /* why */
	struct buf turn_list;	/* raw array of {turn, stopReason, same, was?} */
	struct buf differences; /* lines for people */
};

/* The daemon's answer to _acpd/workspace/diff; one of both is empty. */
void rerun_result_workspace(struct rerun_result *r, struct slice diff, struct slice error);
void rerun_result_turn(struct rerun_result *r, const struct rerun_turn *was,
		       const struct rerun_turn *is);
/* Turns of the plan that were not made, and calls that nobody asked for. True: the run is the same. */
bool rerun_result_end(struct rerun_result *r, const struct rerun_plan *plan,
		      const struct rerun_taker *taker);
void rerun_result_print(const struct rerun_result *r, const struct rerun_plan *plan,
			const struct rerun_taker *taker, bool same, bool json);
void rerun_result_done(struct rerun_result *r);
