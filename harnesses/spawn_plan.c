/*
 * spawn_plan.c - builds the argv, environment and files of a harness process, and wipes them
 * afterwards.
 *
 * A variable is set at most once: a later harness_plan_env replaces the value, so callers add
 * defaults first. Values can be keys. They are copied by memcpy and wiped before they are freed,
 * because stdio functions leave copies in their own buffers.
 */
#include "harnesses/spawn_plan.h"

#include "base/strv.h"
#include "base/util.h"

void harness_plan_arg(struct harness_plan *p, const char *arg)
{
	/* + 2: the new argument and NULL. */
	p->argv = reallocarray(p->argv, p->nargs + 2, sizeof(*p->argv));
	if (!p->argv)
		abort();
	p->argv[p->nargs++] = xstrdup(arg);
	p->argv[p->nargs] = NULL;
}

void harness_plan_command(struct harness_plan *p, const struct harness_def *def, const char *other)
{
	harness_plan_arg(p, def->command);
	if (other && (!def->args || !def->args[0]))
		harness_plan_arg(p, other);
	for (char **a = def->args; a && *a; a++)
		harness_plan_arg(p, *a);
}

static struct harness_env *find_env(const struct harness_plan *p, const char *name)
{
	for (size_t i = 0; i < p->nenv; i++)
		if (strcmp(p->env[i].name, name) == 0)
			return &p->env[i];
	return NULL;
}

void harness_plan_env(struct harness_plan *p, const char *name, const char *value)
{
	struct harness_env *e = find_env(p, name);

	/* xstrset frees the old value without wiping it, so only values that are not keys may be
	 * replaced. */
	if (e) {
		xstrset(&e->value, value);
		return;
	}
	*GROW(p->env, p->nenv) = (struct harness_env){ xstrdup(name), xstrdup(value) };
}

void harness_plan_add_environ(struct harness_plan *p, char *const *environ_list)
{
	for (char *const *v = environ_list; v && *v; v++) {
		size_t n = strcspn(*v, "=");
		_cleanup_(freep) char *name = xstrndup(*v, n);

		harness_plan_env(p, name, *v + n + ((*v)[n] == '='));
	}
}

void harness_plan_file(struct harness_plan *p, const char *path, const char *text)
{
	*GROW(p->files, p->nfiles) = (struct harness_env){ xstrdup(path), xstrdup(text) };
}

void harness_plan_program(struct harness_plan *p, const char *path, const char *text)
{
	*GROW(p->programs, p->nprograms) = (struct harness_env){ xstrdup(path), xstrdup(text) };
}

const char *harness_plan_getenv(const struct harness_plan *p, const char *name)
{
	const struct harness_env *e = find_env(p, name);

	return e ? e->value : NULL;
}

/* Any of these may hold a key. */
static void plan_text_free(char *text)
{
	secret_text_wipe(text);
	free(text);
}

/* By hand: printf leaves pieces of what it writes behind. */
static char *pair(const struct harness_env *e)
{
	size_t name = strlen(e->name), value = strlen(e->value);
	char *text = xalloc(name + 1 + value + 1);

	memcpy(text, e->name, name);
	text[name] = '=';
	memcpy(text + name + 1, e->value, value + 1);
	return text;
}

char **harness_plan_environ(const struct harness_plan *p)
{
	char **list = xalloc((p->nenv + 1) * sizeof(*list));

	for (size_t i = 0; i < p->nenv; i++)
		list[i] = pair(&p->env[i]);
	return list;
}

void harness_plan_free_environ(char **list)
{
	for (char **s = list; s && *s; s++)
		plan_text_free(*s);
	free(list);
}

static void pairs_free(struct harness_env *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(v[i].name);
		plan_text_free(v[i].value);
	}
	free(v);
}

void harness_plan_done(struct harness_plan *p)
{
	/* Not wiped: other users can read a command line, so it has no keys. */
	strv_free_n(p->argv, p->nargs);
	pairs_free(p->env, p->nenv);
	pairs_free(p->files, p->nfiles);
	pairs_free(p->programs, p->nprograms);
	*p = (struct harness_plan){ 0 };
}
