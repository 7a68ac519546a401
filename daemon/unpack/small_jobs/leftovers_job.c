/*
 * leftovers_job.c - removes what a user has left on the machine, when nothing may be his any more:
 *
 *	leftovers	{uid, gid, directories: [...], keep?: [...]}	{"done":{"failed":N}}
 *
 * First all of its processes are killed: a live one could create the rest again. Then what it owns directly in one of
 * the directories goes, with everything below that; an entry that is one of the paths in keep, or leads to one, stays as
 * it is. Then its System V shared memory, semaphores and message queues, and what cron and at have of it. A directory
 * that is missing is nothing. failed counts the parts that left something. The caller sees to it that nobody else runs as
 * that user.
 *
 * Each part is a process of that user, so the kernel limits what a wrong argument could destroy; those that enter
 * directories are confined to them. Only the spools of cron and at need root; there only single regular files of that uid
 * are unlinked. An entry of keep that cannot be decoded protects every name.
 */
#include "unpack/small_jobs/small_job.h"

#include "confine/confine_self.h"
#include "json/jstr.h"
#include "tree/dir_names.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <time.h>

struct leftovers_job {
	int64_t uid, gid;
	struct slice directories, keep;
	struct user user;
	struct verdict v;
	uint64_t failed; /* parts */
};

static const struct jfield leftovers_fields[] = {
	JF_INT(struct leftovers_job, uid, "uid", JF_REQUIRED, 1, ID_MAX),
	JF_INT(struct leftovers_job, gid, "gid", JF_REQUIRED, 1, ID_MAX),
	JF_ARR(struct leftovers_job, directories, "directories", JF_REQUIRED),
	JF_ARR(struct leftovers_job, keep, "keep", 0),
	JF_END,
};

/* --- processes ---------------------------------------------------------------------------------------------- */

/* kill(-1) takes all at once: none of them gets away by a fork. A dead one is found until its parent has seen it. */
static int leftovers_kill(void *ctx)
{
	const struct leftovers_job *j = ctx;
	struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };

	if (confine_self_become(j->user.uid, j->user.gid) < 0)
		return 1;
	for (int i = 0; i < LEFTOVER_KILLS; i++) {
		/* Linux does not signal the caller itself (kill(2)). An error means that no process
		 * is left. */
		if (kill(-1, SIGKILL) < 0)
			return 0;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* --- System V ------------------------------------------------------------------------------------------------ */

static int remove_shm(int id)
{
	return shmctl(id, IPC_RMID, NULL);
}

static int remove_sem(int id)
{
	return semctl(id, 0, IPC_RMID);
}

static int remove_msg(int id)
{
	return msgctl(id, IPC_RMID, NULL);
}

/* id is the second column of each, uid that one, from 0. */
static const struct ipc_table {
	const char *path;
	int uid;
	int (*remove)(int id);
} ipc_tables[] = {
	{ "/proc/sysvipc/shm", 7, remove_shm },
	{ "/proc/sysvipc/sem", 4, remove_sem },
	{ "/proc/sysvipc/msg", 7, remove_msg },
};

static bool ipc_column(const char *line, int n, long long *ret)
{
	char *end = NULL;

	for (int i = 0; i <= n; i++, line = end) {
		*ret = strtoll(line, &end, 10);
		if (end == line)
			return false;
	}
	return true;
}

static int leftovers_remove_ipc(void *ctx)
{
	const struct leftovers_job *j = ctx;
	int failed = 0;

	if (confine_self_become(j->user.uid, j->user.gid) < 0)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(ipc_tables); i++) {
		FILE *f = fopen(ipc_tables[i].path, "re");
		char line[512];
		long long id = 0, uid = 0;

		while (f && fgets(line, sizeof(line), f))
			if (ipc_column(line, 1, &id) && ipc_column(line, ipc_tables[i].uid, &uid) &&
			    uid == j->uid && ipc_tables[i].remove((int)id) < 0 && errno != EINVAL)
				failed = 1;
		if (f)
			fclose(f);
	}
	return failed;
}

