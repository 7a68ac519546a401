/* The policy's text, its globs, and its word on tools. */
#include "unit.h"

#include "policy/policy.h"
#include "tools/builtin/core/tool.h"

static struct policy *policy_of(const char *text)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(slice_of(text));
	struct policy *p = NULL;
	struct err e = { 0 };

	if (policy_parse(copy, tool_known, &p, &e) < 0)
		fail_msg("%s: %s: %s", text, e.field, e.msg);
	return p;
}

static void wrong_members_are_named(void **state _unused_)
{
	static const struct {
		const char *text, *field;
	} rows[] = {
		{ "[]", "policy" },
		{ "", "policy" },
		{ "{\"reed\":[]}", "reed" },
		{ "{\"read\":\"x\"}", "read" },
		{ "{\"read\":[\"a\",1]}", "read[1]" },
		{ "{\"write\":[\"\"]}", "write[0]" },
		{ "{\"deny\":[\"a\\u0000\"]}", "deny[0]" },
		{ "{\"commands\":{}}", "commands" },
		{ "{\"commands\":[1]}", "commands[0]" },
		{ "{\"commands\":[{}]}", "commands[0].policy" },
		{ "{\"commands\":[{\"policy\":\"allow\"}]}", "commands[0]" },
		{ "{\"commands\":[{\"policy\":\"allow\",\"argv\":[\"a\"],\"prefix\":[\"a\"]}]}",
		  "commands[0]" },
		{ "{\"commands\":[{\"policy\":\"allow\",\"argv\":[]}]}", "commands[0].argv" },
		{ "{\"commands\":[{\"policy\":\"no\",\"argv\":[\"a\"]}]}", "commands[0].policy" },
		{ "{\"commands\":[{\"policy\":\"deny\",\"prefix\":[\"a\",null]}]}",
		  "commands[0].prefix[1]" },
		{ "{\"commands\":[{\"policy\":\"deny\",\"prefix\":[\"a\"],\"x\":1}]}",
		  "commands[0].x" },
		{ "{\"categories\":{\"run\":\"deny\"}}", "categories.run" },
		{ "{\"categories\":{\"edit\":true}}", "categories.edit" },
		{ "{\"tools\":[]}", "tools" },
		{ "{\"tools\":{\"a\":{\"policy\":1}}}", "tools.a.policy" },
		{ "{\"tools\":{\"a\":{\"timeoutMs\":1e3}}}", "tools.a.timeoutMs" },
		{ "{\"dryRun\":\"yes\"}", "dryRun" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(rows[i].text));
		struct policy *p = NULL;
		struct err e = { 0 };

		if (policy_parse(text, tool_known, &p, &e) != -EINVAL || p)
			fail_row(i, rows[i].text);
		if (strcmp(e.field, rows[i].field) != 0)
			fail_msg("%s: names %s", rows[i].text, e.field);
	}
}

