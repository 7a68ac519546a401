/*
 * leftovers_job.c - removes processes, files, IPC objects and cron jobs of a session's user.
 *
 * Processes die first: a live one could create the rest again. Files and IPC objects are removed by
 * processes that run as that user, so the kernel limits what a wrong argument could destroy. Only
 * the spools of cron and at need root; there only single regular files of that uid are unlinked. An
 * entry of keep that cannot be decoded protects every name.
 */
#include "unpack/job/leftovers_job.h"

#include "base/os/file.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "tree/dir_names.h"
#include "tree/held_tree.h"
#include "unpack/job/confine.h"
#include "unpack/job/unpack_job.h"
#include "unpack/job/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
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

static const struct jfield fields[] = {
	JF_INT(struct leftovers_job, uid, "uid", JF_REQUIRED, 1, 4294967294LL),
	JF_INT(struct leftovers_job, gid, "gid", JF_REQUIRED, 1, 4294967294LL),
	JF_ARR(struct leftovers_job, directories, "directories", JF_REQUIRED),
	JF_ARR(struct leftovers_job, keep, "keep", 0),
	JF_END,
};

/* For good, and without anything of root's. */
static bool become(const struct user *user)
{
	return setgroups(0, NULL) == 0 && setresgid(user->gid, user->gid, user->gid) == 0 &&
	       setresuid(user->uid, user->uid, user->uid) == 0;
}

/* --- processes ---------------------------------------------------------------------------------------------- */

/* kill(-1) takes all at once: none of them gets away by a fork. A dead one is found until its parent has seen it. */
static int kill_all(void *ctx)
{
	const struct leftovers_job *j = ctx;
	struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };

	if (!become(&j->user))
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
} tables[] = {
	{ "/proc/sysvipc/shm", 7, remove_shm },
	{ "/proc/sysvipc/sem", 4, remove_sem },
	{ "/proc/sysvipc/msg", 7, remove_msg },
};

static bool column(const char *line, int n, long long *ret)
{
	char *end = NULL;

	for (int i = 0; i <= n; i++, line = end) {
		*ret = strtoll(line, &end, 10);
		if (end == line)
			return false;
	}
	return true;
}

static int remove_ipc(void *ctx)
{
	const struct leftovers_job *j = ctx;
	int failed = 0;

	if (!become(&j->user))
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		FILE *f = fopen(tables[i].path, "re");
		char line[512];
		long long id = 0, uid = 0;

		while (f && fgets(line, sizeof(line), f))
			if (column(line, 1, &id) && column(line, tables[i].uid, &uid) &&
			    uid == j->uid && tables[i].remove((int)id) < 0 && errno != EINVAL)
				failed = 1;
		if (f)
			fclose(f);
	}
	return failed;
}

/* --- files --------------------------------------------------------------------------------------------------- */

/* dir/name is the path, or above it. */
static bool leads_to(const char *dir, const char *name, const char *path)
{
	size_t nd = strlen(dir), nn = strlen(name);

	return strncmp(path, dir, nd) == 0 && path[nd] == '/' &&
	       strncmp(path + nd + 1, name, nn) == 0 &&
	       (path[nd + 1 + nn] == '/' || path[nd + 1 + nn] == '\0');
}

static bool is_kept(const struct leftovers_job *j, const char *dir, const char *name)
{
	struct jiter it;
	struct jval v;
	bool kept = false;

	if (!j->keep.n || !jiter_init(&it, (struct jval){ J_ARRAY, j->keep }))
		return false;
	while (!kept && jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *path = NULL;

		/* what cannot be read could be anything */
		kept = jstr_decode(v, PATH_BYTES_MAX, &path) < 0 || leads_to(dir, name, path);
	}
	return kept;
}

struct left_dir {
	const struct leftovers_job *j;
	const char *path;
	int dir;
	bool spool; /* root's, with single files of users in it */
};

static int clear_one(const struct left_dir *c, const char *name)
{
	struct stat sb;

	if (fstatat(c->dir, name, &sb, AT_SYMLINK_NOFOLLOW) < 0 || sb.st_uid != c->j->user.uid ||
	    is_kept(c->j, c->path, name))
		return 0;
	if (c->spool)
		return S_ISREG(sb.st_mode) && unlinkat(c->dir, name, 0) < 0 && errno != ENOENT ?
			       -errno :
			       0;
	return held_remove_at(c->dir, name);
}

static int want_all(void *ctx _unused_, const char *name _unused_)
{
	return 1;
}

static int clear(const struct left_dir *c)
{
	_cleanup_(dir_names_done) struct dir_names names = { .text.max = UINT32_MAX };
	int failed = dir_names_read(c->dir, want_all, NULL, &names) < 0;

	for (size_t i = 0; i < names.n; i++)
		failed |= clear_one(c, dir_names_at(&names, i)) < 0;
	return failed;
}

static int clear_confined(void *ctx)
{
	const struct left_dir *c = ctx;
	int dirs[] = { c->dir, -1 };
	struct verdict v = { .kind = VERDICT_NONE };

	if (confine_worker(&c->j->user, &(struct reach){ dirs, NULL }, 0, &v) < 0)
		return 1;
	return clear(c);
}

static bool clear_directory(struct leftovers_job *j, const char *path, bool spool)
{
	struct left_dir c = { j, path, -1, spool };
	int failed;

	c.dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c.dir < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
	failed = spool ? clear(&c) : worker_process_run(clear_confined, &c);
	close(c.dir);
	return failed == 0;
}

/* --- the job --------------------------------------------------------------------------------------------------- */

static void note(struct leftovers_job *j, bool ok)
{
	j->failed += !ok;
}

static int work(struct leftovers_job *j)
{
	static const char *const spools[] = { "/var/spool/cron/crontabs",
					      "/var/spool/cron/atjobs" };
	struct jiter it;
	struct jval v;

	if (user_of(&j->user, j->uid, j->gid, &j->v) < 0)
		return -EPERM;
	if (!j->user.other) /* it would be all of our own */
		return fail_as(&j->v, "ACCESS_DENIED", NULL, "only root can clean up after others");
	note(j, worker_process_run(kill_all, j) == 0);
	jiter_init(&it, (struct jval){ J_ARRAY, j->directories });
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *path = NULL;

		note(j,
		     jstr_decode(v, PATH_BYTES_MAX, &path) == 0 && clear_directory(j, path, false));
	}
	note(j, worker_process_run(remove_ipc, j) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(spools); i++)
		note(j, clear_directory(j, spools[i], true));
	return 0;
}

enum unpack_exit leftovers_run(struct slice line)
{
	struct leftovers_job j = { .v = { .kind = VERDICT_NONE } };
	_cleanup_(buf_done) struct buf out = { 0 };
	struct jw w = JW(&out);
	int r = job_decode(line, fields, &j, NULL, &j.v);

	if (r == 0)
		r = work(&j);
	if (r == 0) {
		jw_obj(&w, NULL);
		jw_obj(&w, "done");
		jw_uint(&w, "failed", j.failed);
		jw_end_obj(&w);
		jw_end_obj(&w);
		buf_putc(&out, '\n');
	} else {
		report_verdict(&out, &j.v);
	}
	file_write_all(STDOUT_FILENO, out.data, out.len);
	jdec_free(fields, &j);
	return r == 0 ? UNPACK_DONE : report_exit(&j.v);
}
