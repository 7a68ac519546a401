/*
 * fsview.c - the places of a view: resolved, checked, and reduced to the mounts that are needed.
 *
 * Paths are resolved here. The child that mounts them follows no link, so a path that changes later
 * is an error. Sorting by path puts a directory before its contents, so one pass finds the place
 * that each lies in: `last` and `over` are its stack. The last place at a path is used, and places
 * that need no mount are dropped.
 */
#include "proc/spaces/fsview_internal.h"

#include "base/util.h"

#include <limits.h>
#include <sys/stat.h>

#define REASON "CONFINEMENT_UNSUPPORTED"

struct fsview *fsview_new(void)
{
	return new0(struct fsview);
}

static void place_done(struct fsview_place *p)
{
	free_each(p->path, p->source);
}

struct fsview *fsview_free(struct fsview *v)
{
	for (size_t i = 0; v && i < v->n; i++)
		place_done(&v->place[i]);
	if (v)
		free(v->place);
	free(v);
	return NULL;
}

const char *fsview_path(const struct fsview *v, unsigned number)
{
	return number < v->n ? v->place[number].path : "?";
}

void fsview_shut(struct fsview *v, const char *const *files)
{
	v->shut = files;
}

static bool kind_is_void(enum fsview_kind kind)
{
	return kind == FSVIEW_HIDDEN || kind == FSVIEW_SECRET;
}

static bool is_worked_in(enum fsview_kind kind)
{
	return kind == FSVIEW_WRITABLE || kind == FSVIEW_DRAFT;
}

/* May be left out where there is nothing. */
static bool is_optional(enum fsview_kind kind)
{
	return kind == FSVIEW_TOOLS || kind_is_void(kind);
}

static void fsview_append(struct fsview *v, enum fsview_kind kind, const char *path,
			  const char *source)
{
	struct fsview_place *p = GROW(v->place, v->n);

	*p = (struct fsview_place){
		.kind = kind, .path = xstrdup(path), .source = xstrdup(source), .fd = -1
	};
}

/* Without links; 0 or -errno. */
static int resolve_dir(const char *path, char **ret)
{
	_cleanup_(freep) char *r = realpath(path, NULL);
	struct stat st;

	if (!r || stat(r, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	*ret = TAKE_PTR(r);
	return 0;
}

/* A path with "." or ".." or doubled slashes has no second name that could be mounted. */
static bool path_is_plain(const char *path)
{
	return *path == '/' && !strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../");
}

/* A place whose path has links in it is one under that name, too. */
static void fsview_append_alias(struct fsview *v, enum fsview_kind kind, const char *path,
				const char *real, const char *source)
{
	if (strcmp(path, real) == 0 || !path_is_plain(path))
		return;
	fsview_append(v, kind, path, source);
	v->place[v->n - 1].alias = true;
}

int fsview_add(struct fsview *v, enum fsview_kind kind, const char *path, struct err *e)
{
	_cleanup_(freep) char *real = NULL;
	int r = resolve_dir(path, &real);

	/* Programs and hidden places that do not exist need not be mounted. */
	if (r < 0 && is_optional(kind))
		return 0;
	if (r < 0)
		return err_set(e, r, 0, REASON, "%s cannot be shown to the session: %s", path,
			       strerror(-r));
	fsview_append(v, kind, real, kind_is_void(kind) ? NULL : real);
	if (!kind_is_void(kind))
		fsview_append_alias(v, kind, path, real, real);
	return 0;
}

int fsview_put(struct fsview *v, const char *path, const char *source, struct err *e)
{
	_cleanup_(freep) char *at = NULL, *real = NULL;
	int r;

	if (resolve_dir(path, &at) < 0)
		return 0;
	r = resolve_dir(source, &real);
	if (r < 0)
		return err_set(e, r, 0, REASON, "%s cannot stand at %s: %s", source, path,
			       strerror(-r));
	fsview_append(v, FSVIEW_TMP, at, real);
	return 0;
}

int fsview_over(struct fsview *v, const char *path, const char *source, struct err *e)
{
	_cleanup_(freep) char *at = NULL, *real = NULL;
	int r = resolve_dir(path, &at);

	if (r == 0)
		r = resolve_dir(source, &real);
	if (r < 0)
		return err_set(e, r, 0, REASON, "%s cannot stand for %s: %s", source, path,
			       strerror(-r));
	fsview_append(v, FSVIEW_DRAFT, at, real);
	fsview_append_alias(v, FSVIEW_DRAFT, path, at, real);
	return 0;
}

/* --- settled ----------------------------------------------------------------------------------------------- */

/* By path, so that what lies in a directory stands right behind it; at the same path, what counts comes last. */
static int by_place_path(const void *a, const void *b)
{
	const struct fsview_place *x = a, *y = b;
	const unsigned char *s = (const unsigned char *)x->path,
			    *t = (const unsigned char *)y->path;

	while (*s && *s == *t) {
		s++;
		t++;
	}
	if (*s == *t)
		return x->kind != y->kind ? (int)x->kind - (int)y->kind : x->alias - y->alias;
	if (!*s || !*t)
		return *s ? 1 : -1;
	if (*s == '/' || *t == '/')
		return *s == '/' ? -1 : 1;
	return *s < *t ? -1 : 1;
}

static bool path_lies_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Programs there are those of others, or the daemon's. */
static bool is_in_secret(const struct fsview *v, const char *path)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->place[i].kind == FSVIEW_SECRET && path_lies_in(path, v->place[i].path))
			return true;
	return false;
}

