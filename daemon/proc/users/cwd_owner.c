/*
 * cwd_owner.c - resolves a working directory step by step, and records every user that could
 * redirect it.
 *
 * Each component is opened with O_PATH | O_NOFOLLOW from the previous descriptor, so the result is
 * the directory that was examined. A user has control if he owns a directory on the way or a link,
 * or can write in a directory without sticky bit. One such user is accepted if he also owns the
 * result. Two set `open`. LINKS_MAX is the limit of the kernel (path_resolution(7)).
 */
#include "proc/users/cwd_owner.h"

#include "base/limits.h"
#include "base/util.h"

#include <fcntl.h>
#include <sys/stat.h>

#define LINKS_MAX 40

struct cwd_walk {
	int dir;
	char *rest;	/* what is still to be walked */
	unsigned links; /* followed */
	uid_t stranger; /* who has a say on the way; 0: nobody yet */
	bool open;	/* anybody has, or more than one */
};

static void pass_owner(struct cwd_walk *w, uid_t uid)
{
	/* root and the daemon can redirect anything, and are trusted. */
	if (uid == 0 || uid == geteuid())
		return;
	w->open |= w->stranger && w->stranger != uid;
	w->stranger = uid;
}

/* Who may change the entries of this directory. In a sticky one everybody changes only his own. */
static int pass_directory(struct cwd_walk *w)
{
	struct stat sb;

	if (fstat(w->dir, &sb) < 0)
		return -errno;
	pass_owner(w, sb.st_uid);
	w->open |= (sb.st_mode & 022) && !(sb.st_mode & S_ISVTX);
	return 0;
}

static int cwd_follow_link(struct cwd_walk *w, int link)
{
	char target[PATH_BYTES_MAX + 1];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
	char *joined = NULL;

	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	joined = xprintf("%s/%s", target, w->rest);
	free(w->rest);
	w->rest = joined;
	/* A relative target is resolved from the directory of the link, where w->dir is. */
	if (target[0] != '/')
		return 0;
	close(w->dir);
	w->dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->dir < 0 ? -errno : 0;
}

static int cwd_step(struct cwd_walk *w)
{
	char *name = w->rest + strspn(w->rest, "/"), *after = name + strcspn(name, "/");
	_cleanup_(freep) char *old = w->rest;
	_cleanup_(closep) int next = -1;
	struct stat sb;
	/* Before the component is opened: the owner of this directory decides what the name means. */
	int r = pass_directory(w);

	w->rest = xstrdup(after);
	*after = '\0';
	if (r < 0)
		return r;
	next = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0 || fstat(next, &sb) < 0)
		return -errno;
	if (S_ISLNK(sb.st_mode)) {
		pass_owner(w, sb.st_uid);
		return cwd_follow_link(w, next);
	}
	if (!S_ISDIR(sb.st_mode))
		return -ENOTDIR;
	close(w->dir);
	w->dir = TAKE_FD(next);
	return 0;
}

static char *name_of(int dir)
{
	char path[PATH_BYTES_MAX + 1];
	ssize_t n;

	n = readlink(SHORT_TEXT(64, "/proc/self/fd/%d", dir), path, sizeof(path));
	return n > 0 && (size_t)n < sizeof(path) && path[0] == '/' ? xstrndup(path, (size_t)n) :
								     NULL;
}

int cwd_owner_find(const char *cwd, struct cwd_owner *ret)
{
	struct cwd_walk w = { .rest = xstrdup(cwd) };
	struct stat sb;
	int r;

	w.dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* A relative path would depend on the working directory of the daemon. */
	r = w.dir < 0 ? -errno : cwd[0] == '/' ? 0 : -EINVAL;
	while (r == 0 && w.rest[strspn(w.rest, "/")])
		r = cwd_step(&w);
	if (r == 0 && fstat(w.dir, &sb) < 0)
		r = -errno;
	if (r == 0) {
		*ret = (struct cwd_owner){ .uid = sb.st_uid, .path = name_of(w.dir) };
		ret->led = w.open || (w.stranger && w.stranger != sb.st_uid);
	}
	closep(&w.dir);
	free(w.rest);
	return r;
}
