/*
 * testrun_target.c - finds a target and builds the command of one shard from it.
 *
 * Rows of the configuration are checked at the start by the code that reads them later. `judged` is
 * the command without the report options, whose random path no rule of a policy could match. Names
 * in `only` are quoted for a shell and escaped for patterns of go and JavaScript. A command without
 * {shard} refuses shards, and a command without {only} refuses `only`: it would run all tests.
 */
#include "tools/builtin/testrun/testrun.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "json/json.h"

#define ONLY "{only}"
#define REPORTER "{reporter}" /* the options of a runner that is known */

/* --- what is known without configuration ------------------------------------------------------------------ */

struct known {
	const char *name, *file;
	const char *holds; /* text that makes it sure; NULL: that there is such a file is enough */
	const char *argv[6];
	const char *joined_only;
	const char *format;
	const char *runner; /* that is asked for a report; "npm": what the script runs */
};

/* clang-format off */
static const struct known known[] = {
	{ "cargo", "Cargo.toml", NULL, { "cargo", "test", "--", ONLY }, NULL, "cargo", NULL },
	{ "go", "go.mod", NULL, { "go", "test", "-v", "./...", ONLY }, "-run", "go", NULL },
	{ "npm", "package.json", "\"test\"", { "npm", "test", "--", REPORTER, ONLY }, NULL, "auto", "npm" },
	{ "pytest", "pytest.ini", NULL, { "pytest", "-v", REPORTER, ONLY }, NULL, "pytest", "pytest" },
	{ "pytest", "conftest.py", NULL, { "pytest", "-v", REPORTER, ONLY }, NULL, "pytest", "pytest" },
	{ "pytest", "pyproject.toml", "pytest", { "pytest", "-v", REPORTER, ONLY }, NULL, "pytest", "pytest" },
	{ "pytest", "setup.cfg", "pytest", { "pytest", "-v", REPORTER, ONLY }, NULL, "pytest", "pytest" },
	{ "pytest", "tests", NULL, { "pytest", "-v", REPORTER, ONLY }, NULL, "pytest", "pytest" },
	{ "make", "Makefile", "\ntest:", { "make", "test" }, NULL, "auto", NULL },
};
/* clang-format on */

/* A file is enough, or it must hold a text: "\n" in front lets a text at the start of a line
 * match the first one, too. */
static bool test_target_is_there(const struct known *k, const char *dir)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	_cleanup_(freep) char *path = file_join(dir, k->file);

	if (!k->holds)
		return access(path, F_OK) == 0;
	buf_putc(&text, '\n');
	return file_read(path, MIB, &text) == 0 &&
	       memmem(text.data, text.len, k->holds, strlen(k->holds));
}

/* A known name runs without a check of the directory; "auto" chooses by its files. */
static const struct known *find_known(const char *name, const char *dir)
{
	bool any = strcmp(name, "auto") == 0;

	/* The first match decides, so the order of the table is the order of preference. */
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (any ? test_target_is_there(&known[i], dir) : strcmp(known[i].name, name) == 0)
			return &known[i];
	return NULL;
}

/* Its name cannot be guessed, so that no other process can put a file there before. */
static char *report_path(const struct toolbox *b, const char *suffix)
{
	return xprintf("%s/acpd-report-%s-{shard}.%s", toolbox_state_dir(b), RANDOM_HEX(8), suffix);
}

/* npm starts any runner: which one is found in package.json. */
static void use_known(const struct toolbox *b, const struct known *k, const char *dir,
		      struct test_target *ret)
{
	size_t n = 0;

	ret->argv = xalloc(ARRAY_SIZE(k->argv) * sizeof(char *));
	for (; n < ARRAY_SIZE(k->argv) - 1 && k->argv[n]; n++)
		ret->argv[n] = xstrdup(k->argv[n]);
	ret->joined_only = k->joined_only;
	ret->format = test_format_find(k->format);
	if (k->runner)
		ret->runner = strcmp(k->runner, "npm") == 0 ? test_runner_of_package(dir) :
							      test_runner_find(k->runner);
	ret->by_name = k->joined_only || strcmp(k->name, "cargo") == 0 ||
		       (ret->runner && ret->runner->only);
	if (!ret->runner)
		return;
	ret->format = test_format_find(ret->runner->format);
	if (ret->runner->suffix)
		ret->report = report_path(b, ret->runner->suffix);
}

/* --- rows of the configuration ------------------------------------------------------------------------------ */

struct row {
	struct jval command;
	char *format, *report, *dir;
	int64_t timeout_ms;
};

