/*
 * safe_path.c - whether anybody but root and ourselves could change what is at a path, or put something else in its
 * place: by the owners and modes of it and of all directories above. A directory with the sticky bit (/tmp) is no
 * danger to what is root's or ours in it.
 */
#include "cli/doctor/doctor.h"

#include "base/util.h"

#include <sys/stat.h>

/* Where each user has a group of his own, what that group may is no more than what he may. */
static bool others_write(const struct stat *st)
{
	bool group = st->st_gid != 0 && st->st_gid != getegid();

	return (st->st_mode & S_IWOTH) || (group && (st->st_mode & S_IWGRP));
}

/* Of that file or directory alone. */
static bool safe_path_itself(const char *path, char *why, size_t size)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return true;
	if (st.st_uid != 0 && st.st_uid != geteuid())
		snprintf(why, size, "%s belongs to uid %u", path, (unsigned)st.st_uid);
	else if (others_write(&st) && !(S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX)))
		snprintf(why, size, "%s may be written by %s (mode %04o)", path,
			 st.st_mode & S_IWOTH ? "everybody" : "a group",
			 (unsigned)st.st_mode & 07777);
	else
		return true;
	return false;
}

bool safe_path(const char *path, char *why, size_t size)
{
	_cleanup_(freep) char *at = xstrdup(path);
	bool safe = safe_path_itself("/", why, size);

	for (char *p = at + 1; safe && *at == '/' && *p; p++) {
		p += strcspn(p, "/");
		if (!*p)
			return safe_path_itself(at, why, size);
		*p = '\0';
		safe = safe_path_itself(at, why, size);
		*p = '/';
	}
	return safe;
}
