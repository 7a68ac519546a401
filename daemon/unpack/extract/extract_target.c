/*
 * extract_target.c - resolves the target of a job, and creates, replaces and removes its stage
 * directory.
 *
 * The target's path is resolved once; from then on only descriptors are used, of directories that were opened
 * one after the other without following links. Its path is trusted if each directory in it belongs to root or to
 * us and nobody else may write there, or only add (sticky). On a trusted path the keeper may act with its own
 * privileges; on any other it acts as the user of the tree, who can then do no more than he could without us.
 *
 * The stage directory STAGE_PREFIX-<8 hex digits of the target's name><8 random ones> (0700, of the tree's user) is
 * made beside the target when that is absent or an empty directory that one rename can replace, and in it otherwise.
 * It is locked (flock) as long as a process of the job lives.
 *
 * The path is resolved as the tree's user and then opened component by component with O_NOFOLLOW,
 * so that what was checked is what is used. The stage must be on the target's file system, since
 * rename(2) does not cross it: next to the target if one rename can replace it, otherwise inside. A
 * stage is created, opened, given to the user, then locked; another job may remove it before the
 * lock, which the inode comparison detects.
 */
#include "unpack/extract/extract_target.h"

#include "base/format/crc32c.h"
#include "base/os/file.h"
#include "tree/held_tree.h"
#include "tree/path_rules.h"

#include <sys/file.h>

#define STAGE_TRIES 16

void target_enter(const struct extract_target *p)
{
	if (!p->trusted)
		user_enter(&p->user);
}

void target_leave(const struct extract_target *p)
{
	if (!p->trusted)
		user_leave(&p->user);
}

void target_close(struct extract_target *p)
{
	closep(&p->parent);
	closep(&p->target);
	closep(&p->stage);
	free(p->path);
}

/* --- the way ---------------------------------------------------------------------------------------------- */

/* The path with the links on the way followed; the last component is checked later, and is no link. */
static int target_resolve(const char *target, char **ret, struct verdict *v)
{
	_cleanup_(freep) char *path = xstrdup(target), *parent = NULL;
	size_t n = strlen(path);
	char *slash;

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	slash = strrchr(path, '/');
	if (!slash[1] || strcmp(slash + 1, ".") == 0 || strcmp(slash + 1, "..") == 0) {
		*ret = realpath(path, NULL);
		return *ret ? 0 : fail_with(v, -errno, NULL, "the target");
	}
	*slash = '\0';
	parent = realpath(*path ? path : "/", NULL);
	if (!parent)
		return errno == ENOENT ?
			       fail_as(v, "TARGET_PARENT_MISSING", NULL,
				       "the directory that the target is to be in does not exist") :
			       fail_with(v, -errno, NULL, "the target's directory");
	*ret = file_join(strcmp(parent, "/") == 0 ? "" : parent, slash + 1);
	return 0;
}

static bool is_trusted(const struct stat *sb)
{
	return (sb->st_uid == 0 || sb->st_uid == getuid()) &&
	       (!(sb->st_mode & (S_IWGRP | S_IWOTH)) || sb->st_mode & S_ISVTX);
}

