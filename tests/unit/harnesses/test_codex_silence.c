/* A provider that does not begin to answer: how long it may take, what else may be waited for, and how the turn ends. */
#include "adapter_session.h"

#include "harnesses/codex/internal.h"

#define IDS "\"threadId\":\"t1\",\"turnId\":\"u1\""
#define SEARCH "{\"type\":\"webSearch\",\"id\":\"w\",\"query\":\"q\"}"
#define COMMAND                                                                                    \
	"{\"type\":\"commandExecution\",\"id\":\"c1\",\"command\":\"make\",\"cwd\":\"/ws\","       \
	"\"processId\":\"7\",\"commandActions\":[]}"

#define USAGE(turn)                                                                                    \
	"{\"method\":\"thread/tokenUsage/updated\",\"params\":{\"threadId\":\"t1\",\"turnId\":\"" turn \
	"\",\"tokenUsage\":{\"total\":{\"inputTokens\":9},\"last\":{\"inputTokens\":9}}}}"
#define ENDED(id, status)                                                                          \
	"{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"t1\",\"turn\":{\"id\":\"" id    \
	"\",\"status\":\"" status "\"}}}"

static void assert_logged(const char *text)
{
	if (!logged(text))
		fail_msg("not in the log: %s\n%.*s", text, (int)f.log.len, f.log.data);
}

static void impatient_turn(void)
{
	static struct harness_provider p = { .api = (char *)"openai-responses",
					     .key = (char *)"k",
					     .idle_timeout_ms = 2000 };
	struct harness_req req = fake_request();

	req.provider = &p;
	assert_int_equal(fake_open(&f, &harness_codex, &req), 0);
	feed("{\"id\":1,\"result\":{}}");
	feed("{\"id\":2,\"result\":{\"data\":[]}}");
	feed("{\"id\":3,\"result\":{\"thread\":{\"id\":\"t1\"},\"model\":\"m\",\"modelProvider\":\"acpd\"}}");
	feed("{\"id\":4,\"result\":{}}");
	buf_reset(&f.log);
	assert_int_equal(fake_prompt(&f, "[{\"type\":\"text\",\"text\":\"go\"}]", NULL), 0);
	feed("{\"id\":5,\"result\":{\"turn\":{\"id\":\"u1\"}}}");
	assert_logged("timer 4000\n");
	feed("{\"method\":\"item/started\",\"params\":{" IDS
	     ",\"item\":{\"type\":\"userMessage\",\"id\":\"m\"}}}");
	buf_reset(&f.log);
}

static void test_an_answer_that_does_not_begin(void **state _unused_)
{
	impatient_turn();
	f.ops->on_timer(f.h);
	assert_logged("\"method\":\"turn/interrupt\"");
	feed(ENDED("u1", "interrupted"));
	assert_logged("end failed provider 0 retryable=1 the provider did not begin to answer "
		      "within 4000 ms\n");
	f.ops->on_timer(f.h);
	assert_int_equal(fake_prompt(&f, "[{\"type\":\"text\",\"text\":\"again\"}]", NULL), 0);
	feed("{\"id\":7,\"result\":{\"turn\":{\"id\":\"u2\"}}}");
	feed(ENDED("u2", "completed"));
	assert_logged("end end_turn\n");
}

static void test_cancel_wins_over_silence(void **state _unused_)
{
	impatient_turn();
	f.ops->on_timer(f.h);
	f.ops->cancel(f.h);
	feed(ENDED("u1", "interrupted"));
	assert_logged("thread/backgroundTerminals/clean");
	feed("{\"id\":7,\"result\":{}}");
	assert_logged("end cancelled\n");
}

/* Only the time until the first sign of an answer is measured: what follows is Codex's own to watch. */
static void test_an_answer_that_begins(void **state _unused_)
{
	impatient_turn();
	feed("{\"method\":\"item/started\",\"params\":{" IDS ",\"item\":" SEARCH "}}");
	assert_logged("timer 0\n");
	buf_reset(&f.log);
	f.ops->on_timer(f.h);
	assert_text(buf_slice(&f.log), "");
	feed("{\"method\":\"item/completed\",\"params\":{" IDS ",\"item\":" SEARCH "}}");
	feed(USAGE("u1"));
	assert_logged("timer 4000\n");
	buf_reset(&f.log);
	feed("{\"method\":\"error\",\"params\":{" IDS
	     ",\"willRetry\":true,\"error\":{\"message\":\"cut\"}}}");
	assert_logged("timer 64000\n");
	buf_reset(&f.log);
	feed("{\"id\":0,\"method\":\"item/commandExecution/requestApproval\",\"params\":{" IDS
	     ",\"itemId\":\"c9\"}}");
	assert_logged("timer 0\n");
}

/* A call that waits for a command's output is not shown, and servers start before the model is asked. */
static void test_what_is_waited_for_beside_the_provider(void **state _unused_)
{
	impatient_turn();
	feed("{\"method\":\"mcpServer/startupStatus/updated\",\"params\":{\"name\":\"x\",\"status\":\"starting\"}}");
	f.ops->on_timer(f.h);
	assert_text(buf_slice(&f.log), "timer 4000\n");
	feed("{\"method\":\"mcpServer/startupStatus/updated\",\"params\":{\"name\":\"x\",\"status\":\"ready\"}}");
	feed("{\"method\":\"item/started\",\"params\":{" IDS ",\"item\":" COMMAND "}}");
	feed(USAGE("u1"));
	assert_logged("timer 304000\n");
	feed(ENDED("u1", "completed"));
	buf_reset(&f.log);
	assert_int_equal(fake_prompt(&f, "[{\"type\":\"text\",\"text\":\"again\"}]", NULL), 0);
	feed("{\"id\":6,\"result\":{\"turn\":{\"id\":\"u2\"}}}");
	assert_logged("timer 304000\n");
}

#define T(fn) cmocka_unit_test_teardown(fn, session_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_an_answer_that_does_not_begin),
		T(test_cancel_wins_over_silence),
		T(test_an_answer_that_begins),
		T(test_what_is_waited_for_beside_the_provider),
	};

	return RUN(tests, NULL, NULL);
}
