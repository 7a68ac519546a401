/*
 * apply_names.c - file names as patches write them: quoted or plain, with a date, with prefixes to
 * strip.
 *
 * git quotes names with control bytes, quotes or non-ASCII bytes as C strings, and leaves spaces
 * plain. So "diff --git a/x b/x" is ambiguous for names with spaces: the split is accepted where
 * both halves name the same file. patch_name_valid is the security check: a name that leads out of
 * the tree or into .git is refused in every patch.
 */
#include "diff/apply/apply_internal.h"

#include <ctype.h>

static struct slice name_chomp(struct slice s)
{
	if (s.n && s.p[s.n - 1] == '\n')
		s.n--;
	return s;
}

static int name_octal(struct slice s, size_t i)
{
	int v = 0;

	for (size_t k = 0; k < 3; k++) {
		if (i + k >= s.n || s.p[i + k] < '0' || s.p[i + k] > '7')
			return -1;
		v = v * 8 + s.p[i + k] - '0';
	}
	return v && v < 256 ? v : -1;
}

static int escape_of(char c)
{
	static const char letters[] = "a\ab\bt\tn\nv\vf\fr\r\"\"\\\\";

	for (const char *row = letters; *row; row += 2)
		if (*row == c)
			return row[1];
	return -1;
}

/* A C string in quotes at the beginning of s; used: its length. */
static int name_unquote(struct slice s, struct buf *out, size_t *used)
{
	size_t i = 1;

	for (; i < s.n && s.p[i] != '"'; i++) {
		int c = s.p[i];

		if (c == '\\') {
			if (++i >= s.n)
				return -EINVAL;
			c = s.p[i] >= '0' && s.p[i] <= '3' ? name_octal(s, i) : escape_of(s.p[i]);
			if (c < 0)
				return -EINVAL;
			if (isdigit((unsigned char)s.p[i]))
				i += 2;
		}
		if (!c)
			return -EINVAL;
		buf_putc(out, (char)c);
	}
	*used = i + 1;
	return i < s.n ? 0 : -EINVAL;
}

/* False: it has fewer parts. */
static bool strip_parts(struct slice *s, unsigned strip)
{
	while (strip--) {
		struct slice part;

		if (!slice_cut(s, '/', &part))
			return false;
		while (slice_skip(s, "/"))
			;
	}
	return s->n > 0;
}

/* A NUL would end the name for the file system and not for the checks. */
static int name_stripped(struct slice name, unsigned strip, char **ret)
{
	if (!name.n || memchr(name.p, 0, name.n) || !strip_parts(&name, strip))
		return -EINVAL;
	free(*ret);
	*ret = xstrndup(name.p, name.n);
	return 0;
}

/* A name without quotes is taken as it stands, up to the end of the line: it may hold blanks. */
int patch_name_parse(struct slice text, unsigned strip, char **ret)
{
	_cleanup_(buf_done) struct buf plain = { 0 };
	size_t used;

	text = name_chomp(text);
	if (!text.n)
		return -EINVAL;
	if (text.p[0] != '"')
		return name_stripped(text, strip, ret);
	if (name_unquote(text, &plain, &used) < 0)
		return -EINVAL;
	return name_stripped(buf_slice(&plain), strip, ret);
}

int patch_name_parse_dated(struct slice text, unsigned strip, char **ret)
{
	const char *tab;

	text = name_chomp(text);
	tab = text.n ? memchr(text.p, '\t', text.n) : NULL;
	if (tab && text.p[0] != '"')
		text.n = (size_t)(tab - text.p);
	return patch_name_parse(text, strip, ret);
}

/* " 2020-01-01 10:00" and seconds, zone. */
static bool name_is_date(struct slice s)
{
	static const char form[] = " 0000-00-00 00:00", more[] = "0123456789:.+-Z ";
	size_t i = 0;

	for (; form[i]; i++)
		if (i >= s.n ||
		    (form[i] == '0' ? !isdigit((unsigned char)s.p[i]) : form[i] != s.p[i]))
			return false;
	while (i < s.n && s.p[i] && strchr(more, s.p[i]))
		i++;
	return i == s.n;
}

struct slice patch_name_undated(struct slice text)
{
	text = name_chomp(text);
	for (size_t i = 1; i < text.n && text.p[0] != '"'; i++)
		if (name_is_date(slice_after(text, i)))
			return (struct slice){ text.p, i };
	return text;
}

bool patch_name_is_null(struct slice text)
{
	return slice_skip(&text, "/dev/null") && (!text.n || isspace((unsigned char)text.p[0]));
}

/* Two quoted names need no search: the closing quote ends the first. */
static int both_quoted(struct slice text, unsigned strip, char **ret)
{
	_cleanup_(buf_done) struct buf first = { 0 };
	_cleanup_(freep) char *second = NULL;
	size_t used;

	if (name_unquote(text, &first, &used) < 0 || used >= text.n || text.p[used] != ' ' ||
	    name_stripped(buf_slice(&first), strip, ret) < 0 ||
	    patch_name_parse((struct slice){ text.p + used + 1, text.n - used - 1 }, strip,
			     &second) < 0)
		return -EINVAL;
	return strcmp(*ret, second) == 0 ? 0 : -EINVAL;
}

/* Names may hold spaces: the right one is where both halves name the same. */
int patch_name_parse_both(struct slice text, unsigned strip, char **ret)
{
	text = name_chomp(text);
	if (text.n && text.p[0] == '"')
		return both_quoted(text, strip, ret);
	for (size_t i = 1; i + 1 < text.n; i++) {
		_cleanup_(freep) char *second = NULL;

		if (text.p[i] == ' ' &&
		    name_stripped((struct slice){ text.p, i }, strip, ret) == 0 &&
		    patch_name_parse((struct slice){ text.p + i + 1, text.n - i - 1 }, strip,
				     &second) == 0 &&
		    strcmp(*ret, second) == 0)
			return 0;
	}
	return -EINVAL;
}

/* .git in any case: some file systems do not tell them apart. */
bool patch_name_valid(const char *path)
{
	for (;;) {
		size_t n = strcspn(path, "/");

		if (!n || (n == 1 && path[0] == '.') || (n == 2 && strncmp(path, "..", 2) == 0) ||
		    (n == 4 && strncasecmp(path, ".git", 4) == 0))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
}
