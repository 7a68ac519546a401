/*
 * command_output.c - a ring of the newest bytes of a stream, and the first bytes of it.
 *
 * Positions count from the start of the stream; `total - len` is the oldest byte in the ring. The
 * ring doubles up to `keep` and wraps only when it no longer grows, so growing is one realloc. If
 * memory is missing, it wraps earlier. Readers skip the rest of a character that was cut.
 */
#include "tools/builtin/run/command_run.h"

#include "base/limits.h"
#include "base/format/utf8.h"
#include "base/util.h"

void command_output_init(struct command_output *o, size_t keep)
{
	*o = (struct command_output){ .keep = keep };
}

void command_output_done(struct command_output *o)
{
	free_each(o->data, o->head);
	*o = (struct command_output){ .keep = o->keep };
}

/* The ring as one run of bytes in a larger place; while it grows it has never wrapped. */
static void command_output_grow(struct command_output *o, size_t want)
{
	size_t cap = MAX(o->cap * 2, CHILD_READ_BYTES);
	char *data;

	while (cap < want)
		cap *= 2;
	cap = MIN(cap, o->keep);
	if (cap <= o->cap)
		return;
	data = realloc(o->data, cap);
	/* The ring wraps earlier then, and drops more. */
	if (!data)
		return;
	o->data = data;
	o->cap = cap;
}

static void command_output_put(struct command_output *o, struct slice s)
{
	size_t to = (o->at + o->len) % o->cap, first = MIN(s.n, o->cap - to);

	memcpy(o->data + to, s.p, first);
	memcpy(o->data, s.p + first, s.n - first);
	o->len += s.n;
	/* The new bytes overwrote the oldest ones, so the start moves behind them. */
	if (o->len > o->cap) {
		o->at = (o->at + o->len - o->cap) % o->cap;
		o->len = o->cap;
	}
}

/* Keeps the first OUTPUT_HEAD_BYTES apart. Without memory the head ends, and stays without a
 * gap. */
static void add_head(struct command_output *o, struct slice s)
{
	char *head;

	s.n = MIN(s.n, OUTPUT_HEAD_BYTES - o->head_len);
	if (!s.n)
		return;
	head = realloc(o->head, o->head_len + s.n);
	if (!head)
		return;
	memcpy(head + o->head_len, s.p, s.n);
	o->head = head;
	o->head_len += s.n;
}

void command_output_add(struct command_output *o, struct slice bytes)
{
	if (o->head_len == o->total) /* nothing is missing in between */
		add_head(o, bytes);
	o->total += bytes.n;
	if (o->len + bytes.n > o->cap && o->cap < o->keep && o->at == 0)
		command_output_grow(o, o->len + bytes.n);
	if (!o->cap)
		return;
	if (bytes.n > o->cap) {
		/* Only the last bytes fit. */
		bytes.p += bytes.n - o->cap;
		bytes.n = o->cap;
	}
	command_output_put(o, bytes);
}

uint64_t command_output_dropped(const struct command_output *o)
{
	return o->total - o->len;
}

/* Offset in text where its last lines begin; a newline at the very end ends the last of them. */
static size_t last_lines(struct slice text, size_t lines)
{
	size_t i = text.n;

	if (i && text.p[i - 1] == '\n')
		i--;
	while (i > 0)
		if (text.p[--i] == '\n' && --lines == 0)
			return i + 1;
	return 0;
}

/* Bytes at the start of the kept text that end a character whose first byte was dropped. */
static size_t cut_rest(const struct command_output *o, struct slice text)
{
	size_t n = 0;

	while (command_output_dropped(o) && n < text.n && n < 3 &&
	       ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* The ring from its oldest byte on. */
static int command_output_flatten(const struct command_output *o, struct buf *ret)
{
	size_t first = MIN(o->len, o->cap - o->at);

	if (buf_reserve(ret, o->len) < 0)
		return -1;
	buf_add(ret, o->data + o->at, first);
	buf_add(ret, o->data, o->len - first);
	return 0;
}

void command_output_text(const struct command_output *o, size_t lines, struct buf *ret)
{
	_cleanup_(buf_done) struct buf flat = { 0 };
	struct slice text;
	size_t from;

	if (!o->len || command_output_flatten(o, &flat) < 0)
		return;
	text = buf_slice(&flat);
	from = cut_rest(o, text);
	if (lines)
		from = MAX(from, last_lines(text, lines));
	buf_add(ret, text.p + from, text.n - from);
}

uint64_t command_output_piece(const struct command_output *o, uint64_t from, size_t n,
			      struct buf *ret)
{
	uint64_t kept = command_output_dropped(o);
	_cleanup_(buf_done) struct buf flat = { 0 };
	struct slice s;

	/* From the head, which the ring has dropped. A gap may follow it. */
	if (from < kept && from < o->head_len) {
		s = (struct slice){ o->head + from, MIN(n, o->head_len - (size_t)from) };
	} else {
		from = MIN(MAX(from, kept), o->total);
		if (!o->len || command_output_flatten(o, &flat) < 0)
			return from;
		s = (struct slice){ flat.data + (from - kept), MIN(n, (size_t)(o->total - from)) };
	}
	if (from == kept) {
		size_t cut = cut_rest(o, s);

		s = slice_after(s, cut);
		from += cut;
	}
	/* More output follows, so the next piece can have the character whole. The very end has no
	 * next piece. */
	if (from + s.n < o->total)
		s.n = command_output_whole(s);
	buf_add_slice(ret, s);
	return from;
}

/* Length that the sequence begun by this byte has, by its first bits alone; 1 for what begins none. */
static size_t announced(unsigned char c)
{
	if (c >= 0xc2 && c <= 0xdf)
		return 2;
	if ((c & 0xf0) == 0xe0)
		return 3;
	return c >= 0xf0 && c <= 0xf4 ? 4 : 1;
}

size_t command_output_whole(struct slice piece)
{
	for (size_t back = 1; back <= 3 && back <= piece.n; back++) {
		unsigned char c = (unsigned char)piece.p[piece.n - back];

		if ((c & 0xc0) == 0x80)
			continue;
		return announced(c) > back ? piece.n - back : piece.n;
	}
	return piece.n;
}
