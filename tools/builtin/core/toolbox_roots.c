/*
 * toolbox_roots.c - opens the roots, and finds the root of an absolute path.
 *
 * A root is its canonical path and an O_PATH descriptor, which tool_path.c gives to openat2. The
 * working directory must be in a root, and the first root is its default. Comparisons are textual:
 * both sides must be real paths.
 */
#include "tools/builtin/core/toolbox_internal.h"

#include <fcntl.h>

const char *root_below(const char *root, const char *path)
{
	size_t n = strlen(root);

	if (n == 1) /* "/" */
		return path[0] == '/' ? path + 1 : NULL;
	if (strncmp(path, root, n) != 0 || (path[n] != '/' && path[n]))
		return NULL;
	return path[n] ? path + n + 1 : path + n;
}

const struct root *root_of(const struct toolbox *b, const char *path, const char **rest)
{
	for (size_t i = 0; i < b->nroots; i++) {
		*rest = root_below(b->roots[i].path, path);
		if (*rest)
			return &b->roots[i];
	}
	return NULL;
}

bool root_is(const struct toolbox *b, const char *real)
{
	const char *rest;

	return root_of(b, real, &rest) && !*rest;
}

static int root_add(struct toolbox *b, const char *path, struct err *e)
{
	_cleanup_(closep) int fd = path[0] == '/' ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) :
						    -1;
	_cleanup_(freep) char *real = fd < 0 ? NULL : realpath(path, NULL);
	size_t at = b->nroots;

	if (!real)
		return err_field(e, "roots", "CONFIG_INVALID",
				 "roots: %s is no directory by its absolute path", path);
	/* Longest first: root_of returns the first match, which is the innermost root. */
	while (at > 0 && strlen(b->roots[at - 1].path) < strlen(real)) {
		b->roots[at] = b->roots[at - 1];
		at--;
	}
	b->roots[at] = (struct root){ TAKE_PTR(real), TAKE_FD(fd) };
	b->nroots++;
	return 0;
}

static int cwd_set(struct toolbox *b, struct err *e)
{
	const char *rest, *want = b->config.cwd ? b->config.cwd : b->config.roots[0];
	char *real = want[0] == '/' ? realpath(want, NULL) : NULL;

	free(b->config.cwd);
	b->config.cwd = real;
	if (!real || !root_of(b, real, &rest))
		return err_field(e, "cwd", "CONFIG_INVALID",
				 "cwd is no directory inside the roots");
	return 0;
}

int toolbox_roots_open(struct toolbox *b, struct err *e)
{
	size_t n = strv_len(b->config.roots);
	int r = 0;

	if (!n)
		return err_field(e, "roots", "CONFIG_INVALID", "roots is empty");
	b->roots = xalloc(n * sizeof(*b->roots));
	for (size_t i = 0; i < n && r == 0; i++)
		r = root_add(b, b->config.roots[i], e);
	return r < 0 ? r : cwd_set(b, e);
}

void toolbox_roots_close(struct toolbox *b)
{
	for (size_t i = 0; i < b->nroots; i++) {
		free(b->roots[i].path);
		close(b->roots[i].fd);
	}
	free(b->roots);
}
