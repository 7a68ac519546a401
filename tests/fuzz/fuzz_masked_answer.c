/*
 * A model's answer that is recorded. The first line is a secret, the rest the answer. Cut anywhere it comes out the same; with
 * no secret in it nothing is changed; what its texts say together has no secret; valid JSON stays so, as do the number and
 * order of events.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "base/http/sse_lines.h"
#include "session/core/redact/answer_strings.h"
#include "session/core/redact/masked_answer.h"

#define SAID_MAX 64 /* texts that are looked at */

/* True: it was not stopped. */
static bool run_answer(const struct mask *m, struct slice text, uint32_t seed, struct buf *ret)
{
	struct masked_answer *a = masked_answer_new();
	bool ok;

	while (text.n) {
		_cleanup_(exact_free) struct slice piece = fuzz_cut(&seed, &text);

		masked_answer_add(a, m, piece, ret);
	}
	masked_answer_end(a, m, ret);
	ok = !a->stopped;
	FUZZ_CHECK(a->held == 0 && list_empty(&a->texts) && list_empty(&a->events));
	masked_answer_free(a);
	return ok;
}

/* --- its events, read by another reader ---------------------------------------------------------------------------- */

struct told {
	struct buf data;
	const struct mask *m;
	size_t events, valid;
	struct {
		uint64_t stream;
		struct buf text;
	} said[SAID_MAX];
	size_t n;
};

static void ignore(void *ctx _unused_, size_t at _unused_, size_t n _unused_)
{
}

static void say(struct told *t, uint64_t stream, struct slice text)
{
	size_t i = 0;

	while (i < t->n && t->said[i].stream != stream)
		i++;
	if (i == SAID_MAX)
		return;
	t->n = MAX(t->n, i + 1);
	t->said[i].stream = stream;
	buf_add_slice(&t->said[i].text, text);
}

static void note_strings(struct told *t)
{
	static const struct answer_strings_ops ops = { ignore, ignore, ignore };
	struct answer_strings x = { 0 };

	answer_strings_begin(&x, &ops, NULL);
	answer_strings_take(&x, t->data.data, 0, t->data.len);
	answer_strings_end(&x);
	for (size_t i = 0; i < x.n; i++)
		say(t, x.list[i].stream,
		    (struct slice){ t->data.data + x.list[i].at, x.list[i].n });
	free(x.list);
}

static bool on_event(void *ctx)
{
	struct told *t = ctx;

	t->events++;
	if (is_json(buf_slice(&t->data), J_OBJECT)) {
		t->valid++;
		note_strings(t);
	}
	buf_done(&t->data);
	t->data = (struct buf){ 0 };
	return true;
}

static void on_data(void *ctx, enum sse_field field, struct slice piece)
{
	struct told *t = ctx;

	if (field == SSE_DATA)
		buf_add_slice(&t->data, piece);
}

static void on_line(void *ctx, enum sse_field field)
{
	struct told *t = ctx;

	if (field == SSE_DATA)
		buf_putc(&t->data, '\n');
}

static void hear(struct slice answer, struct told *t)
{
	static const struct sse_lines_ops ops = { on_data, on_line, on_event };
	struct sse_lines lines = { 0 };

	sse_lines_feed(&lines, answer, &ops, t);
	buf_done(&t->data);
}

static void told_done(struct told *t)
{
	for (size_t i = 0; i < t->n; i++)
		buf_done(&t->said[i].text);
}

static void check_events(const struct mask *m, struct slice in, struct slice out)
{
	_cleanup_(told_done) struct told before = { 0 }, after = { 0 };

	hear(in, &before);
	hear(out, &after);
	FUZZ_CHECK(before.events == after.events && before.valid <= after.valid);
	for (size_t i = 0; i < after.n; i++)
		FUZZ_CHECK(!(mask_find(m, buf_slice(&after.said[i].text)) & MASK_HIT));
}

/* An array may look like one as well. */
static bool is_stream(struct slice text)
{
	struct answer_frames f = { 0 };
	bool ends;

	answer_frames_take(&f, text, &ends);
	return f.form == ANSWER_EVENTS;
}

/* Else what ends an event or a string may be a part of it, and so may "***". */
static bool plain(struct slice secret)
{
	if (secret.n < SECRET_MIN || secret.n > 64)
		return false;
	for (size_t i = 0; i < secret.n; i++)
		if ((uint8_t)secret.p[i] <= ' ' || (uint8_t)secret.p[i] > '~' ||
		    strchr("\"\\%*{}[]:,", secret.p[i]))
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice all = exact(data, size);
	_cleanup_(buf_done) struct buf whole = { 0 };
	struct slice rest = all, secret;
	struct mask *m;
	bool ok;

	if (!next_piece(&rest, '\n', &secret) || !plain(secret) || !rest.n)
		return 0;
	m = mask_new();
	mask_add(m, secret);
	ok = run_answer(m, rest, 0, &whole);
	for (uint32_t i = 1; i <= FUZZ_CUTS; i++) {
		_cleanup_(buf_done) struct buf cut = { 0 };

		FUZZ_CHECK(run_answer(m, rest, FUZZ_SEED(i, rest), &cut) == ok);
		FUZZ_CHECK(slice_eq(buf_slice(&cut), buf_slice(&whole)));
	}
	if (ok && is_stream(rest))
		check_events(m, rest, buf_slice(&whole));
	m = mask_free(m);
	return 0;
}
