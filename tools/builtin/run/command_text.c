/*
 * command_text.c - the output of a command as text for a model: head and tail of each stream,
 * without terminal controls.
 *
 * Each stream has half of the limit, and what the other one leaves. A stream above its share shows
 * its beginning and its end; a marker between them names the offset for getProcessOutput. Cuts fall
 * on line ends where possible, else between two characters.
 */
#include "tools/builtin/run/command_spec.h"

#include "base/limits.h"
#include "tools/builtin/core/model_text.h"

#include <inttypes.h>

static const char *const names[RUN_STREAMS] = { "stdout", "stderr" };

/* --- text of a terminal ---------------------------------------------------------------------------------------- */

/* Length of an escape sequence at p (ESC [ … letter, ESC ] … BEL, ESC x), 0: none. */
static size_t sequence(const char *p, const char *end)
{
	const char *at = p + 2;

	if (*p != 0x1b || end - p < 2)
		return 0;
	if (p[1] == '[') {
		/* ECMA-48, 5.4: parameter and intermediate bytes, then one final byte. */
		while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x40)
			at++;
		return (size_t)(MIN(at + 1, end) - p);
	}
	if (p[1] != ']')
		return 2;
	/* Ended by BEL or ESC. A line end ends it, too, so an incomplete one does not hide the
	 * output after it. */
	while (at < end && *at != '\a' && *at != 0x1b && *at != '\n')
		at++;
	if (at < end && *at == 0x1b)
		at++;
	return (size_t)((at < end && *at != '\n' ? at + 1 : at) - p);
}

void model_text_clean(struct buf *out, struct slice text)
{
	const char *end = text.p + text.n;

	for (const char *p = text.p; p < end;) {
		const char *from = p;
		size_t n;

		while (p < end && ((unsigned char)*p >= 0x20 || *p == '\n' || *p == '\t'))
			p++;
		buf_add(out, from, (size_t)(p - from));
		if (p == end)
			break;
		n = sequence(p, end);
		/* A progress bar returns to the start of its line: each of its states becomes a
		 * line. */
		if (*p == '\r' && (p + 1 == end || p[1] != '\n'))
			buf_putc(out, '\n');
		p += n ? n : 1;
	}
}

static void command_text_end_line(struct buf *out)
{
	if (out->len && out->data[out->len - 1] != '\n')
		buf_putc(out, '\n');
}

/* --- head and tail ---------------------------------------------------------------------------------------------- */

/* Bytes of the first lines that fit, whole lines unless the first of them is longer. */
static size_t head_of(struct slice s, size_t bytes, size_t lines)
{
	size_t n = model_text_cut(s, bytes), at = 0;

	while (lines-- > 0) {
		const char *nl = memchr(s.p + at, '\n', n - at);

		if (!nl)
			return at && n < s.n ? at : n;
		at = (size_t)(nl - s.p) + 1;
		if (at == n)
			break;
	}
	return at;
}

/* Where the last lines that fit begin. */
static size_t tail_of(struct slice s, size_t bytes, size_t lines)
{
	size_t low = s.n > bytes ? s.n - bytes : 0, at = s.n, best = s.n;

	if (at && s.p[at - 1] == '\n')
		at--;
	while (lines-- > 0) {
		const char *nl = at > low ? memrchr(s.p + low, '\n', at - low) : NULL;

		if (!nl) {
			best = low && best < s.n ? best : low;
			break;
		}
		best = (size_t)(nl - s.p) + 1;
		at = best - 1;
	}
	while (best < s.n && ((unsigned char)s.p[best] & 0xc0) == 0x80)
		best++;
	return best;
}

static size_t command_text_count_lines(struct slice s, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n && n <= most; i++)
		n += s.p[i] == '\n';
	return n;
}

static bool command_text_fits(const struct command_output *o, size_t bytes, size_t lines)
{
	_cleanup_(buf_done) struct buf text = { .max = RUN_KEEP_MAX + 8 };

	if (o->total > bytes)
		return false;
	command_output_text(o, 0, &text);
	return command_text_count_lines(buf_slice(&text), lines) <= lines;
}

static void put_marker(struct buf *out, const struct command_output *o, uint64_t from, uint64_t to,
		       const char *name, const char *pid)
{
	command_text_end_line(out);
	buf_printf(out, "[%" PRIu64 " bytes of %s left out", to - from, name);
	if (o && pid)
		buf_printf(out,
			   "; getProcessOutput with pid: \"%s\", stream: \"%s\", offset: %" PRIu64
			   " reads them",
			   pid, name, from);
	buf_puts(out, "]\n");
}

