/*
 * shut_devices.c - covers devices at level guarded, where a session shares the daemon's /dev.
 *
 * A device counts if opening it succeeds, because the cgroup of a container can refuse it to every
 * process. udev sets modes after the start, so modes are checked at each call; whether covers can
 * be mounted is tried once. Covers need root, and sessions that run as root can open the devices
 * anyway: both are reported.
 */
#include "proc/spaces/shut_devices.h"

#include "base/util.h"
#include "proc/spaces/spaces.h"

#include <fcntl.h>
#include <sys/stat.h>

static const char *const devices[] = {
	"/dev/fuse",	    /* file systems that a process serves */
	"/dev/net/tun",	    /* network interfaces that a process serves */
	"/dev/userfaultfd", /* holding up the kernel at a page */
	NULL,
};

#define OTHERS_OPEN 066 /* group and all; the group bits also bound access control lists */

/* A container may have a device that its cgroup refuses to everyone, so the daemon opens it. Opening has no effect. */
static bool can_open(const char *path, bool switched)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISCHR(st.st_mode) ||
	    (switched && st.st_uid == 0 && !(st.st_mode & OTHERS_OPEN)))
		return false;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd >= 0;
}

/* The first that a session at this level could open if nothing covered it. */
static const char *first_open(enum confine_level level, bool switched)
{
	if (level == LEVEL_OPEN || (level == LEVEL_STRICT && !spaces_missing()))
		return NULL;
	for (const char *const *path = devices; *path; path++)
		if (can_open(*path, switched))
			return *path;
	return NULL;
}

struct spaces *shut_devices_spaces(struct err *e)
{
	struct fsview *v = fsview_new();
	struct spaces *s;

	shut_devices_add(v);
	s = spaces_new_mounts(v, e);
	fsview_free(v);
	return s;
}

static const char *why_no_covers(void)
{
	static struct err why;
	static bool tried;

	if (!tried)
		spaces_unref(shut_devices_spaces(&why));
	tried = true;
	return *why.msg ? why.msg : NULL;
}

bool shut_devices_needed(enum confine_level level, bool switched)
{
	return geteuid() == 0 && switched && first_open(level, switched) && !why_no_covers();
}

const char *shut_devices_missing(enum confine_level level, bool switched)
{
	static char text[ERR_MSG_SIZE + 64];
	const char *path = first_open(level, switched), *why;

	if (!path)
		return NULL;
	why = geteuid() != 0 ? "only root can cover it" :
	      !switched	     ? "there is no --agent-user" :
			       why_no_covers();
	if (!why)
		return NULL;
	snprintf(text, sizeof(text), "%s can be opened, and is not covered: %s", path, why);
	return text;
}

void shut_devices_add(struct fsview *v)
{
	fsview_shut(v, devices);
}