/* Whether a mount is needed for it; what it lies in is known. */
static bool is_needed(const struct fsview *v, const struct fsview_place *p)
{
	const struct fsview_place *over = p->over == FSVIEW_ROOT ? NULL : &v->place[p->over];
	bool in_void = over && (kind_is_void(over->kind) || over->kind == FSVIEW_TMP);

	/* Outside of an empty place the links of the other name still lead to the real one. */
	if (p->out || p->alias)
		return in_void && !p->out;
	switch (p->kind) {
	case FSVIEW_TOOLS:
		return in_void;
	case FSVIEW_SHOWN:
		return in_void || (over && is_worked_in(over->kind));
	case FSVIEW_HIDDEN:
		return !in_void;
	case FSVIEW_SECRET: /* what else stands in its place in /tmp would be writable */
		return !in_void || over->kind == FSVIEW_TMP;
	case FSVIEW_WRITABLE:
		return !over || !is_worked_in(over->kind);
	case FSVIEW_TMP:
	case FSVIEW_DRAFT:
		return true;
	}
	return true;
}

/* The last one at a path counts; the others go. */
static bool is_last(const struct fsview *v, size_t i)
{
	return i + 1 == v->n || strcmp(v->place[i].path, v->place[i + 1].path) != 0;
}

static int fsview_check_place(struct fsview *v, size_t i, struct err *e)
{
	static const char *const ours[] = { "/proc", "/sys", "/dev" };
	const char *path = v->place[i].path;

	v->place[i].out = v->place[i].kind == FSVIEW_TOOLS && is_in_secret(v, path);
	if (!is_worked_in(v->place[i].kind))
		return 0;
	if (strcmp(path, "/") == 0)
		return err_set(
			e, -EINVAL, 0, REASON,
			"the session works on all of the file system: nothing would be read-only");
	for (size_t k = 0; k < ARRAY_SIZE(ours); k++)
		if (path_lies_in(path, ours[k]))
			return err_set(e, -EINVAL, 0, REASON,
				       "%s cannot be worked in: %s is the session's own", path,
				       ours[k]);
	/* All places at this path: they follow one another. */
	for (; !is_last(v, i); i++)
		if (v->place[i + 1].kind == FSVIEW_SECRET)
			return err_set(e, -EINVAL, 0, REASON,
				       "%s belongs to the daemon, and sessions do not see it",
				       path);
	return 0;
}

int fsview_settle(struct fsview *v, struct err *e)
{
	size_t kept = 0;
	int r = 0, last = FSVIEW_ROOT;

	if (v->n)
		qsort(v->place, v->n, sizeof(*v->place), by_place_path);
	for (size_t i = 0; r == 0 && i < v->n; i++)
		r = fsview_check_place(v, i, e);
	for (size_t i = 0; r == 0 && i < v->n; i++) {
		struct fsview_place p = v->place[i];

		while (last != FSVIEW_ROOT && !path_lies_in(p.path, v->place[last].path))
			last = v->place[last].over;
		p.over = last;
		if (!is_last(v, i) || !is_needed(v, &p)) {
			place_done(&p);
			v->place[i] = (struct fsview_place){ 0 };
			continue;
		}
		v->place[i] = (struct fsview_place){ 0 };
		/* kept is at most i: no place is overwritten before it is read. */
		v->place[kept] = p;
		last = (int)kept++;
	}
	if (r == 0)
		v->n = kept;
	return r;
}

/* --- programs -------------------------------------------------------------------------------------------- */

static void add_tools(struct fsview *v, const char *dir)
{
	if (*dir == '/')
		fsview_add(v, FSVIEW_TOOLS, dir, NULL);
}

/* The directory that a program is in; of a package of npm all packages, since it needs others. */
static void add_home_of(struct fsview *v, const char *file)
{
	static const char packages[] = "/node_modules/";
	_cleanup_(freep) char *path = xstrdup(file);
	char *end = strstr(path, packages);

	if (end)
		end += strlen(packages) - 1;
	else
		end = strrchr(path, '/');
	if (!end || end == path)
		return;
	*end = '\0';
	add_tools(v, path);
}

/* As it is called, and where it really is. */
void seen_program(struct fsview *v, const char *file)
{
	_cleanup_(freep) char *real = realpath(file, NULL);

	add_home_of(v, file);
	if (real)
		add_home_of(v, real);
}

void seen_path(struct fsview *v, const char *path)
{
	while (path && *path) {
		size_t n = strcspn(path, ":");
		_cleanup_(freep) char *dir = xstrndup(path, n);

		add_tools(v, dir);
		path += n + (path[n] == ':');
	}
}

void seen_homes_hidden(struct fsview *v)
{
	static const char *const homes[] = { "/run", "/home", "/root" };
	const char *own = getenv("HOME");

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
		fsview_add(v, FSVIEW_HIDDEN, homes[i], NULL);
	if (own && *own == '/' && own[1])
		fsview_add(v, FSVIEW_HIDDEN, own, NULL);
}
