/* The manifest of harnesses: what it adds and overrides, and faults that name the entry and the member. */
#include "unit.h"

#include "base/limits.h"
#include "harnesses/harness.h"
#include "harnesses/registry.h"

static struct harness_table t;
static struct err e;

static int load(const char *text)
{
	harness_table_done(&t);
	scratch_write("manifest", text, strlen(text));
	memset(&e, 0, sizeof(e));
	return harness_table_load(&t, scratch_path("manifest"), &e);
}

static int teardown(void **state _unused_)
{
	harness_table_done(&t);
	return 0;
}

static void test_builtin(void **state _unused_)
{
	const struct harness_def *d;

	assert_int_equal(harness_table_load(&t, NULL, &e), 0);
	d = harness_table_find(&t, "opencode");
	assert_non_null(d);
	assert_ptr_equal(d->ops, &harness_opencode);
	assert_string_equal(d->command, "opencode");
	assert_string_equal(d->args[0], "acp");
	assert_null(d->args[1]);
	assert_true(d->caps.restore);
	assert_int_equal(t.first_manifest, t.n);
	assert_null(harness_table_find(&t, "nothing"));
}

/* A program of another id that behaves like a known one reads what that one reads. */
static void test_places(void **state _unused_)
{
	static const struct {
		const char *id, *skills, *home, *file;
	} rows[] = {
		{ "opencode", ".agents/skills", ".config/opencode/AGENTS.md", "AGENTS.md" },
		{ "codex", ".agents/skills", ".codex/AGENTS.md", "AGENTS.md" },
		{ "pi", ".agents/skills", ".pi/agent/AGENTS.md", "AGENTS.md" },
		{ "copilot", ".agents/skills", ".copilot/copilot-instructions.md", "AGENTS.md" },
		{ "claude", ".claude/skills", ".claude/CLAUDE.md", "CLAUDE.md" },
		{ "gemini", ".agents/skills", ".gemini/GEMINI.md", "GEMINI.md" },
		{ "mine", ".agents/skills", NULL, "AGENTS.md" },
		{ "my-claude", ".claude/skills", ".claude/CLAUDE.md", "CLAUDE.md" },
	};

	assert_int_equal(
		load("{\"harnesses\":[{\"id\":\"mine\",\"command\":\"x\"},{\"id\":\"codex\",\"command\":\"y\"},"
		     "{\"id\":\"my-claude\",\"command\":\"x\",\"quirks\":\"claude\"}]}"),
		0);
	assert_int_equal(t.n, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct harness_places *p = &harness_table_find(&t, rows[i].id)->places;

		assert_string_equal(p->skills_dir, rows[i].skills);
		assert_string_equal(p->instructions_file, rows[i].file);
		if (rows[i].home)
			assert_string_equal(p->instructions_home, rows[i].home);
		else
			assert_null(p->instructions_home);
	}
}

static void test_full_entry(void **state _unused_)
{
	const struct harness_def *d;

	assert_int_equal(
		load("{\"harnesses\":[{\"id\":\"stub\",\"command\":\"/opt/stub\",\"args\":[\"--acp\",\"\",\"\\u00e9\"],"
		     "\"env\":{\"A\":\"1\",\"B\":\"\"},\"title\":\"Stub\","
		     "\"capabilities\":{\"loadSession\":true,\"promptCapabilities\":{\"image\":true,\"audio\":false},"
		     "\"mcpCapabilities\":{\"http\":true},\"sessionCapabilities\":{\"additionalDirectories\":{}}},"
		     "\"authMethods\":[{\"id\":\"key\",\"name\":\"Key\"}]}]}"),
		0);
	d = harness_table_find(&t, "stub");
	assert_non_null(d);
	assert_ptr_equal(d, &t.defs[t.first_manifest]);
	assert_ptr_equal(d->ops, &harness_acp);
	assert_string_equal(d->command, "/opt/stub");
	assert_string_equal(d->title, "Stub");
	assert_string_equal(d->args[0], "--acp");
	assert_string_equal(d->args[1], "");
	assert_string_equal(d->args[2], "\xc3\xa9");
	assert_null(d->args[3]);
	assert_int_equal(d->nenv, 2);
	assert_string_equal(d->env[0].name, "A");
	assert_string_equal(d->env[1].value, "");
	assert_true(d->caps.image && d->caps.http && d->caps.restore && d->caps.additional_dirs);
	assert_false(d->caps.audio || d->caps.sse || d->caps.embedded_context);
	assert_string_equal(d->auth_methods, "[{\"id\":\"key\",\"name\":\"Key\"}]");
}

