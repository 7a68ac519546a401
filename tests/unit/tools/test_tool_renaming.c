/* Names of a session's tools that no harness takes for another's, and lists with them. The server answers what the test says. */
#include "unit.h"

#include "base/limits.h"
#include "tools/mcp/msg.h"
#include "tools/relay/harness/tool_renaming.h"

static struct tool_names *names;

static int setup(void **state _unused_)
{
	names = tool_names_new();
	return 0;
}

static int teardown(void **state _unused_)
{
	names = tool_names_free(names);
	return 0;
}

static void assert_alone(const char *server, const char *tool)
{
	const struct tool_name *t = tool_names_take(names, server, tool);

	assert_string_equal(t->alias, tool);
}

/* Given another name, of which the server's own is the beginning; it is found again by it. */
static const char *assert_renamed(const char *server, const char *tool, const char *folded)
{
	const struct tool_name *t = tool_names_take(names, server, tool);

	assert_string_equal(t->tool, tool);
	assert_int_equal(strncmp(t->alias, folded, strlen(folded)), 0);
	assert_int_equal(strlen(t->alias), strlen(folded) + 9);
	assert_ptr_equal(tool_names_find(names, server, t->alias), t);
	assert_ptr_equal(tool_names_take(names, server, tool), t);
	return t->alias;
}

static void a_tool_that_harnesses_fold_into_another_gets_a_name(void **state _unused_)
{
	const char *one, *two;

	assert_alone("s", "a.b");
	one = assert_renamed("s", "a/b", "a_b");
	two = assert_renamed("s", "a_b", "a_b");
	assert_string_not_equal(one, two);
	assert_alone("s", "A_b");
	assert_alone("s", "a-b");
	assert_alone("t", "a_b");
	assert_ptr_equal(tool_names_find(names, "s", "a.b")->alias,
			 tool_names_find(names, "s", "a.b")->tool);
	assert_null(tool_names_find(names, "s", "a:b"));
	/* as UTF-16 counts */
	assert_alone("s", "\xc3\xa9");
	assert_renamed("s", "\xe2\x82\xac", "_");
	assert_renamed("s", "_", "_");
	assert_alone("s", "\xf0\x9f\x98\x80");
	assert_renamed("s", "__", "__");
}

static void servers_are_joined_to_their_tools(void **state _unused_)
{
	assert_alone("x", "y_z");
	assert_renamed("x_y", "z", "z");
	assert_null(tool_names_find(names, "x_y", "z"));
}

static void a_long_name_does_not_grow(void **state _unused_)
{
	char a[57], b[57];
	const struct tool_name *t;

	memset(a, 'n', 56);
	a[56] = '\0';
	memcpy(b, a, 57);
	a[50] = '.';
	b[50] = '/';
	assert_alone("s", a);
	t = tool_names_take(names, "s", b);
	assert_int_equal(strlen(t->alias), 56);
	assert_string_not_equal(t->alias, b);
}

/* With its server's name, whatever that is. */
static void a_name_that_is_too_long_is_cut(void **state _unused_)
{
	char server[201], a[101], b[101];
	const struct tool_name *t;

	memset(server, 's', 200);
	server[200] = '\0';
	memset(a, 'n', 100);
	a[100] = '\0';
	memcpy(b, a, 101);
	b[99] = 'm';
	t = tool_names_take(names, "s", a);
	assert_int_equal(strlen(t->alias), 56);
	assert_ptr_equal(tool_names_find(names, "s", t->alias), t);
	assert_string_not_equal(tool_names_take(names, "s", b)->alias, t->alias);
	assert_ptr_equal(tool_names_take(names, "s", a), t);
	assert_int_equal(strlen(tool_names_take(names, server, a)->alias), TOOL_ALIAS_MIN);
}

/* A server that has the name which one of its tools would get. */
static void a_name_that_was_thought_of_is_not_given_twice(void **state _unused_)
{
	_cleanup_(freep) char *guess = NULL;
	const char *given;

	assert_alone("s", "a.b");
	guess = xstrdup(assert_renamed("s", "a/b", "a_b"));
	teardown(NULL);
	setup(NULL);
	assert_alone("s", "a.b");
	assert_alone("s", guess);
	given = assert_renamed("s", "a/b", "a_b");
	assert_string_not_equal(given, guess);
}

