#include "proc/uid_lock.h"

#include "base/log.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int in_use(const struct uid_lock *l, const struct uid_range *range, struct flock want,
		  struct err *e)
{
	char by[32] = "";

	if (fcntl(l->fd, F_GETLK, &want) == 0 && want.l_type != F_UNLCK)
		snprintf(by, sizeof(by), " (process %d)", (int)want.l_pid);
	return err_set(e, -EBUSY, 0, "AGENT_UIDS_IN_USE",
		       "cannot use --agent-uids %u-%u: another daemon%s has uids of that range; "
		       "give each daemon a range of its own",
		       (unsigned)range->first, (unsigned)range->last, by);
}

static void without(const struct uid_range *range, const char *why)
{
	char uids[2 * UID_RANGE_NAME];

	snprintf(uids, sizeof(uids), "%u-%u", (unsigned)range->first, (unsigned)range->last);
	log_warn("serve", "uid range not locked", "path", UID_LOCK_FILE, "uids", uids, "why", why);
}

/* A record lock is the process's alone; an open-file lock would live on in children until they run their program, and a
 * daemon that is started at once after a kill would be refused (as in owner.c). */
int uid_lock_take(struct uid_lock *l, const struct uid_range *range, struct err *e)
{
	struct flock want = { .l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = range->first,
			      .l_len = (off_t)uid_range_size(range) };

	if (!want.l_len)
		return 0;
	l->fd = open(UID_LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (l->fd >= 0 && fcntl(l->fd, F_SETLK, &want) == 0)
		return 0;
	if (l->fd >= 0 && (errno == EAGAIN || errno == EACCES))
		return in_use(l, range, want, e);
	without(range, strerror(errno));
	return 0;
}

void uid_lock_release(struct uid_lock *l)
{
	closep(&l->fd);
	l->fd = -1;
}
