/* check_internal.h - what the files of check/ share: parsed checks, a run, and what is known of one check. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "digest/digest.h"
#include "loop/loop.h"
#include "session/core/turn/span.h"
#include "session/parts/check/check.h"

enum check_kind { CHECK_COMMAND, CHECK_TESTS, CHECK_PATHS, CHECK_DIFF_SIZE, CHECK_KIND_MAX };

enum check_limit { LIMIT_FILES, LIMIT_INSERTIONS, LIMIT_DELETIONS, LIMIT_LINES, CHECK_LIMIT_MAX };

struct check_spec {
	char *id;
	enum check_kind kind;
	uint64_t timeout_ms;
	char *job; /* command, tests: raw object for `acpd check` */
	int64_t expect_exit, min_passed;
	/* paths, diffSize: what has changed */
	bool since_baseline;
	char *allow, *deny;		 /* raw arrays of patterns, or NULL */
	int64_t limits[CHECK_LIMIT_MAX]; /* -1: none */
};

struct check_list {
	size_t n;
	struct check_spec *v;
};

/* As a client writes it. */
const char *check_kind_name(enum check_kind kind);

#define CHECK_TESTS_ROW "check" /* the target of runTests for tests with a command of their own */

/* Members of maxFiles and the others, by what is counted. */
extern const char *const check_limit_names[CHECK_LIMIT_MAX];

struct check_process;

/* One stream's end. */
struct check_text {
	struct buf text;  /* decoded */
	uint64_t dropped; /* bytes before it that are not kept, as far as that is known */
	bool cut;	  /* there were some */
};

struct check_evidence {
	bool ok;
	bool ended, by_signal; /* it ran to an end: its exit code is known, or its signal */
	int64_t exit_code;
	char signal[24];
	uint64_t ms, left;	    /* left: processes that it had left running */
	struct check_text out, err; /* of tests: out has both streams */
	bool tests;		    /* the counts are known */
	bool partial;
	int64_t passed, failed, skipped;
	struct buf failures; /* raw elements {name, suite?, message?} */
	unsigned nfailures;
	uint64_t more_failures;
	bool compared;	    /* it is known what the check has changed in the workspace */
	struct buf changed; /* raw strings: paths, as far as there is room */
	uint64_t changed_total;
	bool judged;	      /* paths, diffSize: these are known */
	struct buf offending; /* raw strings */
	uint64_t offending_total;
	int64_t counts[4]; /* enum check_limit; -1: not counted */
	struct err error;  /* why it was not run, or not to its end; reason "": it was */
};

/* What the workspace was like when it was last looked at. */
struct check_state {
	bool known;
	char *changes; /* raw array, of what has changed since the turn began */
	char state[SHA256_HEX];
};

struct check_run {
	struct session *session;
	struct check_list *list;
	size_t at;
	struct check_turn about;
	char *message;
	bool cancelled;
	unsigned failed;
	struct buf results;
	uint64_t began; /* what acpd-unpack is at, monotonic */
	struct check_evidence evidence;
	struct trace_span span; /* of the current check */
	struct check_process *process;
	struct check_state before; /* the command or the tests that come */
	bool looking;		   /* acpd-unpack is at work */
	void (*looked)(struct check_run *r);
	struct loop_task task;
	check_done_fn done;
	void *ctx;
};

/* check_evidence.c: the bounded JSON of a result. Text comes from the sandbox; it is masked whole before it is cut, so that
 * no part of a secret is left at a cut. A cut counts bytes of JSON, so many results fit into a record of the ledger. */
void check_evidence_done(struct check_evidence *v);
/* Members of a result. */
void check_evidence_put(const struct session *s, const struct check_spec *c,
			struct check_evidence *v, struct jw *w);

/* check_changes.c: what has changed in the workspace. */
/* The run has a baseline to compare with. */
bool check_changes_known(const struct check_run *r);
/* paths, diffSize: fills the run's evidence; ended(r) once, from inside too. */
void check_changes_judge(struct check_run *r, const struct check_spec *c,
			 void (*ended)(struct check_run *r));
/* How the workspace is now goes into r->before; what is not as it was before that, into the run's evidence. */
void check_changes_look(struct check_run *r, void (*ended)(struct check_run *r));
void check_state_done(struct check_state *s);

/* check_answer.c. Pure. */
/* The line is foreign. It becomes evidence, or an error in it. */
void check_answer_take(const struct check_spec *c, struct slice line, struct check_evidence *v);
void check_refuse(struct check_evidence *v, const char *reason, const char *text);

/* check_process.c: commands and tests. */
/* ended(ctx) once, from the loop, when ret is filled and nothing of it is left; then check_process_free. NULL with e. */
struct check_process *check_process_start(struct session *s, const struct check_spec *spec,
					  struct slice message, struct check_evidence *ret,
					  void (*ended)(void *ctx), void *ctx, struct err *e);
/* Ends it; ended follows. */
void check_process_stop(struct check_process *p);
struct check_process *check_process_free(struct check_process *p);