static const struct jfield fields[] = {
	JF_RAW(struct row, command, "command", JF_REQUIRED),
	JF_STR(struct row, format, "format", 0, 16),
	JF_STR(struct row, report, "report", JF_FILLED, PATH_BYTES_MAX),
	JF_STR(struct row, dir, "cwd", JF_FILLED, PATH_BYTES_MAX),
	JF_INT(struct row, timeout_ms, "timeoutMs", 0, 0, RUN_TIME_MAX),
	JF_END,
};

static int words(struct jval list, struct test_target *ret)
{
	size_t n = 0;

	if (list.type == J_STRING)
		return jstr_decode(list, MESSAGE_MAX, &ret->shell) == 0 && *ret->shell ? 0 :
											 -EINVAL;
	if (list.type != J_ARRAY)
		return -EINVAL;
	ret->argv = xalloc((jarr_length(list) + 1) * sizeof(char *));
	jarr_each(v, list)
		if (jstr_decode(v, MESSAGE_MAX, &ret->argv[n++]) < 0)
			return -EINVAL;
	return n && *ret->argv[0] ? 0 : -EINVAL;
}

static int test_target_refuse(const char *prefix, const char *name, const char *what, struct err *e)
{
	const char *path = SHORT_TEXT(96, "%s%.60s", prefix, name);

	return err_field(e, path, "FIELD_INVALID", "%s %s", path, what);
}

static int use_row(struct jval raw, const char *name, struct test_target *ret, struct err *e)
{
	_cleanup_(freep) char *prefix = NULL;
	struct row row = { .timeout_ms = -1 };
	int r;

	prefix = xprintf("tests.%.60s.", name);
	r = jdec_strict(raw.raw, fields, prefix, "is not known to runTests", &row, e);
	if (r < 0)
		return r;
	/* 0 is a value of its own: no limit. */
	if (jobj_get(raw.raw, "timeoutMs").type == J_NONE)
		row.timeout_ms = -1;
	ret->report = TAKE_PTR(row.report);
	ret->dir = TAKE_PTR(row.dir);
	ret->timeout_ms = row.timeout_ms;
	ret->format = test_format_find(row.format ? row.format : ret->report ? "junit" : "auto");
	if (words(row.command, ret) < 0)
		r = test_target_refuse(prefix, "command", "must be text or words", e);
	else if (!ret->format)
		r = test_target_refuse(prefix, "format", "is not known", e);
	jdec_free(fields, &row);
	return r;
}

