/*
 * request_parts.c - what routes read of a request: its path, its query, Accept and the two headers of ranges.
 *
 * A misspelt or repeated parameter of a query is an error: it must not change the answer silently. Items are
 * split before they are decoded, so a value can contain any byte. The name in an error message is
 * untrusted: it is cut to 64 bytes and flattened to one line. `seen` has a bit for each row, which
 * limits a table to 64 rows.
 */
#include "http/request_parts.h"

#include "base/format/digits.h"
#include "base/http/http_fields.h"
#include "base/format/utf8.h"
#include "base/util.h"

/* --- path and Accept ------------------------------------------------------------------------------------------- */

bool route_match(const char *pattern, const char *path, struct slice params[ROUTE_PARAMS_MAX])
{
	unsigned count = 0;

	while (*pattern) {
		if (strncmp(pattern, "{}", 2) == 0) {
			size_t n = strcspn(path, "/");

			if (!n || count == ROUTE_PARAMS_MAX)
				return false;
			params[count++] = (struct slice){ path, n };
			pattern += 2;
			path += n;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return !*path;
}

bool route_accepts(struct slice accept, const char *type)
{
	struct slice range, name;

	while (accept.n && slice_item(&accept, ',', &range))
		if (slice_item(&range, ';', &name) && http_word_is(slice_trim(name, " \t"), type))
			return true;
	return false;
}

/* --- ranges ----------------------------------------------------------------------------------------------------- */

int content_range_parse(struct slice text, struct content_range *ret)
{
	struct slice range, first;
	uint64_t last;

	if (!slice_skip(&text, "bytes ") || !slice_cut(&text, '/', &range) ||
	    !u64_parse(text, &ret->total))
		return -EINVAL;
	/* For "*": nothing is sent, and the next byte would be behind the last. */
	ret->first = ret->total;
	ret->count = 0;
	if (slice_is(range, "*"))
		return 0;
	if (!slice_cut(&range, '-', &first) || !u64_parse(first, &ret->first) ||
	    !u64_parse(range, &last) || last < ret->first || last >= ret->total)
		return -EINVAL;
	ret->count = last - ret->first + 1;
	return 0;
}

int range_parse(struct slice text, uint64_t size, uint64_t *first, uint64_t *count)
{
	uint64_t last = UINT64_MAX;
	struct slice from;

	/* A Range of another form is ignored, and the whole is sent (RFC 9110, section 14.2). */
	*first = 0;
	*count = size;
	if (!slice_skip(&text, "bytes=") || !slice_cut(&text, '-', &from) ||
	    !u64_parse(from, first) || (text.n && (!u64_parse(text, &last) || last < *first))) {
		*first = 0;
		return 0;
	}
	if (*first >= size)
		return -ERANGE;
	*count = MIN(last, size - 1) - *first + 1;
	return 1;
}

/* --- query ------------------------------------------------------------------------------------------------------ */

static bool take_bool(struct slice value, enum query_flag *ret)
{
	*ret = slice_is(value, "true") ? QUERY_YES : QUERY_NO;
	return *ret == QUERY_YES || slice_is(value, "false");
}

static bool query_take_word(struct slice value, const char *const *words, unsigned *ret)
{
	for (unsigned i = 0; words[i]; i++) {
		if (!slice_is(value, words[i]))
			continue;
		*ret = i + 1;
		return true;
	}
	return false;
}

static bool query_take_text(struct slice value, struct slice *ret)
{
	*ret = value;
	return value.n && value.n <= QUERY_TEXT_MAX && slice_is_visible(value, "");
}

static bool query_take_name(struct slice value, struct slice *ret)
{
	*ret = value;
	return value.n && value.n <= QUERY_NAME_MAX && !slice_has_control(value) &&
	       utf8_valid(value);
}

static bool query_take_value(const struct query_field *f, struct slice value, void *ret)
{
	void *at = (char *)ret + f->offset;

	switch (f->type) {
	case QUERY_UINT:
		return u64_parse(value, at);
	case QUERY_BOOL:
		return take_bool(value, at);
	case QUERY_WORD:
		return query_take_word(value, f->words, at);
	case QUERY_NAME:
		return query_take_name(value, at);
	case QUERY_TEXT:
		return query_take_text(value, at);
	}
	return false;
}

/* The name comes from outside: it is shown cut and on one line. */
static int query_refuse(struct err *e, const char *reason, struct slice name, const char *what)
{
	int r = err_set(e, -EINVAL, 0, reason, "query parameter '%.*s' %s",
			(int)MIN(name.n, (size_t)64), name.p ? name.p : "", what);

	if (e)
		err_flatten(e->msg);
	return r;
}

static int query_find_field(const struct query_field *fields, struct slice name)
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
		int at = query_find_field(fields, name);

		if (at < 0)
			return query_refuse(e, "QUERY_UNKNOWN", name, "is not known here");
		if (seen >> at & 1)
			return query_refuse(e, "QUERY_DUPLICATE", name, "is given twice");
		seen |= 1ull << at;
		if (!has_value || !query_take_value(&fields[at], value, ret))
			return query_refuse(e, "QUERY_INVALID", name, "has no valid value");
	}
	return 0;
}