static void there_is_an_end(void **state _unused_)
{
	char name[16];

	for (int i = 0; i < TOOL_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		assert_non_null(tool_names_take(names, "s", name));
	}
	assert_null(tool_names_take(names, "s", "more"));
	assert_non_null(tool_names_take(names, "s", name));
}

static void names_of_servers_are_compared_as_harnesses_do(void **state _unused_)
{
	struct jval list = { J_ARRAY, SLICE("[{\"name\":\"t.1\"},{\"name\":\"two\"}]") };

	assert_true(mcp_server_named(list, 2, "t/1"));
	assert_true(mcp_server_named(list, 2, "two"));
	assert_false(mcp_server_named(list, 1, "two"));
	assert_false(mcp_server_named(list, 2, "t-1"));
	assert_false(mcp_server_named((struct jval){ J_ARRAY, SLICE_NONE }, 2, "two"));
}

/* --- a harness's lists and calls ------------------------------------------------------------------------- */

static struct {
	struct mcp_call call;
	const struct mcp_reply_ops *ops;
	void *ctx;
	struct buf params;
	bool cancelled;
} asked;
static struct buf answer, listed;

static struct mcp_call *server_call(struct mcp_backend *b, const char *method _unused_,
				    struct slice params, const struct mcp_reply_ops *ops, void *ctx)
{
	asked.call.backend = b;
	asked.ops = ops;
	asked.ctx = ctx;
	buf_reset(&asked.params);
	buf_add_slice(&asked.params, params);
	return &asked.call;
}

static void server_cancel(struct mcp_call *c _unused_)
{
	asked.cancelled = true;
}

static const struct mcp_backend_ops server_ops = { .call = server_call, .cancel = server_cancel };

static void on_notify(void *ctx _unused_, const char *method _unused_, struct slice params _unused_)
{
}

static void on_done(void *ctx _unused_, struct slice result, struct slice error)
{
	buf_reset(&answer);
	buf_add_slice(&answer, result.n ? result : error);
}

static const struct mcp_reply_ops client_ops = { on_notify, on_done };

static void on_listed(void *ctx _unused_, struct slice tools, struct slice renamed,
		      struct slice omitted)
{
	buf_reset(&listed);
	buf_add_slice(&listed, tools);
	buf_add_slice(&listed, renamed);
	buf_add_slice(&listed, omitted);
}

static const struct tool_renaming_ops ops = { on_listed };

static void list(struct mcp_backend *g, const char *params, const char *result)
{
	mcp_backend_call(g, "tools/list", slice_of(params), &client_ops, NULL);
	asked.ops->done(asked.ctx, slice_of(result), SLICE_NONE);
}

#define SCHEMA "\"inputSchema\":{\"type\":\"object\",\"properties\":{}}"
#define AB "{ \"name\" : \"a.b\", \"n\":1.0, " SCHEMA "}"
#define C "{\"name\":\"c\"," SCHEMA "}"

