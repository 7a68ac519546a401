#include "diff/path_quote.h"

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_escaped(struct buf *out, unsigned char c)
{
	static const char letters[] = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\";
	const char *row = letters;

	while (*row && (unsigned char)*row != c)
		row += 2;
	buf_putc(out, '\\');
	if (*row)
		buf_putc(out, row[1]);
	else
		buf_printf(out, "%03o", c);
}

/* A directory whose name ends in a space is more than git itself can read from a header that stands alone. */
static bool is_plain_text(const char *s)
{
	const char *end = s;

	while (is_plain((unsigned char)*end))
		end++;
	return !*end && !strstr(s, " /");
}

static void put_text(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (is_plain((unsigned char)*s))
			buf_putc(out, *s);
		else
			put_escaped(out, (unsigned char)*s);
	}
}

void quote_path(struct buf *out, const char *prefix, const char *path)
{
	bool quoted = !is_plain_text(path);

	if (quoted)
		buf_putc(out, '"');
	buf_puts(out, prefix);
	put_text(out, path);
	if (quoted)
		buf_putc(out, '"');
}
