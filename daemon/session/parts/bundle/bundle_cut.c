/*
 * bundle_cut.c - writes the files of a session's bundle, as of one moment, without stopping the
 * session.
 *
 * acpd-unpack makes the patch first, because it is slow. take_moment then fixes the end of each
 * source: the last readable event, the last ledger record, the size of the recorded calls. The copy
 * up to these ends runs in pieces of BUNDLE_PIECE, one per turn of the loop, while the session can
 * append more. Artifacts never change, so a hard link is enough.
 */
#include "session/parts/bundle/session_bundle.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/json.h"
#include "session/parts/bundle/bundle_internal.h"
#include "session/core/log/journal_record.h"
#include "session/core/log/transcript.h"
#include "session/core/session_paths.h"
#include "session/parts/workspace/artifact_store.h"
#include "session/parts/workspace/baseline.h"
#include "session/parts/model/session_model_internal.h"

/* What is copied as it stands, from elsewhere in the state directory; closed at its end. */
struct cut_copy {
	int from, to;
	uint64_t at, end;
};

struct bundle_cut {
	struct session_store *store;
	struct log_reader reader; /* its session is NULL once that is deleted */
	char *id, *dir;
	struct loop_timer timer;
	void (*done)(void *ctx, const struct err *e);
	void *ctx;
	bool comparing, orphan; /* acpd-unpack makes the patch; nobody waits any more */
	bool imported;
	/* the moment */
	bool cut;
	uint64_t until, usage_next, usage_until, turn;
	struct buf report;	    /* of the patch; or why there is none */
	int events, journal, usage; /* files */
	struct buf text, records;
	size_t looked; /* bytes of lines of the ledger, in this turn of the loop */
	struct cut_copy calls;
	const char *calls_stopped; /* why they are not all recorded; NULL: they are */
};

static void cut_finish(struct bundle_cut *c, const struct err *e)
{
	loop_timer_cancel(&c->timer);
	c->done(c->ctx, e);
}

static void cut_fail(struct bundle_cut *c, int r)
{
	struct err e = { 0 };

	bundle_room_failed(r, &e);
	cut_finish(c, &e);
}

