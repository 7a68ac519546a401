/* Rules for commands: tables of what is allowed, asked and denied, and that no way around a rule is taken for something else. */
#include "unit.h"

#include "policy_rows.h"

/* What may run is listed. */
#define LISTED                                                                                                    \
	"{\"commands\":[{\"prefix\":[\"git\",\"status\"],\"policy\":\"allow\"},"                                  \
	"{\"prefix\":[\"git\",\"commit\"],\"policy\":\"allow\"},{\"prefix\":[\"ls\"],\"policy\":\"allow\"},"      \
	"{\"prefix\":[\"cat\"],\"policy\":\"allow\"},{\"prefix\":[\"find\"],\"policy\":\"allow\"},"               \
	"{\"prefix\":[\"sed\"],\"policy\":\"allow\"},{\"prefix\":[\"tar\"],\"policy\":\"allow\"},"                \
	"{\"argv\":[\"make\",\"test\"],\"policy\":\"allow\"},{\"prefix\":[\"git\",\"push\"],\"policy\":\"ask\"}," \
	"{\"prefix\":[\"rm\",\"-rf\",\"/\"],\"policy\":\"deny\"},{\"prefix\":[\"shutdown\"],\"policy\":\"deny\"}]}"
/* What may not run is listed. */
#define OPEN                                                                                               \
	"{\"categories\":{\"execute\":\"allow\"},\"commands\":[{\"prefix\":[\"rm\"],\"policy\":\"deny\"}," \
	"{\"prefix\":[\"git\",\"push\"],\"policy\":\"ask\"},{\"prefix\":[\"rm\",\"-i\"],\"policy\":\"allow\"}]}"
/* Shells are spoken of. */
#define NO_SHELL                                                                                   \
	"{\"commands\":[{\"prefix\":[],\"policy\":\"allow\"},{\"prefix\":[\"sh\"],\"policy\":\"deny\"}]}"
#define SHELL_TOO                                                                                  \
	"{\"commands\":[{\"prefix\":[\"sh\"],\"policy\":\"allow\"},{\"prefix\":[\"rm\"],\"policy\":\"deny\"}]}"

static struct policy *policy_of(const char *text)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(slice_of(text));
	struct policy *p = NULL;
	struct err e = { 0 };

	if (policy_parse(copy, NULL, &p, &e) < 0)
		fail_msg("%s: %s", e.field, e.msg);
	return p;
}

static enum policy_verdict judge(const struct policy *p, const char *text)
{
	_cleanup_(freep) char *copy = xstrdup(text);
	struct err e = { 0 };
	enum policy_verdict v = policy_shell(p, copy, NULL, &e);

	if ((v == POLICY_ALLOW) != (e.reason[0] == '\0'))
		fail_msg("%s: reason \"%s\"", text, e.reason);
	return v;
}

static void check_rows(const char *policy, const struct row *rows, size_t n)
{
	_cleanup_(policy_freep) struct policy *p = policy_of(policy);
	int bad = 0;

	for (size_t i = 0; i < n; i++) {
		int got = judge(p, rows[i].text);

		if (got == rows[i].want)
			continue;
		print_error("  %d, not %d: %s\n", got, rows[i].want, rows[i].text);
		bad++;
	}
	assert_int_equal(bad, 0);
}

static void listed_commands(void **state _unused_)
{
	_Static_assert(ARRAY_SIZE(listed_rows) >= 120, "a table of the ways around a rule");
	check_rows(LISTED, listed_rows, ARRAY_SIZE(listed_rows));
}

static void open_commands(void **state _unused_)
{
	static const struct row rows[] = {
		{ A, "make && npm test" },
		{ A, "python3 script.py" },
		{ D, "rm x" },
		{ A, "rm -i x" },
		{ D, "ls; rm x" },
		{ D, "busybox rm x" },
		{ D, "find . -delete" },
		{ D, "sudo rm x" },
		{ Q, "sudo make install" },
		{ Q, "python3 -c x" },
		{ Q, "python3 < x" },
		{ A, "python3 --version" },
		{ Q, "git -C x push" },
		{ Q, "git --no-pager push origin" },
		{ Q, "git $X" },
		{ A, "git pull" },
		{ Q, "$(x)" },
		{ Q, "cat x | sh" },
		{ Q, "echo x > y" },
		{ Q, "sed 's/x/id/e' y" },
		{ Q, "sed -f x y" },
		{ A, "sed -e 's|x|y|gp' -e '/a/d' y" },
		{ A, "export A=b" },
		{ Q, "export PATH=x" },
		{ Q, "LD_PRELOAD=x make" },
		{ Q, "awk '{print}' x" },
		{ D, "env -i sh -c 'cd / && rm x'" },
		{ A, "ssh-agent" },
		{ Q, "ssh-agent git push" },
		{ Q, "ssh-agent -a /tmp/s git push" },
		{ A, "ssh-agent git pull" },
		{ D, "dbus-run-session rm x" },
		{ Q, "dbus-run-session --dbus-daemon x ls" },
		{ D, "xvfb-run -n 3 rm x" },
	};

	check_rows(OPEN, rows, ARRAY_SIZE(rows));
}

