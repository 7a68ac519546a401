/* Codex's plan mode: it is asked about every patch, also when nothing else is, and refuses it without asking the client. And choices that
 * follow on each other. */
#include "unit.h"

#include "fakehost.h"
#include "harnesses/codex/internal.h"

static struct fake f;

#define PATCH                                                                                        \
	"{\"method\":\"item/fileChange/requestApproval\",\"id\":40,\"params\":{\"threadId\":\"t1\"," \
	"\"turnId\":\"u1\",\"itemId\":\"p\"}}"
#define COMMAND                                                                                            \
	"{\"method\":\"item/commandExecution/requestApproval\",\"id\":41,\"params\":{\"threadId\":\"t1\"," \
	"\"turnId\":\"u1\",\"itemId\":\"c\",\"command\":\"ls\"}}"

static int teardown(void **state _unused_)
{
	fake_close(&f);
	return 0;
}

static void line(const char *text)
{
	assert_int_equal(fake_line(&f, slice_of(text)), 0);
}

static bool logged(const char *text)
{
	return f.log.len && memmem(f.log.data, f.log.len, text, strlen(text));
}

static void set_mode(const char *mode, const char *answer)
{
	char params[80];

	snprintf(params, sizeof(params), "\"configId\":\"mode\",\"value\":\"%s\"", mode);
	buf_reset(&f.log);
	assert_int_equal(f.ops->set_config(f.h, 7, slice_of(params), NULL), 0);
	line(answer);
}

static void begin_turn(const char *answer)
{
	assert_int_equal(fake_prompt(&f, "[{\"type\":\"text\",\"text\":\"go\"}]", NULL), 0);
	line(answer);
	buf_reset(&f.log);
}

static void ready(enum harness_approval approval)
{
	struct harness_req req = fake_request();

	req.approval = approval;
	assert_int_equal(fake_open(&f, &harness_codex, &req), 0);
	line("{\"id\":1,\"result\":{\"userAgent\":\"acpd/0.169.0 (x)\"}}");
	line("{\"id\":2,\"result\":{\"data\":[]}}");
	line("{\"id\":3,\"result\":{\"thread\":{\"id\":\"t1\"},\"model\":\"m\",\"modelProvider\":\"openai\"}}");
	line("{\"id\":4,\"result\":{}}");
	assert_int_equal(f.readies, 1);
}

static void test_policy(void **state _unused_)
{
	ready(APPROVAL_NEVER);
	assert_true(logged("\"approvalPolicy\":\"never\""));
	set_mode("plan", "{\"id\":5,\"result\":{}}");
	assert_true(logged("\"approvalPolicy\":\"untrusted\""));
	set_mode("build", "{\"id\":6,\"result\":{}}");
	assert_true(logged("\"approvalPolicy\":\"never\""));
}

static void test_patches(void **state _unused_)
{
	static const enum harness_approval rows[] = { APPROVAL_ASK, APPROVAL_ACCEPT_EDITS,
						      APPROVAL_NEVER };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ready(rows[i]);
		set_mode("plan", "{\"id\":5,\"result\":{}}");
		begin_turn("{\"id\":6,\"result\":{\"turn\":{\"id\":\"u1\"}}}");
		line(PATCH);
		if (logged("ask ") || !logged("\"id\":40,\"result\":{\"decision\":\"decline\"}"))
			fail_msg("row %zu: %.*s", i, (int)f.log.len, f.log.data);
		buf_reset(&f.log);
		line(COMMAND);
		assert_int_equal(logged("ask "), rows[i] != APPROVAL_NEVER);
		fake_close(&f);
	}
}

#define T(fn) cmocka_unit_test_teardown(fn, teardown)

/* A limited number of calls: each is asked, under "never" too, and what is allowed for good is remembered here. */
static void test_limited_calls(void **state _unused_)
{
	ready(APPROVAL_NEVER);
	f.ops->limit(f.h, 2);
	assert_int_equal(fake_prompt(&f, "[]", NULL), 0);
	assert_true(logged("\"approvalPolicy\":\"untrusted\""));
	line("{\"id\":5,\"result\":{\"turn\":{\"id\":\"u1\"}}}");
	buf_reset(&f.log);
	line(COMMAND);
	assert_true(logged("\"id\":41,\"result\":{\"decision\":\"accept\"}"));
	line("{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"t1\",\"turn\":{\"id\":\"u1\",\"status\":\"completed\"}}}");

	f.ops->limit(f.h, -1);
	buf_reset(&f.log);
	assert_int_equal(fake_prompt(&f, "[]", NULL), 0);
	assert_true(logged("\"approvalPolicy\":\"never\""));
	line("{\"id\":6,\"result\":{\"turn\":{\"id\":\"u2\"}}}");
	line("{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"t1\",\"turn\":{\"id\":\"u2\",\"status\":\"completed\"}}}");
	buf_reset(&f.log);
	assert_int_equal(fake_prompt(&f, "[]", NULL), 0);
	assert_false(logged("approvalPolicy"));
}

