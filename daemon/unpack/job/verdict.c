/*
 * verdict.c - fills verdicts. A verdict that is filled stays: what fails while a job is cleaned up must not hide why it
 * failed.
 */
#include "unpack/job/verdict.h"

#include <stdarg.h>

static void verdict_set(struct verdict *v, enum verdict_kind kind, const char *reason,
			const char *path, const char *fmt, va_list ap)
{
	if (v->kind != VERDICT_NONE)
		return;
	v->kind = kind;
	snprintf(v->reason, sizeof(v->reason), "%s", reason);
	snprintf(v->path, sizeof(v->path), "%s", path ? path : "");
	vsnprintf(v->message, sizeof(v->message), fmt, ap);
	err_flatten(v->message);
}

int refuse(struct verdict *v, const char *reason, const char *path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	verdict_set(v, VERDICT_REFUSED, reason, path, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

int refuse_over(struct verdict *v, const char *reason, const char *path, uint64_t limit,
		uint64_t used, const char *what)
{
	if (v->kind == VERDICT_NONE) {
		v->has_limit = true;
		v->limit = limit;
		v->used = used;
	}
	return refuse(v, reason, path, "%s: %llu, the limit is %llu", what,
		      (unsigned long long)used, (unsigned long long)limit);
}

int fail_as(struct verdict *v, const char *reason, const char *path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	verdict_set(v, VERDICT_FAILED, reason, path, fmt, ap);
	va_end(ap);
	return -EIO;
}

static const struct {
	int error;
	const char *reason;
} errno_reasons[] = {
	{ ENOSPC, "NO_SPACE" },	    { EDQUOT, "NO_SPACE" },    { EACCES, "ACCESS_DENIED" },
	{ EPERM, "ACCESS_DENIED" }, { EROFS, "READ_ONLY" },    { ENOMEM, "NO_MEMORY" },
	{ ELOOP, "INTERFERED" },    { ENOTDIR, "INTERFERED" }, { EXDEV, "INTERFERED" },
};

int fail_with(struct verdict *v, int error, const char *path, const char *what)
{
	const char *reason = "IO_ERROR";

	for (size_t i = 0; i < ARRAY_SIZE(errno_reasons); i++)
		if (errno_reasons[i].error == -error)
			reason = errno_reasons[i].reason;
	fail_as(v, reason, path, "%s: %s", what, strerror(-error));
	return error;
}

int bad_job(struct verdict *v, const char *reason, const char *field, const char *text)
{
	fail_as(v, reason, field, "%s", text);
	v->kind = VERDICT_BAD_JOB;
	return -EINVAL;
}

int fail_err(struct verdict *v, int error, const struct err *e)
{
	fail_as(v, e->reason, e->field, "%s", e->msg);
	return error;
}
