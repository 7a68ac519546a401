/*
 * The ACP adapter between a hostile agent and the core. The input is a list of lines, most of them the agent's; one
 * that starts with '!' is the core's turn: p prompt, c cancel, m mode, s setting, a and b answer the newest and the
 * oldest question, d closes the child's input. First byte: how the session is opened, and whether the handshake is done for the fuzzer.
 *
 * Whatever is written: everything sent is one JSON-RPC message on one line, the session opens or fails at most once,
 * and nothing is answered more often than asked.
 */
#include "fuzz.h"

#include "fakehost.h"
#include "harnesses/acp/acp.h"
#include "rpc/rpc.h"

#include <errno.h>

enum { F_ELICITATION = 1, F_RESTORE = 2, F_AUTH = 4, F_HANDSHAKE = 8, F_ANSWER = 16 };

static struct fake f;
static unsigned prompts, settings, replies;

static void check_sent(struct slice line)
{
	struct rpc_msg m;
	struct err e;

	FUZZ_CHECK(rpc_parse(line, &m, &e) == RPC_PARSED);
	FUZZ_CHECK(!memchr(line.p, '\n', line.n));
	FUZZ_CHECK(m.kind == RPC_RESPONSE || m.method[0]);
}

static void check_event(struct slice line)
{
	struct harness_event ev;
	const char *space = memchr(line.p, ' ', line.n);
	struct slice update = { space + 1, line.n - (size_t)(space + 1 - line.p) };
	const char *meta = memmem(update.p, update.n, " meta={", 7);

	/* the text of an update may itself hold " meta={" */
	if (!meta || is_json(update, J_OBJECT))
		FUZZ_CHECK(harness_event_from_update(update, &ev, NULL) == 0);
}

static void check_log(void)
{
	struct slice rest = buf_slice(&f.log), line;

	while (rest.n && next_piece(&rest, '\n', &line)) {
		if (slice_starts(line, "send "))
			check_sent((struct slice){ line.p + 5, line.n - 5 });
		else if (slice_starts(line, "event "))
			check_event((struct slice){ line.p + 6, line.n - 6 });
		else if (slice_starts(line, "reply "))
			replies++;
	}
	FUZZ_CHECK(f.readies + f.failures <= 1);
	FUZZ_CHECK(f.ends <= prompts && replies <= settings);
	buf_reset(&f.log);
}

/* One more prompt only when the last is over, as the contract says. */
static void core_turn(char what)
{
	if (what == 'a' || what == 'b')
		f.ops->answer(f.h, what == 'a' ? f.asks : 1,
			      SLICE("{\"outcome\":{\"outcome\":\"cancelled\"}}"));
	if (what == 'd')
		f.send_result = -EPIPE;
	if (!f.readies)
		return;
	if (what == 'p' && f.ends == prompts)
		prompts += fake_prompt(&f, "[]", NULL) == 0;
	else if (what == 'c')
		f.ops->cancel(f.h);
	else if (what == 'm')
		settings += f.ops->set_mode(f.h, 1, "m\"\xff", &f.err) == 0;
	else if (what == 's')
		settings += f.ops->set_config(f.h, 2, SLICE("\"configId\":\"c\",\"value\":1"),
					      &f.err) == 0;
}

static int one_line(struct slice line)
{
	int r = 0;

	if (line.n && line.p[0] == '!')
		core_turn(line.n > 1 ? line.p[1] : 0);
	else
		r = fake_line(&f, line);
	check_log();
	if (r < 0)
		check_err(&f.err);
	return r;
}

static bool begin(unsigned flags)
{
	struct harness_req req = fake_request();

	memset(&f, 0, sizeof(f));
	prompts = settings = replies = 0;
	req.elicitation = flags & F_ELICITATION;
	req.auth_method = flags & F_AUTH ? "key" : NULL;
	if (flags & F_RESTORE) {
		req.mode = HARNESS_RESTORE;
		req.native_id = "old";
	}
	if (flags & F_ANSWER)
		f.answer_at_once = "{\"outcome\":{\"outcome\":\"cancelled\"}}";
	if (flags & F_HANDSHAKE && !(flags & F_AUTH))
		return fake_ready(&f, &harness_acp, &req);
	return fake_open(&f, &harness_acp, &req) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest, line;

	if (!size)
		return 0;
	rest = (struct slice){ (const char *)data + 1, size - 1 };
	if (begin(data[0])) {
		while (next_piece(&rest, '\n', &line) && one_line(line) == 0)
			;
	}
	f.answer_at_once = NULL;
	if (f.h)
		f.h = f.ops->free(f.h);
	check_log();
	fake_close(&f);
	return 0;
}
