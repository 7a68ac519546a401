/*
 * session_summary.c - writes and reads <id>.summary, which replaces reading a long journal at the
 * start.
 *
 * It is written when a session is idle and its journal has reached SUMMARY_MIN; a smaller journal is
 * read as fast. A summary is a cache, valid only for the exact journal it describes, by size, time of
 * change and checksum of the last line (evlog_outline_take). After any mismatch or damage the daemon
 * reads the journal, so the file may be missing, old or lost at any time. The lines are ordinary journal records, so
 * recovery processes them with the same code. `kinds` fixes their number and order for writer and
 * reader.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/json.h"
#include "session/core/log/journal_record.h"
#include "session/core/session_paths.h"
#include "session/core/session_part.h"
#include "base/clock.h"

static char *summary_path(const struct session *s)
{
	return xprintf("%s/sessions/%s.summary", s->store->state_dir, s->id);
}

/* --- writing ------------------------------------------------------------------------------------------- */

static bool rests(const struct session *s)
{
	const struct session_turns *t = &s->turn;
	struct store_work work = { 0 };

	PARTS_CALL(put_work, s, &work);
	return !t->current && !t->ending && list_empty((struct list *)&t->queue) &&
	       list_empty((struct list *)&t->unwritten) && !work.questions;
}

static bool is_due(const struct session *s)
{
	const struct evlog *l = &s->log.events;

	/* Of a session without head or from a bundle the state is incomplete: its journal is read each time. */
	return s->def && l->path && l->written >= (off_t)SUMMARY_MIN &&
	       l->written != s->log.summarized && rests(s) && !s->stored.headless &&
	       !s->stored.imported && !s->stored.remove && !s->stored.gone;
}

static bool put_summary(struct session *s, struct buf *b)
{
	struct jw w = JW(b);
	bool done;

	jw_obj(&w, NULL);
	done = evlog_outline_put(&s->log.events, &w);
	jw_uint(&w, "updated", s->updated_ms);
	PARTS_CALL(put_summary, &w, s);
	jw_end_obj(&w);
	return done;
}

static void summary_put_line(struct buf *file, const char *kind, struct buf *value)
{
	journal_record_put(file, &(struct journal_record){ .value = buf_slice(value) }, kind);
	buf_reset(value);
}

static bool put_lines(struct session *s, struct buf *file)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!put_summary(s, &b))
		return false;
	summary_put_line(file, "summary", &b);
	session_put_head(s, &b);
	summary_put_line(file, "session", &b);
	harness_put_native(s, &b);
	summary_put_line(file, "native", &b);
	turn_totals_put(s, s->turn.last_counted, &b);
	summary_put_line(file, "totals", &b);
	trim_put_base(s, &b, s->log.events.trimmed);
	summary_put_line(file, "base", &b);
	return !file->failed && !b.failed;
}

void summary_write(struct session *s)
{
	_cleanup_(buf_done) struct buf file = { 0 };
	_cleanup_(freep) char *path = NULL;

	if (!is_due(s) || evlog_flush(&s->log.events) != 0 || !put_lines(s, &file))
		return;
	path = summary_path(s);
	/* By rename: a reader finds the old summary or the new one, and a failure leaves the old one, which is stale. */
	if (file_replace(path, file.data, file.len, 0600) == 0)
		s->log.summarized = s->log.events.written;
}

void session_idle(void *ctx)
{
	struct session *s = ctx;

	/* A turn may have begun since the timer was set. */
	if (s->turn.current)
		return;
	evlog_shrink(&s->log.events);
	summary_write(s);
}

static void journal_check_forget(struct session *s)
{
	struct store_recovery *r = &s->store->recovery;

	if (list_empty(&s->stored.check_link))
		return;
	/* The check that runs reads the journal of the first session of the list. */
	if (r->unchecked.next == &s->stored.check_link)
		r->check = evlog_check_free(r->check);
	list_del(&s->stored.check_link);
}

void summary_done(struct session *s)
{
	summary_write(s);
	journal_check_forget(s);
}

