/* Requests of harnesses in the words of rules, as real programs sent them; what rules say of them; rules of a session. */
#include "unit.h"

#include "base/limits.h"
#include "json/jenc.h"
#include "session/parts/rules/rule_judge.h"

#define SERVERS "[{\"name\":\"loc\",\"command\":\"x\"},{\"name\":\"acpd\",\"command\":\"x\"}]"

static void put_request(struct buf *b, const char *call, const struct rule_call *before)
{
	_cleanup_(buf_done) struct buf params = { 0 };
	struct rule_request r;
	struct jw w = JW(b);

	buf_printf(&params, "{\"toolCall\":%s,\"options\":[]}", call);
	rule_request_read(buf_slice(&params), before, SLICE(SERVERS), &r);
	buf_printf(b, "%s%s%s%s ", policy_category_name(r.category), r.unread ? " unread" : "",
		   r.below ? " below" : "",
		   r.reads && r.writes ? " both" :
		   r.writes	       ? " writes" :
					 "");
	jw_obj(&w, NULL);
	rule_request_put(&r, &w);
	jw_end_obj(&w);
	buf_putc(b, '\0');
	rule_request_done(&r);
}

/* toolCall of the requests in tests/fixtures, and of those that the adapters make of them. */
static void requests_of_real_harnesses(void **state _unused_)
{
	static const struct {
		const char *call, *want;
	} rows[] = {
		/* OpenCode */
		{ "{\"toolCallId\":\"c\",\"title\":\"echo hi; exit 3\",\"kind\":\"execute\",\"locations\":[],"
		  "\"rawInput\":{\"command\":\"echo hi; exit 3\"}}",
		  "execute {\"kind\":\"execute\",\"commands\":[\"echo hi; exit 3\"]}" },
		{ "{\"toolCallId\":\"c\",\"title\":\"/ws/a.txt\",\"kind\":\"edit\",\"locations\":[{\"path\":\"/ws/a.txt\"}],"
		  "\"rawInput\":{\"filepath\":\"/ws/a.txt\",\"diff\":\"--- /ws/a.txt\"},\"content\":[{\"type\":\"diff\","
		  "\"path\":\"/ws/a.txt\",\"oldText\":\"one\",\"newText\":\"two\"}]}",
		  "edit writes {\"kind\":\"edit\",\"paths\":[\"/ws/a.txt\"]}" },
		/* Codex: a command that only reads, a patch with a move, a tool of a server */
		{ "{\"toolCallId\":\"c\",\"title\":\"cat /etc/hostname\",\"name\":\"exec_command\",\"kind\":\"read\","
		  "\"locations\":[{\"path\":\"/etc/hostname\"}],\"rawInput\":{\"command\":\"/bin/bash -lc 'cat "
		  "/etc/hostname'\",\"cwd\":\"/ws\"}}",
		  "execute {\"tool\":\"exec_command\",\"kind\":\"read\",\"commands\":[\"/bin/bash -lc 'cat "
		  "/etc/hostname'\"]}" },
		{ "{\"toolCallId\":\"c\",\"title\":\"Move a\",\"name\":\"apply_patch\",\"kind\":\"move\",\"locations\":[{"
		  "\"path\":\"/ws/a\"},{\"path\":\"/ws/b\"}],\"rawInput\":{\"changes\":[{\"path\":\"/ws/a\",\"kind\":{"
		  "\"type\":\"update\",\"move_path\":\"/ws/b\"}}]}}",
		  "edit writes {\"tool\":\"apply_patch\",\"kind\":\"move\",\"paths\":[\"/ws/a\",\"/ws/b\"]}" },
		{ "{\"toolCallId\":\"c\",\"title\":\"loc.echo\",\"name\":\"loc/echo\",\"kind\":\"other\",\"rawInput\":{"
		  "\"command\":\"rm -rf /\"}}",
		  "mcp {\"tool\":\"echo\",\"server\":\"loc\",\"kind\":\"other\"}" },
		/* Pi */
		{ "{\"toolCallId\":\"c\",\"status\":\"pending\",\"name\":\"edit\",\"title\":\"Edit a.txt\",\"kind\":\"edit\","
		  "\"locations\":[{\"path\":\"/ws/a.txt\"}],\"rawInput\":{\"path\":\"/ws/a.txt\",\"edits\":[]}}",
		  "edit writes {\"tool\":\"edit\",\"kind\":\"edit\",\"paths\":[\"/ws/a.txt\"]}" },
		{ "{\"toolCallId\":\"c\",\"name\":\"grep\",\"title\":\"x\",\"kind\":\"search\",\"rawInput\":{\"pattern\":\"x\"}}",
		  "read unread below {\"tool\":\"grep\",\"kind\":\"search\"}" },
		/* Copilot, Claude, Gemini */
		{ "{\"toolCallId\":\"c\",\"title\":\"description\",\"kind\":\"execute\",\"rawInput\":{\"command\":\"exit 3\","
		  "\"commands\":[\"exit 3\"]}}",
		  "execute {\"kind\":\"execute\",\"commands\":[\"exit 3\",\"exit 3\"]}" },
		{ "{\"toolCallId\":\"c\",\"name\":\"Bash\",\"rawInput\":{\"command\":\"touch a.txt\"},\"title\":\"touch a.txt\","
		  "\"kind\":\"execute\",\"content\":[],\"locations\":[{\"path\":\"/ws/a.txt\"}]}",
		  "execute {\"tool\":\"Bash\",\"kind\":\"execute\",\"commands\":[\"touch a.txt\"]}" },
		{ "{\"toolCallId\":\"c\",\"status\":\"pending\",\"title\":\"touch a.txt && echo made\",\"content\":[],"
		  "\"locations\":[],\"kind\":\"execute\"}",
		  "execute unread {\"kind\":\"execute\"}" },
		/* what nobody knows */
		{ "{\"toolCallId\":\"c\",\"title\":\"ls\"}", "other unread both {}" },
		{ "{\"toolCallId\":\"c\",\"title\":\"ls\",\"kind\":\"execute\",\"rawInput\":{\"command\":[\"ls\",\"-l\"]}}",
		  "execute {\"kind\":\"execute\",\"argv\":[\"ls\",\"-l\"]}" },
		{ "{\"toolCallId\":\"c\",\"title\":\"x\",\"kind\":\"edit\",\"rawInput\":{\"command\":\"create\",\"path\":\"a\"}}",
		  "edit writes {\"kind\":\"edit\",\"paths\":[\"a\"]}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };

		put_request(&b, rows[i].call, &(struct rule_call){ 0 });
		if (strcmp(b.data, rows[i].want) != 0)
			fail_msg("%s\n%s\n%s", rows[i].call, rows[i].want, b.data);
	}
}

static void what_was_said_before_counts(void **state _unused_)
{
	static const struct rule_call before = { "read", "read", "[{\"path\":\"/ws/a\"}]",
						 "{\"filePath\":\"/ws/a\"}" };
	_cleanup_(buf_done) struct buf b = { 0 }, own = { 0 };

	put_request(&b, "{\"toolCallId\":\"c\",\"locations\":[],\"rawInput\":{}}", &before);
	assert_string_equal(b.data,
			    "read {\"tool\":\"read\",\"kind\":\"read\",\"paths\":[\"/ws/a\"]}");
	put_request(&own, "{\"toolCallId\":\"c\",\"locations\":[{\"path\":\"/ws/b\"}]}", &before);
	assert_string_equal(own.data,
			    "read {\"tool\":\"read\",\"kind\":\"read\",\"paths\":[\"/ws/b\"]}");
}

/* --- what rules say -------------------------------------------------------------------------------------------- */

static void judge_call(const struct rule_sources *from, const char *call, struct rule_verdict *ret)
{
	_cleanup_(buf_done) struct buf params = { 0 };
	struct rule_request r;

	buf_printf(&params, "{\"toolCall\":%s,\"options\":[]}", call);
	rule_request_read(buf_slice(&params), &(struct rule_call){ 0 }, SLICE(SERVERS), &r);
	rule_judge(from, &r, ret);
	rule_request_done(&r);
}

#define ECHO "{\"toolCallId\":\"c\",\"name\":\"loc/echo\",\"kind\":\"other\"}"
#define FAIL "{\"toolCallId\":\"c\",\"name\":\"loc/fail\",\"kind\":\"other\"}"
#define OPEN_PR "{\"toolCallId\":\"c\",\"name\":\"acpd/openPR\",\"kind\":\"other\"}"

static void tools_of_servers(void **state _unused_)
{
	static const struct {
		const char *policy, *mcp, *call;
		bool gated;
		enum rule_effect word;
		const char *rule;
	} rows[] = {
		{ "{}", "{\"loc\":{\"policy\":\"deny\"}}", ECHO, true, RULE_DENY,
		  "mcp.policy.loc" },
		{ "{}", "{\"loc\":{\"policy\":\"deny\",\"tools\":{\"e*\":{\"policy\":\"allow\"}}}}",
		  ECHO, true, RULE_ALLOW, "mcp.policy.loc.tools.e*" },
		{ "{}", "{\"*\":{\"tools\":{\"fail\":{\"policy\":\"deny\"}}}}", FAIL, true,
		  RULE_DENY, "mcp.policy.*.tools.fail" },
		/* the gate asks by itself */
		{ "{}", "{\"loc\":{\"policy\":\"ask\"}}", ECHO, true, RULE_NONE, "" },
		{ "{\"categories\":{\"mcp\":\"ask\"}}", "{}", ECHO, true, RULE_NONE, "" },
		{ "{\"categories\":{\"mcp\":\"ask\"}}", "{}", ECHO, false, RULE_ASK,
		  "policy.categories.mcp" },
		{ "{\"categories\":{\"mcp\":\"deny\"}}", "{}", ECHO, false, RULE_DENY,
		  "policy.categories.mcp" },
		{ "{\"categories\":{\"mcp\":\"deny\"}}", "{\"loc\":{\"policy\":\"allow\"}}", ECHO,
		  true, RULE_ALLOW, "mcp.policy.loc" },
		{ "{\"categories\":{\"other\":\"deny\"},\"deny\":[\"x\"]}", "{}", ECHO, true,
		  RULE_NONE, "" },
		/* the built-in tools hold it themselves */
		{ "{\"categories\":{\"mcp\":\"deny\"}}", "{}", OPEN_PR, true, RULE_NONE, "" },
		{ "{\"tools\":{\"openPR\":{\"policy\":\"deny\"}}}", "{}", OPEN_PR, true, RULE_DENY,
		  "policy.tools.openPR" },
		{ "{\"tools\":{\"openPR\":{\"policy\":\"ask\"}}}", "{}", OPEN_PR, true, RULE_NONE,
		  "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rule_sources from = { .cwd = "/ws", .gated = rows[i].gated };
		struct policy *p = NULL;
		struct mcp_policy *mcp = NULL;
		struct rule_verdict v;

		assert_int_equal(policy_parse(slice_of(rows[i].policy), NULL, &p, NULL), 0);
		assert_int_equal(mcp_policy_parse(slice_of(rows[i].mcp), "policy", &mcp, NULL), 0);
		from.policy = p;
		from.mcp = mcp;
		judge_call(&from, rows[i].call, &v);
		if (v.effect != rows[i].word || strcmp(v.rule, rows[i].rule) != 0)
			fail_msg("row %zu: %d %s", i, v.effect, v.rule);
		policy_free(p);
		mcp_policy_free(mcp);
	}
}

#define RUN_X                                                                                      \
	"{\"toolCallId\":\"c\",\"name\":\"bash\",\"kind\":\"execute\",\"rawInput\":{\"command\":\"x\"}}"

/* Deny before ask before allow; an own rule that allows is weaker than a rule which asks, stronger than the lack of one. */
static void own_rules_stand_among_the_others(void **state _unused_)
{
	static const struct {
		const char *policy;
		enum policy_verdict own;
		enum rule_effect word;
		const char *rule;
	} rows[] = {
		{ "{}", POLICY_ALLOW, RULE_ALLOW, "session.rules[1]" },
		{ "{}", POLICY_DENY, RULE_DENY, "session.rules[1]" },
		{ "{\"commands\":[{\"prefix\":[\"y\"],\"policy\":\"allow\"}]}", POLICY_ALLOW,
		  RULE_ALLOW, "session.rules[1]" },
		{ "{\"commands\":[{\"prefix\":[\"x\"],\"policy\":\"ask\"}]}", POLICY_ALLOW,
		  RULE_ASK, "policy.commands[0]" },
		{ "{\"commands\":[{\"prefix\":[\"x\"],\"policy\":\"ask\"}]}", POLICY_DENY,
		  RULE_DENY, "session.rules[1]" },
		{ "{\"commands\":[{\"prefix\":[\"x\"],\"policy\":\"deny\"}]}", POLICY_ALLOW,
		  RULE_DENY, "policy.commands[0]" },
		{ "{\"commands\":[{\"prefix\":[\"x\"],\"policy\":\"allow\"}]}", POLICY_DENY,
		  RULE_DENY, "session.rules[1]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct own_rules own = { 0 };
		struct rule_sources from = { .cwd = "/ws", .own = &own };
		struct policy *p = NULL;
		struct rule_verdict v;

		judge_call(&from, RUN_X, &v);
		assert_true(v.keeps);
		own_rules_add(&own, rows[i].own, v.digest, SLICE("{}"), 0);
		assert_int_equal(policy_parse(slice_of(rows[i].policy), NULL, &p, NULL), 0);
		from.policy = p;
		judge_call(&from, RUN_X, &v);
		if (v.effect != rows[i].word || strcmp(v.rule, rows[i].rule) != 0)
			fail_msg("row %zu: %d %s", i, v.effect, v.rule);
		from.cwd = "/elsewhere";
		judge_call(&from, RUN_X, &v);
		assert_true(strncmp(v.rule, "session.", 8) != 0);
		policy_free(p);
		own_rules_done(&own);
	}
}

static void what_asks_for_more_than_it_shows_is_asked(void **state _unused_)
{
	struct rule_sources from = { .cwd = "/ws", .wide = true };
	struct policy *p = NULL;
	struct rule_verdict v;

	judge_call(&from, RUN_X, &v);
	assert_int_equal(v.effect, RULE_NONE);
	assert_false(v.keeps);
	assert_int_equal(
		policy_parse(SLICE("{\"write\":[\"**\"],\"categories\":{\"execute\":\"allow\"}}"),
			     NULL, &p, NULL),
		0);
	from.policy = p;
	judge_call(&from, RUN_X, &v);
	assert_int_equal(v.effect, RULE_ASK);
	policy_free(p);
}

/* --- rules of a session ------------------------------------------------------------------------------------------ */

static void rules_are_numbered_bounded_and_kept(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 }, list = { 0 };
	struct own_rules r = { 0 }, again = { 0 }, copy = { 0 };
	char digest[SHA256_HEX];
	struct jw w = JW(&b), l = JW(&list);
	struct jval v;

	for (unsigned i = 0; i < SESSION_RULES_MAX; i++) {
		snprintf(digest, sizeof(digest), "%064u", i);
		assert_non_null(
			own_rules_add(&r, POLICY_ALLOW, digest, SLICE("{\"tool\":\"t\"}"), i));
	}
	assert_false(own_rules_deny(&r));
	assert_null(own_rules_add(&r, POLICY_DENY, "f", SLICE("{}"), 0));
	/* about the same request: in its place, by a number of its own */
	assert_int_equal(own_rules_add(&r, POLICY_DENY, digest, SLICE("{\"tool\":\"u\"}"), 5)->no,
			 SESSION_RULES_MAX + 1);
	assert_true(own_rules_deny(&r));
	assert_int_equal(own_rules_forget(&r, SESSION_RULES_MAX), -ENOENT);
	for (uint64_t no = 2; no < SESSION_RULES_MAX; no++)
		assert_int_equal(own_rules_forget(&r, no), 0);

	jw_obj(&w, NULL);
	own_rules_note(&r, &w, "rules");
	jw_end_obj(&w);
	v = jobj_get(buf_slice(&b), "rules");
	own_rules_load(&again, v);
	own_rules_copy(&copy, &again);
	own_rules_done(&again);
	jw_arr(&l, NULL);
	own_rules_put(&copy, &l);
	jw_end_arr(&l);
	buf_putc(&list, '\0');
	assert_string_equal(
		list.data,
		"[{\"id\":\"session.rules[1]\",\"policy\":\"allow\",\"made\":\"1970-01-01T00:00:00.000Z\",\"tool\":\"t\"},"
		"{\"id\":\"session.rules[257]\",\"policy\":\"deny\",\"made\":\"1970-01-01T00:00:00.005Z\",\"tool\":\"u\"}]");
	assert_int_equal(own_rules_add(&copy, POLICY_ALLOW, "g", SLICE("{}"), 0)->no,
			 SESSION_RULES_MAX + 2);
	own_rules_done(&copy);
	own_rules_done(&r);
}

static void what_a_journal_says_wrongly_is_no_rule(void **state _unused_)
{
	static const char *const rows[] = {
		"null",
		"[]",
		"{}",
		"{\"list\":5}",
		"{\"last\":3,\"list\":[5,{},{\"digest\":\"x\",\"shown\":{}},{\"digest\":5}]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct own_rules r = { 0 };
		struct jval v = { 0 };

		assert_int_equal(jscan_value(slice_of(rows[i]), &v), JSCAN_OK);
		own_rules_load(&r, v);
		assert_int_equal(r.n, 0);
		own_rules_done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_of_real_harnesses),
		cmocka_unit_test(what_was_said_before_counts),
		cmocka_unit_test(tools_of_servers),
		cmocka_unit_test(own_rules_stand_among_the_others),
		cmocka_unit_test(what_asks_for_more_than_it_shows_is_asked),
		cmocka_unit_test(rules_are_numbered_bounded_and_kept),
		cmocka_unit_test(what_a_journal_says_wrongly_is_no_rule),
	};

	return RUN(tests, NULL, NULL);
}
