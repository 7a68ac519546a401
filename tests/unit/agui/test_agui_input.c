/* A RunAgentInput: what is taken and what is refused, by which name; its bounds, one below and one above; and what of a message is
 * told to an agent. */
#include "unit.h"

#include "agui/agui_input.h"
#include "base/limits.h"
#include "json/jenc.h"

#define IDS "\"threadId\":\"t\",\"runId\":\"r\""
#define HEAD "{" IDS ",\"messages\":"
#define ONE(members) HEAD "[{\"id\":\"m\"," members "}]}"
#define TOOLS(text) HEAD "[],\"tools\":" text "}"
#define USER(content) ONE("\"role\":\"user\",\"content\":" content)

static int parse(struct slice text, struct err *e)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(text);
	struct agui_input in = { 0 };
	int r = agui_input_parse(copy, &in, e);

	assert_true(r == 0 || r == -EINVAL);
	if (r < 0) /* nothing needs freeing */
		assert_true(!in.messages && !in.thread_id && !in.nmessages);
	agui_input_done(&in);
	return r;
}

struct refusal {
	const char *text, *reason, *field;
};

static void check_refused(size_t i, const struct refusal *row)
{
	struct err e = { 0 };

	if (parse(slice_of(row->text), &e) == 0 || strcmp(e.reason, row->reason) != 0 ||
	    strcmp(e.field, row->field) != 0)
		fail_msg("row %zu: %s %s: %s", i, e.reason, e.field, row->text);
}

