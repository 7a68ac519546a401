/*
 * compat.c - writes the usage file of Agenta's runner, with the rights of the session's user.
 *
 * The session names the path, and the agent can write its directory, so every component can be
 * hostile. The kernel checks access as that user (proc/users/agent_user.h). Nothing returns between
 * owner_enter() and owner_leave(). The last name is never followed: a new file is renamed over it, relative
 * to the opened directory.
 */
#include "usage/compat.h"

#include "base/os/file.h"
#include "proc/users/agent_user.h"
#include "base/util.h"
#include "json/jenc.h"
#include "usage/cost.h"

/* One name is enough: the daemon writes one file at a time, and replaces what a killed one left. */
#define TEMP_NAME ".acpd-usage.tmp"

struct compat_target {
	int dirfd;
	const char *name; /* in path */
};

static int owner_enter(const struct usage_compat_owner *o)
{
	return !o->switch_user || fs_user_enter(o->uid, o->gid) ? 0 : -EPERM;
}

static void owner_leave(const struct usage_compat_owner *o)
{
	if (o->switch_user)
		fs_user_leave();
}

/* Read and write bits only: the file is never executable and has no set-user-id bit. */
static mode_t file_mode(const struct usage_compat_owner *o)
{
	return o->mode ? o->mode & 0666 : 0600;
}

static int compat_open_target(const char *path, const struct usage_compat_owner *o, bool make,
			      struct compat_target *ret)
{
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *dir = NULL;
	/* The owner must be able to write a new directory; who can read the file can enter it. */
	mode_t mode = file_mode(o) | 0300;
	int r = 0;

	/* "." and ".." are no names to rename over, and the temporary name is the daemon's own. */
	if (path[0] != '/' || !slash[1] || strcmp(slash + 1, ".") == 0 ||
	    strcmp(slash + 1, "..") == 0 || strcmp(slash + 1, TEMP_NAME) == 0)
		return -EINVAL;
	/* The MAX is for "/name", whose directory is "/". */
	dir = xstrndup(path, MAX((size_t)(slash - path), 1u));
	if (make)
		r = file_mkdirs(dir, mode | (mode & 0444) >> 2);
	if (r < 0 && r != -EEXIST)
		return r;
	ret->name = slash + 1;
	/* O_PATH: the user may lack the right to read the directory, and *at() calls do not need it. */
	ret->dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return ret->dirfd < 0 ? -errno : 0;
}

static int remove_in(const struct compat_target *p)
{
	return unlinkat(p->dirfd, p->name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int replace_in(const struct compat_target *p, struct slice text, mode_t mode)
{
	_cleanup_(closep) int fd = -1;
	int r;

	/* A killed daemon can have left the name; O_EXCL refuses a file created after this. */
	unlinkat(p->dirfd, TEMP_NAME, 0);
	fd = openat(p->dirfd, TEMP_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	r = file_write_all(fd, text.p, text.n);
	/* By fchmod, because the umask applies to the mode in openat; before the rename, so that no
	 * reader sees 0600. */
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	if (r == 0 && renameat(p->dirfd, TEMP_NAME, p->dirfd, p->name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(p->dirfd, TEMP_NAME, 0);
	return r;
}

static bool put_total(const struct usage_compat *u, struct jw *w)
{
	uint64_t total = u->total;

	if (!u->has_total && (!u->has_input || !u->has_output ||
			      __builtin_add_overflow(u->input, u->output, &total)))
		return false;
	jw_uint(w, "total", total);
	return total > 0;
}

static bool compat_lay_out(const struct usage_compat *u, struct buf *b)
{
	struct jw w = JW(b);
	char cost[COST_TEXT_SIZE];
	bool known;

	jw_obj(&w, NULL);
	if (u->has_input)
		jw_uint(&w, "input", u->input);
	if (u->has_output)
		jw_uint(&w, "output", u->output);
	known = put_total(u, &w);
	if (u->has_cost)
		jw_raw(&w, "cost", slice_of(cost_text(u->cost, cost)));
	jw_end_obj(&w);
	return known;
}

int usage_compat_write(const char *path, const struct usage_compat *u)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct compat_target p = { -1, NULL };
	int r;

	if (!compat_lay_out(u, &b))
		return usage_compat_remove(path, &u->owner);
	if (b.failed)
		return -ENOMEM;
	r = owner_enter(&u->owner);
	if (r == 0)
		r = compat_open_target(path, &u->owner, true, &p);
	if (r == 0)
		r = replace_in(&p, buf_slice(&b), file_mode(&u->owner));
	owner_leave(&u->owner);
	closep(&p.dirfd);
	return r;
}

int usage_compat_remove(const char *path, const struct usage_compat_owner *owner)
{
	struct compat_target p = { -1, NULL };
	int r;

	r = owner_enter(owner);
	if (r == 0)
		r = compat_open_target(path, owner, false, &p);
	if (r == 0)
		r = remove_in(&p);
	owner_leave(owner);
	closep(&p.dirfd);
	/* Without the directory no file of an earlier turn can be read either. */
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}
