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

/* A gateway may call everything "m": a message, a thought, the next message. */
static void test_ids_that_are_repeated(void **state _unused_)
{
	assert_int_equal(fake_open(&f, &harness_codex, NULL), 0);
	feed("{\"id\":1,\"result\":{}}");
	feed("{\"id\":2,\"result\":{\"data\":[]}}");
	feed("{\"id\":3,\"result\":{\"thread\":{\"id\":\"t1\"},\"model\":\"m\"}}");
	feed("{\"id\":4,\"result\":{}}");
	assert_int_equal(fake_prompt(&f, "[{\"type\":\"text\",\"text\":\"go\"}]", NULL), 0);
	feed("{\"id\":5,\"result\":{\"turn\":{\"id\":\"u1\"}}}");
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
	assert_logged("event tool_call "); /* the core gives it another id */
}

#define T(fn) cmocka_unit_test_teardown(fn, session_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = { T(test_ids_that_are_repeated) };

	return RUN(tests, NULL, NULL);
}