static void paths(void **state _unused_)
{
	static const struct {
		const char *path, *read, *write; /* reason, or "" */
	} rows[] = {
		{ "a.txt", "", "PATH_NOT_ALLOWED" },
		{ "src/a.c", "", "" },
		{ "./src//a.c", "", "" },
		{ "src/deep/er/a.c", "", "" },
		{ "src", "", "" }, /* what matches a directory covers it */
		{ "srcs/a.c", "", "PATH_NOT_ALLOWED" },
		{ "x/src/a.c", "", "PATH_NOT_ALLOWED" },
		{ "README.md", "", "" },
		{ "docs/README.md", "", "" },
		{ "docs/README.md.x", "", "PATH_NOT_ALLOWED" },
		{ "gen/x/out.c", "", "" },
		{ "gen/x/y/out.c", "", "PATH_NOT_ALLOWED" },
		{ ".env", "PATH_DENIED", "PATH_DENIED" },
		{ "src/.env", "PATH_DENIED", "PATH_DENIED" },
		{ "src/.env/x", "PATH_DENIED", "PATH_DENIED" },
		{ "src/.envs", "", "" },
		{ "src/secret/a.c", "PATH_DENIED", "PATH_DENIED" },
		{ "src/x/secret/a.c", "", "" },
		{ ".git/config", "PATH_DENIED", "PATH_DENIED" },
		{ "../a", "PATH_DENIED", "PATH_DENIED" },
		{ "src/../a", "PATH_DENIED", "PATH_DENIED" },
		{ "/etc/passwd", "PATH_DENIED", "PATH_DENIED" },
		{ "src/..a", "", "" },
		{ "", "", "PATH_NOT_ALLOWED" },
		{ ".", "", "PATH_NOT_ALLOWED" },
	};
	_cleanup_(policy_freep) struct policy *p = policy_of(
		"{\"write\":[\"src/**\",\"/src\",\"*.md\",\"gen/*/*.c\"],\"deny\":[\".env\",\"src/secret/\",\".git/**\"]}");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err r = { 0 }, w = { 0 };
		enum policy_verdict rv = policy_path(p, rows[i].path, POLICY_READ, NULL, &r);
		enum policy_verdict wv = policy_path(p, rows[i].path, POLICY_WRITE, NULL, &w);

		if (strcmp(r.reason, rows[i].read) != 0 || strcmp(w.reason, rows[i].write) != 0)
			fail_msg("%s: \"%s\", \"%s\"", rows[i].path, r.reason, w.reason);
		assert_int_equal(rv == POLICY_ALLOW, !rows[i].read[0]);
		assert_int_equal(wv == POLICY_ALLOW, !rows[i].write[0]);
	}
	assert_int_equal(policy_path(NULL, "../x", POLICY_WRITE, NULL, NULL), POLICY_ALLOW);
}

static void directories_that_lead_somewhere(void **state _unused_)
{
	static const struct {
		const char *dir;
		bool within;
	} rows[] = { { "", true },	   { "src", true },	{ "src/a", true },
		     { "src/a/b", false }, { "lib", true },	{ "lib/x/y", true },
		     { "doc", false },	   { "../src", false }, { "src/tmp", false } };
	_cleanup_(policy_freep) struct policy *p =
		policy_of("{\"read\":[\"src/*/x.c\",\"lib/**\"],\"deny\":[\"tmp\"]}");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (policy_path_within(p, rows[i].dir, POLICY_READ) != rows[i].within)
			fail_row(i, rows[i].dir);
	assert_true(policy_path_within(p, "anywhere", POLICY_WRITE));
	assert_true(policy_path_within(NULL, "anywhere", POLICY_READ));
}

/* Whatever path is made of these parts: what may be written lies below "w", and nothing named "no" is on the way. */
static void only_what_globs_cover_is_written(void **state _unused_)
{
	static const char *const parts[] = { "w", "no", ".", "..", "", "a", "ww", "w.no", "~" };
	_cleanup_(policy_freep) struct policy *p =
		policy_of("{\"write\":[\"/w\"],\"read\":[\"a\"],\"deny\":[\"no\"]}");
	size_t allowed = 0;

	for (size_t i = 0; i < 9u * 9 * 9 * 9 * 9; i++) {
		const char *v[5];
		char path[64];
		size_t first = 0, n = i;
		bool want = true;

		for (size_t k = 0; k < 5; k++, n /= 9)
			v[k] = parts[n % 9];
		snprintf(path, sizeof(path), "%s/%s/%s/%s/%s", v[0], v[1], v[2], v[3], v[4]);
		while (first < 5 && (!v[first][0] || strcmp(v[first], ".") == 0))
			first++;
		want = path[0] != '/' && first < 5 && strcmp(v[first], "w") == 0;
		for (size_t k = 0; k < 5; k++)
			want = want && strcmp(v[k], "no") != 0 && strcmp(v[k], "..") != 0;
		if ((policy_path(p, path, POLICY_WRITE, NULL, NULL) == POLICY_ALLOW) != want)
			fail_msg("%s: not %d", path, want);
		allowed += want;
	}
	assert_true(allowed > 1000);
}

