/*
 * removal.c - moves the files of deleted sessions to <state>/removed, and deletes them through
 * acpd-unpack.
 *
 * Deletion is a series of renames, journal first. Without its journal a session does not exist for
 * the next daemon, which completes the other renames (removal_finish). If a rename fails, the earlier ones
 * are reverted. The agent controls the trees: only acpd-unpack descends into them. A tree on
 * another file system cannot be renamed (EXDEV); spec.foreign removes it.
 */
#include "session/core/removal.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "json/json.h"
#include "workspace/helper_job.h"

#include <dirent.h>

#define TREE_PREFIX "tree-"
#define ID_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

/* Something below removed/ that waits for its job, or has it. */
struct doomed {
	struct list link;
	char *name;
};

struct removal_queue {
	struct removal_spec spec;
	char *state_dir, *dir;
	struct list waiting, working; /* struct doomed */
	struct helper_job *helper;
	struct loop_task task;
	bool stopping;
	struct removal_counts counts;
};

/* The first decides: without its journal there is no session. */
static const struct part {
	const char *where, *suffix, *name;
	bool tree; /* of the agent's: never removed by us */
} parts[] = {
	{ "sessions", ".jsonl", "journal", false },
	{ "sessions", ".summary", "summary", false },
	{ "agui", ".json", "thread", false },
	{ "artifacts", "", "artifacts", false },
	{ "snapshots", "", "snapshots", false },
	{ "runs", "", "run", false },
	{ "drafts", "", "draft", true },
	{ "homes", "", "home", true },
};

static char *part_path(const struct removal_queue *r, const struct part *p, const char *id)
{
	return xprintf("%s/%s/%s%s", r->state_dir, p->where, id, p->suffix);
}

/* --- jobs ------------------------------------------------------------------------------------------------- */

static void removal_advance(void *ctx);

static void removal_wake(struct removal_queue *r)
{
	loop_defer(r->spec.loop, &r->task, removal_advance, r);
}

static void doomed_free(struct doomed *d)
{
	list_del(&d->link);
	free_each(d->name, d);
}

static void doom(struct removal_queue *r, const char *name)
{
	struct doomed *d = new0(struct doomed);

	d->name = xstrdup(name);
	list_add_tail(&r->waiting, &d->link);
	r->counts.pending++;
	removal_wake(r);
}

static bool is_named(struct slice names, const char *name)
{
	jarr_each(v, names)
		if (jstr_is(v, name))
			return true;
	return false;
}

static void report_failed(struct removal_queue *r, struct slice failed, const struct err *e)
{
	list_each(d, &r->working, struct doomed, link) {
		if (e || is_named(failed, d->name)) {
			r->counts.failed++;
			log_warn("session",
				 "not all could be removed, tried again at the next start", "path",
				 r->dir, "name", d->name, "text", e ? e->msg : "");
		} else {
			r->counts.removed++;
			r->counts.pending--;
			r->spec.gone(r->spec.ctx, d->name);
		}
		doomed_free(d);
	}
}

static void removal_on_done(void *ctx, struct slice report, const struct err *e)
{
	struct removal_queue *r = ctx;

	/* A helper that was killed has removed a part. The next daemon finds the names in removed/. */
	if (!r->stopping)
		report_failed(r, jobj_get(report, "failed").raw, e);
	r->helper = helper_job_free(r->helper);
	removal_wake(r);
	r->spec.idle(r->spec.ctx);
}

static const struct helper_job_events job_events = { NULL, removal_on_done };

static void removal_put_job(struct removal_queue *r, struct buf *b)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "directory", r->dir);
	jw_arr(&w, "names");
	for (unsigned n = 0; n < DISCARD_BATCH && !list_empty(&r->waiting); n++) {
		struct doomed *d = list_first(&r->waiting, struct doomed, link);

		list_del(&d->link);
		list_add_tail(&r->working, &d->link);
		jw_str(&w, NULL, d->name);
	}
	jw_end_arr(&w);
	jw_end_obj(&w);
}

static void removal_advance(void *ctx)
{
	struct removal_queue *r = ctx;
	_cleanup_(buf_done) struct buf job = { 0 };
	struct err e = { 0 };

	if (r->stopping || r->helper || list_empty(&r->waiting))
		return;
	removal_put_job(r, &job);
	r->helper = helper_job_start(r->spec.loop, r->spec.procs,
				     &(struct helper_job_spec){ .verb = "discard",
								.job = buf_slice(&job) },
				     &job_events, r, &e);
	if (r->helper)
		return;
	report_failed(r, SLICE_NONE, &e);
	removal_wake(r); /* the rest fails too, or the machine has recovered */
}

/* --- putting away ----------------------------------------------------------------------------------------- */

/* Removes in place what cannot be renamed. */
static int put_foreign(struct removal_queue *r, const struct part *p, const char *path)
{
	if (p->tree)
		r->spec.foreign(r->spec.ctx, path);
	else if (unlink(path) < 0)
		return file_remove_tree(path);
	return 0;
}

/* True if this id was deleted before and that removal has not ended: a bundle has brought it back. */
static bool is_queued(const struct removal_queue *r, const char *id)
{
	const struct list *const queues[] = { &r->waiting, &r->working };

	for (size_t i = 0; i < ARRAY_SIZE(queues); i++)
		list_each(d, (struct list *)queues[i], struct doomed, link)
			if (strcmp(d->name, id) == 0)
				return true;
	return false;
}

