/*
 * check.h - checks: what an orchestrator wants to be true after a turn, found out by the daemon and not by the model.
 *
 * A list of checks (_meta.acpd.checks of a session or a prompt) is parsed once and immutable from then on. A run goes
 * through one list in its order, one check after the other; one that fails stops no other. Commands and tests run as
 * the agent's own commands do: as the session's user, in its groups, namespaces, network and level, but not bound by
 * its policy, since the orchestrator wrote them (check_process.h). What has changed is asked of acpd-unpack
 * (check_changes.h). Nothing that comes from there is believed but bounded, decoded fields.
 *
 * Every result is an event (kind "check") and an element of check_outcome.results. A check that could not be run, or
 * not to its end, has not succeeded: its result says why in error.
 *
 * A session has at most one run. It is not freed while one goes on. session_checks_run never fails and never calls back
 * from inside; done is called exactly once, from the loop, when nothing of the checks is left, also after
 * check_run_cancel. The run is gone when done returns.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "json/jenc.h"

struct check_list;
struct check_run;
struct session;
struct session_turn;

/* --- lists --------------------------------------------------------------------------------------------- */

/* raw: an array, as clients give it, that has been scanned; field: where it stands, for errors. Checks all of it:
 * FIELD_MISSING, FIELD_INVALID, FIELD_OUT_OF_RANGE, PARAM_UNSUPPORTED, TOO_MANY, CHECK_ID_TAKEN. */
int check_list_parse(struct slice raw, const char *field, struct check_list **ret, struct err *e);
/* NULL, like an empty one: there are none. */
size_t check_list_count(const struct check_list *l);
struct check_list *check_list_free(struct check_list *l);
/* The list of its prompt, else the session's; NULL: there are none. The caller frees. */
struct check_list *turn_checks(const struct session *s, const struct session_turn *t);

/* --- running them ---------------------------------------------------------------------------------------- */

/* CHECK_UNCHECKED: there were none, or the run was cancelled. */
enum check_verdict { CHECK_UNCHECKED, CHECK_VERIFIED, CHECK_FAILED };

/* The word of the wire: "unchecked", "verified", "failed". */
const char *check_verdict_name(enum check_verdict v);

/* What a run is about. All zeros: by hand, between turns. */
struct check_turn {
	uint64_t turn;	/* its number */
	uint64_t first; /* the first attempt's number, if turn is a later one; 0: turn itself */
	struct slice message; /* what the agent said last, plain text: for ACPD_LAST_MESSAGE */
};

struct check_outcome {
	enum check_verdict verdict;
	unsigned failed;
	struct slice results; /* raw array, one object each, masked; valid during done */
};

typedef void (*check_done_fn)(void *ctx, const struct check_outcome *o);

/* No other may run (session_runs_checks). Takes over the list. */
struct check_run *session_checks_run(struct session *s, struct check_list *list,
				     const struct check_turn *about, check_done_fn done, void *ctx);
/* What runs is killed, the rest is not begun; done follows, with CHECK_UNCHECKED. Harmless when repeated. */
void check_run_cancel(struct check_run *r);
bool session_runs_checks(const struct session *s);
/* Members of an object {verdict, results}, for key; raw results, or empty: []. */
void check_outcome_put(struct jw *w, const char *key, enum check_verdict verdict,
		       struct slice results);

/* --- by hand --------------------------------------------------------------------------------------------- */

/* _acpd/check between turns. checks: raw array, or empty: the session's. SESSION_BUSY while a turn is queued, runs or
 * ends, or another run goes on; FIELD_MISSING: there are none at all. done as above. */
int session_check(struct session *s, struct slice checks, check_done_fn done, void *ctx,
		  struct err *e);

/* _meta.acpd.checks and .retry. */
extern const struct session_parameter checks_parameter, retry_parameter;
/* Checks a retry; empty: there is none. field: where it stands. */
int retry_check(struct slice raw, const char *field, struct err *e);
