/*
 * bundle_import.c - makes a closed, read-only session from an uploaded bundle.
 *
 * acpd-unpack extracts the archive ("extract") and compares it with its manifest ("bundle-check"),
 * each as a confined process. import_continue then copies the journal line by line through bundle_events.c, a
 * piece per turn of the loop. All work happens in a private directory. The last step publishes:
 * artifacts, then the run's files, then the journal. A daemon killed in between leaves files
 * without a journal, which is not a session.
 */
#include "session/parts/bundle/session_bundle.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "json/jstr.h"
#include "session/parts/bundle/bundle_events.h"
#include "session/parts/bundle/bundle_internal.h"
#include "session/core/log/journal_record.h"
#include "session/core/session_internal.h"
#include "session/parts/workspace/artifact_store.h"
#include "session/core/session_paths.h"
#include "workspace/helper_job.h"

#define SESSION_FILE_MAX (16 * MIB)

struct bundle_import {
	struct session_store *store;
	struct sha256 archive; /* pinned */
	char *room;
	struct helper_job *helper; /* NULL: none runs */
	bool checked, orphan;
	struct loop_timer timer;
	void (*done)(void *ctx, struct session *s, const struct err *e);
	void *ctx;

	char *id, *harness, *cwd;
	struct bundle_events events;
	int from, to; /* journals: of the bundle, and ours */
	struct buf in, out;
	bool began; /* ours has its head */
};

static void fail_import(struct bundle_import *k, const struct err *e)
{
	k->done(k->ctx, NULL, e);
}

static void import_fail_by(struct bundle_import *k, int r)
{
	struct err e = { 0 };

	bundle_room_failed(r, &e);
	fail_import(k, &e);
}

static char *import_path(const struct bundle_import *k, const char *name)
{
	_cleanup_(freep) char *in = file_join(k->room, "in");

	return file_join(in, name);
}

/* --- what the session is --------------------------------------------------------------------------------------- */

static int refuse_bundle(struct err *e, const char *text)
{
	return err_set(e, -EBADMSG, RPC_INVALID_PARAMS, "BUNDLE_INVALID", "%s", text);
}

/* Ids are names of files, and in every message: those that a daemon gives. */
static bool is_session_id(const char *id)
{
	return strncmp(id, "sess_", 5) == 0 && strlen(id) == 37 &&
	       id[5 + strspn(id + 5, "0123456789abcdef")] == '\0';
}

/* In memory, or only on disk: a journal that could not be recovered is not overwritten either. */
static bool import_exists(const struct bundle_import *k)
{
	_cleanup_(freep) char *journal = paths_journal_path(k->store, k->id);
	struct stat sb;

	return store_find(k->store, k->id) || lstat(journal, &sb) == 0;
}

static int refuse_existing_session(struct err *e)
{
	return err_set(e, -EEXIST, RPC_INVALID_REQUEST, "SESSION_EXISTS",
		       "there is a session of that id: delete it first");
}

static int read_session(struct bundle_import *k, struct err *e)
{
	_cleanup_(buf_done) struct buf text = { .max = SESSION_FILE_MAX };
	_cleanup_(freep) char *path = import_path(k, "session.json");
	struct jval v;

	if (!is_session_id(k->id))
		return refuse_bundle(e, "manifest.json: sessionId is no id of a session");
	if (import_exists(k))
		return refuse_existing_session(e);
	if (file_read(path, SESSION_FILE_MAX, &text) < 0 ||
	    jscan_value(buf_slice(&text), &v) != JSCAN_OK || v.type != J_OBJECT ||
	    !jstr_is(jobj_get(v.raw, "sessionId"), k->id))
		return refuse_bundle(e,
				     "session.json: it is not there, or not that of the session");
	if (jstr_decode(jobj_get(v.raw, "harness"), 64, &k->harness) < 0 || !*k->harness)
		return refuse_bundle(e, "session.json: harness must be a string");
	if (jstr_decode(jobj_get(v.raw, "cwd"), PATH_BYTES_MAX, &k->cwd) < 0 || k->cwd[0] != '/')
		return refuse_bundle(e, "session.json: cwd must be an absolute path");
	return 0;
}

/* --- its journal --------------------------------------------------------------------------------------------- */

static void import_put_note(struct bundle_import *k, const char *kind, struct slice value)
{
	/* A note of this daemon, not an event: it has no number. */
	const struct journal_record rec = { .time_ms = clock_real_ms(), .value = value };

	journal_record_put(&k->out, &rec, kind);
}

