/* mcpfile_expand.c - ${VAR} and ${VAR:-default} in a text. */
#include "tools/hosted/mcpfile.h"

#include "base/buf.h"
#include "base/limits.h"

#include <ctype.h>

static bool mcpfile_expand_is_variable(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] != '_' && !isalpha((unsigned char)name.p[i]) &&
		    !(i && isdigit((unsigned char)name.p[i])))
			return false;
	return name.n > 0;
}

static const char *lookup(char *const *env, struct slice name)
{
	for (char *const *e = env; e && *e; e++)
		if (strncmp(*e, name.p, name.n) == 0 && (*e)[name.n] == '=')
			return *e + name.n + 1;
	return NULL;
}

/* inside: what stands between the braces. */
static int mcpfile_expand_put_value(struct buf *out, struct slice inside, char *const *env,
				    const char *field, struct err *e)
{
	const char *sep = memmem(inside.p, inside.n, ":-", 2), *value;
	struct slice name = { inside.p, sep ? (size_t)(sep - inside.p) : inside.n };

	if (!mcpfile_expand_is_variable(name))
		return err_field(e, field, "EXPANSION_INVALID",
				 "%s: ${} takes the name of a variable, and :-default behind it",
				 field);
	value = lookup(env, name);
	if (value)
		buf_puts(out, value);
	else if (sep)
		buf_add(out, sep + 2, inside.n - name.n - 2);
	else
		return err_field(e, field, "ENV_UNSET",
				 "%s: ${%.*s} is not in the environment allowed here", field,
				 (int)MIN(name.n, 64u), name.p);
	return 0;
}

int mcpfile_expand(const char *text, char *const *env, const char *field, char **ret, struct err *e)
{
	_cleanup_(buf_done) struct buf out = { .max = HOSTED_STRING_MAX };
	const char *from, *end;
	int r;

	while ((from = strstr(text, "${"))) {
		end = strchr(from, '}');
		if (!end)
			return err_field(e, field, "EXPANSION_INVALID", "%s: ${ without }", field);
		buf_add(&out, text, (size_t)(from - text));
		r = mcpfile_expand_put_value(
			&out, (struct slice){ from + 2, (size_t)(end - from - 2) }, env, field, e);
		if (r < 0)
			return r;
		text = end + 1;
	}
	buf_puts(&out, text);
	if (out.failed)
		return err_field(e, field, "FIELD_TOO_LONG", "%s is longer than %lu bytes", field,
				 HOSTED_STRING_MAX);
	*ret = xstrndup(out.data, out.len);
	return 0;
}
