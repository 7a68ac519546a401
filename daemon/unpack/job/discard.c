/*
 * discard.c - deletes session directories of the daemon, including homes that belong to another
 * user.
 *
 * A home is emptied first as its owner, so that most of an untrusted tree is deleted without root's
 * rights. The rest is removed with the daemon's rights in a second confined process. Both are
 * confined to the directory, so a link in the home leads nowhere. A name that cannot be removed is
 * reported, and the other names are still tried.
 */
#include "unpack/job/discard.h"

#include "base/os/file.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "tree/held_tree.h"
#include "tree/path_rules.h"
#include "unpack/job/unpack_job.h"
#include "unpack/job/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct discard {
	char *directory;
	struct slice names;
	int dir;
	struct verdict v;
};

static const struct jfield fields[] = {
	JF_STR(struct discard, directory, "directory", JF_REQUIRED, PATH_BYTES_MAX),
	JF_ARR(struct discard, names, "names", JF_REQUIRED),
	JF_END,
};

struct removing {
	const struct user *user;
	int dir;
	const char *name;
};

static int remove_it(void *ctx)
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
	return worker_process_run(remove_it, &(struct removing){ user, dir, name });
}

/* If something stays, the daemon's own rights are tried next. */
static void clear_home(int entry)
{
	_cleanup_(closep) int home = held_open_dir_at(entry, "home");
	struct verdict v = { .kind = VERDICT_NONE };
	struct user user;
	struct stat sb;

	if (home >= 0 && fstat(home, &sb) == 0 && sb.st_uid != geteuid() &&
	    user_of(&user, sb.st_uid, sb.st_gid, &v) == 0)
		(void)discard_as(&user, home, NULL);
}

static int discard(const struct discard *d, const char *name)
{
	_cleanup_(closep) int entry = held_open_dir_at(d->dir, name);
	struct verdict v = { .kind = VERDICT_NONE };
	struct user self;

	if (entry == -ENOENT)
		return 0;
	if (entry >= 0)
		clear_home(entry);
	return user_of(&self, -1, -1, &v) < 0 ? -EPERM : discard_as(&self, d->dir, name);
}

static int discard_all(const struct discard *d, struct jw *w)
{
	struct jiter it;
	struct jval v;

	jiter_init(&it, (struct jval){ J_ARRAY, d->names });
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *name = NULL;

		if (jstr_decode(v, NAME_BYTES_MAX, &name) < 0 || !*name || strchr(name, '/') ||
		    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			return -EINVAL;
		if (discard(d, name) != 0)
			jw_str(w, NULL, name);
	}
	return 0;
}

static int open_directory(struct discard *d, struct slice line)
{
	int r = job_decode(line, fields, d, &d->directory, &d->v);

	if (r < 0)
		return r;
	d->dir = open(d->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return d->dir < 0 ? fail_with(&d->v, -errno, NULL, "opening the directory") : 0;
}

enum unpack_exit discard_run(struct slice line)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct discard d = { .dir = -1 };
	struct jw w = JW(&out);
	int r = open_directory(&d, line);

	jw_obj(&w, NULL);
	jw_obj(&w, "done");
	jw_arr(&w, "failed");
	if (r == 0 && (r = discard_all(&d, &w)) < 0) {
		fail_as(&d.v, "PARAM_INVALID", "names", "not an array of names");
		d.v.kind = VERDICT_BAD_JOB;
	}
	jw_end_arr(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	buf_putc(&out, '\n');
	if (r < 0) {
		buf_reset(&out);
		report_verdict(&out, &d.v);
	}
	file_write_all(STDOUT_FILENO, out.data, out.len);
	closep(&d.dir);
	jdec_free(fields, &d);
	return r < 0 ? report_exit(&d.v) : UNPACK_DONE;
}
