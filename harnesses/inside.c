/*
 * inside.c - resolves a path as the kernel would, without opening it, also if its end does not
 * exist.
 *
 * realpath(3) cannot be used: it fails on a missing target, which a write would create through a
 * link. Components are resolved from left to right; `done` contains no links. /proc is refused: the
 * text of its magic links is not their target. Buffers are PATH_MAX, and an overflow means "cannot
 * be determined".
 */
#include "harnesses/inside.h"

#include "base/os/file.h"
#include "base/util.h"
#include "json/json.h"

#include <limits.h>

#define LINKS_MAX 40 /* as in the kernel */

/* A path that is being resolved: links of done have been followed, those of rest have not. */
struct path_walk {
	char done[PATH_MAX], rest[PATH_MAX];
	unsigned links;
};

static bool set_rest(struct path_walk *w, const char *head, const char *tail)
{
	char text[PATH_MAX];
	int n = snprintf(text, sizeof(text), "%s/%s", head, tail);

	if (n < 0 || (size_t)n >= sizeof(text))
		return false;
	memcpy(w->rest, text, (size_t)n + 1);
	return true;
}

static bool walk_follow_link(struct path_walk *w, const char *target, const char *tail)
{
	if (++w->links > LINKS_MAX)
		return false;
	/* An absolute target starts at the root; a relative one is below the directory of the link. */
	if (target[0] == '/')
		w->done[0] = '\0';
	return set_rest(w, target, tail);
}

static void walk_leave(struct path_walk *w)
{
	char *slash = strrchr(w->done, '/');

	if (slash)
		*slash = '\0';
}

/* What is there now is neither followed nor believed: /proc has links whose text is not their target. */
static bool walk_enter(struct path_walk *w, const char *name, const char *tail)
{
	char target[PATH_MAX];
	size_t at = strlen(w->done);
	ssize_t n;

	if (at + 1 + strlen(name) >= sizeof(w->done))
		return false;
	w->done[at] = '/';
	strcpy(w->done + at + 1, name);
	if (strcmp(w->done, "/proc") == 0)
		return false;
	/* EINVAL: not a link. ENOENT, ENOTDIR: nothing to follow. Any other error, such as EACCES,
	 * hides what is there. */
	n = readlink(w->done, target, sizeof(target) - 1);
	if (n < 0)
		return (errno == EINVAL || errno == ENOENT || errno == ENOTDIR) &&
		       set_rest(w, "", tail);
	target[n] = '\0';
	/* The link's own name is not part of the result; its target replaces it. */
	w->done[at] = '\0';
	return walk_follow_link(w, target, tail);
}

static bool walk_step(struct path_walk *w)
{
	char name[NAME_MAX + 1], tail[PATH_MAX];
	const char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");

	if (n > NAME_MAX)
		return false;
	memcpy(name, p, n);
	name[n] = '\0';
	strcpy(tail, p + n);
	/* After the links before it were followed, as in the kernel. */
	if (strcmp(name, "..") == 0)
		walk_leave(w);
	if (!n || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return set_rest(w, "", tail);
	return walk_enter(w, name, tail);
}

/* "": the root. */
static bool walk_resolve(struct path_walk *w, const char *path)
{
	w->done[0] = '\0';
	w->links = 0;
	if (path[0] != '/' || !set_rest(w, path, ""))
		return false;
	while (w->rest[strspn(w->rest, "/")])
		if (!walk_step(w))
			return false;
	return true;
}

/* The directory is resolved too: it can be a link itself. */
static bool path_resolves_below(const char *real, const char *dir)
{
	struct path_walk w;

	return walk_resolve(&w, dir) && path_below(real, w.done);
}

static bool has_dots(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p += 2)
		if ((p == path || p[-1] == '/') && (p[2] == '/' || !p[2]))
			return true;
	return false;
}

bool harness_place(const char *path, const char *cwd, char *ret)
{
	_cleanup_(freep) char *full = *path == '/' ? xstrdup(path) : file_join(cwd, path);
	struct path_walk w;

	if (!walk_resolve(&w, full))
		return false;
	snprintf(ret, PATH_MAX, "%s", w.done[0] ? w.done : "/");
	return true;
}

bool harness_inside(const char *path, const char *cwd, struct slice additional_dirs)
{
	_cleanup_(freep) char *full = *path == '/' ? xstrdup(path) : file_join(cwd, path);
	struct path_walk w;

	/* Programs that normalise a path remove ".." before links are followed, and would reach another
	 * file. */
	if (has_dots(full) || !walk_resolve(&w, full))
		return false;
	if (path_resolves_below(w.done, cwd))
		return true;
	jarr_each(v, additional_dirs) {
		_cleanup_(freep) char *dir = NULL;

		if (jstr_decode(v, PATH_MAX, &dir) == 0 && path_resolves_below(w.done, dir))
			return true;
	}
	return false;
}