static void tools(void **state _unused_)
{
	static const struct {
		enum policy_category category;
		const char *name;
		enum policy_verdict want;
	} rows[] = {
		{ CATEGORY_READ, "readFile", POLICY_ALLOW },
		{ CATEGORY_EDIT, "writeFile", POLICY_ASK },
		{ CATEGORY_EDIT, "applyDiff", POLICY_ALLOW },
		{ CATEGORY_READ, "grep", POLICY_DENY },
		{ CATEGORY_EXECUTE, "runCommand", POLICY_ALLOW },
		{ CATEGORY_OTHER, "openPR", POLICY_ASK },
		{ CATEGORY_EXECUTE, "runCode", POLICY_DENY },
	};
	_cleanup_(policy_freep) struct policy *p = policy_of(
		"{\"categories\":{\"edit\":\"ask\",\"execute\":\"deny\"},\"commands\":[{\"prefix\":[\"ls\"],\"policy\":\"allow\"}],"
		"\"tools\":{\"open*\":{\"policy\":\"ask\"},\"applyDiff\":{\"policy\":\"allow\",\"timeoutMs\":20,\"dryRun\":false},"
		"\"grep\":{\"policy\":\"deny\",\"maxCalls\":0},\"runCode\":{\"policy\":\"deny\"}},\"dryRun\":true}");
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (policy_tool(p, rows[i].category, rows[i].name, NULL, &e) != rows[i].want)
			fail_row(i, rows[i].name);
	assert_int_equal(policy_tool_limits(p, "applyDiff").timeout_ms, 20);
	assert_false(policy_tool_limits(p, "applyDiff").dry_run);
	assert_true(policy_tool_limits(p, "readFile").dry_run);
	assert_int_equal(policy_tool_limits(p, "grep").max_calls, 0);
	assert_int_equal(policy_tool_limits(p, "readFile").max_calls, -1);
	assert_false(policy_tool_limits(NULL, "x").dry_run);
	assert_int_equal(policy_tool(NULL, CATEGORY_EXECUTE, "x", NULL, &e), POLICY_ALLOW);
}

static void strictness(void **state _unused_)
{
	assert_int_equal(policy_stricter(POLICY_ALLOW, POLICY_ASK), POLICY_ASK);
	assert_int_equal(policy_stricter(POLICY_ASK, POLICY_ALLOW), POLICY_ASK);
	assert_int_equal(policy_stricter(POLICY_DENY, POLICY_ASK), POLICY_DENY);
	assert_int_equal(policy_stricter(POLICY_ALLOW, POLICY_ALLOW), POLICY_ALLOW);
}

static void rules_for_paths_and_tools_are_named(void **state _unused_)
{
	static const char text[] =
		"{\"deny\":[\"x/**\",\".env\"],\"write\":[\"src/**\"],\"categories\":{\"edit\":\"ask\","
		"\"read\":\"allow\"},\"tools\":{\"write*\":{\"policy\":\"allow\"},\"grep\":{\"maxCalls\":1}}}";
	_cleanup_(policy_freep) struct policy *p = policy_of(text);
	struct policy_reason why = { 0 };

	assert_int_equal(policy_path(p, "x/a", POLICY_READ, &why, NULL), POLICY_DENY);
	assert_string_equal(why.rule, "policy.deny[0]");
	assert_int_equal(policy_path(p, "src/.env", POLICY_WRITE, &why, NULL), POLICY_DENY);
	assert_string_equal(why.rule, "policy.deny[1]");
	assert_int_equal(policy_path(p, "a.c", POLICY_WRITE, &why, NULL), POLICY_DENY);
	assert_string_equal(why.rule, "policy.write");
	assert_int_equal(policy_path(p, "src/a.c", POLICY_WRITE, &why, NULL), POLICY_ALLOW);
	assert_string_equal(why.rule, "");
	assert_int_equal(policy_tool(p, CATEGORY_EDIT, "writeFile", &why, NULL), POLICY_ALLOW);
	assert_string_equal(why.rule, "policy.tools.write*");
	assert_int_equal(policy_tool(p, CATEGORY_EDIT, "editFile", &why, NULL), POLICY_ASK);
	assert_string_equal(why.rule, "policy.categories.edit");
	assert_int_equal(policy_tool(p, CATEGORY_READ, "grep", &why, NULL), POLICY_ALLOW);
	assert_string_equal(why.rule, "policy.categories.read");
	assert_int_equal(policy_tool(p, CATEGORY_OTHER, "openPR", &why, NULL), POLICY_ALLOW);
	assert_string_equal(why.rule, "");
}

