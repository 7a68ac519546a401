#include "adapter.h"

#include "rpc/rpc.h"

#include <errno.h>

static const struct adapter_target *target;
static struct fake f;
static unsigned prompts, settings, replies, ends;

void adapter_check_rpc(struct slice message)
{
	struct rpc_msg m;
	struct err e;

	FUZZ_CHECK(rpc_parse(message, &m, &e) == RPC_PARSED && !m.repair);
	FUZZ_CHECK(m.kind == RPC_RESPONSE || m.method[0]);
}

/* --- what the adapter said ------------------------------------------------------------------------------ */

static void check_sent(struct slice message)
{
	target->check_sent(message);
}

/* "UPDATE" or "UPDATE meta={...}"; a text in the update may itself hold " meta={". */
static struct slice update_of(struct slice rest)
{
	const char *at = rest.p;

	if (is_json(rest, J_OBJECT))
		return rest;
	while ((at = memmem(at, rest.n - (size_t)(at - rest.p), " meta={", 7))) {
		struct slice update = { rest.p, (size_t)(at - rest.p) };
		struct slice meta = { at + 6, rest.n - update.n - 6 };

		if (is_json(update, J_OBJECT) && is_json(meta, J_OBJECT))
			return update;
		at++;
	}
	return SLICE_NONE;
}

/* "KIND UPDATE" */
static void check_event(struct slice text)
{
	struct harness_event ev;
	const char *space = memchr(text.p, ' ', text.n);
	struct slice name = { text.p, (size_t)(space - text.p) };
	struct slice update =
		update_of((struct slice){ space + 1, text.n - (size_t)(space + 1 - text.p) });

	_cleanup_(buf_done) struct buf mended = { 0 }, again = { 0 };
	struct jval id;

	bool repair;

	FUZZ_CHECK(harness_event_kind(update, &ev) == 0);
	FUZZ_CHECK(jscan_message(update, NULL, 0, &repair) == JSCAN_OK && !repair);
	FUZZ_CHECK(slice_is(name, harness_update_name(ev.kind)));
	/* as the core does: what is left of it fits, and has all that the schema requires */
	if (harness_update_check(ev.kind, update, &mended, &id) != CHECK_MENDED)
		return;
	FUZZ_CHECK(is_json(buf_slice(&mended), J_OBJECT));
	FUZZ_CHECK(harness_event_from_update(buf_slice(&mended), &ev, NULL) == 0);
	FUZZ_CHECK(harness_update_check(ev.kind, buf_slice(&mended), &again, NULL) == CHECK_FITS);
}

/* "N permission|elicitation PARAMS" */
static void check_ask(struct slice text)
{
	const char *params = memchr(text.p, '{', text.n);

	FUZZ_CHECK(params &&
		   is_json((struct slice){ params, text.n - (size_t)(params - text.p) }, J_OBJECT));
}

static void check_usage(struct slice text _unused_)
{
	FUZZ_CHECK(ends < prompts);
}

static void count_end(struct slice text _unused_)
{
	ends++;
}

static void count_reply(struct slice text _unused_)
{
	replies++;
}

static const struct {
	const char *begins;
	void (*check)(struct slice rest);
} said[] = {
	{ "send ", check_sent },   { "event ", check_event }, { "ask ", check_ask },
	{ "usage ", check_usage }, { "end ", count_end },     { "reply ", count_reply },
	{ "unask ", NULL },	   { "timer ", NULL },	      { "ready ", NULL },
	{ "failed ", NULL },
};

/* What is no line of the log has a newline before it that no message, name or error may hold. */
static void check_line(struct slice line)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(said) && !slice_starts(line, said[i].begins))
		i++;
	FUZZ_CHECK(i < ARRAY_SIZE(said));
	if (said[i].check) {
		size_t n = strlen(said[i].begins);

		said[i].check(slice_after(line, n));
	}
}

static void check_log(void)
{
	struct slice rest = buf_slice(&f.log), line;

	while (rest.n && next_piece(&rest, '\n', &line))
		check_line(line);
	FUZZ_CHECK(f.readies + f.failures <= 1);
	FUZZ_CHECK(ends == f.ends && ends <= prompts && replies <= settings);
	buf_reset(&f.log);
}

/* --- what the core does --------------------------------------------------------------------------------- */

static bool set_config(char what)
{
	const struct adapter_setting *row = target->settings;

	while (row->letter && row->letter != what)
		row++;
	if (row->letter)
		settings += f.ops->set_config(f.h, 2, slice_of(row->params), &f.err) == 0;
	return row->letter;
}

/* One more prompt only when the last is over, as the contract says. It counts from its start: it may be over when the call returns. */
static void prompt(void)
{
	if (f.ends < prompts)
		return;
	prompts++;
	if (fake_prompt(&f, target->prompt, NULL) < 0)
		prompts--;
}

static void core_turn(char what)
{
	if (what == 'a' || what == 'b')
		f.ops->answer(f.h, what == 'a' ? f.asks : 1, slice_of(target->answer));
	if (what == 'd')
		f.send_result = -EPIPE;
	if (!f.readies || set_config(what))
		return;
	if (what == 'p')
		prompt();
	else if (what == 'c')
		f.ops->cancel(f.h);
	else if (what == 'o' && f.ops->on_timer)
		f.ops->on_timer(f.h);
	else if (what == 't' && f.ops->steer)
		settings += f.ops->steer(f.h, 3, SLICE("[]"), &f.err) == 0;
	else if (what == 'm' && f.ops->set_mode)
		settings += f.ops->set_mode(f.h, 1, "m\"\xff", &f.err) == 0;
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
	prompts = settings = replies = ends = 0;
	req.elicitation = flags & F_ELICITATION;
	if (flags & F_RESTORE) {
		req.mode = HARNESS_RESTORE;
		req.native_id = target->native_id;
	}
	if (flags & F_ANSWER)
		f.answer_at_once = "{\"outcome\":{\"outcome\":\"cancelled\"}}";
	if (target->request)
		target->request(flags, &req, &f);
	if (fake_open(&f, target->ops, &req) < 0)
		return false;
	if (!(flags & F_OPENED))
		return true;
	for (const char *const *line = target->opening; *line; line++)
		FUZZ_CHECK(one_line(slice_of(*line)) == 0);
	FUZZ_CHECK(f.readies == 1);
	return true;
}

int adapter_fuzz(const struct adapter_target *t, const uint8_t *data, size_t size)
{
	struct slice rest, line;

	if (!size)
		return 0;
	target = t;
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