static int cut_create_file(const struct bundle_cut *c, const char *name)
{
	_cleanup_(freep) char *path = file_join(c->dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* --- what is there at once ----------------------------------------------------------------------------------- */

/* report: acpd-unpack's of the workspace's changes, or empty; its state is a digest of all that differs from the baseline. */
static void put_session_workspace(struct session *s, struct slice report, struct jw *w)
{
	struct slice written = session_provisioned(s);

	jw_obj(w, "workspace");
	jw_bool(w, "baseline", s->setup.baseline);
	if (written.n)
		jw_members(w, written, NULL);
	jw_raw(w, "state", jobj_get(report, "state").raw);
	jw_raw(w, "changesTotal", jobj_get(report, "changesTotal").raw);
	jw_raw(w, "patch", jobj_get(report, "patch").raw);
	jw_raw(w, "omittedTotal", jobj_get(report, "omittedTotal").raw);
	jw_end_obj(w);
}

static void put_session_file(struct session *s, struct slice report, struct buf *b)
{
	_cleanup_(buf_done) struct buf status = { 0 };
	struct jw in = JW(&status), w = JW(b);

	session_put_status(&in, NULL, s);
	jw_obj(&w, NULL);
	jw_members(&w, buf_slice(&status), NULL);
	jw_str(&w, "incarnation", s->store->incarnation);
	jw_str(&w, "harnessVersion", s->harness.version);
	jw_obj(&w, "settings");
	setup_put(&s->setup, &w);
	jw_end_obj(&w);
	put_session_workspace(s, report, &w);
	artifacts_put(s, &w);
	jw_end_obj(&w);
	buf_putc(b, '\n');
	session_mask_bytes(s, b);
}

static int write_session(struct bundle_cut *c)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *path = file_join(c->dir, "session.json");

	put_session_file(c->reader.session, buf_slice(&c->report), &b);
	return b.failed ? -ENOMEM : file_replace(path, b.data, b.len, 0600);
}

/* The other name of a file that nobody changes; its bytes where there cannot be two. */
static int link_file(const char *from, const char *to)
{
	_cleanup_(closep) int in = -1, out = -1;
	ssize_t n = 1;

	if (link(from, to) == 0)
		return 0;
	in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	while (n > 0)
		n = copy_file_range(in, NULL, out, NULL, BUNDLE_PIECE, 0);
	return n < 0 ? -errno : 0;
}

struct artifact_cut {
	struct bundle_cut *c;
	struct buf index;
	int r;
};

static bool link_artifact(void *ctx, const struct artifact *a)
{
	struct artifact_cut *k = ctx;
	_cleanup_(freep) char *from = artifact_path(k->c->reader.session, a), *to = NULL;
	struct jw w = JW(&k->index);

	to = xprintf("%s/artifacts/art_%llu", k->c->dir, (unsigned long long)a->no);
	artifact_describe(&w, NULL, a);
	buf_putc(&k->index, '\n');
	k->r = link_file(from, to);
	return k->r == 0;
}

static int write_artifacts(struct bundle_cut *c)
{
	_cleanup_(freep) char *path = file_join(c->dir, "artifacts/index.jsonl");
	struct artifact_cut k = { .c = c };

	artifact_each(c->reader.session, link_artifact, &k);
	if (k.r == 0 && buf_len(&k.index))
		k.r = file_replace(path, k.index.data, k.index.len, 0600);
	buf_done(&k.index);
	return k.r;
}

/* What a session keeps as it came with its bundle. */
static int link_kept(struct bundle_cut *c)
{
	static const char *const names[] = { "session.json", "usage.ndjson", "diff.patch" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		_cleanup_(freep) char *from = paths_run(c->store, c->id, names[i]),
				      *to = file_join(c->dir, names[i]);

		r = link_file(from, to);
		r = r == -ENOENT ? 0 : r; /* a bundle need not have it */
	}
	return r;
}

/* The size is read now: calls that are recorded during the copy belong to a later moment. */
static int open_calls(struct bundle_cut *c)
{
	_cleanup_(freep) char *from = paths_run(c->store, c->id, "model/calls.ndjson");
	struct stat sb;

	c->calls.from = open(from, O_RDONLY | O_CLOEXEC);
	if (c->calls.from < 0)
		return errno == ENOENT ? 0 : -errno;
	c->calls.to = cut_create_file(c, "model/calls.ndjson");
	if (c->calls.to < 0)
		return c->calls.to;
	if (fstat(c->calls.from, &sb) < 0)
		return -errno;
	c->calls.end = (uint64_t)sb.st_size;
	c->calls_stopped = model_of(c->reader.session)->recording.stopped;
	if (!c->calls_stopped)
		c->calls_stopped = call_record_stopped(c->calls.from);
	return 0;
}

static int open_files(struct bundle_cut *c)
{
	c->events = cut_create_file(c, "events.ndjson");
	if (c->events < 0)
		return c->events;
	c->journal = cut_create_file(c, "journal.ndjson");
	/* An imported session has its usage in a file that came with it (link_kept). */
	if (c->journal < 0 || c->imported)
		return MIN(c->journal, 0);
	c->usage = cut_create_file(c, "usage.ndjson");
	return MIN(c->usage, 0);
}

static int take_moment(struct bundle_cut *c)
{
	struct session *s = c->reader.session;
	int r = open_files(c);

	/* All ends are fixed in one turn of the loop, so nothing is appended between two of them. */
	c->cut = true;
	c->until = evlog_readable(&s->log.events);
	c->usage_until = s->store->ledger ? ledger_last(s->store->ledger) : 0;
	c->turn = session_running(s);
	if (r == 0)
		r = c->imported ? link_kept(c) : write_session(c);
	if (r == 0)
		r = write_artifacts(c);
	return r == 0 ? open_calls(c) : r;
}

/* --- what is written piece by piece --------------------------------------------------------------------------- */

static bool cut_put_event(void *ctx, const struct evlog_entry *e)
{
	struct bundle_cut *c = ctx;
	struct journal_record rec = { .seq = e->seq, .time_ms = e->time_ms, .value = e->frame };

	if (e->seq > c->until || buf_len(&c->text) >= BUNDLE_PIECE)
		return false;
	transcript_put(&c->text, c->id, e);
	buf_putc(&c->text, '\n');
	journal_record_put(&c->records, &rec, event_kind_name(e->kind));
	return true;
}

static bool cut_put_gap(void *ctx, const struct evlog_gap *g)
{
	struct bundle_cut *c = ctx;

	if (buf_len(&c->text) >= BUNDLE_PIECE)
		return false;
	transcript_put_gap(&c->text, c->id, g);
	buf_putc(&c->text, '\n');
	return true;
}

static int write_piece(int fd, struct buf *b)
{
	int r = b->failed ? -ENOMEM : file_write_all(fd, b->data + b->pos, buf_len(b));

	buf_reset(b);
	return r;
}

/* Each of these: 1 there is more, 0 it is whole, or -errno. */
static int more_events(struct bundle_cut *c)
{
	const struct watcher_sink sink = { cut_put_event, cut_put_gap, c };
	uint64_t next = c->reader.next;
	int r = next > c->until ? 0 : reader_pump(&c->reader, &sink);

	if (r == 0)
		r = write_piece(c->events, &c->text);
	if (r == 0)
		r = write_piece(c->journal, &c->records);
	if (r < 0)
		return r;
	/* No progress before the end: the journal cannot be read there, and trying again would not end. */
	if (c->reader.next <= c->until && c->reader.next == next)
		return -EIO;
	return c->reader.next <= c->until;
}

/* Of a turn that runs only its calls have been told. */
static bool is_usage_of_session(const struct bundle_cut *c, struct slice line)
{
	if (!jstr_is(jobj_get(line, "sessionId"), c->id))
		return false;
	return !c->turn || !jstr_is(jobj_get(line, "type"), "turn") ||
	       jobj_uint(line, "turn") < c->turn;
}

static bool put_usage(void *ctx, uint64_t n, struct slice line)
{
	struct bundle_cut *c = ctx;

	/* The ledger has lines of all sessions, so the bytes that are read limit a turn of the loop. */
	if (n > c->usage_until || c->looked >= BUNDLE_PIECE)
		return false;
	c->usage_next = n;
	c->looked += line.n;
	if (is_usage_of_session(c, line)) {
		buf_add_slice(&c->records, line);
		buf_putc(&c->records, '\n');
	}
	return true;
}

static int more_usage(struct bundle_cut *c)
{
	uint64_t was = c->usage_next;
	int r = 0;

	c->looked = 0;
	if (c->usage >= 0 && was < c->usage_until)
		r = ledger_read(c->store->ledger, was, put_usage, c);
	if (r == 0 && c->usage >= 0)
		r = write_piece(c->usage, &c->records);
	if (r < 0)
		return r;
	/* lines that damage has taken are no reason to wait */
	return c->usage >= 0 && c->usage_next < c->usage_until && c->usage_next > was;
}

static int more_calls(struct bundle_cut *c)
{
	off_t at = (off_t)c->calls.at;
	ssize_t n;

	if (c->calls.from < 0 || c->calls.at == c->calls.end)
		return 0;
	n = copy_file_range(c->calls.from, &at, c->calls.to, NULL,
			    MIN((uint64_t)BUNDLE_PIECE, c->calls.end - c->calls.at), 0);
	if (n <= 0)
		return n < 0 ? -errno : -EIO;
	c->calls.at += (uint64_t)n;
	return 1;
}

static int (*const cut_parts[])(struct bundle_cut *c) = { more_events, more_usage, more_calls };

static void cut_continue(void *ctx)
{
	struct bundle_cut *c = ctx;
	int r = 0;

	if (!c->reader.session) {
		struct err e = { 0 };

		err_set(&e, -ENOENT, RPC_NOT_FOUND, "SESSION_NOT_FOUND", "the session was deleted");
		cut_finish(c, &e);
		return;
	}
	if (!c->cut)
		r = take_moment(c);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(cut_parts); i++)
		r = cut_parts[i](c);
	if (r > 0)
		loop_timer_set(c->store->loop, &c->timer, 0, cut_continue, c);
	else if (r < 0)
		cut_fail(c, r);
	else
		cut_finish(c, NULL);
}