static int put_part(struct removal_queue *r, const struct part *p, const char *id,
		    const char *entry)
{
	_cleanup_(freep) char *from = part_path(r, p, id), *to = file_join(entry, p->name);

	if (rename(from, to) == 0 || errno == ENOENT)
		return 0;
	/* The target exists: only for an id that was deleted before. */
	if (errno == ENOTEMPTY || errno == EEXIST)
		return is_queued(r, id) ? put_foreign(r, p, from) : -errno;
	return errno == EXDEV ? put_foreign(r, p, from) : -errno;
}

static void take_back(struct removal_queue *r, size_t n, const char *id, const char *entry)
{
	/* In reverse: the journal is last, and makes the session exist again. */
	while (n--) {
		_cleanup_(freep) char *to = part_path(r, &parts[n], id),
				      *from = file_join(entry, parts[n].name);

		if (rename(from, to) < 0 && errno != ENOENT)
			log_error("session", "cannot be put back", "path", from, "text",
				  strerror(errno));
	}
}

static int removal_move_all(struct removal_queue *r, const char *id, const char *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int ret = put_part(r, &parts[i], id, entry);

		if (ret == 0)
			continue;
		take_back(r, i, id, entry);
		return ret;
	}
	return 0;
}

int removal_session(struct removal_queue *r, const char *id, struct err *e)
{
	_cleanup_(freep) char *entry = file_join(r->dir, id);
	int ret = 0;

	/* An id becomes a component of paths, and may be the name of a file that acpd did not write. TREE_PREFIX is
	 * for removal_tree. */
	if (!*id || id[strspn(id, ID_CHARS)] || slice_starts(slice_of(id), TREE_PREFIX))
		return 0;
	/* EEXIST: an earlier removal of the same id has not ended (see is_queued). */
	if (mkdir(entry, 0700) < 0 && errno != EEXIST)
		ret = -errno;
	if (ret == 0)
		ret = removal_move_all(r, id, entry);
	if (ret == 0 && rmdir(entry) < 0) /* there was something */
		doom(r, id);
	else if (ret == 0)
		r->spec.gone(r->spec.ctx, id);
	if (ret == 0)
		return 0;
	rmdir(entry);
	return err_set(e, ret, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
		       "the session cannot be removed: %s", strerror(-ret));
}

int removal_tree(struct removal_queue *r, const char *path)
{
	char name[sizeof(TREE_PREFIX) + 32] = TREE_PREFIX;
	_cleanup_(freep) char *entry = NULL, *to = NULL;
	int ret = 0;

	/* An empty directory needs no helper. */
	if (rmdir(path) == 0 || errno == ENOENT)
		return 0;
	random_hex(name + strlen(name), 16);
	entry = file_join(r->dir, name);
	to = file_join(entry, "home");
	if (mkdir(entry, 0700) < 0)
		return -errno;
	if (rename(path, to) < 0)
		ret = -errno;
	if (ret == 0)
		doom(r, name);
	else
		rmdir(entry);
	return ret;
}

/* --- life --------------------------------------------------------------------------------------------------- */

/* A daemon was killed with it: had it not yet moved the journal, the session lives on. */
static void removal_finish(struct removal_queue *r, const char *name)
{
	_cleanup_(freep) char *journal = part_path(r, &parts[0], name);
	_cleanup_(freep) char *entry = file_join(r->dir, name);

	if (!slice_starts(slice_of(name), TREE_PREFIX) && access(journal, F_OK) < 0 &&
	    removal_move_all(r, name, entry) < 0)
		return;
	doom(r, name);
}

static int removal_take_up(struct removal_queue *r)
{
	DIR *d = opendir(r->dir);
	struct dirent *entry;

	if (!d)
		return -errno;
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.')
			removal_finish(r, entry->d_name);
	closedir(d);
	return 0;
}

struct removal_queue *removal_open(const struct removal_spec *spec, struct err *e)
{
	struct removal_queue *r = new0(struct removal_queue);
	int ret;

	r->spec = *spec;
	r->state_dir = xstrdup(spec->state_dir);
	r->dir = file_join(spec->state_dir, "removed");
	list_init(&r->waiting);
	list_init(&r->working);
	ret = file_mkdirs(r->dir, 0700);
	if (ret == 0)
		ret = removal_take_up(r);
	if (ret == 0)
		return r;
	err_set(e, ret, 0, "STATE_NOT_WRITABLE", "%s: %s", r->dir, strerror(-ret));
	return removal_close(r);
}

struct removal_queue *removal_close(struct removal_queue *r)
{
	if (!r)
		return NULL;
	loop_task_cancel(&r->task);
	list_each(d, &r->waiting, struct doomed, link)
		doomed_free(d);
	list_each(d, &r->working, struct doomed, link)
		doomed_free(d);
	free_each(r->state_dir, r->dir, r);
	return NULL;
}

void removal_stop(struct removal_queue *r)
{
	r->stopping = true;
	if (r->helper)
		helper_job_kill(r->helper);
}

void removal_count(const struct removal_queue *r, struct removal_counts *ret)
{
	*ret = r->counts;
}
