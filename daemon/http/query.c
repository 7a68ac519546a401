/*
 * query.c - decodes the items of a query by a table of fields.
 *
 * A misspelt or repeated parameter is an error: it must not change the answer silently. Items are
 * split before they are decoded, so a value can contain any byte. The name in an error message is
 * untrusted: it is cut to 64 bytes and flattened to one line. `seen` has a bit for each row, which
 * limits a table to 64 rows.
 */
#include "http/query.h"

#include "base/format/digits.h"
#include "base/format/utf8.h"

#include <errno.h>

static bool take_bool(struct slice value, enum query_flag *ret)
{
	*ret = slice_is(value, "true") ? QUERY_YES : QUERY_NO;
	return *ret == QUERY_YES || slice_is(value, "false");
}

static bool take_word(struct slice value, const char *const *words, unsigned *ret)
{
	for (unsigned i = 0; words[i]; i++) {
		if (!slice_is(value, words[i]))
			continue;
		*ret = i + 1;
		return true;
	}
	return false;
}

static bool take_text(struct slice value, struct slice *ret)
{
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] < 0x21 || value.p[i] > 0x7e)
			return false;
	*ret = value;
	return value.n && value.n <= QUERY_TEXT_MAX;
}

static bool take_name(struct slice value, struct slice *ret)
{
	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.p[i] < 0x20 || value.p[i] == 0x7f)
			return false;
	*ret = value;
	return value.n && value.n <= QUERY_NAME_MAX && utf8_valid(value);
}

static bool take_value(const struct query_field *f, struct slice value, void *ret)
{
	void *at = (char *)ret + f->offset;

	switch (f->type) {
	case QUERY_UINT:
		return u64_parse(value, at);
	case QUERY_BOOL:
		return take_bool(value, at);
	case QUERY_WORD:
		return take_word(value, f->words, at);
	case QUERY_NAME:
		return take_name(value, at);
	case QUERY_TEXT:
		return take_text(value, at);
	}
	return false;
}

/* The name comes from outside: it is shown cut and on one line. */
static int refuse(struct err *e, const char *reason, struct slice name, const char *what)
{
	int r = err_set(e, -EINVAL, 0, reason, "query parameter '%.*s' %s",
			(int)MIN(name.n, (size_t)64), name.p ? name.p : "", what);

	if (e)
		err_flatten(e->msg);
	return r;
}

static int find_field(const struct query_field *fields, struct slice name)
{
	for (int i = 0; fields[i].name; i++)
		if (slice_is(name, fields[i].name))
			return i;
	return -1;
}

int query_decode(const struct slice *items, size_t n, const struct query_field *fields, void *ret,
		 struct err *e)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < n; i++) {
		struct slice value = items[i], name = items[i];
		bool has_value = slice_cut(&value, '=', &name);
		int at = find_field(fields, name);

		if (at < 0)
			return refuse(e, "QUERY_UNKNOWN", name, "is not known here");
		if (seen >> at & 1)
			return refuse(e, "QUERY_DUPLICATE", name, "is given twice");
		seen |= 1ull << at;
		if (!has_value || !take_value(&fields[at], value, ret))
			return refuse(e, "QUERY_INVALID", name, "has no valid value");
	}
	return 0;
}
