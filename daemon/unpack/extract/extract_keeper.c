/*
 * extract_keeper.c - the supervisor of an extract job: opens, forks the worker, commits with one
 * rename, cleans up.
 *
 * The keeper of an extract job: opens what the worker needs, makes the stage, waits for it,
 * commits, and cleans up.
 *
 * The keeper has the program's privileges and reads nothing foreign: it only opens archives. If the worker ends for any
 * reason (a rule, the kernel, the time limit, a signal to us), a second confined process removes the stage, and the
 * target is as it was. If the keeper itself is killed, the worker dies with it, and the next job for the same target
 * finds the stage unlocked (extract_recover.c).
 *
 * The last line of standard output is the answer; the exit code goes with it (unpack_report.h).
 *
 * Recovery of killed jobs runs first, since their stages are in the target's place or next to it.
 * The stage is locked before the worker starts. The commit has three steps: the worker's log, the
 * rename of the tree, the rename of the manifest. After a crash between them the next job completes
 * them, since NAME.new stays next to the manifest until recovery decides. The list of what is
 * delivered is in place before the tree changes, so it never lacks a delivered file.
 */

#include "base/clock.h"
#include "base/os/file.h"
#include "unpack/extract/extract.h"
#include "unpack/job/worker_process.h"

#define ANSWER_MAX (16 * MIB)

struct extract_keeper {
	struct extract x;
	struct job_input *in;
	struct verdict v;
	char *new_path; /* of the manifest that is written */
	struct worker_process worker;
	int to;		/* the worker: its one byte */
	int snapshots;	/* where the list of what is delivered is; -1: nowhere */
	bool committed; /* the new manifest is not to be removed */
};

/* --- opening ---------------------------------------------------------------------------------------------- */

static int extract_open_sources(struct extract_keeper *k, const struct user *user)
{
	const struct unpack_job *j = k->x.job;

	for (size_t i = 0; i < j->n; i++) {
		const struct job_source *s = &j->sources[i];

		if (s->file)
			continue;
		/* We open archives; a directory in the sandbox is opened as its user. */
		k->x.archives[i] = s->archive ? open(s->archive,
						     O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) :
						user_open_dir(user, s->directory);
		if (k->x.archives[i] < 0 && errno == ENOENT && s->has_digest) {
			sha256_text(&s->digest, k->v.digest);
			return refuse(&k->v, "ARCHIVE_NOT_FOUND", NULL,
				      "the archive is not in the store any more");
		}
		if (k->x.archives[i] < 0)
			return fail_with(&k->v, -errno, NULL,
					 s->archive ? s->archive : s->directory);
	}
	return 0;
}