static void shells_by_rule(void **state _unused_)
{
	static const struct row denied[] = {
		{ A, "anything at all" },     { D, "sh -c ls" },    { D, "x $(y)" }, { D, "sh" },
		{ D, "/usr/local/bin/sh x" }, { D, "python -c x" }, { D, "x > y" },  { A, "x | y" },
	};
	static const struct row allowed[] = {
		{ A, "x=$(sh)" },	  { A, "sh script" },	{ D, "sh -c 'rm x'" },
		{ D, "echo $(rm x)" },	  { A, "python -c x" }, { Q, "ls" },
		{ A, "sh script > out" }, { Q, "sh -c ls" },
	};

	check_rows(NO_SHELL, denied, ARRAY_SIZE(denied));
	check_rows(SHELL_TOO, allowed, ARRAY_SIZE(allowed));
}

/* way with inner for its "%", quoted if it stands in quotes. */
static void fill(struct buf *out, const char *way, const char *inner)
{
	const char *at = strchr(way, '%');
	char quote = at > way ? at[-1] : ' ';

	buf_reset(out);
	buf_add(out, way, (size_t)(at - way));
	for (; *inner; inner++) {
		if (quote == '\'' && *inner == '\'')
			buf_puts(out, "'\\'");
		else if ((quote == '"' || quote == '`') && strchr("\\\"$`", *inner))
			buf_putc(out, '\\');
		buf_putc(out, *inner);
	}
	buf_puts(out, at + 1);
	buf_putc(out, '\0');
}

/* Every way of running one command by another, within each other: what is denied stays denied. */
static void nothing_launders(void **state _unused_)
{
	static const char *const ways[] = {
		"sh -c '%'",
		"bash -lc \"%\"",
		"env A=b %",
		"nice -n 3 %",
		"nohup % &",
		"timeout 3 %",
		"setsid %",
		"xargs %",
		"sudo -n %",
		"busybox %",
		"ssh-agent -t 60 %",
		"dbus-run-session -- %",
		"xvfb-run -a -n 3 %",
		"ls; %",
		"ls && %",
		"ls || %",
		"ls | %",
		"ls\n%",
		"echo $(%)",
		"echo `%`",
		"echo \"$(%)\"",
		"(%)",
		"{ %; }",
		"find . -exec % \\;",
		"if ls; then %; fi",
		"while %; do ls; done",
		"ls &&\n%",
		"time %",
		"command %",
		"exec %",
		"eval '%'",
		"A=b %",
		"% > /dev/null",
		"% 2>&1 | cat",
		"stdbuf -oL %",
		"f() { %; }; f",
		"cat <(%)",
		"ls & %",
		"unshare %",
		"watch %",
		"ssh localhost %",
		"script -c '%'",
		"parallel %",
	};
	static const char *const payloads[] = { "rm -rf /", "shutdown now", "git push" };
	static const char *const policies[] = { LISTED, OPEN };
	_cleanup_(buf_done) struct buf inner = { 0 }, outer = { 0 };
	size_t n = 0;

	for (size_t p = 0; p < ARRAY_SIZE(policies); p++) {
		_cleanup_(policy_freep) struct policy *policy = policy_of(policies[p]);

		for (size_t i = 0; i < ARRAY_SIZE(ways) * ARRAY_SIZE(ways) * ARRAY_SIZE(payloads);
		     i++) {
			const char *payload = payloads[i % ARRAY_SIZE(payloads)];
			size_t way = i / ARRAY_SIZE(payloads);

			if (p == 1 && strcmp(payload, "shutdown now") == 0)
				continue; /* allowed there */
			fill(&inner, ways[way % ARRAY_SIZE(ways)], payload);
			fill(&outer, ways[way / ARRAY_SIZE(ways)], inner.data);
			if (judge(policy, outer.data) == POLICY_ALLOW)
				fail_msg("allowed: %s", outer.data);
			n++;
		}
	}
	assert_true(n > 6000);
}

static void words_are_taken_as_they_are(void **state _unused_)
{
	static const struct {
		int want;
		const char *argv[6];
	} rows[] = {
		{ A, { "git", "status" } },
		{ A, { "git", "status", "; rm -rf /" } },
		{ Q, { "git status" } },
		{ D, { "rm", "-rf", "/" } },
		{ Q, { "git", "push", "x" } },
		{ D, { "sh", "-c", "rm -rf /" } },
		{ A, { "ls", "$(rm -rf /)" } },
		{ A, { "ls", "*", ">", "x" } },
		{ D, { "env", "A=$(x)", "rm", "-rf", "/" } },
		{ Q, { "sh", "x" } },
		{ Q, { "" } },
		{ Q, { "A=b", "ls" } },
		{ D, { "find", ".", "-exec", "rm", "{}", ";" } },
	};
	_cleanup_(policy_freep) struct policy *p = policy_of(LISTED);
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *argv[7] = { 0 };

		for (size_t k = 0; k < 6 && rows[i].argv[k]; k++)
			argv[k] = (char *)(uintptr_t)rows[i].argv[k];
		if ((int)policy_argv(p, argv, NULL, &e) != rows[i].want)
			fail_row(i, rows[i].argv[0]);
	}
}