/* --- the patch ----------------------------------------------------------------------------------------------- */

static void note_no_patch(struct bundle_cut *c, const struct err *e)
{
	struct jw w = JW(&c->report);

	jw_object(&w, NULL, JW_OBJ("patch", JW_STR("missing", e->reason)));
}

static void on_compared(void *ctx, struct slice report, const struct err *e)
{
	struct bundle_cut *c = ctx;

	c->comparing = false;
	if (c->orphan) {
		bundle_cut_free(c);
		return;
	}
	if (e)
		note_no_patch(c, e);
	else
		buf_add_slice(&c->report, report);
	loop_timer_set(c->store->loop, &c->timer, 0, cut_continue, c);
}

static void cut_compare(struct bundle_cut *c)
{
	_cleanup_(freep) char *patch = file_join(c->dir, "diff.patch");
	struct err e = { 0 };

	c->comparing = true;
	if (!c->imported && session_has_head(c->reader.session) &&
	    baseline_diff_file(c->reader.session, patch, on_compared, c, &e) == 0)
		return;
	on_compared(c, SLICE_NONE, &e);
}

/* --- its life ---------------------------------------------------------------------------------------------- */

static void on_wake(void *ctx _unused_)
{
}

static const struct log_reader_ops reader_ops = { on_wake, on_wake };

