/*
 * tool_path.c - resolves the paths of tools and keeps them inside the roots, without a race between
 * check and use.
 *
 * tool_path_resolve() opens an O_PATH descriptor, asks the kernel for its real path, and requires a root
 * around it; the policy then judges this path. Later steps use the descriptor, never the text
 * again. Without openat2 (Linux 5.6) a plain O_PATH open gets the same check of the real path.
 * Missing parents are resolved twice: to judge, then to create them.
 */
#include "base/limits.h"
#include "base/os/file.h"
#include "tools/builtin/core/toolbox_internal.h"
#include "policy/policy.h"

#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#define BENEATH_TRIES 16

static int tool_path_refuse_outside(const char *path, struct err *e)
{
	return err_field(e, "path", "OUTSIDE_ROOTS",
			 "%.120s is outside of the roots of this sandbox", path);
}

/* --- resolving -------------------------------------------------------------------------------------------------- */

/* -EXDEV if the path leaves the root by a link or by "..", -ENOSYS without openat2. */
static int tool_path_open_beneath(int root, const char *rel, int flags)
{
	/* openat2(2): RESOLVE_BENEATH refuses magic links only for now, so the second flag says so
	 * explicitly. */
	struct open_how how = {
		.flags = (unsigned)(flags | O_PATH | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	/* EAGAIN: another process renames below the root */
	for (int i = 0; i < BENEATH_TRIES; i++) {
		fd = syscall(SYS_openat2, root, *rel ? rel : ".", &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

/* Where fd lies, by the kernel. */
static int real_of(int fd, char **ret)
{
	char real[PATH_MAX];
	static const char gone[] = " (deleted)";
	struct stat a, b;
	ssize_t n;

	n = readlink(SHORT_TEXT(40, "/proc/self/fd/%d", fd), real, sizeof(real));
	if (n < 0)
		return -errno;
	/* readlink(2) cuts a longer path without an error. */
	if ((size_t)n >= sizeof(real))
		return -ENAMETOOLONG;
	real[n] = '\0';
	/* A file can have this end of a name itself, so the name is compared with what it
	 * leads to. */
	if ((size_t)n >= sizeof(gone) && strcmp(real + n - (sizeof(gone) - 1), gone) == 0 &&
	    (fstat(fd, &a) < 0 || lstat(real, &b) < 0 || a.st_ino != b.st_ino ||
	     a.st_dev != b.st_dev))
		return -ENOENT;
	*ret = xstrndup(real, (size_t)n);
	return 0;
}

/* Where links lead to another root, or the kernel has no openat2: O_PATH opens nothing, and where it is says
 * real_of. */
static int open_anywhere(const char *path, int flags)
{
	int fd = open(path, O_PATH | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

static int text_check(const char *path, struct err *e)
{
	if (!*path)
		return err_field(e, "path", "PATH_INVALID", "path is empty");
	if (strlen(path) > PATH_BYTES_MAX) {
		err_field(e, "path", "ENAMETOOLONG", "path has more than %d bytes", PATH_BYTES_MAX);
		return -ENAMETOOLONG;
	}
	return 0;
}

static char *tool_path_join(const char *dir, const char *leaf)
{
	return xprintf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, leaf);
}

/* Makes path absolute, without opening anything. */
static char *absolute(const struct toolbox *b, const char *path)
{
	return path[0] == '/' ? xstrdup(path) : tool_path_join(b->config.cwd, path);
}

/* A descriptor of what path names now. */
static int open_path(const struct toolbox *b, const char *path, int flags, struct err *e)
{
	_cleanup_(freep) char *full = absolute(b, path);
	const char *rest;
	const struct root *root = root_of(b, full, &rest);
	int fd = root ? tool_path_open_beneath(root->fd, rest, flags) : -EXDEV;

	/* EPERM: seccomp filters of older container runtimes refuse an unknown system call with it,
	 * not with ENOSYS. */
	if (fd == -EXDEV || fd == -ENOSYS || fd == -EPERM) {
		/* Whether the path was inside by its text: only then its errors may be told. */
		bool named = root && fd != -EXDEV;

		fd = open_anywhere(full, flags);
		if (fd < 0 && !named) /* no details about files outside */
			return tool_path_refuse_outside(path, e);
	}
	return fd < 0 ? tool_errno(e, fd, "cannot reach", path) : fd;
}

/* A descriptor of what path names, and its real path, which is in a root. */
static int tool_path_resolve(const struct toolbox *b, const char *path, int flags, char **real,
			     struct err *e)
{
	_cleanup_(closep) int fd = -1;
	const char *rest;
	int r = text_check(path, e);

	if (r < 0)
		return r;
	/* What was opened may have been replaced before the kernel could say where it lies: then there is a new
	 * file. */
	for (int i = 0; i < BENEATH_TRIES; i++) {
		closep(&fd);
		fd = open_path(b, path, flags, e);
		if (fd < 0)
			return fd;
		r = real_of(fd, real);
		if (r != -ENOENT)
			break;
	}
	if (r < 0)
		return tool_errno(e, r, "cannot reach", path);
	if (!root_of(b, *real, &rest)) {
		free(TAKE_PTR(*real));
		return tool_path_refuse_outside(path, e);
	}
	return TAKE_FD(fd);
}

/* Directories that lead to readable ones may be listed. */
static bool may_stat(const struct policy *p, const char *path, struct err *e)
{
	return policy_path(p, path, POLICY_READ, NULL, e) == POLICY_ALLOW ||
	       policy_path_within(p, path, POLICY_READ);
}

int tool_path_judge(const struct builtin_call *c, const char *real, enum tool_path_use use,
		    struct err *e)
{
	const struct policy *p = c->box->policy;
	const char *rest;
	bool good;

	if (!root_of(c->box, real, &rest)) {
		tool_path_refuse_outside(real, e);
		return -EACCES;
	}
	if (use == TOOL_PATH_STAT)
		good = may_stat(p, rest, e);
	else
		good = policy_path(p, rest, use == TOOL_PATH_READ ? POLICY_READ : POLICY_WRITE,
				   NULL, e) == POLICY_ALLOW;
	/* A verdict of the policy names no argument of the tool. */
	if (!good && e && !*e->field)
		snprintf(e->field, sizeof(e->field), "path");
	return good ? 0 : -EACCES;
}

/* 0 for the root "/", so that the rest always begins with a slash. */
size_t tool_path_root_len(const struct builtin_call *c, const char *real)
{
	const char *rest;
	const struct root *r = root_of(c->box, real, &rest);

	return r && r->path[1] ? strlen(r->path) : 0;
}

const char *tool_path_shown(const struct builtin_call *c, const char *real)
{
	const char *rest = path_below(real, c->box->config.cwd);

	return !rest ? real : *rest ? rest : ".";
}

/* --- what exists -------------------------------------------------------------------------------------------------- */

int tool_path_find(const struct builtin_call *c, const char *path, enum tool_path_use use,
		   struct tool_path *ret, struct err *e)
{
	int r;

	*ret = TOOL_PATH_NONE;
	ret->fd = tool_path_resolve(c->box, path, 0, &ret->real, e);
	if (ret->fd < 0)
		return ret->fd;
	r = tool_path_judge(c, ret->real, use, e);
	if (r == 0 && fstat(ret->fd, &ret->sb) < 0)
		r = tool_errno(e, errno, "cannot look at", path);
	if (r < 0)
		tool_path_done(ret);
	return r;
}

void tool_path_done(struct tool_path *p)
{
	closep(&p->fd);
	free(p->real);
	*p = TOOL_PATH_NONE;
}

static int tool_path_reopen(const struct tool_path *p, int flags, const char *path, struct err *e)
{
	int fd;

	/* Opens the inode that was judged: no path is resolved again. */
	fd = open(SHORT_TEXT(40, "/proc/self/fd/%d", p->fd),
		  O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	return fd < 0 ? tool_errno(e, errno, "cannot open", path) : fd;
}

int tool_path_open_file(const struct tool_path *p, const char *path, struct err *e)
{
	if (S_ISDIR(p->sb.st_mode))
		return tool_errno(e, EISDIR, "cannot read", path);
	if (!S_ISREG(p->sb.st_mode))
		return err_field(e, "path", "NOT_A_FILE", "%.120s is no regular file", path);
	return tool_path_reopen(p, 0, path, e);
}

int tool_path_open_dir(const struct tool_path *p, const char *path, struct err *e)
{
	if (!S_ISDIR(p->sb.st_mode))
		return tool_errno(e, ENOTDIR, "cannot list", path);
	return tool_path_reopen(p, O_DIRECTORY, path, e);
}

/* --- names ---------------------------------------------------------------------------- */

void tool_path_entry_done(struct tool_path_entry *p)
{
	closep(&p->dir);
	free_each(p->leaf, p->real);
	*p = TOOL_PATH_ENTRY_NONE;
}

/* Splits a path without slashes at its end into its last component and the part before it. */
static void tool_path_split(const char *path, char **parent, char **leaf)
{
	size_t n = strlen(path), at;

	while (n > 1 && path[n - 1] == '/')
		n--;
	for (at = n; at > 0 && path[at - 1] != '/'; at--)
		;
	*leaf = xstrndup(path + at, n - at);
	*parent = at ? xstrndup(path, at) : xstrdup(".");
}

static bool is_dots(const char *leaf)
{
	return !*leaf || strcmp(leaf, ".") == 0 || strcmp(leaf, "..") == 0;
}

/* A directory as a name: by its real path, which has no dots. */
static int name_of_dir(const struct builtin_call *c, const char *path, struct tool_path_entry *ret,
		       struct err *e)
{
	_cleanup_(freep) char *real = NULL, *parent = NULL;
	_cleanup_(closep) int fd = tool_path_resolve(c->box, path, O_DIRECTORY, &real, e);

	if (fd < 0)
		return fd;
	ret->is_root = root_is(c->box, real);
	if (ret->is_root) {
		ret->dir = TAKE_FD(fd);
		ret->leaf = xstrdup("");
		ret->real = TAKE_PTR(real);
		return 0;
	}
	/* The real path has neither dots nor links, so its last component is a name. */
	tool_path_split(real, &parent, &ret->leaf);
	ret->real = TAKE_PTR(real);
	ret->dir = tool_path_resolve(c->box, parent, O_DIRECTORY, &real, e);
	return ret->dir < 0 ? ret->dir : 0;
}

static int name_plain(const struct builtin_call *c, const char *path, struct tool_path_entry *ret,
		      struct err *e)
{
	_cleanup_(freep) char *parent = NULL, *real = NULL;
	int r = text_check(path, e);

	if (r < 0)
		return r;
	tool_path_split(path, &parent, &ret->leaf);
	if (is_dots(ret->leaf)) {
		free(TAKE_PTR(ret->leaf));
		return name_of_dir(c, path, ret, e);
	}
	if (strlen(ret->leaf) > NAME_MAX)
		return tool_errno(e, ENAMETOOLONG, "cannot reach", path);
	ret->dir = tool_path_resolve(c->box, parent, O_DIRECTORY, &real, e);
	if (ret->dir < 0)
		return ret->dir;
	ret->real = tool_path_join(real, ret->leaf);
	ret->is_root = root_is(c->box, ret->real);
	return 0;
}

/* The name that a link in last place leads to. What does not exist cannot be named through a link. */
static int name_followed(const struct builtin_call *c, const char *path,
			 struct tool_path_entry *ret, struct err *e)
{
	_cleanup_(freep) char *real = NULL;
	_cleanup_(closep) int fd = -1;
	struct stat sb;

	if (ret->is_root || fstatat(ret->dir, ret->leaf, &sb, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISLNK(sb.st_mode))
		return 0;
	fd = tool_path_resolve(c->box, path, 0, &real, e);
	if (fd < 0)
		return fd;
	tool_path_entry_done(ret);
	return name_plain(c, real, ret, e);
}

/* What was found outside may be a directory above: the error names what was asked for. */
static int name_whole(const char *path, int r, struct err *e)
{
	if (r < 0 && strcmp(e->reason, "OUTSIDE_ROOTS") == 0)
		tool_path_refuse_outside(path, e);
	return r;
}

int tool_path_entry(const struct builtin_call *c, const char *path, enum tool_path_use use,
		    bool follow, struct tool_path_entry *ret, struct err *e)
{
	int r;

	*ret = TOOL_PATH_ENTRY_NONE;
	r = name_plain(c, path, ret, e);
	if (r == 0 && follow)
		r = name_followed(c, path, ret, e);
	name_whole(path, r, e);
	if (r == 0)
		r = tool_path_judge(c, ret->real, use, e);
	if (r < 0)
		tool_path_entry_done(ret);
	return r;
}

/* The directory that parent names, made with those above it where they are missing. judged: where it was found to
 * lie, and allowed; what leads elsewhere now is not made. NULL: nothing is made, and -ENODATA says that it would be. */
static int make_parents(const struct builtin_call *c, const char *parent, unsigned depth,
			const char *judged, char **real, struct err *e)
{
	_cleanup_(freep) char *above = NULL, *leaf = NULL, *above_real = NULL, *made = NULL;
	_cleanup_(closep) int dir = -1;
	int fd = tool_path_resolve(c->box, parent, O_DIRECTORY, real, e);

	if (fd != -ENOENT)
		return fd;
	tool_path_split(parent, &above, &leaf);
	/* The function recurses for each component, and the stack of a tool's thread is small. */
	if (is_dots(leaf) || depth > PATH_DEPTH_MAX)
		return fd;
	dir = make_parents(c, above, depth + 1, judged, &above_real, e);
	if (dir < 0 && dir != -ENODATA)
		return dir;
	/* By the real path of the directory above, so links in the path are resolved. */
	made = tool_path_join(above_real, leaf);
	if (!judged) { /* it would be there */
		*real = TAKE_PTR(made);
		return -ENODATA;
	}
	if (!path_below(judged, made))
		return tool_errno(e, ESTALE, "a directory was exchanged above", parent);
	/* Another call may make the same directory at this moment. */
	if (mkdirat(dir, leaf, 0777) < 0 && errno != EEXIST)
		return tool_errno(e, errno, "cannot make", parent);
	return tool_path_resolve(c->box, parent, O_DIRECTORY, real, e);
}

int tool_path_entry_parents(const struct builtin_call *c, const char *path, enum tool_path_use use,
			    bool dry, struct tool_path_entry *ret, struct err *e)
{
	_cleanup_(freep) char *parent = NULL, *real = NULL, *leaf = NULL, *judged = NULL;
	int r = tool_path_entry(c, path, use, true, ret, e), dir;

	if (r != -ENOENT)
		return r;
	tool_path_split(path, &parent, &leaf);
	if (is_dots(leaf))
		return r;
	/* judged before anything is made */
	dir = make_parents(c, parent, 0, NULL, &real, e);
	if (dir >= 0) { /* a link to nowhere in last place, or it came meanwhile */
		close(dir);
		return tool_path_entry(c, path, use, true, ret, e);
	}
	if (dir != -ENODATA)
		return name_whole(path, dir, e);
	ret->leaf = TAKE_PTR(leaf);
	ret->real = tool_path_join(real, ret->leaf);
	r = tool_path_judge(c, ret->real, use, e);
	if (r < 0 || dry)
		return r;
	tool_path_entry_done(ret);
	judged = TAKE_PTR(real);
	dir = make_parents(c, parent, 0, judged, &real, e);
	if (dir < 0)
		return dir;
	close(dir);
	return tool_path_entry(c, path, use, true, ret, e);
}