static void depth_is_bounded(void **state _unused_)
{
	_cleanup_(policy_freep) struct policy *p = policy_of(OPEN);
	_cleanup_(buf_done) struct buf text = { 0 };

	for (int i = 0; i < 2000; i++)
		buf_puts(&text, "$(env ");
	buf_putc(&text, '\0');
	assert_int_equal(judge(p, text.data), POLICY_ASK);
}

static void variables(void **state _unused_)
{
	_cleanup_(policy_freep) struct policy *p = policy_of(LISTED);
	struct err e = { 0 };

	assert_int_equal(policy_variable(p, "LD_LIBRARY_PATH", &e), POLICY_ASK);
	assert_int_equal(policy_variable(p, "BASH_ENV", &e), POLICY_ASK);
	assert_int_equal(policy_variable(p, "NODE_OPTIONS", &e), POLICY_ASK);
	assert_int_equal(policy_variable(p, "TZ", &e), POLICY_ALLOW);
	assert_int_equal(policy_variable(NULL, "PATH", &e), POLICY_ALLOW);
}

static void without_rules_all_is_allowed(void **state _unused_)
{
	_cleanup_(policy_freep) struct policy *p =
		policy_of("{\"categories\":{\"execute\":\"ask\"}}");
	struct err e = { 0 };

	assert_int_equal(policy_shell(NULL, "rm -rf / $(x)", NULL, &e), POLICY_ALLOW);
	assert_int_equal(policy_shell(p, "rm -rf /", NULL, &e),
			 POLICY_ALLOW); /* the tool was asked for */
	assert_int_equal(policy_tool(p, CATEGORY_EXECUTE, "runCommand", NULL, &e), POLICY_ASK);
}

/* Of parts that are as strict a rule is named before the lack of one; what allows is named too. */
static void the_rule_that_decides_is_named(void **state _unused_)
{
	static const struct {
		const char *policy, *text, *rule;
		bool unspoken;
	} rows[] = {
		{ LISTED, "git status", "policy.commands[0]", false },
		{ LISTED, "bash -lc 'cd x && git status'", "policy.commands[0]", false },
		{ LISTED, "git push", "policy.commands[8]", false },
		{ LISTED, "npm i; git push", "policy.commands[8]", false },
		{ LISTED, "git push; npm i", "policy.commands[8]", false },
		{ LISTED, "git status && rm -rf / && git push", "policy.commands[9]", false },
		{ LISTED, "npm i", "policy.commands", true },
		{ LISTED, "git status > x", "policy.commands", true },
		{ LISTED, "echo hi", "", false },
		{ OPEN, "npm i", "policy.categories.execute", false },
		{ OPEN, "rm x", "policy.commands[0]", false },
		{ OPEN, "npm i > x", "policy.commands", true },
		{ NO_SHELL, "npm i", "policy.commands[0]", false },
		{ NO_SHELL, "npm i > x", "policy.commands[1]", false },
		{ SHELL_TOO, "ls $(pwd)", "policy.commands", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(policy_freep) struct policy *p = policy_of(rows[i].policy);
		struct policy_reason why = { "left over", true };

		policy_shell(p, rows[i].text, &why, NULL);
		if (strcmp(why.rule, rows[i].rule) != 0 || why.unspoken != rows[i].unspoken)
			fail_msg("%s: %s %d", rows[i].text, why.rule, why.unspoken);
	}
}

static void an_unread_command_counts_as_sh(void **state _unused_)
{
	_cleanup_(policy_freep) struct policy *listed = policy_of(LISTED),
					      *shell = policy_of(NO_SHELL);
	struct policy_reason why = { 0 };
	struct err e = { 0 };

	assert_int_equal(policy_unread_command(NULL, &why, &e), POLICY_ALLOW);
	assert_string_equal(why.rule, "");
	assert_int_equal(policy_unread_command(listed, &why, &e), POLICY_ASK);
	assert_string_equal(why.rule, "policy.commands");
	assert_int_equal(policy_unread_command(shell, &why, &e), POLICY_DENY);
	assert_string_equal(why.rule, "policy.commands[1]");
	assert_string_equal(e.reason, "COMMAND_DENIED");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listed_commands),
		cmocka_unit_test(open_commands),
		cmocka_unit_test(shells_by_rule),
		cmocka_unit_test(nothing_launders),
		cmocka_unit_test(words_are_taken_as_they_are),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(variables),
		cmocka_unit_test(without_rules_all_is_allowed),
		cmocka_unit_test(the_rule_that_decides_is_named),
		cmocka_unit_test(an_unread_command_counts_as_sh),
	};

	return RUN(tests, NULL, NULL);
}