static void put_ends(struct buf *out, const struct command_output *o, const char *name,
		     const char *pid, size_t bytes, size_t lines)
{
	_cleanup_(buf_done) struct buf begin = { 0 }, kept = { .max = RUN_KEEP_MAX + 8 };
	struct slice head, tail;
	uint64_t tail_at;

	command_output_piece(o, 0, bytes / 2, &begin);
	command_output_text(o, 0, &kept);
	head = buf_slice(&begin);
	head.n = head_of(head, bytes / 2, lines / 2);
	tail = buf_slice(&kept);
	tail_at = tail_of(tail, bytes / 2, lines / 2);
	tail = slice_after(tail, tail_at);
	tail_at = o->total - tail.n;
	model_text_clean(out, head);
	/* Otherwise the two ends meet, and nothing is left out. */
	if (tail_at > head.n)
		put_marker(out, o, head.n, tail_at, name, pid);
	model_text_clean(out, tail);
	command_text_end_line(out);
}

static void command_text_put_stream(struct buf *out, const struct command_output *o,
				    const char *name, const struct command_text *how, size_t bytes,
				    size_t lines)
{
	_cleanup_(buf_done) struct buf text = { .max = RUN_KEEP_MAX + 8 };
	struct slice s;

	if (!how->lines && !command_text_fits(o, bytes, lines)) {
		put_ends(out, o, name, how->pid, bytes, lines);
		return;
	}
	command_output_text(o, how->lines, &text);
	s = buf_slice(&text);
	if (s.n > bytes) {
		size_t at = tail_of(s, bytes, lines);

		put_marker(out, o, o->total - s.n, o->total - s.n + at, name, how->pid);
		s = slice_after(s, at);
	}
	model_text_clean(out, s);
	command_text_end_line(out);
}

/* --- the whole of it -------------------------------------------------------------------------------------------- */

bool command_text_cut(const struct command_run *r, size_t room)
{
	return !command_text_fits(command_run_output(r, RUN_STDOUT), room / 2,
				  TOOL_SHOW_LINES / 2) ||
	       !command_text_fits(command_run_output(r, RUN_STDERR), room / 2, TOOL_SHOW_LINES / 2);
}

/* What the other does not need is this one's. */
static void put_streams(struct buf *out, const struct command_run *r,
			const struct command_text *how)
{
	for (enum command_run_stream s = 0; s < RUN_STREAMS; s++) {
		const struct command_output *o = command_run_output(r, s),
					    *other = command_run_output(r, 1 - s);
		size_t bytes = how->room, lines = TOOL_SHOW_LINES;

		if (!o->total)
			continue;
		if (other->total) {
			bytes -= MIN(other->total, (uint64_t)how->room / 2);
			lines -= MIN(other->total,
				     (uint64_t)TOOL_SHOW_LINES / 2); /* a line has a byte */
		}
		if (s == RUN_STDERR)
			buf_puts(out, "[stderr]\n");
		command_text_put_stream(out, o, names[s], how, bytes, lines);
	}
}

static void command_text_put_end(struct buf *out, const struct command_run *r,
				 const struct command_run_status *st, const char *pid)
{
	if (!st) {
		buf_printf(out, "running, pid: \"%s\"; getProcessOutput reads on", pid ? pid : "");
		return;
	}
	if (st->timed_out)
		buf_printf(out, "timed out after %" PRIu64 " ms, ended; ", command_run_elapsed(r));
	if (st->exited)
		buf_printf(out, "exit code %d", st->code);
	else
		buf_printf(out, "ended by signal %d", st->code);
	if (st->left)
		buf_printf(out, "; %u processes that it left running were ended", st->left);
}

void command_text(struct buf *out, const struct command_run *r, const struct command_run_status *st,
		  const struct command_text *how)
{
	if (how->unrun) {
		buf_printf(out, "[not run: %s]\n", how->unrun);
		return;
	}
	if (how->capture)
		put_streams(out, r, how);
	buf_puts(out, out->len ? "[" : how->capture ? "[no output; " : "[");
	command_text_put_end(out, r, st, how->pid);
	buf_puts(out, "]\n");
}

void command_text_piece(struct buf *out, const struct command_output *o, struct slice piece,
			uint64_t at, bool running)
{
	uint64_t end = at + piece.n;

	model_text_clean(out, piece);
	command_text_end_line(out);
	buf_printf(out, "[bytes %" PRIu64 "-%" PRIu64 " of %" PRIu64, at, end, o->total);
	if (end < o->total)
		buf_printf(out, "; read on with offset: %" PRIu64, end);
	buf_puts(out, running ? "; it still runs]\n" : "]\n");
}
