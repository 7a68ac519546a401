/*
 * extract_worker.c - the confined process that reads untrusted archives and fills the stage.
 *
 * The work of the confined process of an extract job. It reads the archives into the staging tree,
 * checks the whole, writes the new manifest and reports to the keeper (extract_keeper.c) with a line "staged". When the
 * keeper answers, it commits path by path, if one rename is not enough, and reports the outcome with a line "done". A
 * refusal or failure may be its last line at any time (unpack_report.h).
 *
 * Everything it needs was opened by the keeper before; the descriptors are borrowed.
 *
 * It enters confinement before it reads the first byte, and works with inherited descriptors only.
 * The order: stage all sources, plan the commit, write the list of deliveries and the manifest,
 * report "staged", wait for the supervisor's byte, commit, report "done". Nothing in the target
 * changes before that byte. End of file instead of the byte means that the job was cancelled or the
 * supervisor died.
 */
#include "unpack/extract/extract.h"

#include "base/os/file.h"
#include "unpack/commit/merge.h"
#include "unpack/snapshot/snapshot.h"
#include "unpack/entries/entries.h"

#include <time.h>

/* --- sources ------------------------------------------------------------------------------------------- */

/* Where the source's entries go. */
static int set_into(struct plan *p, const struct job_source *s, struct checked_path *into)
{
	struct path_fault f = { 0 };

	into->path[0] = '\0';
	if (s->into && !checked_path_parse(slice_of(s->into), &p->limits->names, into, &f))
		return refuse(p->v, f.reason, s->into, "into: %s", f.message);
	p->into = into->path;
	p->strip = s->strip == STRIP_AUTO ? 0 : (unsigned)s->strip;
	p->kept = p->cut = 0;
	return 0;
}

/* Headers and padding come on top of what files have. */
static struct feed_limits stream_limits(const struct plan_limits *l)
{
	return (struct feed_limits){ l->bytes + l->entries * 4 * KIB + UNPACK_RATIO_FROM,
				     l->ratio };
}

static int extract_read_entries(struct plan *p, const struct job_source *s, int fd,
				struct intact *intact)
{
	_cleanup_(source_closep) struct source *src = NULL;
	enum archive_format format;
	int r = format_detect(fd, s->format, &format, p->v);

	if (r < 0)
		return r;
	if (format == ARCHIVE_ZIP)
		return zip_read(fd, stream_limits(p->limits), p);
	r = source_open(fd, format, stream_limits(p->limits), intact, &src, p->v);
	return r < 0 ? r : tar_read(src, p);
}

static int read_archive(struct plan *p, const struct job_source *s, int fd)
{
	struct intact intact;
	int r;

	if (!s->has_digest)
		return extract_read_entries(p, s, fd, NULL);
	intact_begin(&intact, &s->digest);
	r = extract_read_entries(p, s, fd, &intact);
	return intact_end(&intact, fd, r, p->v);
}

/* Something is there already, and the source may not replace it. */
static bool must_keep(struct plan *p, const struct job_source *s)
{
	struct path_fault f;
	struct checked_path name;

	return !s->overwrite &&
	       checked_path_parse(slice_of(s->file), &p->limits->names, &name, &f) &&
	       manifest_find(&p->m, slice_of(name.path)) >= 0;
}

static int extract_put_file(struct plan *p, const struct job_source *s, struct outcome *out)
{
	struct slice content = buf_slice(&s->content);
	struct source_entry e = {
		.path = slice_of(s->file),
		.mode = s->executable ? 0755 : 0644,
		.size = content.n,
		.mtime = time(NULL),
	};
	int r;

	if (must_keep(p, s)) {
		outcome_skip(out, s->file, "EXISTS");
		return 0;
	}
	p->into = "";
	p->strip = 0;
	r = plan_entry(p, &e);
	if (r == 0 && content.n)
		r = plan_data(p, content.p, content.n);
	if (r == 0)
		r = plan_end(p);
	p->m.v[p->node].mark = s->overwrite ? MARK_OVERWRITE :
			       s->renew	    ? MARK_KEEP_FOREIGN :
					      MARK_KEEP_EXISTING;
	return r;
}