static void test_always_while_limited(void **state _unused_)
{
	ready(APPROVAL_ASK);
	f.ops->limit(f.h, 2);
	begin_turn("{\"id\":5,\"result\":{\"turn\":{\"id\":\"u1\"}}}");
	line(COMMAND);
	f.ops->answer(
		f.h, 1,
		SLICE("{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"allow_always\"}}"));
	assert_true(logged("\"id\":41,\"result\":{\"decision\":\"accept\"}"));
	buf_reset(&f.log);
	line(COMMAND);
	assert_true(logged("\"id\":41,\"result\":{\"decision\":\"accept\"}"));
	assert_false(logged("ask "));
}

#define PART                                                                                               \
	"{\"method\":\"item/commandExecution/requestApproval\",\"id\":41,\"params\":{\"threadId\":\"t1\"," \
	"\"turnId\":\"u1\",\"itemId\":\"c\",\"command\":\"rm x\"}}"
#define ITEM                                                                                                \
	"{\"method\":\"item/started\",\"params\":{\"threadId\":\"t1\",\"turnId\":\"u1\",\"item\":{"         \
	"\"type\":\"commandExecution\",\"id\":\"c\",\"command\":\"ls\",\"cwd\":\"/ws\",\"processId\":null," \
	"\"status\":\"inProgress\",\"commandActions\":[]}}}"
#define WIDER                                                                                         \
	"{\"method\":\"item/permissions/requestApproval\",\"id\":42,\"params\":{\"threadId\":\"t1\"," \
	"\"turnId\":\"u1\",\"itemId\":\"c\",\"permissions\":{\"network\":{\"enabled\":true}}}}"

/* Where there are rules every call is asked, by any approval, and what is asked is what would run. */
static void test_rules(void **state _unused_)
{
	f.rules = HARNESS_RULES;
	ready(APPROVAL_NEVER);
	assert_int_equal(fake_prompt(&f, "[]", NULL), 0);
	assert_true(logged("\"approvalPolicy\":\"untrusted\""));
	line("{\"id\":5,\"result\":{\"turn\":{\"id\":\"u1\"}}}");
	line(ITEM);
	buf_reset(&f.log);
	line(COMMAND);
	assert_true(logged("ask 1 permission approved {"));
	buf_reset(&f.log);
	line(PART);
	assert_true(logged("\"rawInput\":{") && logged("\"command\":\"rm x\""));
	assert_false(logged("\"command\":\"ls\""));
	line(WIDER);
	assert_true(logged("permission approved wide {"));
	line("{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"t1\",\"turn\":{\"id\":\"u1\",\"status\":\"completed\"}}}");
	f.rules = 0;
	buf_reset(&f.log);
	assert_int_equal(fake_prompt(&f, "[]", NULL), 0);
	assert_true(logged("\"approvalPolicy\":\"never\""));
}

static void choose(const char *params, const char *answer)
{
	buf_reset(&f.log);
	assert_int_equal(f.ops->set_config(f.h, 9, slice_of(params), NULL), 0);
	line(answer);
}

#define SETTINGS(effort)                                                                               \
	"{\"method\":\"thread/settings/updated\",\"params\":{\"threadId\":\"t1\",\"threadSettings\":{" \
	"\"model\":\"n\",\"effort\":" effort ",\"collaborationMode\":{\"mode\":\"default\"}}}}"

/* The notice of a choice may come when the next one is in force already. */
static void test_late_notices(void **state _unused_)
{
	ready(APPROVAL_ASK);
	choose("\"configId\":\"model\",\"value\":\"n\"", "{\"id\":5,\"result\":{}}");
	choose("\"configId\":\"thought_level\",\"value\":\"high\"", "{\"id\":6,\"result\":{}}");
	line(SETTINGS("null"));
	line(SETTINGS("\"high\""));
	assert_false(logged("config_option_update"));
	set_mode("plan", "{\"id\":7,\"result\":{}}");
	assert_true(logged(
		"\"mode\":\"plan\",\"settings\":{\"model\":\"n\",\"reasoning_effort\":\"high\""));
	line(SETTINGS("\"high\""));
	line(SETTINGS("\"low\"")); /* its own */
	assert_true(logged("event config_option_update "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_rules),	T(test_limited_calls), T(test_always_while_limited),
		T(test_policy), T(test_patches),       T(test_late_notices),
	};

	return RUN(tests, NULL, NULL);
}
