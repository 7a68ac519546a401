/* rerun_result.h - in what a run that was made again differs from the one of its bundle. */
#pragma once

#include "session/parts/bundle/recorded_calls.h"
#include "cli/bundle/rerun_plan.h"
#include "cli/bundle/rerun_taker.h"

/* What came of one turn now. */
struct rerun_ended {
	char *stop_reason; /* NULL: it failed: */
	char *error;	   /* as that of struct rerun_turn */
	struct buf said;
};

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
		       const struct rerun_ended *is);
/* Turns of the plan that were not made, and calls that nobody asked for. True: the run is the same. */
bool rerun_result_end(struct rerun_result *r, const struct rerun_plan *plan,
		      const struct rerun_taker *taker);
void rerun_result_print(const struct rerun_result *r, const struct rerun_plan *plan,
			const struct rerun_taker *taker, bool same, bool json);
void rerun_result_done(struct rerun_result *r);
