/*
 * ends.c - line ends of a text: CR LF in all of it, or not.
 *
 * A text with both kinds counts as one with LF: converting it there and back would change lines that nobody touched.
 */
#include "diff/ends.h"

bool ends_are_crlf(struct slice text)
{
	const char *end = text.p + text.n, *nl = text.p;
	bool any = false;

	while (nl < end && (nl = memchr(nl, '\n', (size_t)(end - nl)))) {
		if (nl == text.p || nl[-1] != '\r')
			return false;
		any = true;
		nl++;
	}
	return any;
}

void ends_to_crlf(struct buf *text)
{
	struct buf out = { .max = text->max };

	for (size_t i = text->pos; i < text->len; i++) {
		if (text->data[i] == '\n' && (i == text->pos || text->data[i - 1] != '\r'))
			buf_putc(&out, '\r');
		buf_putc(&out, text->data[i]);
	}
	buf_done(text);
	*text = out;
}

void ends_to_lf(struct slice text, struct buf *out)
{
	while (text.n) {
		const char *cr = memmem(text.p, text.n, "\r\n", 2);
		size_t n = cr ? (size_t)(cr - text.p) : text.n;

		buf_add(out, text.p, n);
		n += cr != NULL;
		text = slice_after(text, n);
	}
}