/* Goes down to the directory that holds the last component. */
static int target_walk(struct extract_target *p)
{
	_cleanup_(closep) int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *at = p->path + 1;
	struct stat sb;

	p->trusted = true;
	for (;;) {
		char *slash = strchr(at, '/');
		int next;

		if (fd < 0 || fstat(fd, &sb) < 0)
			return -errno;
		p->trusted = p->trusted && is_trusted(&sb);
		p->name = at;
		if (!slash)
			break;
		*slash = '\0';
		next = openat(fd, at, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		*slash = '/';
		if (next < 0)
			return -errno;
		close(fd);
		fd = next;
		at = slash + 1;
	}
	p->parent = TAKE_FD(fd);
	return 0;
}

static bool dir_is_empty(int dir)
{
	_cleanup_(held_list_closep) DIR *d = held_list(dir);
	int n = 0;

	while (d && n < 3 && readdir(d))
		n++;
	return d && n < 3; /* "." and ".." */
}

static bool is_mount(int dir)
{
	struct statx sx;

	return statx(dir, "", AT_EMPTY_PATH, 0, &sx) < 0 ||
	       (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

static int target_open_dir(struct extract_target *p, struct verdict *v)
{
	struct stat sb;

	p->target = *p->name ? held_open_dir_at(p->parent, p->name) :
			       open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->target == -ENOENT) {
		p->target = -1;
		p->whole = true;
		return 0;
	}
	if (p->target < 0 && *p->name &&
	    fstatat(p->parent, p->name, &sb, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(sb.st_mode))
		return fail_as(v, "TARGET_NOT_DIRECTORY", NULL, "the target is not a directory");
	if (p->target < 0 || fstat(p->target, &sb) < 0)
		return fail_with(v, p->target < 0 ? p->target : -errno, NULL, "opening the target");
	p->whole = *p->name && dir_is_empty(p->target) && !is_mount(p->target);
	p->target_mode = sb.st_mode & 0777;
	return 0;
}

int target_open(struct extract_target *p, const char *target, const struct user *user,
		struct verdict *v)
{
	int r;

	*p = (struct extract_target){ .parent = -1, .target = -1, .stage = -1, .user = *user };
	user_enter(user);
	r = target_resolve(target, &p->path, v);
	user_leave(user);
	if (r < 0)
		return r;
	r = target_walk(p);
	if (r < 0)
		return fail_with(v, r, NULL, "the way to the target");
	user_enter(user);
	r = target_open_dir(p, v);
	user_leave(user);
	return r;
}

/* --- the stage ------------------------------------------------------------------------------------------- */

/* The beginning of the names of this target's stages. */
static void stage_prefix(const struct extract_target *p, char *out, size_t size)
{
	snprintf(out, size, "%s-%08x", STAGE_PREFIX, crc32c(0, p->name, strlen(p->name)));
}

bool target_is_stage(const struct extract_target *p, const char *name)
{
	char prefix[sizeof(p->stage_name)];

	stage_prefix(p, prefix, sizeof(prefix));
	return slice_starts(slice_of(name), prefix);
}

/* Opens and locks what was just made; -EAGAIN: another job removed it as a left-over. */
static int take_stage(struct extract_target *p, int dir, bool give)
{
	struct stat made, there;

	p->stage = held_open_dir_at(dir, p->stage_name);
	if (p->stage < 0)
		return p->stage == -ENOENT ? -EAGAIN : p->stage;
	if (give && fchown(p->stage, p->user.uid, p->user.gid) < 0)
		return -errno;
	if (flock(p->stage, LOCK_EX | LOCK_NB) == 0 && fstat(p->stage, &made) == 0 &&
	    fstatat(dir, p->stage_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    made.st_ino == there.st_ino && made.st_dev == there.st_dev)
		return 0;
	close(TAKE_FD(p->stage));
	return -EAGAIN;
}

static int make_in(struct extract_target *p, int dir, bool give)
{
	int r = -EAGAIN;

	for (unsigned i = 0; r == -EAGAIN && i < STAGE_TRIES; i++) {
		stage_prefix(p, p->stage_name, sizeof(p->stage_name));
		random_hex(p->stage_name + strlen(p->stage_name), 4);
		if (mkdirat(dir, p->stage_name, 0700) < 0)
			r = errno == EEXIST ? -EAGAIN : -errno;
		else
			r = take_stage(p, dir, give);
	}
	if (r < 0)
		p->stage_name[0] = '\0';
	return r;
}

int target_make_stage(struct extract_target *p, struct verdict *v)
{
	int r = -EACCES;

	if (p->whole) {
		target_enter(p);
		r = make_in(p, p->parent, p->trusted && p->user.other);
		target_leave(p);
		if (r == 0)
			return 0;
		p->whole = false;
	}
	if (p->target >= 0) {
		user_enter(&p->user);
		r = make_in(p, p->target, false);
		user_leave(&p->user);
	}
	return r < 0 ? fail_with(v, r, NULL, "making the stage directory") : 0;
}

void target_unlink_stage(const struct extract_target *p, bool beside, const char *name)
{
	if (beside) {
		target_enter(p);
		unlinkat(p->parent, name, AT_REMOVEDIR);
		target_leave(p);
	} else {
		user_enter(&p->user);
		unlinkat(p->target, name, AT_REMOVEDIR);
		user_leave(&p->user);
	}
}

void target_remove_stage(struct extract_target *p)
{
	if (p->stage_name[0])
		target_unlink_stage(p, p->whole, p->stage_name);
	p->stage_name[0] = '\0';
}

/* The stage belongs to the tree's user, who may have put something else in it: it must be a directory of his. */
static int target_check_tree(struct extract_target *p, struct stat *sb)
{
	_cleanup_(closep) int fd = held_open_dir_at(p->stage, "tree");

	if (fd < 0)
		return fd;
	if (fstat(fd, sb) < 0)
		return -errno;
	return sb->st_uid == p->user.uid ? 0 : -ELOOP;
}

int target_rename(struct extract_target *p, struct verdict *v)
{
	struct stat before, after;
	int r;

	target_enter(p);
	/* Compared again after the rename: the tree's user can replace "tree" in between. */
	r = target_check_tree(p, &before);
	if (r == 0 && renameat(p->stage, "tree", p->parent, p->name) < 0)
		r = -errno;
	if (r == 0 && (fstatat(p->parent, p->name, &after, AT_SYMLINK_NOFOLLOW) < 0 ||
		       after.st_ino != before.st_ino || after.st_dev != before.st_dev)) {
		renameat(p->parent, p->name, p->stage, "tree");
		r = -ELOOP;
	}
	target_leave(p);
	if (r == -ENOTEMPTY || r == -EEXIST)
		return fail_as(v, "TARGET_CHANGED", NULL,
			       "the target was absent or empty, and is not any more");
	return r < 0 ? fail_with(v, r, NULL, "putting the tree into its place") : 0;
}