static int open_manifests(struct extract_keeper *k)
{
	const char *path = k->x.job->manifest;

	if (!path)
		return 0;
	k->x.old_manifest = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (k->x.old_manifest < 0 && errno != ENOENT)
		return fail_with(&k->v, -errno, NULL, "the manifest");
	k->new_path = xprintf("%s.new", path);
	k->x.new_manifest =
		open(k->new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	return k->x.new_manifest < 0 ? fail_with(&k->v, -errno, NULL, "the new manifest") : 0;
}

static int extract_open_list(struct extract_keeper *k)
{
	const char *dir = k->x.job->delivered;
	int r;

	k->snapshots = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = k->snapshots < 0 ? -errno :
			       snapshot_dir_new_list(k->snapshots, &k->x.list_before, &k->x.list);
	return r < 0 ? fail_with(&k->v, r, dir, "making the list of what is delivered") : 0;
}

static int extract_open_all(struct extract_keeper *k)
{
	const struct unpack_job *j = k->x.job;
	struct user user;
	int r = user_of(&user, j->uid, j->gid, &k->v);

	if (r == 0)
		r = recover_target(j->target, &user, j->manifest, &k->v);
	if (r == 0)
		r = extract_open_sources(k, &user);
	if (r == 0)
		r = open_manifests(k);
	if (r == 0)
		r = target_open(&k->x.where, j->target, &user, &k->v);
	if (r == 0)
		r = target_make_stage(&k->x.where, &k->v);
	if (r == 0 && j->delivered)
		r = extract_open_list(k);
	/* path by path every file gets another time of change */
	if (r == 0 && j->baseline && k->x.where.whole)
		r = snapshot_dir_open_snapshot(&k->x.seed, j->baseline, 0, NULL, &k->v);
	return r;
}

/* --- the worker ------------------------------------------------------------------------------------------- */

static void keeper_fork_worker(void *ctx, int answer)
{
	struct extract_keeper *k = ctx;

	/* The worker's copy of the write end: with it open, it would not see the end of file when
	 * the supervisor dies. */
	closep(&k->to);
	k->x.to_keeper = answer;
	extract_worker_run(&k->x);
}

static int start_worker(struct extract_keeper *k)
{
	int go[2], r;

	if (pipe2(go, O_CLOEXEC) < 0)
		return fail_with(&k->v, -errno, NULL, "a pipe");
	fflush(stdout);
	k->to = go[1];
	k->x.go = go[0];
	r = worker_process_start(&k->worker, keeper_fork_worker, k, &k->v);
	close(go[0]);
	return r;
}

/* The worker's next line, until the time (0: no limit); it stays valid until the next call. */
static int extract_hear(struct extract_keeper *k, uint64_t until, struct slice *line)
{
	struct buf *heard = &k->worker.heard;

	heard->max = ANSWER_MAX;
	for (;;) {
		struct slice have = buf_slice(heard);
		int r;

		if (slice_cut(&have, '\n', line)) {
			heard->pos += ++line->n; /* with its newline */
			return 0;
		}
		r = worker_process_hear(&k->worker, until, k->x.job->limits.seconds, &k->v);
		if (r == 0)
			return fail_as(&k->v, "WORKER_DIED", NULL,
				       "the worker ended without an answer");
		if (r < 0)
			return r;
	}
}

static int keeper_put_line(struct slice line)
{
	return file_write_all(STDOUT_FILENO, line.p, line.n);
}

/* The worker's last line is the job's. */
static int extract_give_up(struct slice line)
{
	keeper_put_line(line);
	return slice_starts(line, "{\"refused\"") ? UNPACK_REFUSED : UNPACK_FAILED;
}

/* --- the commit -------------------------------------------------------------------------------------------- */

/* 1: it was cancelled. */
static int await_commit(struct extract_keeper *k, struct slice staged)
{
	struct slice word;
	int r;

	if (!k->x.job->confirm)
		return 0;
	if (keeper_put_line(staged) < 0)
		return 1;
	r = job_line(k->in, &word);
	return r > 0 && slice_is(word, "commit") ? 0 : 1;
}

/* The worker makes the log count and takes its steps, we the one rename; then the new manifest is the manifest. */
static int commit(struct extract_keeper *k)
{
	struct slice line;
	int r = k->snapshots < 0 ? 0 : snapshot_dir_put_list(k->snapshots);

	if (r < 0)
		return fail_with(&k->v, r, NULL, "the list of what is delivered");
	/* A worker that has died since is heard to be dead. */
	if (write(k->to, "g", 1) != 1 && errno != EPIPE)
		r = fail_with(&k->v, -errno, NULL, "the worker");
	if (r == 0)
		r = extract_hear(k, 0, &line);
	if (r == 0 && !slice_starts(line, "{\"done\""))
		return extract_give_up(line);
	if (r == 0 && k->x.where.whole)
		r = target_rename(&k->x.where, &k->v);
	if (r < 0)
		return r;
	k->committed = true;
	if (k->x.seed.dir >= 0 && snapshot_dir_commit(&k->x.seed, &k->v) < 0)
		return -EIO;
	if (k->new_path && rename(k->new_path, k->x.job->manifest) < 0)
		return fail_with(&k->v, -errno, NULL, "the manifest");
	keeper_put_line(line);
	return UNPACK_DONE;
}

/* The exit code; negative: the verdict says why. */
static int keeper_run(struct extract_keeper *k)
{
	struct slice line;
	int r = extract_open_all(k);

	if (r == 0)
		r = start_worker(k);
	if (r == 0)
		r = extract_hear(k, clock_mono_ms() + 1000 * k->x.job->limits.seconds, &line);
	if (r < 0)
		return r;
	if (!slice_starts(line, "{\"staged\""))
		return extract_give_up(line);
	return await_commit(k, line) > 0 ? UNPACK_NOT_CONFIRMED : commit(k);
}

/* After any end of the worker: the log is finished or undone. If that fails, all stays for the next job. */
static void extract_clean_stage(struct extract_keeper *k)
{
	enum recovered end = recover_own_stage(&k->x.where);

	if (end == RECOVERED_NEW && !k->committed && k->new_path)
		rename(k->new_path, k->x.job->manifest);
	/* RECOVERED_KEEP: the next job needs the new manifest, too. */
	k->committed |= end != RECOVERED_OLD;
	if (end != RECOVERED_KEEP)
		target_remove_stage(&k->x.where);
}

static void extract_clean_up(struct extract_keeper *k)
{
	closep(&k->to);
	worker_process_end(&k->worker);
	extract_clean_stage(k);
	if (k->new_path && !k->committed)
		unlink(k->new_path);
	for (size_t i = 0; i < k->x.job->n; i++)
		closep(&k->x.archives[i]);
	closep(&k->x.old_manifest);
	closep(&k->x.new_manifest);
	closep(&k->x.list_before);
	closep(&k->x.list);
	snapshot_dir_drop_list(k->snapshots);
	closep(&k->snapshots);
	snapshot_dir_close(&k->x.seed);
	target_close(&k->x.where);
	free(k->new_path);
}

enum unpack_exit extract_run(const struct unpack_job *job, struct job_input *in)
{
	struct extract_keeper k = {
		.in = in, .worker = WORKER_PROCESS_NONE, .to = -1, .snapshots = -1
	};
	int code;

	k.x = (struct extract){
		.job = job, .old_manifest = -1, .new_manifest = -1, .list_before = -1, .list = -1
	};
	snapshot_dir_init(&k.x.seed);
	k.x.where = (struct extract_target){ .parent = -1, .target = -1, .stage = -1 };
	for (size_t i = 0; i < UNPACK_SOURCES_MAX; i++)
		k.x.archives[i] = -1;
	keeper_signals();
	code = keeper_run(&k);
	extract_clean_up(&k);
	return code >= 0 ? (enum unpack_exit)code : report_print(&k.v);
}
