/* testrun_text.c - what a model is shown of a run of tests: how many, what failed and why, the end of what they
 * printed. */
#include "base/limits.h"
#include "json/jdec.h"
#include "tools/builtin/core/model_text.h"

#include <inttypes.h>

static void testrun_text_put_counts(struct buf *out, struct slice o)
{
	buf_printf(out, "%" PRId64 " passed, %" PRId64 " failed, %" PRId64 " skipped",
		   jobj_int(o, "passed"), jobj_int(o, "failed"), jobj_int(o, "skipped"));
	if (jobj_get(o, "exitCode").type == J_NUMBER)
		buf_printf(out, "; exit code %" PRId64, jobj_int(o, "exitCode"));
	if (jobj_get(o, "timedOut").type == J_TRUE)
		buf_puts(out, "; timed out");
	if (jobj_get(o, "partial").type == J_TRUE)
		buf_puts(out, "; not all tests ended");
	if (jobj_get(o, "dryRun").type == J_TRUE)
		buf_puts(out, "; dry run, nothing was run");
	buf_puts(out, "\ncommand: ");
	model_text_member(o, "command", out);
	buf_putc(out, '\n');
}

static void testrun_text_put_result(struct buf *out, struct slice r, const char *mark)
{
	_cleanup_(buf_done) struct buf suite = { 0 }, name = { 0 }, message = { 0 };

	model_text_member(r, "suite", &suite);
	model_text_member(r, "name", &name);
	model_text_member(r, "message", &message);
	buf_puts(out, mark);
	model_text_name(out, buf_slice(&suite));
	buf_puts(out, suite.len ? " > " : "");
	model_text_name(out, buf_slice(&name));
	buf_putc(out, '\n');
	if (!message.len)
		return;
	buf_add(out, message.data, model_text_cut(buf_slice(&message), TOOL_SHOW_LINE));
	if (out->data[out->len - 1] != '\n')
		buf_putc(out, '\n');
}

/* The failed ones, and as many of the others as do no harm. */
static void put_results(struct buf *out, struct slice o, const char *status, const char *mark,
			size_t room)
{
	_cleanup_(buf_done) struct buf word = { 0 };
	size_t begin = buf_len(out);
	unsigned left = 0;

	jarr_each(v, jobj_get(o, "results")) {
		buf_reset(&word);
		model_text_member(v.raw, "status", &word);
		if (!slice_is(buf_slice(&word), status))
			continue;
		if (buf_len(out) - begin > room)
			left++;
		else
			testrun_text_put_result(out, v.raw, mark);
	}
	if (left)
		buf_printf(out, "[%u more %s]\n", left, status);
}

/* With results, the output matters less. */
static void put_output(struct buf *out, struct slice o, size_t all)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	bool listed = jobj_get(o, "success").type == J_TRUE && jobj_int(o, "passed");
	size_t room = listed ? all / 16 : all / 4, from = 0;
	struct slice s;

	model_text_member(o, "output", &text);
	s = buf_slice(&text);
	if (s.n > room) {
		const char *nl = memchr(s.p + s.n - room, '\n', room);

		from = nl ? (size_t)(nl - s.p) + 1 : s.n - room;
		while (from < s.n && ((unsigned char)s.p[from] & 0xc0) == 0x80)
			from++;
	}
	if (s.n)
		buf_puts(out, from ? "[the end of what they printed]\n" : "[what they printed]\n");
	model_text_clean(out, slice_after(s, from));
	if (out->data[out->len - 1] != '\n')
		buf_putc(out, '\n');
	if (jobj_get(o, "log").type == J_STRING) {
		buf_puts(out, "[all of it: ");
		model_text_member(o, "log", out);
		buf_puts(out, "]\n");
	}
}

void testrun_text(struct buf *out, struct slice object, size_t room)
{
	testrun_text_put_counts(out, object);
	/* Failed tests come first and have most of the space, because a model acts on them. */
	put_results(out, object, "failed", "FAILED ", room / 2);
	put_results(out, object, "skipped", "skipped ", room / 16);
	put_results(out, object, "passed", "passed ", room / 16);
	put_output(out, object, room);
}