static void test_refused(void **state _unused_)
{
	static const struct refusal rows[] = {
		{ "", "BODY_INVALID", "" },
		{ "[]", "BODY_INVALID", "" },
		{ "7", "BODY_INVALID", "" },
		{ HEAD "[]", "BODY_INVALID", "" },
		{ HEAD "[]} x", "BODY_INVALID", "" },
		{ HEAD "\"\xff\"}", "BODY_INVALID", "" },
		{ "{\"runId\":\"r\",\"messages\":[]}", "FIELD_MISSING", "threadId" },
		{ "{\"threadId\":\"t\",\"messages\":[]}", "FIELD_MISSING", "runId" },
		{ "{" IDS "}", "FIELD_MISSING", "messages" },
		{ "{\"threadId\":\"\",\"runId\":\"r\",\"messages\":[]}", "FIELD_INVALID",
		  "threadId" },
		{ "{\"threadId\":7,\"runId\":\"r\",\"messages\":[]}", "FIELD_INVALID", "threadId" },
		{ HEAD "{}}", "FIELD_INVALID", "messages" },
		{ HEAD "\"all\"}", "FIELD_INVALID", "messages" },
		{ HEAD "[7]}", "FIELD_INVALID", "messages[0]" },
		{ HEAD "[[]]}", "FIELD_INVALID", "messages[0]" },
		{ HEAD "[{\"role\":\"user\",\"content\":\"x\"}]}", "FIELD_MISSING",
		  "messages[0].id" },
		{ HEAD "[{\"id\":\"\",\"role\":\"user\",\"content\":\"x\"}]}", "FIELD_INVALID",
		  "messages[0].id" },
		{ ONE("\"content\":\"x\""), "FIELD_MISSING", "messages[0].role" },
		{ ONE("\"role\":\"root\",\"content\":\"x\""), "FIELD_INVALID", "messages[0].role" },
		{ ONE("\"role\":7,\"content\":\"x\""), "FIELD_INVALID", "messages[0].role" },
		{ ONE("\"role\":\"user\""), "FIELD_INVALID", "messages[0].content" },
		{ USER("{}"), "FIELD_INVALID", "messages[0].content" },
		{ USER("null"), "FIELD_INVALID", "messages[0].content" },
		{ ONE("\"role\":\"system\",\"content\":[]"), "FIELD_INVALID",
		  "messages[0].content" },
		{ ONE("\"role\":\"developer\",\"content\":7"), "FIELD_INVALID",
		  "messages[0].content" },
		{ ONE("\"role\":\"tool\",\"content\":\"x\""), "FIELD_MISSING",
		  "messages[0].toolCallId" },
		{ ONE("\"role\":\"tool\",\"content\":\"x\",\"toolCallId\":[]"), "FIELD_INVALID",
		  "messages[0].toolCallId" },
		{ TOOLS("{}"), "FIELD_INVALID", "tools" },
		{ TOOLS("[{}]"), "FIELD_INVALID", "tools[0].name" },
		{ TOOLS("[7]"), "FIELD_INVALID", "tools[0].name" },
		{ TOOLS("[{\"name\":\"a\"},{\"name\":7}]"), "FIELD_INVALID", "tools[1].name" },
		{ HEAD "[],\"context\":{}}", "FIELD_INVALID", "context" },
		{ HEAD "[],\"resume\":\"x\"}", "FIELD_INVALID", "resume" },
		{ HEAD "[],\"protocolVersion\":1}", "FIELD_INVALID", "protocolVersion" },
		{ HEAD "[],\"parentRunId\":{}}", "FIELD_INVALID", "parentRunId" },
		{ HEAD "[],\"forwardedProps\":{\"acpd\":[]}}", "FIELD_INVALID",
		  "forwardedProps.acpd" },
		{ HEAD "[],\"forwardedProps\":{\"acpd\":\"x\"}}", "FIELD_INVALID",
		  "forwardedProps.acpd" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_refused(i, &rows[i]);
}

static void test_taken(void **state _unused_)
{
	static const char *const rows[] = {
		HEAD "[]}",
		HEAD "[],\"state\":7,\"forwardedProps\":\"x\",\"unknown\":[{}]}",
		HEAD "[],\"state\":null,\"tools\":null,\"context\":null,\"resume\":null}",
		HEAD "[],\"forwardedProps\":{\"acpd\":null}}",
		ONE("\"role\":\"assistant\""),
		ONE("\"role\":\"assistant\",\"content\":{\"any\":1}"),
		ONE("\"role\":\"reasoning\",\"content\":7"),
		ONE("\"role\":\"activity\""),
		USER("[]"),
		USER("[7,\"x\",{}]"), /* refused when it is to be told, by the number of the part */
		TOOLS("[]"),
		TOOLS("[{\"name\":\"\",\"parameters\":7}]"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err e = { 0 };

		if (parse(slice_of(rows[i]), &e) < 0)
			fail_msg("row %zu: %s %s: %s", i, e.reason, e.field, rows[i]);
	}
}

static void test_members(void **state _unused_)
{
	static const char text[] =
		"{" IDS ",\"parentRunId\":\"p\",\"protocolVersion\":\"1.0\",\"state\":{\"a\":1},"
		"\"messages\":[{\"id\":\"a\\u0062\",\"role\":\"tool\",\"toolCallId\":\"c\","
		"\"content\":\"x\",\"error\":\"why\"}],\"tools\":[{\"name\":\"n\"}],"
		"\"context\":[1],\"resume\":[2],\"forwardedProps\":{\"acpd\":{\"k\":0}}}";
	struct agui_input in = { 0 };

	assert_int_equal(agui_input_parse(slice_of(text), &in, NULL), 0);
	assert_string_equal(in.parent, "p");
	assert_false(agui_input_is_old(&in));
	assert_text(in.state, "{\"a\":1}");
	assert_text(in.tools, "[{\"name\":\"n\"}]");
	assert_text(in.context, "[1]");
	assert_text(in.resume, "[2]");
	assert_text(in.settings, "{\"k\":0}");
	assert_int_equal(in.nmessages, 1);
	assert_string_equal(in.messages[0].id, "ab");
	assert_string_equal(in.messages[0].tool_call_id, "c");
	assert_text(in.messages[0].error, "\"why\"");
	agui_input_done(&in);
}

/* --- bounds ----------------------------------------------------------------------------------------------- */

static void put_times(struct buf *b, const char *text, size_t n)
{
	while (n--)
		buf_puts(b, text);
}

/* before, n times the text, after. reason NULL: it is taken. */
struct bound {
	const char *before, *text, *after;
	size_t max;
	const char *reason, *field; /* of one more than that */
};

static void check_bound(const struct bound *row, size_t n, const char *reason)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err e = { 0 };
	int r;

	buf_puts(&b, row->before);
	put_times(&b, row->text, n);
	buf_puts(&b, row->after);
	r = parse(buf_slice(&b), &e);
	if ((r == 0) != !reason ||
	    (reason && (strcmp(e.reason, reason) != 0 || strcmp(e.field, row->field) != 0)))
		fail_msg("%zu of %s: %s %s", n, row->text, e.reason, e.field);
}

static void test_bounds(void **state _unused_)
{
	static const struct bound rows[] = {
		{ "{\"threadId\":\"", "x", "\",\"runId\":\"r\",\"messages\":[]}", AGUI_ID_MAX,
		  "FIELD_TOO_LONG", "threadId" },
		{ "{\"threadId\":\"t\",\"messages\":[],\"runId\":\"", "x", "\"}", AGUI_ID_MAX,
		  "FIELD_TOO_LONG", "runId" },
		{ HEAD "[{\"role\":\"user\",\"content\":\"x\",\"id\":\"", "x", "\"}]}", AGUI_ID_MAX,
		  "FIELD_TOO_LONG", "messages[0].id" },
		{ HEAD "[{\"id\":\"m\",\"role\":\"tool\",\"content\":\"x\",\"toolCallId\":\"", "x",
		  "\"}]}", RPC_ID_MAX, "FIELD_TOO_LONG", "messages[0].toolCallId" },
		{ HEAD "[{\"id\":\"m\",\"role\":\"user\",\"content\":\"x\"}",
		  ",{\"id\":\"m\",\"role\":\"user\",\"content\":\"x\"}", "]}",
		  AGUI_MESSAGES_MAX - 1, "TOO_MANY", "messages" },
		{ HEAD "[],\"tools\":[{\"name\":\"n\"}", ",{\"name\":\"n\"}", "]}",
		  AGUI_TOOLS_MAX - 1, "TOO_MANY", "tools" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		check_bound(&rows[i], rows[i].max, NULL);
		check_bound(&rows[i], rows[i].max + 1, rows[i].reason);
	}
}

/* Everywhere, also in what is only passed on. */
static void check_depth(const char *before, unsigned around, const char *after)
{
	for (unsigned more = 0; more <= 1; more++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct err e = { 0 };
		size_t n = JSON_DEPTH_MAX - around + more;

		buf_puts(&b, before);
		put_times(&b, "[", n);
		put_times(&b, "]", n);
		buf_puts(&b, after);
		assert_int_equal(parse(buf_slice(&b), &e), more ? -EINVAL : 0);
		if (more)
			assert_string_equal(e.reason, "BODY_INVALID");
	}
}

static void test_depth(void **state _unused_)
{
	check_depth(HEAD "[],\"state\":{\"a\":", 2, "}}");
	check_depth(HEAD "[],\"unknown\":", 1, "}");
	check_depth(HEAD "[],\"context\":", 1, "}");
	check_depth(HEAD "[{\"id\":\"m\",\"role\":\"user\",\"content\":", 3, "}]}");
}

/* --- what an agent is told ----------------------------------------------------------------------------------- */

#define META "\"_meta\":{\"agui\":{\"id\":\"m\",\"role\":\"user\"}}"
#define SOURCE(type, mime) "\"source\":{\"type\":\"" type "\",\"value\":\"v\"" mime "}"
#define MIME ",\"mimeType\":\"image/png\""

static void check_told(const char *content, const char *want, const char *field)
{
	_cleanup_(buf_done) struct buf b = { 0 }, text = { 0 };
	struct agui_input in = { 0 };
	struct err e = { 0 };
	struct jw w = JW(&b);
	int r;

	buf_printf(&text, HEAD "[{\"id\":\"m\",\"role\":\"user\",\"content\":%s}]}", content);
	assert_int_equal(agui_input_parse(buf_slice(&text), &in, &e), 0);
	jw_arr(&w, NULL);
	r = agui_content_put(&in.messages[0], 3, &w, &e);
	jw_end_arr(&w);
	assert_int_equal(r, want ? 0 : -EINVAL);
	if (want)
		assert_buf(&b, want);
	else
		assert_string_equal(e.field, field);
	agui_input_done(&in);
}

static void test_told(void **state _unused_)
{
	static const struct {
		const char *content, *want, *field;
	} rows[] = {
		{ "\"a\\nb\"", "[{\"type\":\"text\",\"text\":\"a\\nb\"," META "}]", NULL },
		{ "[]", "[]", NULL },
		{ "[{\"type\":\"text\",\"text\":\"a\"}]",
		  "[{\"type\":\"text\",\"text\":\"a\"," META "}]", NULL },
		{ "[{\"type\":\"image\"," SOURCE("data", MIME) "}]",
		  "[{\"type\":\"image\",\"data\":\"v\",\"mimeType\":\"image/png\"," META "}]",
		  NULL },
		{ "[{\"type\":\"document\"," SOURCE("url", "") "}]",
		  "[{\"type\":\"resource_link\",\"uri\":\"v\",\"name\":\"v\"," META "}]", NULL },
		{ "[{\"type\":\"image\"," SOURCE("data", "") "}]", NULL, "messages[3].content[0]" },
		{ "[{\"type\":\"document\"," SOURCE("data", MIME) "}]", NULL,
		  "messages[3].content[0]" },
		{ "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":7}]", NULL,
		  "messages[3].content[1]" },
		{ "[7]", NULL, "messages[3].content[0]" },
		{ "[\"text\"]", NULL, "messages[3].content[0]" },
		{ "[[{\"type\":\"text\",\"text\":\"a\"}]]", NULL, "messages[3].content[0]" },
		{ "[{\"type\":\"image\",\"source\":\"v\"}]", NULL, "messages[3].content[0]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_told(rows[i].content, rows[i].want, rows[i].field);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused), cmocka_unit_test(test_taken),
		cmocka_unit_test(test_members), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_depth),	cmocka_unit_test(test_told),
	};

	return RUN(tests, NULL, NULL);
}
