/*
 * The Pi adapter between a hostile Pi and the core. The input is a list of lines, most of them Pi's; one that starts with '!' is
 * the core's turn: p prompt, c cancel, m mode, s model, l level, x an odd setting, t steer, i timer, a and b answer the newest and the oldest
 * question, d closes the child's input. First byte: how the session is opened, and whether the opening is done for the fuzzer.
 *
 * Whatever is written: everything sent is one record on one line, the session opens or fails at most once, a turn ends once, and
 * nothing is answered more often than asked.
 */
#include "fuzz.h"

#include "fakehost.h"
#include "harnesses/pi/pi.h"
#include "json/jscan.h"

#include <errno.h>

enum { F_ELICITATION = 1, F_RESTORE = 2, F_PROVIDER = 4, F_OPENED = 8, F_ANSWER = 16 };

static struct fake f;
static unsigned prompts, settings, replies;

static void check_sent(struct slice line)
{
	FUZZ_CHECK(is_json(line, J_OBJECT));
	FUZZ_CHECK(!memchr(line.p, '\n', line.n));
	FUZZ_CHECK(jobj_get(line, "type").type == J_STRING);
}

static void check_event(struct slice line)
{
	struct harness_event ev;
	const char *space = memchr(line.p, ' ', line.n);
	struct slice update = { space + 1, line.n - (size_t)(space + 1 - line.p) };

	FUZZ_CHECK(harness_event_from_update(update, &ev, NULL) == 0);
}

static void check_ask(struct slice line)
{
	const char *brace = memchr(line.p, '{', line.n);

	FUZZ_CHECK(brace &&
		   is_json((struct slice){ brace, line.n - (size_t)(brace - line.p) }, J_OBJECT));
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

static const struct {
	char what;
	const char *params;
} setting[] = {
	{ 'm', "\"configId\":\"mode\",\"value\":\"plan\"" },
	{ 's', "\"configId\":\"model\",\"value\":\"a/b\"" },
	{ 'l', "\"configId\":\"thought_level\",\"value\":\"high\"" },
	{ 'x', "\"configId\":\"c\",\"value\":1" },
};

static void set_something(char what)
{
	for (size_t i = 0; i < ARRAY_SIZE(setting); i++)
		if (setting[i].what == what)
			settings +=
				f.ops->set_config(f.h, 2, slice_of(setting[i].params), &f.err) == 0;
}

/* One more prompt only when the last is over, as the contract says. */
static void core_turn(char what)
{
	if (what == 'a' || what == 'b')
		f.ops->answer(
			f.h, what == 'a' ? f.asks : 1,
			SLICE("{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"allow_once\"}}"));
	if (what == 'd')
		f.send_result = -EPIPE;
	if (!f.readies)
		return;
	if (what == 'p' && f.ends == prompts)
		prompts += fake_prompt(&f, "[{\"type\":\"text\",\"text\":\"hi\"}]", NULL) == 0;
	else if (what == 'c')
		f.ops->cancel(f.h);
	else if (what == 'i')
		f.ops->on_timer(f.h);
	else if (what == 't')
		settings += f.ops->steer(f.h, 1, SLICE("[]"), &f.err) == 0;
	else
		set_something(what);
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

static bool open_for_it(void)
{
	static const char *const lines[] = {
		"{\"type\":\"extension_ui_request\",\"id\":\"u\",\"method\":\"setStatus\",\"statusKey\":\"acpd\","
		"\"statusText\":\"{\\\"version\\\":\\\"1\\\"}\"}",
		"{\"type\":\"response\",\"id\":\"1\",\"success\":true,\"data\":{\"model\":{\"id\":\"m\",\"provider\":\"acpd\"}}}",
		"{\"type\":\"response\",\"id\":\"2\",\"success\":true,\"data\":{\"models\":[{\"id\":\"m\",\"provider\":\"acpd\"}]}}",
		"{\"type\":\"response\",\"id\":\"3\",\"success\":true,\"data\":{\"model\":{\"id\":\"m\",\"provider\":\"acpd\"}}}",
		"{\"type\":\"response\",\"id\":\"4\",\"success\":true,\"data\":{\"levels\":[\"off\"]}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		FUZZ_CHECK(fake_line(&f, slice_of(lines[i])) == 0);
	check_log();
	FUZZ_CHECK(f.readies == 1);
	return true;
}

static bool begin(unsigned flags)
{
	struct harness_provider provider = { .model = NULL };
	struct harness_req req = fake_request();

	memset(&f, 0, sizeof(f));
	prompts = settings = replies = 0;
	req.session_id = "sess_1";
	req.model = "m";
	req.mcp_servers = SLICE("[{\"name\":\"a-b\"},{}]");
	req.elicitation = flags & F_ELICITATION;
	if (flags & F_PROVIDER)
		req.provider = &provider;
	if (flags & F_RESTORE) {
		req.mode = HARNESS_RESTORE;
		req.native_id = "old";
	}
	if (flags & F_ANSWER)
		f.answer_at_once = "{\"outcome\":{\"outcome\":\"cancelled\"}}";
	if (fake_open(&f, &harness_pi, &req) < 0)
		return false;
	return !(flags & F_OPENED) || open_for_it();
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