struct bundle_cut *bundle_cut_start(struct session *s, void (*done)(void *ctx, const struct err *e),
				    void *ctx, struct err *e)
{
	struct bundle_cut *c;
	char *dir = NULL;

	if (bundle_room_new(s->store, &dir, e) < 0)
		return NULL;
	c = new0(struct bundle_cut);
	c->store = s->store;
	c->id = xstrdup(s->id);
	c->dir = dir;
	c->done = done;
	c->ctx = ctx;
	c->imported = s->stored.imported;
	c->events = c->journal = c->usage = c->calls.from = c->calls.to = -1;
	/* Space for a whole event behind almost a whole piece. */
	c->text.max = c->records.max = 2 * BUF_MAX_DEFAULT;
	reader_attach(&c->reader, s, 1, &reader_ops, c);
	cut_compare(c);
	return c;
}

void bundle_cut_put_job(const struct bundle_cut *c, struct buf *b)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "root", c->dir);
	jw_obj(&w, "about");
	jw_str(&w, "sessionId", c->id);
	jw_uint(&w, "seq", c->until);
	if (c->turn)
		jw_uint(&w, "running", c->turn);
	if (c->calls.to >= 0)
		jw_object(&w, "recorded", JW_STR("stopped", c->calls_stopped));
	jw_end_obj(&w);
	jw_end_obj(&w);
}

struct bundle_cut *bundle_cut_free(struct bundle_cut *c)
{
	if (!c)
		return NULL;
	/* First: from here on the session's log does not call back. */
	reader_detach(&c->reader);
	loop_timer_cancel(&c->timer);
	c->orphan = true;
	if (c->comparing)
		return NULL; /* until acpd-unpack has ended, which writes there */
	closep(&c->events);
	closep(&c->journal);
	closep(&c->usage);
	closep(&c->calls.from);
	closep(&c->calls.to);
	bundle_room_drop(c->store, c->dir);
	buf_done(&c->report);
	buf_done(&c->text);
	buf_done(&c->records);
	free_each(c->dir, c->id, c);
	return NULL;
}