/* Before the first event; those before that, if any, were given up where it comes from. */
static void import_put_head(struct bundle_import *k, uint64_t first)
{
	JW_BUF(w, b);

	k->began = true;
	jw_object(&w, NULL, JW_STR("cwd", k->cwd), JW_STR("harness", k->harness),
		  JW_OBJ("imported", JW_STR("at", CLOCK_ISO(clock_real_ms()))));
	import_put_note(k, "session", buf_slice(&b));
	if (first < 2)
		return;
	buf_reset(&b);
	buf_printf(&b, "{\"to\":%llu}", (unsigned long long)first - 1);
	import_put_note(k, "base", buf_slice(&b));
}

/* The line becomes a record in a buffer of its own first: the head must precede the first event, and only a valid line
 * tells the number of that. */
static int import_line(struct bundle_import *k, struct slice line, struct err *e)
{
	_cleanup_(buf_done) struct buf record = { .max = k->out.max };
	int r = bundle_events_take(&k->events, line, &record, e);

	if (r == 0 && !k->began)
		import_put_head(k, k->events.first);
	if (r == 0)
		buf_add_slice(&k->out, buf_slice(&record));
	return r;
}

/* All whole lines of what has been read; what is left is the beginning of the next. */
static int import_lines(struct bundle_import *k, struct err *e)
{
	struct slice rest = buf_slice(&k->in), line;
	int r = 0;

	while (r == 0 && slice_cut(&rest, '\n', &line))
		r = import_line(k, line, e);
	buf_consume(&k->in, buf_len(&k->in) - rest.n);
	return r;
}

/* 1: there is more; 0: that was all; -EBADMSG with e, or another errno. */
static int copy_piece(struct bundle_import *k, struct err *e)
{
	ssize_t n;
	int r;

	/* What is left in the buffer is the start of a line, so it fails only if one line fills it. */
	if (buf_reserve(&k->in, BUNDLE_PIECE) < 0)
		return refuse_bundle(e, "journal.ndjson: a line is too long");
	n = read(k->from, k->in.data + k->in.len, BUNDLE_PIECE);
	if (n < 0)
		return -errno;
	k->in.len += (size_t)n;
	r = import_lines(k, e);
	if (r == 0 && n == 0 && buf_len(&k->in))
		r = refuse_bundle(e, "journal.ndjson: its last line is not whole");
	/* A session without events is one, too. */
	if (r == 0 && n == 0 && !k->began)
		import_put_head(k, 0);
	if (r == 0)
		r = k->out.failed ? -ENOMEM : file_write_all(k->to, k->out.data, k->out.len);
	buf_reset(&k->out);
	return r < 0 ? r : n > 0;
}

static int open_journals(struct bundle_import *k)
{
	_cleanup_(freep) char *from = import_path(k, "journal.ndjson"),
			      *to = file_join(k->room, "journal");

	k->from = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (k->from < 0)
		return -errno;
	k->to = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return k->to < 0 ? -errno : 0;
}

/* --- where it is kept ------------------------------------------------------------------------------------------ */

/* What the journal says, and what the archive was checked by. */
static void drop_copies(const struct bundle_import *k)
{
	static const char *const names[] = { "events.ndjson", "journal.ndjson", "manifest.json" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(freep) char *path = import_path(k, names[i]);

		unlink(path);
	}
}

/* The journal is last: without it there is no session, and at the next start nothing of it is used. */
static int import_publish(struct bundle_import *k)
{
	_cleanup_(freep) char *run = paths_run(k->store, k->id, NULL),
			      *runs = file_join(k->store->state_dir, "runs"),
			      *in = file_join(k->room, "in"),
			      *artifacts = import_path(k, "artifacts"),
			      *made = file_join(k->room, "journal"),
			      *journal = paths_journal_path(k->store, k->id);
	int r = artifacts_take(k->store, k->id, artifacts);

	drop_copies(k);
	if (r == 0)
		r = file_mkdirs(runs, 0700);
	/* A killed import of the same session can have left files at this path; rename needs an empty or absent target. */
	if (r == 0 && (removal_tree(k->store->removal, run) < 0 || rename(in, run) < 0))
		r = -errno;
	if (r == 0 && rename(made, journal) < 0)
		r = -errno;
	return r;
}

static void import_finish(struct bundle_import *k)
{
	struct session *s;
	struct err e = { 0 };
	int r = 0;

	/* Checked again: another import of the same session may have ended since import_begin. */
	if (import_exists(k)) {
		refuse_existing_session(&e);
		fail_import(k, &e);
		return;
	}
	/* The journal's bytes must be on disk before it gets the name that makes it a session. */
	r = fsync(k->to) < 0 ? -errno : import_publish(k);
	if (r < 0) {
		import_fail_by(k, r);
		return;
	}
	s = recover_new(k->store, k->id);
	if (s)
		k->done(k->ctx, s, NULL);
	else
		import_fail_by(k, -EIO);
}

