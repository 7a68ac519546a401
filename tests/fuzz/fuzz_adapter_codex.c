/*
 * The Codex adapter between a hostile app-server and the core. The input is a list of lines, most of them the program's; one
 * that starts with '!' is the core's turn: p prompt, c cancel, s setting, t steer, o timer, a and b answer the newest and the oldest
 * question, d closes the child's input. First byte: how the session is opened.
 *
 * Whatever is written: everything sent is one JSON-RPC message on one line, every update is valid ACP, every question is
 * well-formed, the session opens or fails at most once, and nothing is answered more often than asked.
 */
#include "fuzz.h"

#include "fakehost.h"
#include "harnesses/codex/codex.h"
#include "rpc/rpc.h"

#include <errno.h>

enum {
	F_ELICITATION = 1,
	F_RESTORE = 2,
	F_HANDSHAKE = 4,
	F_ANSWER = 8,
	F_EDITS = 16,
	F_NEVER = 32
};

static struct fake f;
static unsigned prompts, settings, replies;

static void check_sent(struct slice line)
{
	struct rpc_msg m;
	struct err e;

	FUZZ_CHECK(rpc_parse(line, &m, &e) == RPC_PARSED);
	FUZZ_CHECK(m.kind == RPC_RESPONSE || m.method[0]);
}

static void check_event(struct slice line)
{
	struct harness_event ev;
	const char *space = memchr(line.p, ' ', line.n);
	struct slice update = { space + 1, line.n - (size_t)(space + 1 - line.p) };

	FUZZ_CHECK(harness_event_from_update(update, &ev, NULL) == 0);
}

/* "N permission|elicitation {params}" */
static void check_ask(struct slice line)
{
	const char *params = memchr(line.p, '{', line.n);

	FUZZ_CHECK(params &&
		   is_json((struct slice){ params, line.n - (size_t)(params - line.p) }, J_OBJECT));
}

static void check_log(void)
{
	struct slice rest = buf_slice(&f.log), line;

	while (rest.n && next_piece(&rest, '\n', &line)) {
		if (slice_starts(line, "send "))
			check_sent((struct slice){ line.p + 5, line.n - 5 });
		else if (slice_starts(line, "event "))
			check_event((struct slice){ line.p + 6, line.n - 6 });
		else if (slice_starts(line, "ask "))
			check_ask(line);
		else if (slice_starts(line, "reply "))
			replies++;
	}
	FUZZ_CHECK(f.readies + f.failures <= 1);
	FUZZ_CHECK(f.ends <= prompts && replies <= settings);
	buf_reset(&f.log);
}

static void core_turn(char what)
{
	static const char text[] = "[{\"type\":\"text\",\"text\":\"x\"}]";

	if (what == 'a' || what == 'b')
		f.ops->answer(
			f.h, what == 'a' ? f.asks : 1,
			SLICE("{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"allow_always\"},"
			      "\"action\":\"accept\",\"content\":{\"q\":\"A\"}}"));
	if (what == 'd')
		f.send_result = -EPIPE;
	if (!f.readies)
		return;
	if (what == 'p' && f.ends == prompts)
		prompts += fake_prompt(&f, text, NULL) == 0;
	else if (what == 'c')
		f.ops->cancel(f.h);
	else if (what == 's')
		settings += f.ops->set_config(f.h, 2,
					      SLICE("\"configId\":\"model\",\"value\":\"n\""),
					      &f.err) == 0;
	else if (what == 'o')
		f.ops->on_timer(f.h);
	else if (what == 't')
		settings += f.ops->steer(f.h, 3, SLICE("[]"), &f.err) == 0;
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

static void handshake(void)
{
	static const char *const lines[] = {
		"{\"id\":1,\"result\":{\"userAgent\":\"acpd/1 x\"}}",
		"{\"id\":2,\"result\":{\"data\":[]}}",
		"{\"id\":3,\"result\":{\"thread\":{\"id\":\"t1\"},\"model\":\"m\"}}",
		"{\"id\":4,\"result\":{}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		FUZZ_CHECK(one_line(slice_of(lines[i])) == 0);
}

static bool begin(unsigned flags)
{
	struct harness_req req = fake_request();

	memset(&f, 0, sizeof(f));
	prompts = settings = replies = 0;
	req.elicitation = flags & F_ELICITATION;
	req.approval = flags & F_NEVER ? APPROVAL_NEVER :
		       flags & F_EDITS ? APPROVAL_ACCEPT_EDITS :
					 APPROVAL_ASK;
	if (flags & F_RESTORE) {
		req.mode = HARNESS_RESTORE;
		req.native_id = "t1";
	}
	if (flags & F_ANSWER)
		f.answer_at_once = "{\"outcome\":{\"outcome\":\"cancelled\"}}";
	if (fake_open(&f, &harness_codex, &req) < 0)
		return false;
	if (flags & F_HANDSHAKE)
		handshake();
	return true;
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