/* Outside of the root a list of what may be written leaves everything out, and names are denied as they are in it. */
static void places_outside_of_the_root(void **state _unused_)
{
	_cleanup_(policy_freep) struct policy *p =
		policy_of("{\"deny\":[\".env\",\"a/b\"],\"write\":[\"**\"]}");
	struct policy_reason why = { 0 };

	assert_int_equal(policy_path_outside(p, "/etc/x", POLICY_READ, &why, NULL), POLICY_ALLOW);
	assert_string_equal(why.rule, "");
	assert_int_equal(policy_path_outside(p, "/etc/x", POLICY_WRITE, &why, NULL), POLICY_DENY);
	assert_string_equal(why.rule, "policy.write");
	assert_int_equal(policy_path_outside(p, "/home/u/.env", POLICY_READ, &why, NULL),
			 POLICY_DENY);
	assert_string_equal(why.rule, "policy.deny[0]");
	assert_int_equal(policy_path_outside(p, "/srv/a/b", POLICY_READ, &why, NULL), POLICY_ALLOW);
	assert_int_equal(policy_path_outside(p, "/srv/../x", POLICY_READ, &why, NULL), POLICY_DENY);
	assert_int_equal(policy_path_outside(NULL, "/x", POLICY_WRITE, &why, NULL), POLICY_ALLOW);
	assert_true(policy_has_globs(p, POLICY_READ));
	assert_false(policy_has_globs(NULL, POLICY_READ));
}

static void rule_add(void *ctx, const char *rule, const struct policy_rule_said *said)
{
	buf_printf(ctx, "%s=%d%d ", rule, said->kind, said->verdict);
}

static void every_rule_is_listed_once(void **state _unused_)
{
	static const char text[] =
		"{\"deny\":[\"a\",\"b\"],\"read\":[\"**\"],\"write\":[],\"commands\":[{\"prefix\":[\"ls\"],"
		"\"policy\":\"allow\"}],\"categories\":{\"mcp\":\"ask\"},\"tools\":{\"grep\":{\"maxCalls\":1},"
		"\"read*\":{\"policy\":\"deny\"},\"openPR\":{}},\"dryRun\":true}";
	_cleanup_(policy_freep) struct policy *p = policy_of(text);
	_cleanup_(buf_done) struct buf b = { 0 };

	policy_each_rule(p, rule_add, &b);
	policy_each_rule(NULL, rule_add, &b);
	buf_putc(&b, '\0');
	assert_string_equal(b.data, "policy.deny[0]=0-1 policy.deny[1]=0-1 policy.read=1-1 "
				    "policy.write=2-1 policy.commands[0]=30 "
				    "policy.categories.mcp=41 policy.tools.grep=60 "
				    "policy.tools.read*=5-1 policy.dryRun=70 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_members_are_named),
		cmocka_unit_test(paths),
		cmocka_unit_test(directories_that_lead_somewhere),
		cmocka_unit_test(only_what_globs_cover_is_written),
		cmocka_unit_test(tools),
		cmocka_unit_test(strictness),
		cmocka_unit_test(rules_for_paths_and_tools_are_named),
		cmocka_unit_test(places_outside_of_the_root),
		cmocka_unit_test(every_rule_is_listed_once),
	};

	return RUN(tests, NULL, NULL);
}
