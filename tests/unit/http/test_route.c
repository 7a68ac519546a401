/* Paths and queries of the HTTP side: what fits a route, what a query may say, and that everything else is refused by name. */
#include "unit.h"

#include "http/request_parts.h"

static void test_match(void **state _unused_)
{
	static const struct {
		const char *pattern, *path, *first,
			*second; /* first NULL: no match; "": no parameter */
	} rows[] = {
		{ "/health", "/health", "", "" },
		{ "/health", "/health/", NULL, NULL },
		{ "/health", "/healt", NULL, NULL },
		{ "/health", "", NULL, NULL },
		{ "/v1/sessions/{}", "/v1/sessions/abc", "abc", "" },
		{ "/v1/sessions/{}", "/v1/sessions/", NULL, NULL },
		{ "/v1/sessions/{}", "/v1/sessions", NULL, NULL },
		{ "/v1/sessions/{}", "/v1/sessions/a/b", NULL, NULL },
		{ "/v1/sessions/{}/events", "/v1/sessions/a/events", "a", "" },
		{ "/v1/sessions/{}/events", "/v1/sessions/a/b/events", NULL, NULL },
		{ "/v1/sessions/{}/events", "/v1/sessions//events", NULL, NULL },
		{ "/v1/sessions/{}/events", "/v1/sessions/a/event", NULL, NULL },
		{ "/v1/sessions/{}/events", "/v1/sessions/{}/events", "{}", "" },
		{ "/a/{}/b/{}", "/a/1/b/2", "1", "2" },
		{ "/a/{}/b/{}", "/a/1/b/", NULL, NULL },
		{ "/{}/{}/{}", "/1/2/3", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice p[ROUTE_PARAMS_MAX] = { 0 };
		bool ok = route_match(rows[i].pattern, rows[i].path, p);

		if (ok != (rows[i].first != NULL))
			fail_row(i, rows[i].path);
		if (ok && (!slice_is(p[0], rows[i].first) || !slice_is(p[1], rows[i].second)))
			fail_row(i, rows[i].path);
	}
}

static void test_accepts(void **state _unused_)
{
	static const struct {
		const char *accept;
		bool want;
	} rows[] = {
		{ "text/event-stream", true },
		{ "TEXT/Event-Stream", true },
		{ "application/json, text/event-stream;q=0.9", true },
		{ " text/event-stream ; charset=utf-8 ,*/*", true },
		{ "", false },
		{ "*/*", false },
		{ "text/event-streams", false },
		{ "text/event-strea", false },
		{ "application/x;a=text/event-stream", false },
		{ ",,", false },
		{ ",text/event-stream", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (route_accepts(slice_of(rows[i].accept), "text/event-stream") != rows[i].want)
			fail_row(i, rows[i].accept);
}

struct args {
	uint64_t since;
	enum query_flag follow;
	unsigned format;
	struct slice session;
};

static const char *const words[] = { "sse", "ndjson", NULL };
static const struct query_field fields[] = {
	{ "since", QUERY_UINT, offsetof(struct args, since), NULL },
	{ "follow", QUERY_BOOL, offsetof(struct args, follow), NULL },
	{ "format", QUERY_WORD, offsetof(struct args, format), words },
	{ "session", QUERY_TEXT, offsetof(struct args, session), NULL },
	{ 0 },
};

/* One item, without a byte behind it. */
static int decode(const char *text, struct args *ret, struct err *e)
{
	_cleanup_(slice_freep) struct slice item = exact_copy(slice_of(text));
	int r;

	*ret = (struct args){ 0 };
	r = query_decode(&item, 1, fields, ret, e);
	ret->session.p = NULL; /* goes with the item */
	return r;
}

static void test_values(void **state _unused_)
{
	static const struct {
		const char *item;
		struct args want;
	} rows[] = {
		{ "since=0", { 0 } },
		{ "since=12", { .since = 12 } },
		{ "since=0012", { .since = 12 } },
		{ "since=18446744073709551615", { .since = UINT64_MAX } },
		{ "follow=true", { .follow = QUERY_YES } },
		{ "follow=false", { .follow = QUERY_NO } },
		{ "format=sse", { .format = 1 } },
		{ "format=ndjson", { .format = 2 } },
		{ "session=a=b&c", { .session = { NULL, 5 } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct args a;
		struct err e;

		if (decode(rows[i].item, &a, &e) != 0 || a.since != rows[i].want.since ||
		    a.follow != rows[i].want.follow || a.format != rows[i].want.format ||
		    a.session.n != rows[i].want.session.n)
			fail_row(i, rows[i].item);
	}
}

static void test_refused(void **state _unused_)
{
	static const struct {
		const char *item, *reason;
	} rows[] = {
		{ "", "QUERY_UNKNOWN" },
		{ "=", "QUERY_UNKNOWN" },
		{ "=1", "QUERY_UNKNOWN" },
		{ "sinc=1", "QUERY_UNKNOWN" },
		{ "since1=1", "QUERY_UNKNOWN" },
		{ "Since=1", "QUERY_UNKNOWN" },
		{ " since=1", "QUERY_UNKNOWN" },
		{ "token=0123456789abcdef", "QUERY_UNKNOWN" },
		{ "since", "QUERY_INVALID" },
		{ "since=", "QUERY_INVALID" },
		{ "since=-1", "QUERY_INVALID" },
		{ "since=+1", "QUERY_INVALID" },
		{ "since= 1", "QUERY_INVALID" },
		{ "since=1 ", "QUERY_INVALID" },
		{ "since=1.0", "QUERY_INVALID" },
		{ "since=0x1", "QUERY_INVALID" },
		{ "since=18446744073709551616", "QUERY_INVALID" },
		{ "since=99999999999999999999999", "QUERY_INVALID" },
		{ "since=\xd9\xa1", "QUERY_INVALID" },
		{ "follow=", "QUERY_INVALID" },
		{ "follow=1", "QUERY_INVALID" },
		{ "follow=True", "QUERY_INVALID" },
		{ "follow=truely", "QUERY_INVALID" },
		{ "format=xml", "QUERY_INVALID" },
		{ "format=ss", "QUERY_INVALID" },
		{ "session=", "QUERY_INVALID" },
		{ "session=a b", "QUERY_INVALID" },
		{ "session=a\n", "QUERY_INVALID" },
		{ "session=\x7f", "QUERY_INVALID" },
		{ "session=\xc3\xa4", "QUERY_INVALID" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct args a;
		struct err e;

		if (decode(rows[i].item, &a, &e) != -EINVAL || strcmp(e.reason, rows[i].reason))
			fail_row(i, rows[i].item);
	}
}

static void test_several(void **state _unused_)
{
	const struct slice good[] = { SLICE("format=sse"), SLICE("since=3"),
				      SLICE("follow=false") };
	const struct slice twice[] = { SLICE("since=3"), SLICE("format=sse"), SLICE("since=3") };
	struct args a = { .since = 9 };
	struct err e;

	assert_int_equal(query_decode(NULL, 0, fields, &a, &e), 0);
	assert_true(a.since == 9);
	assert_int_equal(query_decode(good, 3, fields, &a, &e), 0);
	assert_true(a.since == 3 && a.format == 1 && a.follow == QUERY_NO);
	assert_int_equal(query_decode(twice, 3, fields, &a, &e), -EINVAL);
	assert_string_equal(e.reason, "QUERY_DUPLICATE");
	assert_string_equal(e.msg, "query parameter 'since' is given twice");
}

/* The name comes from outside, and its value may be a secret. */
static void test_name_in_text(void **state _unused_)
{
	static const char secret[] = "tok\nen\x01=hunter2-hunter2";
	char wide[300];
	struct args a;
	struct err e;

	assert_int_equal(decode(secret, &a, &e), -EINVAL);
	assert_null(strstr(e.msg, "hunter2"));
	assert_null(strchr(e.msg, '\n'));
	memset(wide, 'w', sizeof(wide) - 1);
	wide[sizeof(wide) - 1] = '\0';
	assert_int_equal(decode(wide, &a, &e), -EINVAL);
	assert_true(strlen(e.msg) < 120);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_match),	cmocka_unit_test(test_accepts),
		cmocka_unit_test(test_values),	cmocka_unit_test(test_refused),
		cmocka_unit_test(test_several), cmocka_unit_test(test_name_in_text),
	};

	return RUN(tests, NULL, NULL);
}