static int read_source(struct extract *x, struct plan *p, size_t i, struct summary *sum)
{
	const struct job_source *s = &x->job->sources[i];
	int r;

	if (s->file)
		return extract_put_file(p, s, &sum->outcome);
	r = set_into(p, s, &x->into);
	if (x->job->skills) {
		skills_aside(i, x->aside);
		p->into = x->aside;
	}
	if (r < 0)
		return r;
	r = s->archive ? read_archive(p, s, x->archives[i]) : skills_copy(p, x->archives[i]);
	if (r < 0 || !s->strip)
		return r;
	sum->has_stripped = true;
	return strip_finish(p, s->strip, &sum->stripped);
}

static int read_sources(struct extract *x, struct plan *p, struct summary *sum)
{
	int r = 0;

	p->out = &sum->outcome;
	for (size_t i = 0; r == 0 && i < x->job->n; i++)
		r = read_source(x, p, i, sum);
	return r;
}

/* --- the stage ------------------------------------------------------------------------------------------- */

/* An empty target that is replaced keeps its mode, unless an archive has one. */
static int finish_root(struct extract *x, struct plan *p, int tree)
{
	mode_t mode = p->m.v[0].mode;

	if (p->m.v[0].implied && x->where.target >= 0)
		mode = x->where.target_mode | 0700;
	return fchmod(tree, mode) < 0 ? fail_with(p->v, -errno, NULL, "the mode of the tree") : 0;
}

static int extract_fill(struct extract *x, struct plan *p, struct summary *sum)
{
	_cleanup_(closep) int tree = -1;
	_cleanup_(stage_done) struct stage s;
	int r;

	stage_init(&s, -1);
	umask(0);
	if (mkdirat(x->where.stage, "tree", 0700) < 0)
		return fail_with(p->v, -errno, NULL, "making the staging tree");
	tree = held_open_dir_at(x->where.stage, "tree");
	if (tree < 0)
		return fail_with(p->v, tree, NULL, "making the staging tree");
	stage_init(&s, tree);
	p->writer = stage_writer(&s);
	if (x->seed.files.index_new >= 0)
		p->seed = seed_new(x->seed.files.pack, x->seed.files.index_new);
	r = read_sources(x, p, sum);
	if (r == 0)
		r = plan_finish(p);
	if (r == 0 && x->job->skills)
		r = skills_install(&sum->skills, p, tree, x->job);
	if (r == 0)
		seed_write(p->seed, &p->m, tree); /* a baseline without it reads all */
	seed_free(TAKE_PTR(p->seed));
	return r < 0 ? r : finish_root(x, p, tree);
}

/* --- telling --------------------------------------------------------------------------------------------- */

static void worker_put_line(struct extract *x, struct buf *b)
{
	file_write_all(x->to_keeper, b->data, b->len);
	buf_reset(b);
}

static int await_go(struct extract *x)
{
	char c;
	ssize_t n;

	n = RETRY(read(x->go, &c, 1));
	return n == 1 ? 0 : -EPIPE;
}

/* --- the whole ------------------------------------------------------------------------------------------- */

static int write_manifest(struct extract *x, struct plan *p, struct sha256 *digest)
{
	int fd = x->new_manifest, r = 0;

	if (fd >= 0 && (lseek(fd, 0, SEEK_SET) < 0 || ftruncate(fd, 0) < 0))
		r = -errno;
	if (r == 0)
		r = manifest_write(&p->m, fd, digest);
	return r < 0 ? fail_with(p->v, r, NULL, "writing the manifest") : 0;
}