/* Checks rows with the code that reads them later, and drops what it read. */
int test_rows_check(struct slice rows, struct err *e)
{
	int r;

	jobj_each(key, v, rows) {
		_cleanup_(test_target_done) struct test_target target = { .timeout_ms = -1 };
		_cleanup_(freep) char *name = xstrndup(key.p, key.n);

		if (v.type != J_OBJECT)
			r = test_target_refuse("tests.", name, "must be an object", e);
		else
			r = use_row(v, name, &target, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int test_target_find(const struct builtin_call *c, const char *name, const char *cwd,
		     struct test_target *ret, struct err *e)
{
	struct jval row = jobj_get(toolbox_setting(c->box, "tests"), name);
	const struct known *k;

	*ret = (struct test_target){ .timeout_ms = -1 };
	ret->name = xstrdup(name);
	if (row.type == J_OBJECT)
		return use_row(row, name, ret, e);
	k = find_known(name, cwd);
	if (!k)
		return err_field(
			e, "target", "TEST_TARGET_UNKNOWN",
			"%.60s: no such target is configured, and nothing in %.100s says how to run it",
			name, cwd);
	xstrset(&ret->name, k->name);
	use_known(c->box, k, cwd, ret);
	return 0;
}

void test_target_done(struct test_target *t)
{
	free_each(t->name, t->shell, t->report, t->dir);
	t->argv = strv_free(t->argv);
	*t = (struct test_target){ 0 };
}

/* --- one command of it ---------------------------------------------------------------------------------------- */

/* Puts the numbers in place, and in text for a shell the names. */
static char *test_target_expand(const char *text, unsigned shard, unsigned shards, const char *only)
{
	struct buf b = { 0 };
	struct slice rest = slice_of(text);

	while (rest.n) {
		if (slice_skip(&rest, "{shard}"))
			buf_printf(&b, "%u", shard);
		else if (slice_skip(&rest, "{shards}"))
			buf_printf(&b, "%u", shards);
		else if (only && slice_skip(&rest, ONLY))
			buf_puts(&b, only);
		/* Without memory the result is empty. */
		else if (buf_putc(&b, *rest.p) == 0)
			rest = slice_after(rest, 1);
		else
			break;
	}
	buf_putc(&b, '\0');
	return b.failed ? xstrdup("") : b.data;
}

static bool mentions(const struct test_target *t, const char *what)
{
	if (t->shell)
		return strstr(t->shell, what) != NULL;
	for (char **word = t->argv; *word; word++)
		if (strstr(*word, what))
			return true;
	return false;
}

/* Appends a character of a name to a regular expression of go or JavaScript. */
static void test_names_put_literal(struct buf *b, char c)
{
	if (strchr("\\^$.*+?()[]{}|/", c))
		buf_putc(b, '\\');
	buf_putc(b, c);
}

/* go: ^a$|^b$/^sub$, a pattern for each level of names; it knows "|" between such patterns. Else names whose text has one
 * of these: a regular expression for JavaScript. */
static char *names_pattern(char *const *only, bool go)
{
	struct buf b = { 0 };

	for (char *const *name = only; *name; name++) {
		buf_puts(&b, name == only ? "" : "|");
		buf_puts(&b, go ? "^" : "");
		for (const char *c = *name; *c; c++)
			if (go && *c == '/')
				buf_puts(&b, "$/^");
			else
				test_names_put_literal(&b, *c);
		buf_puts(&b, go ? "$" : "");
	}
	buf_putc(&b, '\0');
	return b.failed ? xstrdup("") : b.data;
}

static void put_only(const struct test_target *t, char *const *only, char **argv, size_t *n)
{
	if (!only)
		return;
	if (t->runner && t->runner->only) {
		_cleanup_(freep) char *pattern = names_pattern(only, false);

		argv[(*n)++] = xprintf("%s%s", t->runner->only, pattern);
		return;
	}
	if (t->joined_only) {
		argv[(*n)++] = xstrdup(t->joined_only);
		argv[(*n)++] = names_pattern(only, true);
		return;
	}
	for (; *only; only++)
		argv[(*n)++] = xstrdup(*only);
}

/* Options that make the runner write the report that test_target_report names. */
static void put_reporter(const struct test_target *t, unsigned shard, char **argv, size_t *n)
{
	_cleanup_(freep) char *path = test_target_report(t, shard, 0, "/");

	for (size_t i = 0; t->runner && i < ARRAY_SIZE(t->runner->options); i++) {
		const char *word = t->runner->options[i];
		size_t to = word ? strlen(word) - strlen(TEST_REPORT) : 0;

		if (!word)
			break;
		argv[(*n)++] = path && strstr(word, TEST_REPORT) ?
				       xprintf("%.*s%s", (int)to, word, path) :
				       xstrdup(word);
	}
}

static char **put_words(const struct test_target *t, unsigned shard, unsigned shards,
			char *const *only, bool report)
{
	/* The most words that a row can become: its own, the names, and the options of a
	 * reporter. */
	size_t n = 0, room = 1 + ARRAY_SIZE(((struct test_runner *)0)->options);
	char **argv;

	for (char **word = t->argv; *word; word++)
		room++;
	for (char *const *name = only; name && *name; name++)
		room++;
	argv = xalloc(room * sizeof(char *));
	for (char **word = t->argv; *word; word++)
		if (strcmp(*word, ONLY) == 0)
			put_only(t, only, argv, &n);
		else if (strcmp(*word, REPORTER) != 0)
			argv[n++] = test_target_expand(*word, shard, shards, NULL);
		else if (report)
			put_reporter(t, shard, argv, &n);
	return argv;
}

int test_target_command(const struct test_target *t, unsigned shard, unsigned shards,
			char *const *only, struct command_spec *cmd, struct err *e)
{
	_cleanup_(freep) char *quoted = only ? command_quote(only) : xstrdup("");

	if (shards > 1 && !mentions(t, "{shard}"))
		return err_field(e, "shards", "SHARDS_UNSUPPORTED",
				 "the command of %.60s has no {shard}", t->name);
	if (only && !mentions(t, ONLY))
		return err_field(e, "only", "ONLY_UNSUPPORTED",
				 "the command of %.60s has no {only}", t->name);
	if (t->shell) {
		cmd->shell = test_target_expand(t->shell, shard, shards, quoted);
		cmd->shown = xstrdup(cmd->shell);
		return 0;
	}
	cmd->argv = put_words(t, shard, shards, only, true);
	if (t->runner)
		cmd->judged = put_words(t, shard, shards, only, false);
	cmd->shown = command_quote(cmd->argv);
	return 0;
}

/* Returns the path of the report of one shard, or NULL if the target writes none. */
char *test_target_report(const struct test_target *t, unsigned shard, unsigned shards,
			 const char *cwd)
{
	_cleanup_(freep) char *path =
		t->report ? test_target_expand(t->report, shard, shards, NULL) : NULL;

	return !path ? NULL : path[0] == '/' ? TAKE_PTR(path) : file_join(cwd, path);
}
