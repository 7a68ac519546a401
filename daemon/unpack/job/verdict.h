/*
 * verdict.h - why a job did not end well.
 *
 * Two kinds. Refused: the archive or the job is against a rule; doing it again gives the same answer. Failed: the
 * machine did not allow it (no space, no permission), or others interfered. Reasons are UPPER_SNAKE and stable: those
 * of refusals are a closed list (README.md beside this file), each with its rule.
 *
 * The first verdict stays: a failure of the cleanup does not replace it. A struct verdict owns nothing. All
 * functions that fill one return a negative errno, so that "return refuse(...)" reads well: -EBADMSG for refusals, the
 * errno of the failure for failures.
 */
#pragma once

#include "base/err.h"
#include "base/limits.h"

enum verdict_kind { VERDICT_NONE, VERDICT_REFUSED, VERDICT_FAILED, VERDICT_BAD_JOB };

struct verdict {
	enum verdict_kind kind;
	char reason[40];
	char path[PATH_BYTES_MAX + 1]; /* may be empty */
	char message[ERR_MSG_SIZE];
	bool has_limit;
	uint64_t limit, used;
	char digest[80]; /* of the archive that is damaged; may be empty */
};

/* path may be NULL. */
int refuse(struct verdict *v, const char *reason, const char *path, const char *fmt, ...)
	_printf_(4, 5);
int refuse_over(struct verdict *v, const char *reason, const char *path, uint64_t limit,
		uint64_t used, const char *what);
/* error: a negative errno; what: the action that failed. */
int fail_with(struct verdict *v, int error, const char *path, const char *what);
int fail_as(struct verdict *v, const char *reason, const char *path, const char *fmt, ...)
	_printf_(4, 5);
/* The text of an error made elsewhere; its field is the path. */
int fail_err(struct verdict *v, int error, const struct err *e);
/* The job itself is malformed: exit 2. field may be NULL. Always -EINVAL. */
int bad_job(struct verdict *v, const char *reason, const char *field, const char *text);
