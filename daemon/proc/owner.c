#include "proc/owner.h"

#include "base/file.h"
#include "base/limits.h"
#include "proc/cgroup.h"
#include "proc/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

/* The file: incarnation, newline, cgroup path (may be empty), newline. */
static void sweep_leftovers(const char *owner_file)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char *incarnation, *cgroup, *save = NULL;

	if (file_read(owner_file, 8192, &b) < 0 || buf_putc(&b, '\0') < 0)
		return;
	incarnation = strtok_r(b.data, "\n", &save);
	cgroup = strtok_r(NULL, "\n", &save);
	if (!incarnation)
		return;
	if (cgroup && strstr(cgroup, incarnation))
		cgroup_sweep(cgroup);
	for (int i = 0; i < SWEEP_ROUNDS && tree_kill_owner(incarnation) > 0; i++)
		usleep(SWEEP_ROUND_MS * 1000);
}

int owner_acquire(struct owner_lock *l, const char *state, struct err *e)
{
	_cleanup_(freep) char *lock = file_join(state, "lock");
	int r = file_mkdirs(state, 0711);

	if (r < 0)
		return err_set(e, r, 0, "STATE_NOT_WRITABLE", "%s: %s", state, strerror(-r));
	l->fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (l->fd < 0)
		return err_set(e, -errno, 0, "STATE_NOT_WRITABLE", "%s: %s", lock, strerror(errno));
	if (flock(l->fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, -EBUSY, 0, "STATE_IN_USE", "another daemon runs on %s", state);
	l->path = file_join(state, "owner");
	sweep_leftovers(l->path);
	return 0;
}

void owner_write(struct owner_lock *l, const char *incarnation, const char *cgroup)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "%s\n%s\n", incarnation, cgroup ? cgroup : "");
	file_replace(l->path, b.data, b.len, 0600);
}

void owner_release(struct owner_lock *l)
{
	if (l->path)
		unlink(l->path);
	free(l->path);
	closep(&l->fd);
	*l = (struct owner_lock)OWNER_LOCK_INIT;
}
