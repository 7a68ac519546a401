#include "base/strv.h"

#include "base/util.h"

size_t strv_len(char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return n;
}

char **strv_copy(char *const *v)
{
	size_t n = strv_len(v);
	char **copy = xalloc((n + 1) * sizeof(*copy));

	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(v[i]);
	return copy;
}

void strv_add(char ***v, char *s)
{
	size_t n = strv_len(*v);

	*v = reallocarray(*v, n + 2, sizeof(**v));
	if (!*v)
		abort();
	(*v)[n] = s;
	(*v)[n + 1] = NULL;
}

char **strv_free(char **v)
{
	for (char **s = v; s && *s; s++)
		free(*s);
	free(v);
	return NULL;
}

void strv_free_n(char **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

const char *strv_env(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; env && *env; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}
