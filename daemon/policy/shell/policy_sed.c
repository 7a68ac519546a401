/* policy_sed.c - checks whether a script of sed only prints, deletes and replaces: sed can also run programs and write
 * files. */
#include "policy/policy_internal.h"

/* The end of the next unescaped delimiter, or NULL. */
static const char *part_end(const char *s, char delimiter)
{
	for (; *s && *s != delimiter; s++)
		if (*s == '\\' && s[1])
			s++;
	return *s ? s + 1 : NULL;
}

/* s/a/b/g: replaces, without the flags that run (e) or write (w). */
static const char *replace_end(const char *s)
{
	char delimiter = *s;

	if (!delimiter || delimiter == '\\' || delimiter == '\n')
		return NULL;
	s = part_end(s + 1, delimiter);
	return s ? part_end(s, delimiter) : NULL;
}

/* Left out are e, which runs a program, w and W, which write files, r and R, which read them, and commands
 * whose text would need a parser: a, i, c and labels. */
bool policy_sed_plain(const char *s)
{
	while (s && *s) {
		char c = *s++;

		if (strchr(" \t\n;{}!,$+~0123456789pdqQnNgGhHxDPlz=", c))
			continue;
		if (c == '/') {
			s = part_end(s, '/');
			continue;
		}
		if (c != 's' && c != 'y')
			return false;
		s = replace_end(s);
		if (s && c == 's')
			s += strspn(s, "gpiIM0123456789");
	}
	return s != NULL;
}