static void import_continue(void *ctx)
{
	struct bundle_import *k = ctx;
	struct err e = { 0 };
	int r = copy_piece(k, &e);

	if (r > 0)
		loop_timer_set(k->store->loop, &k->timer, 0, import_continue, k);
	else if (r == 0)
		import_finish(k);
	else if (*e.reason)
		fail_import(k, &e);
	else
		import_fail_by(k, r);
}

/* --- acpd-unpack ------------------------------------------------------------------------------------------------ */

/* report: of bundle-check, so the manifest is that of the files. */
static void import_begin(struct bundle_import *k, struct slice report)
{
	struct err e = { 0 };

	if (jstr_decode(jobj_get(report, "sessionId"), RPC_ID_MAX, &k->id) < 0)
		refuse_bundle(&e, "the bundle names no session");
	else if (read_session(k, &e) == 0 && open_journals(k) < 0)
		refuse_bundle(&e, "journal.ndjson: it is not there");
	/* Borrowed: both end with the import. */
	k->events.session_id = k->id;
	if (*e.reason)
		fail_import(k, &e);
	else
		import_continue(k);
}

static void on_helper(void *ctx, struct slice report, const struct err *e);
static const struct helper_job_events events = { NULL, on_helper };

static int import_run_helper(struct bundle_import *k, struct err *e)
{
	_cleanup_(freep) char *in = file_join(k->room, "in"),
			      *archive = archive_path(k->store->workspaces.archives, &k->archive);
	JW_BUF(w, job);

	/* Two runs: the second gets the files that the first wrote, confined in the same way. */
	if (k->checked)
		jw_object(&w, NULL, JW_STR("root", in));
	else
		bundle_put_extract(&w, in, archive, SHA256_TEXT_OF(&k->archive));
	k->helper = helper_job_start(
		k->store->loop, k->store->procs,
		&(struct helper_job_spec){ .verb = k->checked ? "bundle-check" : "extract",
					   .job = buf_slice(&job) },
		&events, k, e);
	return k->helper ? 0 : -EIO;
}

static void on_helper(void *ctx, struct slice report, const struct err *failed)
{
	_cleanup_(freep) char *kept = xstrndup(report.n ? report.p : "", report.n);
	struct bundle_import *k = ctx;
	struct err e = { 0 };

	if (failed)
		e = *failed;
	/* The report and the error live in the helper: both have been copied above. */
	k->helper = helper_job_free(k->helper);
	if (k->orphan) {
		bundle_import_free(k);
		return;
	}
	if (failed) {
		fail_import(k, &e);
	} else if (k->checked) {
		import_begin(k, slice_of(kept));
	} else {
		k->checked = true;
		if (import_run_helper(k, &e) < 0)
			fail_import(k, &e);
	}
}

/* --- its life ---------------------------------------------------------------------------------------------------- */

struct bundle_import *bundle_import_start(struct session_store *st, const struct sha256 *archive,
					  void (*done)(void *ctx, struct session *s,
						       const struct err *e),
					  void *ctx, struct err *e)
{
	struct bundle_import *k;
	char *room = NULL;

	/* Pinned until bundle_import_free: the store must not evict the archive while acpd-unpack reads it. */
	if (store_admit(st, e) < 0 || archive_pin(st->workspaces.archives, archive, e) < 0)
		return NULL;
	if (bundle_room_new(st, &room, e) < 0) {
		archive_unpin(st->workspaces.archives, archive);
		return NULL;
	}
	k = new0(struct bundle_import);
	k->store = st;
	k->archive = *archive;
	k->room = room;
	k->done = done;
	k->ctx = ctx;
	k->from = k->to = -1;
	if (import_run_helper(k, e) < 0)
		return bundle_import_free(k);
	return k;
}

struct bundle_import *bundle_import_free(struct bundle_import *k)
{
	if (!k)
		return NULL;
	loop_timer_cancel(&k->timer);
	/* acpd-unpack still writes into the directory: on_helper frees the rest when it has ended. */
	if (k->helper) {
		k->orphan = true;
		helper_job_abort(k->helper);
		return NULL;
	}
	closep(&k->from);
	closep(&k->to);
	archive_unpin(k->store->workspaces.archives, &k->archive);
	bundle_room_drop(k->store, k->room);
	buf_done(&k->in);
	buf_done(&k->out);
	free_each(k->room, k->id, k->harness, k->cwd, k);
	return NULL;
}
