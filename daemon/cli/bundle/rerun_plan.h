/* rerun_plan.h - what of a bundle a run is made again with, and what came of it then: its prompts, how their turns ended,
 * what the agent said, and how questions were answered. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "json/jenc.h"

#include <stdbool.h>

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
	struct list turns;
	struct buf
		answers; /* optionIds of questions, in order, each with a 0 at its end; "": cancelled */
	const char *next_answer; /* NULL: there are no more */
	char *state; /* of the workspace, as it differs from its baseline; NULL: it is not known, */
	char *no_state; /* and why */
};

/* From dir of bundle_files.h. e: BUNDLE_INVALID, or NO_PROMPT. p is to be given to rerun_plan_done in both cases. */
int rerun_plan_read(struct rerun_plan *p, const char *dir, struct err *e);
void rerun_plan_done(struct rerun_plan *p);
/* Members of _meta.acpd for session/new, but for the provider. own_cwd: the workspace is given. */
void rerun_plan_put(const struct rerun_plan *p, bool own_cwd, struct jw *w);
/* Raw names of the MCP servers that a new session lacks, with commas between them. */
void rerun_plan_servers(const struct rerun_plan *p, struct buf *b);
/* The optionId that the next question got; NULL or "": none. */
const char *rerun_plan_answer(struct rerun_plan *p);
/* "class" or "class REASON" of a turn's error, raw; NULL: it has none. The caller frees. */
char *rerun_error_text(struct slice error);
