#include "tools/builtin/output.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "base/util.h"

void output_init(struct output *o, size_t keep)
{
	*o = (struct output){ .keep = keep };
}

void output_done(struct output *o)
{
	free(o->data);
	*o = (struct output){ .keep = o->keep };
}

/* The ring as one run of bytes in a larger place; while it grows it has never wrapped. */
static void grow(struct output *o, size_t want)
{
	size_t cap = MAX(o->cap * 2, CHILD_READ_BYTES);
	char *data;

	while (cap < want)
		cap *= 2;
	cap = MIN(cap, o->keep);
	if (cap <= o->cap)
		return;
	data = realloc(o->data, cap);
	if (!data)
		return;
	o->data = data;
	o->cap = cap;
}

static void put(struct output *o, struct slice s)
{
	size_t to = (o->at + o->len) % o->cap, first = MIN(s.n, o->cap - to);

	memcpy(o->data + to, s.p, first);
	memcpy(o->data, s.p + first, s.n - first);
	o->len += s.n;
	if (o->len > o->cap) {
		o->at = (o->at + o->len - o->cap) % o->cap;
		o->len = o->cap;
	}
}

void output_add(struct output *o, struct slice bytes)
{
	o->total += bytes.n;
	if (o->len + bytes.n > o->cap && o->cap < o->keep && o->at == 0)
		grow(o, o->len + bytes.n);
	if (!o->cap)
		return;
	if (bytes.n > o->cap) {
		bytes.p += bytes.n - o->cap;
		bytes.n = o->cap;
	}
	put(o, bytes);
}

uint64_t output_dropped(const struct output *o)
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

void output_text(const struct output *o, size_t lines, struct buf *ret)
{
	_cleanup_(buf_done) struct buf flat = { 0 };
	size_t first = o->len ? MIN(o->len, o->cap - o->at) : 0, from = 0;
	struct slice text;

	if (!o->len || buf_reserve(&flat, o->len) < 0)
		return;
	buf_add(&flat, o->data + o->at, first);
	buf_add(&flat, o->data, o->len - first);
	text = buf_slice(&flat);
	/* cut off in the middle of a character: its rest says nothing */
	if (output_dropped(o))
		while (from < text.n && from < 3 && ((unsigned char)text.p[from] & 0xc0) == 0x80)
			from++;
	if (lines)
		from = MAX(from, last_lines(text, lines));
	buf_add(ret, text.p + from, text.n - from);
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

size_t output_whole(struct slice piece)
{
	for (size_t back = 1; back <= 3 && back <= piece.n; back++) {
		unsigned char c = (unsigned char)piece.p[piece.n - back];

		if ((c & 0xc0) == 0x80)
			continue;
		return announced(c) > back ? piece.n - back : piece.n;
	}
	return piece.n;
}
