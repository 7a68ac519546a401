#include "unpack/snapshot/tree_walk.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/util.h"
#include "tree/dir_names.h"
#include "tree/held_tree.h"
#include "tree/ignore.h"

#include <errno.h>
#include <fcntl.h>

#define STAGE_DIRS ".acpd-stage-"

struct walker {
	const struct tree_walk_options *o;
	const struct tree_visitor *visitor;
	struct verdict *v;
	struct ignore *ignore; /* NULL: not asked */
	dev_t device;
	uint64_t seen;
	char path[PATH_BYTES_MAX + 1 + 256];
	size_t n;
};

/* --- names that mean something to git ------------------------------------------------------------------- */

/* Windows drops dots and spaces at the end of a name and takes what is behind a colon for a stream. */
static bool ends_there(const char *rest)
{
	while (*rest == '.' || *rest == ' ')
		rest++;
	return !*rest || *rest == ':' || *rest == '\\';
}

bool git_name_reserved(const char *name, bool link)
{
	static const char *const links[] = { ".gitmodules", "gitmod~", "gi7eba~" };

	for (size_t i = 0; link && i < ARRAY_SIZE(links); i++)
		if (strncasecmp(name, links[i], strlen(links[i])) == 0)
			return true;
	return (strncasecmp(name, ".git", 4) == 0 && ends_there(name + 4)) ||
	       (strncasecmp(name, "git~1", 5) == 0 && ends_there(name + 5));
}

static bool left_out(const struct walker *w, const char *name)
{
	return strncmp(name, STAGE_DIRS, strlen(STAGE_DIRS)) == 0 ||
	       (w->o->without_git && strcmp(name, ".git") == 0);
}

/* --- one directory ---------------------------------------------------------------------------------------- */

static int check_count(struct walker *w)
{
	if (++w->seen > w->o->entries)
		return refuse_over(w->v, "TOO_MANY_ENTRIES", NULL, w->o->entries, w->seen,
				   "entries in the tree");
	return 0;
}

static int check_time(struct walker *w)
{
	if (!w->o->deadline_ms || clock_mono_ms() <= w->o->deadline_ms)
		return 0;
	return refuse(w->v, "TIME_LIMIT", w->path, "the tree took too long; this far it came");
}

static int want_name(void *ctx, const char *name)
{
	struct walker *w = ctx;
	int r = left_out(w, name) ? 1 : check_count(w);

	return r < 0 ? r : !r;
}

/* The bytes of the .gitignore in dir; nothing if it is no file that can be read, as for git. */
static void read_gitignore(int dir, struct buf *ret)
{
	_cleanup_(closep) int fd =
		openat(dir, ".gitignore", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat sb;

	if (fd < 0 || fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode) ||
	    file_read_fd(fd, IGNORE_FILE_MAX, ret) < 0)
		buf_reset(ret);
}

static int enter_ignore(struct walker *w, int dir, const struct dir_names *names)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	for (size_t i = 0; i < names->n; i++)
		if (strcmp(dir_names_at(names, i), ".gitignore") == 0)
			read_gitignore(dir, &text);
	/* rules beyond all measure are no rules */
	if (ignore_push(w->ignore, w->path, buf_slice(&text)) == 0)
		return 0;
	return ignore_push(w->ignore, w->path, SLICE_NONE);
}

/* --- the tree --------------------------------------------------------------------------------------------- */

static int walk_dir(struct walker *w, int dir, unsigned depth);

static int omit(struct walker *w, enum omit_reason reason)
{
	return w->visitor->omit(w->visitor->ctx, w->path, reason);
}

static bool is_ignored(struct walker *w, const struct stat *sb)
{
	return w->ignore && ignore_match(w->ignore, w->path, S_ISDIR(sb->st_mode)) &&
	       !(w->visitor->known && w->visitor->known(w->visitor->ctx, w->path));
}

static int walk_into(struct walker *w, int dir, const char *name, unsigned depth)
{
	_cleanup_(closep) int fd = -1;
	struct stat sb;

	if (depth >= PATH_DEPTH_MAX)
		return omit(w, OMIT_PATH_TOO_DEEP);
	fd = held_open_dir_at(dir, name);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0;
	if (fd < 0)
		return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ?
			       fail_with(w->v, fd, w->path, "opening a directory") :
			       omit(w, OMIT_UNREADABLE);
	if (fstat(fd, &sb) < 0 || sb.st_dev != w->device)
		return omit(w, OMIT_OTHER_FILE_SYSTEM);
	return walk_dir(w, fd, depth + 1);
}

static int walk_visit(struct walker *w, int dir, const char *name, unsigned depth)
{
	struct tree_entry e = { .path = w->path, .dir = dir, .leaf = name };
	int r;

	if (fstatat(dir, name, &e.sb, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : omit(w, OMIT_UNREADABLE);
	if (is_ignored(w, &e.sb))
		return 0;
	if (w->n > PATH_BYTES_MAX)
		return omit(w, OMIT_PATH_TOO_LONG);
	if (w->o->for_git && git_name_reserved(name, S_ISLNK(e.sb.st_mode)))
		return omit(w, OMIT_NAME_RESERVED);
	r = w->visitor->visit(w->visitor->ctx, &e);
	return r == 0 && S_ISDIR(e.sb.st_mode) ? walk_into(w, dir, name, depth) : MIN(r, 0);
}

static int walk_names(struct walker *w, int dir, const struct dir_names *names, unsigned depth)
{
	size_t before = w->n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < names->n; i++) {
		const char *name = dir_names_at(names, i);
		size_t n = strlen(name);

		/* before is at most PATH_BYTES_MAX, a name NAME_MAX */
		if (before)
			w->path[w->n++] = '/';
		memcpy(w->path + w->n, name, n + 1);
		w->n += n;
		r = check_time(w);
		if (r == 0)
			r = walk_visit(w, dir, name, depth);
		w->n = before;
		w->path[before] = '\0';
	}
	return r;
}

static int walk_dir(struct walker *w, int dir, unsigned depth)
{
	_cleanup_(dir_names_done) struct dir_names names = { 0 };
	int r = dir_names_read(dir, want_name, w, &names);

	if (r == -EACCES && depth)
		return omit(w, OMIT_UNREADABLE);
	if (r < 0)
		return fail_with(w->v, r, w->path, "reading a directory");
	if (w->ignore && enter_ignore(w, dir, &names) < 0)
		return fail_with(w->v, -ENOMEM, w->path, "reading rules of .gitignore");
	r = walk_names(w, dir, &names, depth);
	if (w->ignore)
		ignore_pop(w->ignore);
	return r;
}

int tree_walk(int root, const struct tree_walk_options *o, const struct tree_visitor *visitor,
	      struct verdict *v)
{
	struct walker *w = new0(struct walker);
	struct stat sb;
	int r;

	*w = (struct walker){ .o = o, .visitor = visitor, .v = v };
	if (fstat(root, &sb) < 0) {
		r = fail_with(v, -errno, NULL, "looking at the root");
	} else {
		w->device = sb.st_dev;
		w->ignore = o->gitignore ? ignore_new() : NULL;
		r = walk_dir(w, root, 0);
		ignore_free(w->ignore);
	}
	free(w);
	return r;
}
