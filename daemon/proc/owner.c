/*
 * owner.c - the lock of a state directory, and the processes that a killed daemon left.
 *
 * fcntl releases a record lock when the process closes any descriptor of the file: no other code
 * opens it. A copied directory can be locked too. Processes are therefore killed only if the owner
 * file names a dead process of this pid namespace, by pid and start time. They are found by its
 * cgroup or else by its marker.
 */
#include "proc/owner.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "proc/cgroup/cgroup_place.h"
#include "proc/table/process_tree.h"

/* True if the process of the line "pid start-time namespace" would be visible from here and is gone. */
static bool is_dead(const char *line)
{
	unsigned long long start, ns;
	int pid;

	return line && sscanf(line, "%d %llu %llu", &pid, &start, &ns) == 3 &&
	       ns == tree_pid_namespace() && tree_start_time(pid) != start;
}

/* The file: the mark, the cgroup where children are killed (may be empty), who wrote it, and the cgroups of limits, a
 * line each. */
static void sweep_leftovers(const char *owner_file)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char *rest, *mark, *cgroup, *more;

	if (file_read(owner_file, 8192, &b) < 0 || buf_putc(&b, '\0') < 0)
		return;
	rest = b.data;
	mark = strsep(&rest, "\n");
	cgroup = strsep(&rest, "\n");
	if (!*mark || !cgroup || !is_dead(strsep(&rest, "\n")))
		return;
	if (strstr(cgroup, mark)) {
		cgroup_dir_sweep(cgroup);
		while ((more = strsep(&rest, "\n"))) /* all of them were in it: these are empty */
			if (strstr(more, mark))
				cgroup_dir_sweep(more);
		return;
	}
	for (int i = 0; i < SWEEP_ROUNDS && tree_kill_owner(mark) > 0; i++)
		usleep(SWEEP_ROUND_MS * 1000);
}

/* A record lock is its process's alone. A flock would be shared with every child until that runs its program, and a
 * daemon that is started at once after a kill would be refused. */
static int lock_whole(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_SETLK, &whole) < 0 ? -errno : 0;
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
	r = lock_whole(l->fd);
	if (r < 0)
		return r == -EAGAIN || r == -EACCES ?
			       err_set(e, -EBUSY, 0, "STATE_IN_USE", "another daemon runs on %s",
				       state) :
			       err_set(e, r, 0, "STATE_NOT_WRITABLE", "%s: %s", lock, strerror(-r));
	l->path = file_join(state, "owner");
	/* Under the lock, so no other daemon starts children for this state meanwhile. */
	sweep_leftovers(l->path);
	return 0;
}

void owner_write(struct owner_lock *l, const struct cgroups *groups)
{
	const char *cgroup = groups ? cgroups_path(groups, CGROUP_KILLING) : NULL, *tree;
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "%s\n%s\n%d %llu %llu\n", tree_owner_mark(), cgroup ? cgroup : "",
		   (int)getpid(), (unsigned long long)tree_start_time(getpid()),
		   (unsigned long long)tree_pid_namespace());
	for (unsigned i = 0; groups && (tree = cgroups_tree(groups, i)); i++)
		if (tree != cgroup)
			buf_printf(&b, "%s\n", tree);
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