/* --- taking up ------------------------------------------------------------------------------------------ */

static const char *const kinds[] = { "summary", "session", "native", "totals", "base" };

struct summary_lines {
	struct journal_record rec[ARRAY_SIZE(kinds)];
};

/* All of them, each in its place, and nothing else. */
static bool parse(struct slice text, struct summary_lines *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct slice line;

		if (!slice_cut(&text, '\n', &line) ||
		    journal_record_parse(line, &ret->rec[i]) < 0 ||
		    !slice_is(ret->rec[i].kind_name, kinds[i]))
			return false;
	}
	return text.n == 0;
}

static bool summary_take_journal(struct session *s, struct slice summary)
{
	_cleanup_(freep) char *journal = paths_journal_path(s->store, s->id);
	struct evlog *l = &s->log.events;

	if (evlog_outline_take(l, s->store->loop, journal, s->store->terms.journal_max, summary) <
	    0)
		return false;
	s->log.summarized = l->written;
	s->updated_ms = jobj_uint(summary, "updated");
	PARTS_CALL(load_summary, s, summary);
	return true;
}

bool summary_take(struct session *s, void (*fn)(void *ctx, const struct journal_record *rec),
		  void *ctx)
{
	_cleanup_(freep) char *path = summary_path(s);
	_cleanup_(buf_done) struct buf file = { 0 };
	struct summary_lines lines;

	if (file_read(path, SUMMARY_MAX, &file) < 0 || !parse(buf_slice(&file), &lines) ||
	    !summary_take_journal(s, lines.rec[0].value))
		return false;
	/* Line 0 is the outline. The others are records, as recovery gets them from a journal. */
	for (size_t i = 1; i < ARRAY_SIZE(kinds); i++)
		fn(ctx, &lines.rec[i]);
	return true;
}

/* --- journals that were not read ------------------------------------------------------------------------------ */

/* A bit that the disk has flipped changes no time. So a journal that was not read, because its summary holds, is read in
 * the background, a chunk at a time. Damage is reported then, and the summary removed: the next daemon reads the journal. */

static void check_continue(void *ctx);

static void check_schedule(struct session_store *st)
{
	loop_timer_set(st->loop, &st->recovery.check_timer, RECOVER_PAUSE_MS, check_continue, st);
}

/* The first that waits is done: r as evlog_check_step has it. */
static void check_settle(struct session_store *st, struct session *s, int r)
{
	_cleanup_(freep) char *summary = summary_path(s);

	if (r < 0)
		store_note_problem(st, "journal", s->id, strerror(-r));
	else if (evlog_check_end(st->recovery.check, &s->log.events)) {
		unlink(summary);
		recover_report_damage(s);
	}
	journal_check_forget(s);
}

static void check_first(struct session_store *st)
{
	struct session *s = list_first(&st->recovery.unchecked, struct session, stored.check_link);
	int r = 1;

	if (!st->recovery.check)
		st->recovery.check = evlog_check_begin(&s->log.events);
	if (st->recovery.check)
		r = evlog_check_step(st->recovery.check);
	else
		journal_check_forget(
			s); /* gone: then nothing of it can be read, which its readers hear */
	if (r <= 0)
		check_settle(st, s, r);
}

static void check_continue(void *ctx)
{
	struct session_store *st = ctx;
	uint64_t begun = clock_mono_ms();

	while (!list_empty(&st->recovery.unchecked) && !st->stopping) {
		check_first(st);
		if (clock_mono_ms() - begun < RECOVER_SLICE_MS)
			continue;
		check_schedule(st);
		return;
	}
}

void journal_check_later(struct session *s)
{
	bool first = list_empty(&s->store->recovery.unchecked);

	list_add_tail(&s->store->recovery.unchecked, &s->stored.check_link);
	if (first)
		check_schedule(s->store);
}

void journal_checks_done(struct session_store *st)
{
	loop_timer_cancel(&st->recovery.check_timer);
	st->recovery.check = evlog_check_free(st->recovery.check);
}
