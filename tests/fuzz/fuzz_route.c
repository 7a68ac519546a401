/* Paths and queries: first line the path, then the query's items separated by '&'. Parameters lie inside the path, what is accepted
 * says what it said, and a refusal is fit to be shown. */
#include "fuzz.h"

#include "base/format/digits.h"

#include "http/request_parts.h"

#include <errno.h>

struct args {
	uint64_t since;
	enum query_flag follow;
	unsigned format;
	struct slice session;
};

static const char *const words[] = { "sse", "ndjson", "json", NULL };
static const struct query_field fields[] = {
	{ "since", QUERY_UINT, offsetof(struct args, since), NULL },
	{ "follow", QUERY_BOOL, offsetof(struct args, follow), NULL },
	{ "format", QUERY_WORD, offsetof(struct args, format), words },
	{ "session", QUERY_TEXT, offsetof(struct args, session), NULL },
	{ 0 },
};

/* Putting the parameters into the pattern gives the path again. */
static void check_rebuilt(const char *pattern, const char *path, const struct slice *params)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	unsigned count = 0;

	for (const char *p = pattern; *p;) {
		if (strncmp(p, "{}", 2) != 0) {
			buf_putc(&b, *p++);
			continue;
		}
		FUZZ_CHECK(params[count].n && !memchr(params[count].p, '/', params[count].n));
		buf_add_slice(&b, params[count++]);
		p += 2;
	}
	FUZZ_CHECK(slice_is(buf_slice(&b), path));
}

static void check_path(struct slice text)
{
	static const char *const patterns[] = { "/health",	   "/v1/sessions",
						"/v1/sessions/{}", "/v1/sessions/{}/events",
						"/v1/{}/{}",	   "/{}" };
	_cleanup_(freep) char *path = xstrndup(text.p ? text.p : "", text.n);

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		struct slice params[ROUTE_PARAMS_MAX] = { 0 };

		if (route_match(patterns[i], path, params))
			check_rebuilt(patterns[i], path, params);
	}
}

static void check_accepted(const struct slice *items, size_t n, const struct args *a)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v;

		FUZZ_CHECK(memchr(items[i].p, '=', items[i].n));
		if (slice_starts(items[i], "since="))
			FUZZ_CHECK(
				u64_parse((struct slice){ items[i].p + 6, items[i].n - 6 }, &v) &&
				v == a->since);
		if (slice_starts(items[i], "follow="))
			FUZZ_CHECK(a->follow ==
				   (slice_is(items[i], "follow=true") ? QUERY_YES : QUERY_NO));
		if (slice_starts(items[i], "session="))
			FUZZ_CHECK(slice_inside(a->session, items[i]) && a->session.n);
	}
	FUZZ_CHECK(a->format < ARRAY_SIZE(words));
}

static void check_query(struct slice rest)
{
	struct slice items[QUERY_ITEMS_MAX] = { 0 };
	struct args a = { 0 };
	struct err e = { 0 };
	size_t n = 0;

	while (n < QUERY_ITEMS_MAX && next_piece(&rest, '&', &items[n]))
		n++;
	if (query_decode(items, n, fields, &a, &e) == 0)
		check_accepted(items, n, &a);
	else
		check_err(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice all = exact(data, size);
	struct slice rest = all, path;

	if (!next_piece(&rest, '\n', &path))
		return 0;
	check_path(path);
	check_query(rest);
	route_accepts(rest, "text/event-stream");
	return 0;
}
