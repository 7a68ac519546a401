/*
 * skill_quote.c - mends the most frequent mistake in skills, which other programs accept: "description: Use when: ..."
 * without quotes. The client guide advises to quote such values and to try again. Only a colon in the key's own line
 * counts: one in a line below may just as well belong to a key that is indented wrongly.
 */
#include "skill/skill_internal.h"

/* "key: " at the left edge, with a value of plain text; returns where the value begins, 0: no such line. */
static size_t plain_value(struct slice line)
{
	size_t i = 0;

	while (i < line.n &&
	       (line.p[i] == '_' || line.p[i] == '-' || (line.p[i] >= '0' && line.p[i] <= '9') ||
		((line.p[i] | 0x20) >= 'a' && (line.p[i] | 0x20) <= 'z')))
		i++;
	if (!i || i + 1 >= line.n || line.p[i] != ':' || line.p[i + 1] != ' ')
		return 0;
	for (i++; i < line.n && line.p[i] == ' ';)
		i++;
	return i < line.n && !strchr("\"'|>[{&*!#%@`\r", line.p[i]) ? i : 0;
}

/* A line that belongs to the value before it: indented, or empty. */
static bool goes_on(struct slice rest)
{
	return rest.n && strchr(" \t\r\n", rest.p[0]) != NULL && rest.p[0];
}

static bool has_colon(struct slice value)
{
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] == ':' && (i + 1 == value.n || strchr(" \t\r\n", value.p[i + 1])))
			return true;
	return false;
}

static size_t line_length(struct slice s)
{
	const char *nl = s.n ? memchr(s.p, '\n', s.n) : NULL;

	return nl ? (size_t)(nl - s.p) + 1 : s.n;
}

static void put_quoted(struct buf *b, struct slice value)
{
	buf_putc(b, '"');
	for (size_t i = 0; i < value.n; i++) {
		if (value.p[i] == '"' || value.p[i] == '\\')
			buf_putc(b, '\\');
		buf_putc(b, value.p[i]);
	}
	buf_putc(b, '"');
}

bool front_quote(struct slice yaml, struct buf *ret)
{
	bool changed = false;

	while (yaml.n) {
		size_t n = line_length(yaml), at = plain_value((struct slice){ yaml.p, n }), end;
		bool wrong = has_colon((struct slice){ yaml.p + at, n - at });

		while (goes_on(slice_after(yaml, n)))
			n += line_length(slice_after(yaml, n));
		for (end = n; end > at && strchr(" \t\r\n", yaml.p[end - 1]);)
			end--;
		if (at && wrong) {
			buf_add(ret, yaml.p, at);
			put_quoted(ret, (struct slice){ yaml.p + at, end - at });
			buf_add(ret, yaml.p + end, n - end);
			changed = true;
		} else {
			buf_add(ret, yaml.p, n);
		}
		yaml = slice_after(yaml, n);
	}
	return changed;
}
