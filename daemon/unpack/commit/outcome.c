#include "unpack/commit/merge.h"

#include <errno.h>
#include <stdio.h>

void outcome_skip(struct outcome *out, const char *path, const char *reason)
{
	if (!out->skipped)
		out->skipped = xalloc(SKIPPED_MAX * sizeof(*out->skipped));
	if (out->skipped_total < SKIPPED_MAX)
		out->skipped[out->skipped_total] = (struct skipped){ xstrdup(path), reason };
	out->skipped_total++;
}

void outcome_done(struct outcome *out)
{
	for (size_t i = 0; i < out->skipped_total && i < SKIPPED_MAX; i++)
		free(out->skipped[i].path);
	free(TAKE_PTR(out->skipped));
	*out = (struct outcome){ 0 };
}

int commit_error(struct err *e, int code, const char *path)
{
	static const struct {
		int code;
		const char *reason;
	} rows[] = {
		{ -ENOSPC, "NO_SPACE" },
		{ -EDQUOT, "NO_SPACE" },
		{ -EACCES, "ACCESS_DENIED" },
		{ -EPERM, "ACCESS_DENIED" },
		{ -EROFS, "READ_ONLY" },
		{ -E2BIG, "TOO_MANY_ENTRIES" },
		{ -ENOTRECOVERABLE, "UNDO_INCOMPLETE" },
	};
	const char *reason = "IO_ERROR";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].code == code)
			reason = rows[i].reason;
	if (!*path)
		path = "staging directory";
	err_set(e, code, 0, reason, "%s: %s", path, strerror(-code));
	if (e)
		snprintf(e->field, sizeof(e->field), "%s", path);
	return code;
}