/* It goes into an answer that some clients read as one line. */
static void test_auth_methods_are_one_line(void **state _unused_)
{
	const char *raw;

	assert_int_equal(
		load("{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"authMethods\":[\r\n"
		     "\t{\n\"id\": \"k\",\n\"name\":\"K\" }\n]}]}"),
		0);
	raw = harness_table_find(&t, "a")->auth_methods;
	assert_null(strpbrk(raw, "\r\n"));
	assert_int_equal(jscan_value(slice_of(raw), NULL), JSCAN_OK);
}

static void test_baseline_entry(void **state _unused_)
{
	const struct harness_caps none = { 0 };
	const struct harness_def *d;

	assert_int_equal(
		load("{\"harnesses\":[{\"id\":\"a\",\"command\":\"a\"},{\"id\":\"b\",\"command\":\"b\","
		     "\"args\":null,\"env\":null,\"title\":null}]}"),
		0);
	assert_int_equal(t.n - t.first_manifest, 2);
	d = harness_table_find(&t, "b");
	assert_memory_equal(&d->caps, &none, sizeof(none));
	assert_int_equal(d->nenv, 0);
	assert_null(d->auth_methods);
	assert_int_equal(load("{\"harnesses\":[]}"), 0);
	assert_int_equal(t.n, t.first_manifest);
}

static void test_override_of_a_builtin(void **state _unused_)
{
	const struct harness_def *d;

	assert_int_equal(
		load("{\"harnesses\":[{\"id\":\"stub\",\"command\":\"s\"},"
		     "{\"id\":\"opencode\",\"args\":[\"acp\",\"--x\"],\"env\":{\"K\":\"v\"}}]}"),
		0);
	d = harness_table_find(&t, "opencode");
	assert_ptr_equal(d->ops, &harness_opencode);
	assert_string_equal(d->command, "opencode");
	assert_string_equal(d->args[1], "--x");
	assert_string_equal(d->env[0].name, "K");
	assert_true(d->caps.restore);
	assert_int_equal(
		load("{\"harnesses\":[{\"id\":\"opencode\",\"command\":\"/x/opencode\"}]}"), 0);
	d = harness_table_find(&t, "opencode");
	assert_string_equal(d->command, "/x/opencode");
	assert_string_equal(d->args[0], "acp");
}

/* The first entry of the manifest is the default harness, be it new or an override. */
static void test_first_entry(void **state _unused_)
{
	assert_int_equal(
		load("{\"harnesses\":[{\"id\":\"opencode\"},{\"id\":\"stub\",\"command\":\"s\"}]}"),
		0);
	assert_string_equal(t.defs[t.first_manifest].id, "opencode");
}

