/*
 * dir.c - a skill on disk. The list of entries is also the list of directories still to be read, so depth costs no
 * stack. Every open is below the held descriptor and through no symbolic link, even if the tree changes meanwhile: name
 * by name with O_NOFOLLOW. That guarantees the same as openat2, and also works where openat2 is missing (gVisor,
 * valgrind, older seccomp filters).
 */
#include "skill/skill_internal.h"

#include "base/util.h"
#include "base/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

struct skill_walk {
	int root;
	struct skill_entry *entries;
	size_t n, max;
	bool stopped; /* more entries, or deeper, than the limits */
	struct skill_report *r;
	struct err *e;
};

static void walk_done(struct skill_walk *w)
{
	for (size_t i = 0; i < w->n; i++) {
		free(w->entries[i].path);
		free(w->entries[i].target);
	}
	free(w->entries);
}

static int open_in(int dir, struct slice name, int flags)
{
	char text[NAME_MAX + 1];
	int fd;

	if (name.n >= sizeof(text))
		return -ENAMETOOLONG;
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	fd = openat(dir, text, flags | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* path: names as the walk read them, so none is "..". The caller closes the result. */
static int open_below(int root, const char *path, int flags)
{
	_cleanup_(closep) int dir = -1;
	size_t n;

	for (n = strcspn(path, "/"); path[n]; n = strcspn(path, "/")) {
		int fd = open_in(dir < 0 ? root : dir, (struct slice){ path, n },
				 O_PATH | O_DIRECTORY);

		if (fd < 0)
			return fd;
		closep(&dir);
		dir = fd;
		path += n + 1;
	}
	return open_in(dir < 0 ? root : dir, (struct slice){ path, n },
		       flags | O_RDONLY | O_NONBLOCK);
}

static int trouble(struct skill_walk *w, const char *path, int r)
{
	return err_set(w->e, r, RPC_INTERNAL_ERROR, "IO", "'%.150s' of the skill: %s",
		       *path ? path : ".", strerror(-r));
}

static struct skill_entry *add_entry(struct skill_walk *w, char *path)
{
	struct skill_entry *e = GROW(w->entries, w->n);

	e->path = path;
	return e;
}

static char *read_target(int dir, const char *name)
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	return n < 0 ? NULL : xstrndup(target, (size_t)n);
}

static int look_at(struct skill_walk *w, int dir, const char *below, const char *name)
{
	char *path = *below ? file_join(below, name) : xstrdup(name);
	struct skill_entry *entry = add_entry(w, path);
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return trouble(w, path, -errno);
	entry->size = (uint64_t)st.st_size;
	entry->mode = st.st_mode & 07777;
	entry->type = S_ISREG(st.st_mode) ? SKILL_ENTRY_FILE :
		      S_ISDIR(st.st_mode) ? SKILL_ENTRY_DIR :
		      S_ISLNK(st.st_mode) ? SKILL_ENTRY_SYMLINK :
					    SKILL_ENTRY_OTHER;
	if (entry->type == SKILL_ENTRY_SYMLINK) {
		entry->target = read_target(dir, name);
		if (!entry->target)
			return trouble(w, path, -errno);
	}
	return 0;
}

static bool too_deep(struct skill_walk *w, const char *path)
{
	unsigned depth = 1;

	for (size_t i = 0; path[i]; i++)
		depth += path[i] == '/';
	if (depth <= SKILL_TREE_DEPTH)
		return false;
	skill_note(
		w->r, SKILL_FATAL, "TOO_DEEP",
		(struct skill_at){
			.path = path, .has_limit = true, .limit = SKILL_TREE_DEPTH, .used = depth },
		"directories lie deeper than %d levels", SKILL_TREE_DEPTH);
	return true;
}

static int read_dir(struct skill_walk *w, const char *path)
{
	int r = 0, fd = open_below(w->root, *path ? path : ".", O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d)
		return trouble(w, path, fd < 0 ? fd : -errno);
	while (r == 0 && !w->stopped && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		r = look_at(w, fd, path, e->d_name);
		w->stopped = w->n > w->max;
	}
	closedir(d);
	return r;
}

static int walk_all(struct skill_walk *w)
{
	int r = read_dir(w, "");

	for (size_t i = 0; r == 0 && !w->stopped && i < w->n; i++) {
		const char *path = w->entries[i].path; /* does not move while the list grows */

		if (w->entries[i].type != SKILL_ENTRY_DIR)
			continue;
		w->stopped = too_deep(w, path);
		if (!w->stopped)
			r = read_dir(w, path);
	}
	return r;
}

/* The first name that is a file; NULL: the listing has reported what is wrong. */
static const char *skill_file(const struct skill_walk *w)
{
	static const char *const names[] = { "SKILL.md", "skill.md" };

	for (size_t k = 0; k < ARRAY_SIZE(names); k++)
		for (size_t i = 0; i < w->n; i++)
			if (strcmp(w->entries[i].path, names[k]) == 0)
				return w->entries[i].type == SKILL_ENTRY_FILE ? names[k] : NULL;
	return NULL;
}

static int check_skill_file(struct skill_walk *w, const char *dir)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(closep) int fd = -1;
	const char *name = skill_file(w);
	int r;

	if (!name)
		return 0;
	fd = open_below(w->root, name, 0);
	/* one byte more than is allowed, for the finding */
	r = fd < 0 ? fd : file_read_fd(fd, SKILL_FILE_MAX, &b);
	if (r == -E2BIG)
		skill_note(w->r, SKILL_FATAL, "FILE_TOO_LARGE",
			   (struct skill_at){ .path = name,
					      .has_limit = true,
					      .limit = SKILL_FILE_MAX,
					      .used = SKILL_FILE_MAX + 1 },
			   "the file has more than %lu bytes", SKILL_FILE_MAX);
	else if (r < 0)
		return trouble(w, name, r);
	else
		skill_check_file(buf_slice(&b), dir, w->r);
	return 0;
}

int skill_check_dir(int dirfd, const char *dir, const struct skill_limits *limits,
		    struct skill_report *r, struct err *e)
{
	_cleanup_(walk_done) struct skill_walk w = { .root = dirfd, .r = r, .e = e };
	int res;

	/* directories are not counted as files, but are work all the same */
	w.max = 2 * limits->files + 64;
	res = walk_all(&w);
	if (res < 0)
		return res;
	if (w.n > w.max)
		skill_note(r, SKILL_FATAL, "TOO_MANY_FILES",
			   (struct skill_at){ .has_limit = true, .limit = w.max, .used = w.n },
			   "the skill has more than %zu files and directories", w.max);
	/* the rules apply to a whole directory only */
	if (w.stopped)
		return 0;
	skill_check_listing(w.entries, w.n, limits, r);
	return check_skill_file(&w, dir);
}
