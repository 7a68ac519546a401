/*
 * apply_reader.c - the text of a patch line by line, and what a line is a sign of.
 *
 * The other files call this one, and it calls none of them: each way of writing has to notice where another one begins.
 */
#include "diff/apply/apply_internal.h"

struct slice reader_line(const struct patch_reader *r)
{
	struct slice rest = { r->p, (size_t)(r->end - r->p) };

	return (struct slice){ r->p, slice_line(rest) };
}

void reader_skip(struct patch_reader *r, size_t n)
{
	r->p += n;
	r->line++;
}

int patch_corrupt(size_t line, const char *what, struct err *e)
{
	return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_CORRUPT", "patch, line %zu: %s", line,
		       what);
}

/* --- signs ---------------------------------------------------------------------------------------------- */

bool is_names(const struct patch_reader *r, struct patch_reader *next)
{
	struct slice line = reader_line(r);

	*next = *r;
	if (!slice_starts(line, "--- "))
		return false;
	reader_skip(next, line.n);
	line = reader_line(next);
	if (!slice_starts(line, "+++ "))
		return false;
	reader_skip(next, line.n);
	return true;
}

bool is_plain(const struct patch_reader *r)
{
	struct patch_reader next;

	return is_names(r, &next) && slice_starts(reader_line(&next), "@@");
}

bool is_labels(const struct patch_reader *r)
{
	struct patch_reader next;

	return is_names(r, &next) && (next.p >= next.end || slice_starts(reader_line(&next), "@@"));
}

bool is_note(struct slice line)
{
	return line.n >= 12 && slice_starts(line, "\\ ");
}

static const char *const words[] = {
	"*** Begin Patch",  "*** End Patch", "*** Add File:",	"*** Update File:",
	"*** Delete File:", "*** Move to:",  "*** End of File",
};

bool is_stars(struct slice line)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (slice_starts(line, words[i]))
			return true;
	return false;
}

int patch_mixed(size_t line, struct err *e)
{
	return err_set(
		e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_MIXED",
		"patch, line %zu: a unified diff and *** Begin Patch in one text: write it in one way",
		line);
}
