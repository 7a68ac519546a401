/* Envelopes: whatever comes, the answer is one valid message with the id that was asked with, or there is none. */
#include "fuzz.h"

#include "rpc/rpc.h"

static unsigned replies;

static void on_reply(void *ctx _unused_, uint64_t tag _unused_, const struct rpc_msg *m)
{
	replies += m != NULL;
}

static void check_parsed(struct slice text, const struct rpc_msg *m)
{
	FUZZ_CHECK(slice_inside(m->id, text));
	FUZZ_CHECK(m->id.n <= RPC_ID_MAX + 2);
	if (m->kind == RPC_RESPONSE) {
		FUZZ_CHECK((m->result.n == 0) != (m->error.n == 0));
		FUZZ_CHECK(!m->result.n || is_json(m->result, J_NONE));
		FUZZ_CHECK(!m->error.n || is_json(m->error, J_OBJECT));
		return;
	}
	FUZZ_CHECK((m->kind == RPC_NOTIFICATION) == (m->id.n == 0));
	FUZZ_CHECK(memchr(m->method, 0, sizeof(m->method)));
	FUZZ_CHECK(is_json(m->params, J_OBJECT));
}

/* What we would answer is read back as a response to the same id. */
static void check_answer(struct slice message, struct slice id, bool error)
{
	struct rpc_msg back;
	struct err e;

	FUZZ_CHECK(rpc_parse(message, &back, &e) == RPC_PARSED);
	FUZZ_CHECK(back.kind == RPC_RESPONSE && slice_eq(back.id, id));
	FUZZ_CHECK(error == (back.error.n > 0));
}

static void check_replies(const struct rpc_msg *m)
{
	struct rpc_calls calls;
	bool known;

	rpc_calls_init(&calls);
	for (int i = 0; i < 12; i++)
		rpc_calls_add(&calls, on_reply, NULL, (uint64_t)i);
	replies = 0;
	known = rpc_calls_reply(&calls, m);
	FUZZ_CHECK(replies == known);
	FUZZ_CHECK(!rpc_calls_reply(&calls, m));
	rpc_calls_done(&calls);
	FUZZ_CHECK(replies == known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);
	_cleanup_(buf_done) struct buf b = { 0 };
	enum rpc_parse_result r;
	struct rpc_msg m;
	struct err e;

	memset(&m, 0xa5, sizeof(m));
	memset(&e, 0xa5, sizeof(e));
	r = rpc_parse(text, &m, &e);
	if (r == RPC_PARSED) {
		check_parsed(text, &m);
		if (m.kind == RPC_RESPONSE)
			check_replies(&m);
		if (m.kind != RPC_REQUEST)
			return 0;
		rpc_put_result(&b, m.id, m.params);
		check_answer(buf_slice(&b), m.id, false);
	} else if (r == RPC_E_ANSWER) {
		check_err(&e);
		FUZZ_CHECK(e.rpc <= -32600 && e.rpc >= -32700);
		rpc_put_error(&b, m.id, &e, SLICE("\"known\":[]"));
		check_answer(buf_slice(&b), m.id, true);
	} else {
		FUZZ_CHECK(is_json(text, J_OBJECT) || r == RPC_E_ID_TOO_LONG);
	}
	return 0;
}