/* --- files --------------------------------------------------------------------------------------------------- */

/* dir/name is the path, or above it. */
static bool leftover_leads_to(const char *dir, const char *name, const char *path)
{
	size_t nd = strlen(dir), nn = strlen(name);

	return strncmp(path, dir, nd) == 0 && path[nd] == '/' &&
	       strncmp(path + nd + 1, name, nn) == 0 &&
	       (path[nd + 1 + nn] == '/' || path[nd + 1 + nn] == '\0');
}

static bool leftover_is_kept(const struct leftovers_job *j, const char *dir, const char *name)
{
	jarr_each(v, j->keep) {
		_cleanup_(freep) char *path = NULL;

		/* what cannot be read could be anything */
		if (jstr_decode(v, PATH_BYTES_MAX, &path) < 0 || leftover_leads_to(dir, name, path))
			return true;
	}
	return false;
}

struct left_dir {
	const struct leftovers_job *j;
	const char *path;
	int dir;
	bool spool; /* root's, with single files of users in it */
};

static int leftovers_clear_one(const struct left_dir *c, const char *name)
{
	struct stat sb;

	if (fstatat(c->dir, name, &sb, AT_SYMLINK_NOFOLLOW) < 0 || sb.st_uid != c->j->user.uid ||
	    leftover_is_kept(c->j, c->path, name))
		return 0;
	if (c->spool)
		return S_ISREG(sb.st_mode) && unlinkat(c->dir, name, 0) < 0 && errno != ENOENT ?
			       -errno :
			       0;
	return held_remove_at(c->dir, name);
}

static int leftovers_clear(const struct left_dir *c)
{
	_cleanup_(dir_names_done) struct dir_names names = { .text.max = UINT32_MAX };
	int failed = dir_names_read(c->dir, NULL, NULL, &names) < 0;

	for (size_t i = 0; i < names.n; i++)
		failed |= leftovers_clear_one(c, dir_names_at(&names, i)) < 0;
	return failed;
}

static int leftovers_clear_confined(void *ctx)
{
	const struct left_dir *c = ctx;
	int dirs[] = { c->dir, -1 };
	struct verdict v = { .kind = VERDICT_NONE };

	if (confine_worker(&c->j->user, &(struct reach){ dirs, NULL }, 0, &v) < 0)
		return 1;
	return leftovers_clear(c);
}

static bool leftovers_clear_directory(struct leftovers_job *j, const char *path, bool spool)
{
	struct left_dir c = { j, path, -1, spool };
	int failed;

	c.dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c.dir < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
	failed = spool ? leftovers_clear(&c) : worker_process_run(leftovers_clear_confined, &c);
	close(c.dir);
	return failed == 0;
}

/* --- the job --------------------------------------------------------------------------------------------------- */

static int leftovers_work(void *job, struct jw *w)
{
	static const char *const spools[] = { "/var/spool/cron/crontabs",
					      "/var/spool/cron/atjobs" };
	struct leftovers_job *j = job;

	if (user_of(&j->user, j->uid, j->gid, &j->v) < 0)
		return -EPERM;
	if (!j->user.other) /* it would be all of our own */
		return fail_as(&j->v, "ACCESS_DENIED", NULL, "only root can clean up after others");
	j->failed += worker_process_run(leftovers_kill, j) != 0;
	jarr_each(v, j->directories) {
		_cleanup_(freep) char *path = NULL;

		j->failed += jstr_decode(v, PATH_BYTES_MAX, &path) < 0 ||
			     !leftovers_clear_directory(j, path, false);
	}
	j->failed += worker_process_run(leftovers_remove_ipc, j) != 0;
	for (size_t i = 0; i < ARRAY_SIZE(spools); i++)
		j->failed += !leftovers_clear_directory(j, spools[i], true);
	jw_uint(w, "failed", j->failed);
	return 0;
}

enum unpack_exit leftovers_run(struct slice line)
{
	struct leftovers_job j = { .v = { .kind = VERDICT_NONE } };

	return small_job_run(line, leftovers_fields, false, &j, &j.v, leftovers_work);
}