static void test_faults_are_named(void **state _unused_)
{
	static const struct {
		const char *text, *words[2];
	} rows[] = {
		{ "", { "not valid JSON" } },
		{ "{\"harnesses\":[}", { "not valid JSON" } },
		{ "[]", { "not an object" } },
		{ "{}", { "harnesses" } },
		{ "{\"harnesses\":{}}", { "harnesses" } },
		{ "{\"harnesses\":[],\"harnesses\":[]}", { "twice" } },
		{ "{\"harnesses\":[1]}", { "harnesses[0]" } },
		{ "{\"harnesses\":[{\"command\":\"x\"}]}", { "harnesses[0].id" } },
		{ "{\"harnesses\":[{\"id\":7,\"command\":\"x\"}]}", { "harnesses[0].id" } },
		{ "{\"harnesses\":[{\"id\":\"\",\"command\":\"x\"}]}", { "harnesses[0].id" } },
		{ "{\"harnesses\":[{\"id\":\"a\"}]}", { "harnesses[0].command" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"quirks\":\"nobody\"}]}",
		  { "harnesses[0].quirks" } },
		{ "{\"harnesses\":[{\"id\":\"opencode\",\"quirks\":\"claude\"}]}",
		  { "harnesses[0].quirks" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"\"}]}", { "harnesses[0].command" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\"},{\"id\":\"b\",\"command\":[]}]}",
		  { "harnesses[1].command" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"args\":\"-x\"}]}",
		  { "harnesses[0].args" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"args\":[\"a\",1]}]}",
		  { "harnesses[0].args[1]" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"env\":[]}]}",
		  { "harnesses[0].env" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"env\":{\"OK\":\"1\",\"K\":1}}]}",
		  { "harnesses[0].env.K" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"env\":{\"A=B\":\"1\"}}]}",
		  { "harnesses[0].env.A=B" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"env\":{\"\":\"1\"}}]}",
		  { "harnesses[0].env." } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"title\":1}]}",
		  { "harnesses[0].title" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"capabilities\":[]}]}",
		  { "harnesses[0].capabilities" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"authMethods\":{}}]}",
		  { "harnesses[0].authMethods" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\"},{\"id\":\"a\",\"command\":\"y\"}]}",
		  { "harnesses[1]", "twice" } },
		{ "{\"harnesses\":[{\"id\":\"opencode\"},{\"id\":\"opencode\"}]}",
		  { "harnesses[1]", "twice" } },
		{ "{\"harnesses\":[{\"id\":\"a\",\"id\":\"b\",\"command\":\"x\"}]}", { "twice" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (load(rows[i].text) >= 0)
			fail_row(i, rows[i].text);
		for (size_t k = 0; k < ARRAY_SIZE(rows[i].words) && rows[i].words[k]; k++)
			if (!strstr(e.msg, rows[i].words[k]))
				fail_msg("row %zu: %s: \"%s\" does not say %s", i, rows[i].text,
					 e.msg, rows[i].words[k]);
		/* the file is named, and nothing is left */
		assert_non_null(strstr(e.msg, scratch_path("manifest")));
		assert_null(t.defs);
		assert_int_equal(t.n, 0);
	}
}

static void test_too_many(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_puts(&b, "{\"harnesses\":[");
	for (int i = 0; i < 65; i++)
		buf_printf(&b, "%s{\"id\":\"h%d\",\"command\":\"x\"}", i ? "," : "", i);
	buf_add(&b, "]}", 3);
	assert_int_equal(load(b.data), -EINVAL);
	assert_string_equal(e.reason, "TOO_MANY");
	buf_reset(&b);
	buf_puts(&b, "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"args\":[\"\"");
	for (int i = 0; i < 64; i++)
		buf_puts(&b, ",\"x\"");
	buf_add(&b, "]}]}", 5);
	assert_int_equal(load(b.data), -EINVAL);
	assert_string_equal(e.reason, "TOO_MANY");
	buf_reset(&b);
	buf_puts(&b, "{\"harnesses\":[{\"id\":\"a\",\"command\":\"x\",\"env\":{\"A\":\"\"");
	for (int i = 0; i < EXTRA_ENV_MAX; i++)
		buf_printf(&b, ",\"V%d\":\"\"", i);
	buf_add(&b, "}}]}", 5);
	assert_int_equal(load(b.data), -EINVAL);
	assert_string_equal(e.reason, "TOO_MANY");
}

static void test_unreadable(void **state _unused_)
{
	memset(&e, 0, sizeof(e));
	assert_int_equal(harness_table_load(&t, scratch_path("missing"), &e), -ENOENT);
	assert_non_null(strstr(e.msg, "missing"));
	assert_string_equal(e.reason, "MANIFEST_UNREADABLE");
}

#define T(fn) cmocka_unit_test_teardown(fn, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_builtin),	T(test_places),
		T(test_full_entry),	T(test_auth_methods_are_one_line),
		T(test_baseline_entry), T(test_override_of_a_builtin),
		T(test_first_entry),	T(test_faults_are_named),
		T(test_too_many),	T(test_unreadable),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