static void lists_and_calls_have_the_names_of_each_side(void **state _unused_)
{
	struct mcp_backend server = { &server_ops };
	struct mcp_backend *g = tool_renaming_new(&server, "s", names, &ops, NULL);
	_cleanup_(buf_done) struct buf want = { 0 };
	const char *given;

	list(g, "{}", "{ \"tools\":[ " AB "] ,\"nextCursor\":\"2\"}");
	assert_buf(&answer, "{ \"tools\":[ " AB "] ,\"nextCursor\":\"2\"}");
	assert_buf(&listed, "[\"a.b\"]");
	list(g, "{\"cursor\":\"2\"}",
	     "{\"tools\":[{\"x\":1.0,\"name\":\"a/b\"," SCHEMA "}," C "],\"y\":1e0}");
	given = tool_names_take(names, "s", "a/b")->alias;
	buf_printf(&want, "{\"tools\":[{\"x\":1.0,\"name\":\"%s\"," SCHEMA "}," C "],\"y\":1e0}",
		   given);
	assert_true(slice_eq(buf_slice(&answer), buf_slice(&want)));
	buf_reset(&want);
	buf_printf(&want, "[\"a.b\",\"a/b\",\"c\"][{\"tool\":\"a/b\",\"as\":\"%s\"}]", given);
	assert_true(slice_eq(buf_slice(&listed), buf_slice(&want)));

	buf_reset(&want);
	buf_printf(&want, "{\"name\":\"%s\",\"arguments\":{\"n\":1.0}}", given);
	mcp_backend_call(g, "tools/call", buf_slice(&want), &client_ops, NULL);
	assert_buf(&asked.params, "{\"name\":\"a/b\",\"arguments\":{\"n\":1.0}}");
	mcp_backend_call(g, "tools/call", SLICE("{ \"name\":\"a.b\"}"), &client_ops, NULL);
	assert_buf(&asked.params, "{ \"name\":\"a.b\"}");
	mcp_backend_call(g, "tools/call", SLICE("{\"name\":7}"), &client_ops, NULL);
	assert_buf(&asked.params, "{\"name\":7}");

	/* what is gone is not told any more; one odd tool costs no other */
	list(g, "{}",
	     "{\"tools\":[" C ",7,{\"name\":\"\"}," C
	     ",{\"name\":\"s\",\"inputSchema\":{\"type\":\"string\"}},"
	     "{\"name\":\"d\",\"description\":null,\"title\":\"t\"}]}");
	assert_buf(&answer, "{\"tools\":[" C ",{\"name\":\"d\",\"title\":\"t\"," SCHEMA "}]}");
	assert_buf(
		&listed,
		"[\"c\",\"d\"]["
		"{\"tool\":\"\",\"reason\":\"TOOL_NAME_INVALID\",\"message\":\"name: must be text of 1 to 1024 bytes\"},"
		"{\"tool\":\"\",\"reason\":\"TOOL_NAME_INVALID\",\"message\":\"name: must be text of 1 to 1024 bytes\"},"
		"{\"tool\":\"c\",\"reason\":\"TOOL_NAME_TAKEN\",\"message\":\"name: the list has this tool twice\"},"
		"{\"tool\":\"s\",\"reason\":\"TOOL_SCHEMA_UNSUPPORTED\",\"message\":\"inputSchema: not the schema of an object\"}]");
	list(g, "{}", "{\"tools\":7}");
	assert_buf(&answer, "{\"tools\":7}");
	mcp_call_cancel(mcp_backend_call(g, "tools/list", SLICE("{}"), &client_ops, NULL));
	assert_true(asked.cancelled);
	mcp_backend_free(g);
	buf_done(&answer);
	buf_done(&listed);
	buf_done(&asked.params);
}

/* As agents say in a title or a name what they call. */
static void words_of_agents_are_understood(void **state _unused_)
{
	static const struct {
		const char *server, *said, *tool; /* NULL: it is about none */
	} rows[] = {
		{ "jira", "jira/get_issue", "get_issue" },
		{ "jira", "mcp__jira__get_issue", "get_issue" },
		{ "jira", "jira-get_issue", "get_issue" },
		{ "jira", "get_issue (jira MCP Server)", "get_issue" },
		{ "jira", "jira.get", "get" },
		{ "jira", "jira/get_issue_now", NULL },
		{ "jira", "myjira/get", NULL },
		{ "jira", "jira", NULL },
		{ "jira", "get", NULL },
		{ "jira", "", NULL },
		{ "jira", "other/get_issue", NULL },
		{ "odd.name", "odd_name/a_b", "a/b" },
		{ "odd", "odd_name/a_b", NULL },
		{ "jira", "jira jira/get", "get" },
	};

	assert_alone("jira", "get_issue");
	assert_alone("jira", "get");
	assert_alone("odd.name", "a/b");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct tool_name *t = tool_names_said(names, rows[i].server, rows[i].said);

		if (t ? !rows[i].tool || strcmp(t->tool, rows[i].tool) != 0 : rows[i].tool != NULL)
			fail_msg("%s: %s", rows[i].said, t ? t->tool : "none");
	}
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_tool_that_harnesses_fold_into_another_gets_a_name),
		T(servers_are_joined_to_their_tools),
		T(a_long_name_does_not_grow),
		T(a_name_that_is_too_long_is_cut),
		T(a_name_that_was_thought_of_is_not_given_twice),
		T(there_is_an_end),
		T(words_of_agents_are_understood),
		T(names_of_servers_are_compared_as_harnesses_do),
		T(lists_and_calls_have_the_names_of_each_side),
	};

	return RUN(tests, NULL, NULL);
}
