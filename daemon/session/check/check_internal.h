/* check_internal.h - what the files of check/ share: parsed checks, a run, and what is known of one check. */
#pragma once

#include "base/buf.h"
#include "loop/loop.h"
#include "session/check/check.h"
#include "session/check/check_evidence.h"

enum check_kind { CHECK_COMMAND, CHECK_TESTS, CHECK_KIND_MAX };

struct check_spec {
	char *id;
	enum check_kind kind;
	uint64_t timeout_ms;
	char *job; /* command, tests: raw object for `acpd check` */
	int64_t expect_exit, min_passed;
};

struct check_list {
	size_t n;
	struct check_spec *v;
};

/* As a client writes it. */
const char *check_kind_name(enum check_kind kind);

#define CHECK_TESTS_ROW "check" /* the target of runTests for tests with a command of their own */

struct check_process;

struct check_run {
	struct session *session;
	struct check_list *list;
	size_t at;
	struct check_turn about;
	char *message;
	bool cancelled;
	unsigned failed;
	struct buf results;
	uint64_t began; /* the current one, monotonic */
	struct check_evidence evidence;
	struct check_process *process;
	struct loop_task task;
	check_done_fn done;
	void *ctx;
};

/* check_process.c: commands and tests. */
/* ended(ctx) once, from the loop, when ret is filled and nothing of it is left; then check_process_free. NULL with e. */
struct check_process *check_process_start(struct session *s, const struct check_spec *spec,
					  struct slice message, struct check_evidence *ret,
					  void (*ended)(void *ctx), void *ctx, struct err *e);
/* Ends it; ended follows. */
void check_process_stop(struct check_process *p);
struct check_process *check_process_free(struct check_process *p);
