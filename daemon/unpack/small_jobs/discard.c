/*
 * discard.c - deletes session directories of the daemon, including homes that belong to another user:
 *
 *	discard	{directory, names: [...]}	removes these entries of a directory of the daemon's own:
 *						{"done":{"failed":[names]}}
 *
 * A home is emptied first as its owner, so that most of an untrusted tree is deleted without root's
 * rights. The rest is removed with the daemon's rights in a second confined process, so files of others in a home
 * cannot keep it. Both are confined to the directory, so a link in the home leads nowhere. A name that cannot be removed
 * is reported, and the other names are still tried.
 */
#include "unpack/small_jobs/small_job.h"

#include "json/jstr.h"

#include <fcntl.h>

struct discard {
	char *directory;
	struct slice names;
	int dir;
	struct verdict v;
};

static const struct jfield discard_fields[] = {
	JF_STR(struct discard, directory, "directory", JF_REQUIRED, PATH_BYTES_MAX),
	JF_ARR(struct discard, names, "names", JF_REQUIRED),
	JF_END,
};

struct removing {
	const struct user *user;
	int dir;
	const char *name;
};

static int discard_worker(void *ctx)
{
	const struct removing *m = ctx;
	int dirs[] = { m->dir, -1 };
	struct verdict v = { .kind = VERDICT_NONE };

	if (confine_worker(m->user, &(struct reach){ dirs, NULL }, 0, &v) < 0)
		return 1;
	return (m->name ? held_remove_at(m->dir, m->name) : held_empty(m->dir)) < 0 ? 2 : 0;
}

int discard_as(const struct user *user, int dir, const char *name)
{
	return worker_process_run(discard_worker, &(struct removing){ user, dir, name });
}

/* If something stays, the daemon's own rights are tried next. */
static void discard_home(int entry)
{
	_cleanup_(closep) int home = held_open_dir_at(entry, "home");
	struct verdict v = { .kind = VERDICT_NONE };
	struct user user;
	struct stat sb;

	if (home >= 0 && fstat(home, &sb) == 0 && sb.st_uid != geteuid() &&
	    user_of(&user, sb.st_uid, sb.st_gid, &v) == 0)
		(void)discard_as(&user, home, NULL);
}

static int discard_entry(const struct discard *d, const char *name)
{
	_cleanup_(closep) int entry = held_open_dir_at(d->dir, name);
	struct verdict v = { .kind = VERDICT_NONE };
	struct user self;

	if (entry == -ENOENT)
		return 0;
	if (entry >= 0)
		discard_home(entry);
	return user_of(&self, -1, -1, &v) < 0 ? -EPERM : discard_as(&self, d->dir, name);
}

static int discard_all(struct discard *d, struct jw *w)
{
	jarr_each(v, d->names) {
		_cleanup_(freep) char *name = NULL;

		if (jstr_decode(v, NAME_BYTES_MAX, &name) < 0 || !*name || strchr(name, '/') ||
		    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			return bad_job(&d->v, "PARAM_INVALID", "names", "not an array of names");
		if (discard_entry(d, name) != 0)
			jw_str(w, NULL, name);
	}
	return 0;
}

static int discard_work(void *job, struct jw *w)
{
	struct discard *d = job;
	int r;

	d->dir = open(d->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (d->dir < 0)
		return fail_with(&d->v, -errno, NULL, "opening the directory");
	jw_arr(w, "failed");
	r = discard_all(d, w);
	jw_end_arr(w);
	close(d->dir);
	return r;
}

enum unpack_exit discard_run(struct slice line)
{
	struct discard d = { .dir = -1 };

	return small_job_run(line, discard_fields, true, &d, &d.v, discard_work);
}
