/*
 * snapshot.c - takes a snapshot or a diff: opens the old state, runs the walk, writes the headers.
 *
 * The headers are written last, so unfinished files are never valid. A baseline replaces damaged
 * state and starts a new epoch; a turn needs an intact index. All files are descriptors of the
 * caller: this code runs confined and can neither open nor rename them.
 */
#include "unpack/snapshot/snapshot.h"

#include "base/util.h"
#include "unpack/snapshot/snap_run.h"

#include <errno.h>
#include <sys/random.h>

static int open_old(struct snapshot *s)
{
	bool baseline = !snap_is_diff(s) && !s->job->turn;
	int r = s->files->index_old < 0 ? -ENOENT :
					  index_open(&s->old, s->files->index_old, INDEX_STATE);

	if (r == 0 && !snap_is_diff(s) && !baseline && s->job->turn <= s->old.head.turn)
		return refuse_over(s->v, "TURN_ORDER", NULL, s->old.head.turn, s->job->turn,
				   "a snapshot of a turn that is not after the last one");
	if (r == 0)
		return snap_old_next(s);
	if (r == -ENOENT && !baseline)
		return refuse(s->v, "NO_BASELINE", NULL, "no baseline was taken");
	if (r == -EBADMSG && !baseline)
		return fail_as(s->v, "STATE_DAMAGED", NULL, "the index is damaged");
	/* a new baseline needs no old one */
	return r == -ENOENT || r == -EBADMSG ? 0 : fail_with(s->v, r, NULL, "reading the index");
}

static int open_pack(struct snapshot *s)
{
	int r;

	packfile_init(&s->pack, s->files->pack, s->old.head.pack, s->job->limits.bytes);
	/* A diff only reads; a snapshot removes the tail that a killed snapshot left. */
	r = snap_is_diff(s) ? 0 : packfile_cut(&s->pack);
	if (r == -EBADMSG && !s->job->turn) {
		s->old_path = NULL;
		s->pack.end = 0;
		r = packfile_cut(&s->pack);
	}
	if (r == -EBADMSG)
		return fail_as(s->v, "STATE_DAMAGED", NULL,
			       "the pack is shorter than its index says");
	return r < 0 ? fail_with(s->v, r, NULL, "cutting the pack") : 0;
}

static uint64_t new_epoch(void)
{
	uint64_t n;

	while (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
		;
	return n;
}

static int finish(struct snapshot *s)
{
	struct index_head head = {
		.epoch = s->job->turn ? s->old.head.epoch : new_epoch(),
		.turn = s->job->turn,
		.from = s->old.head.turn,
		.files = s->report->files,
		.bytes = s->report->bytes,
		.pack = s->pack.end,
	};
	int r;

	head.kind = INDEX_TURN;
	r = index_end(&s->turn, &head);
	head.kind = INDEX_STATE;
	head.from = 0;
	if (r == 0)
		r = index_end(&s->index, &head);
	s->report->patch = s->patch.stat;
	s->report->patch_bytes = s->patch.bytes;
	return r < 0 ? fail_with(s->v, r, NULL, "writing the index") : 0;
}

static int run(struct snapshot *s)
{
	int r = open_old(s);

	if (r == 0)
		r = open_pack(s);
	if (r == 0)
		r = snap_look(s);
	return r < 0 ? r : finish(s);
}

int snapshot_take(const struct snapshot_job *job, const struct snapshot_files *files,
		  struct snapshot_report *report, struct verdict *v)
{
	struct snapshot *s = new0(struct snapshot);
	int r;

	*s = (struct snapshot){
		.job = job, .files = files, .report = report, .v = v, .extra_left = TREE_EXTRA_MAX
	};
	*report = (struct snapshot_report){ 0 };
	changes_init(&report->changes, job->list);
	index_begin(&s->index, files->index_new);
	index_begin(&s->turn, files->turn);
	patchfile_init(&s->patch, files->patch, job->limits.patch_bytes);
	s->ahead = ahead_new();
	r = run(s);
	index_close(&s->old);
	packfile_done(&s->pack);
	index_writer_done(&s->index);
	index_writer_done(&s->turn);
	patchfile_done(&s->patch);
	ahead_free(s->ahead);
	buf_done(&s->own);
	buf_done(&s->before);
	free(s);
	return r;
}

void snapshot_report_done(struct snapshot_report *report)
{
	omitted_done(&report->omitted);
	omitted_done(&report->ignored);
	changes_done(&report->changes);
}