static int write_list(struct extract *x, struct plan *p, const struct commit *c)
{
	int r = x->list < 0 ? 0 :
			      delivered_write(x->list, x->list_before, &p->m,
					      c->whole ? NULL : c->old, c->whole);

	return r < 0 ? fail_with(p->v, r, NULL, "writing the list of what is delivered") : 0;
}

static int read_old(struct extract *x, struct plan *p, struct manifest *old)
{
	int r = x->old_manifest < 0 ? 0 : manifest_read(old, x->old_manifest);

	return r < 0 ? fail_with(p->v, r, NULL, "reading the old manifest") : 0;
}

static uint64_t count_entries(const struct manifest *m)
{
	uint64_t n = 0;

	for (size_t i = 1; i < m->n; i++)
		n += !m->v[i].gone;
	return n;
}

static int extract_prepare(struct extract *x, struct plan *p, struct commit *c, struct summary *sum)
{
	struct err e;
	int r = extract_fill(x, p, sum);

	if (r == 0 && !x->where.whole)
		r = read_old(x, p, c->old);
	if (r < 0)
		return r;
	sum->entries = count_entries(&p->m);
	sum->bytes = p->bytes;
	r = commit_plan(c, &sum->outcome, &e);
	if (r < 0)
		return fail_err(p->v, r, &e);
	r = write_list(x, p, c);
	return r < 0 ? r : write_manifest(x, p, &sum->manifest);
}

static int extract_apply(struct extract *x, struct plan *p, struct commit *c, struct summary *sum)
{
	struct err e;
	int r = commit_apply(c, &sum->outcome, &e);

	if (r < 0)
		return fail_err(p->v, r, &e);
	return r > 0 ? write_manifest(x, p, &sum->manifest) : 0;
}

static int worker_run(struct extract *x, struct plan *p, struct buf *line)
{
	struct manifest old;
	struct summary sum = { 0 };
	struct commit c = {
		.name = x->where.name,
		.target = x->where.target,
		.stage = x->where.stage,
		.whole = x->where.whole,
		.old = &old,
		.staged = &p->m,
		.keep_missing = x->job->merge || x->job->skills,
		.keeps = skills_keep,
		.ctx = &sum.skills,
	};
	int r;

	manifest_init(&old, 16 * UNPACK_ENTRIES_MAX);
	r = extract_prepare(x, p, &c, &sum);
	if (r < 0)
		return r;
	report_summary(line, "staged", &sum);
	worker_put_line(x, line);
	if (await_go(x) < 0)
		_exit(UNPACK_NOT_CONFIRMED);
	r = extract_apply(x, p, &c, &sum);
	if (r == 0) {
		report_summary(line, "done", &sum);
		worker_put_line(x, line);
	}
	return r;
}

/* The directories that skills are copied from. */
static void list_directories(const struct extract *x, int *dirs)
{
	for (size_t i = 0; i < x->job->n; i++)
		if (x->job->sources[i].directory)
			*dirs++ = x->archives[i];
	*dirs = -1;
}

void extract_worker_run(struct extract *x)
{
	int write[] = { x->where.stage, x->where.target, -1 }, read[UNPACK_SOURCES_MAX + 1];
	struct reach reach = { write, read };
	_cleanup_(buf_done) struct buf line = { 0 };
	struct verdict v = { .kind = VERDICT_NONE };
	struct stage_sink none = { NULL, NULL };
	struct plan p;
	uint64_t largest = MAX(x->job->limits.file_bytes, (uint64_t)TREE_MANIFEST_MAX);

	list_directories(x, read);
	plan_init(&p, &x->job->limits, none, &v);
	p.once = x->job->once;
	p.links = x->job->links;
	p.target = x->job->target;
	p.m.v[0].implied = 1;
	if (confine_worker(&x->where.user, &reach, largest, &v) < 0 ||
	    worker_run(x, &p, &line) < 0) {
		report_verdict(&line, &v);
		worker_put_line(x, &line);
	}
	_exit(report_exit(&v));
}
