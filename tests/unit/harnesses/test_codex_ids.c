/* Items of one turn that have the same id, because a gateway repeats them. */
#include "adapter_session.h"

#include "harnesses/codex/internal.h"

#define IDS "\"threadId\":\"t1\",\"turnId\":\"u1\""
#define COMMAND                                                                                    \
	"{\"type\":\"commandExecution\",\"id\":\"c1\",\"command\":\"make\",\"cwd\":\"/ws\","       \
	"\"processId\":\"7\",\"commandActions\":[]"

static void assert_logged(const char *text)
{
	if (!logged(text))
		fail_msg("not in the log: %s\n%.*s", text, (int)f.log.len, f.log.data);
}

#define ITEM(method, type, id, more)                                                               \
	"{\"method\":\"item/" method "\",\"params\":{" IDS ",\"item\":{\"type\":\"" type           \
	"\",\"id\":\"" id "\"" more "}}}"
#define CHUNK(kind, id, text)                                                                      \
	"event " kind " {\"sessionUpdate\":\"" kind "\",\"messageId\":\"" id                       \
	"\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"}}"

static void open_turn(void)
{
	assert_int_equal(fake_open(&f, &harness_codex, NULL), 0);
	feed("{\"id\":1,\"result\":{}}");
	feed("{\"id\":2,\"result\":{\"data\":[]}}");
	feed("{\"id\":3,\"result\":{\"thread\":{\"id\":\"t1\"},\"model\":\"m\"}}");
	feed("{\"id\":4,\"result\":{}}");
	assert_int_equal(fake_prompt(&f, "[{\"type\":\"text\",\"text\":\"go\"}]", NULL), 0);
	feed("{\"id\":5,\"result\":{\"turn\":{\"id\":\"u1\"}}}");
}

/* A gateway may call everything "m": a message, a thought, the next message. */
static void test_ids_that_are_repeated(void **state _unused_)
{
	open_turn();
	feed(ITEM("started", "reasoning", "m", ""));
	feed(ITEM("completed", "reasoning", "m", ",\"summary\":[\"thought\"],\"content\":[]"));
	assert_logged(CHUNK("agent_thought_chunk", "m", "thought"));
	feed(ITEM("started", "agentMessage", "m", ",\"text\":\"\""));
	feed("{\"method\":\"item/agentMessage/delta\",\"params\":{" IDS
	     ",\"itemId\":\"m\",\"delta\":\"first\"}}");
	assert_logged(CHUNK("agent_message_chunk", "m.2", "first"));
	feed(ITEM("completed", "agentMessage", "m", ",\"text\":\"first\""));
	feed(ITEM("started", "agentMessage", "m", ",\"text\":\"\""));
	feed(ITEM("completed", "agentMessage", "m", ",\"text\":\"second\""));
	assert_logged(CHUNK("agent_message_chunk", "m.3", "second"));
	feed("{\"method\":\"item/agentMessage/delta\",\"params\":{" IDS
	     ",\"itemId\":\"m\",\"delta\":\"third\"}}");
	assert_logged(CHUNK("agent_message_chunk", "m.4", "third"));
	feed("{\"method\":\"item/started\",\"params\":{" IDS ",\"item\":" COMMAND "}}}");
	assert_logged("event tool_call ");
	feed("{\"method\":\"item/completed\",\"params\":{" IDS ",\"item\":" COMMAND
	     ",\"exitCode\":0}}}");
	buf_reset(&f.log);
	feed("{\"method\":\"item/started\",\"params\":{" IDS ",\"item\":" COMMAND "}}}");
	assert_logged("event tool_call {\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1.2\"");
}

#define RUN_OF(what, command, more)                                                                \
	ITEM(what, "commandExecution", "c",                                                        \
	     ",\"command\":\"" command "\",\"cwd\":\"/ws\",\"commandActions\":[]" more)
#define OUTPUT(text)                                                                               \
	"{\"method\":\"item/commandExecution/outputDelta\",\"params\":{" IDS                       \
	",\"itemId\":\"c\",\"delta\":\"" text "\"}}"
#define CALL(kind, id) "event " kind " {\"sessionUpdate\":\"" kind "\",\"toolCallId\":\"" id "\""

/* Calls that are open at once are two calls, and a message of the same id ends neither. */
static void test_ids_of_open_calls(void **state _unused_)
{
	open_turn();
	feed(RUN_OF("started", "make", ""));
	assert_logged(CALL("tool_call", "c"));
	buf_reset(&f.log);
	feed(RUN_OF("started", "make", ""));
	assert_false(logged("event tool_call")); /* the same, reported again */
	feed(RUN_OF("started", "ls", ""));
	assert_logged(CALL("tool_call", "c.2"));
	buf_reset(&f.log);
	feed(OUTPUT("files"));
	assert_logged(CALL("tool_call_update", "c.2"));
	assert_false(logged(CALL("tool_call_update", "c")));
	feed(ITEM("started", "agentMessage", "c", ",\"text\":\"\""));
	feed(ITEM("completed", "agentMessage", "c", ",\"text\":\"hello\""));
	assert_logged(CHUNK("agent_message_chunk", "c.3", "hello"));
	buf_reset(&f.log);
	feed(RUN_OF("completed", "make", ",\"exitCode\":0,\"status\":\"completed\""));
	assert_logged(CALL("tool_call_update", "c") ",\"status\":\"completed\"");
	assert_false(logged(CALL("tool_call_update", "c.2")));
	feed(RUN_OF("completed", "ls", ",\"exitCode\":1,\"status\":\"failed\""));
	assert_logged(CALL("tool_call_update", "c.2") ",\"status\":\"failed\"");
}

#define T(fn) cmocka_unit_test_teardown(fn, session_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = { T(test_ids_that_are_repeated),
					    T(test_ids_of_open_calls) };

	return RUN(tests, NULL, NULL);
}
