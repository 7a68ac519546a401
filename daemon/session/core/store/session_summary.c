/*
 * session_summary.c - writes and reads <id>.summary, which replaces reading a long journal at the
 * start.
 *
 * A summary is a cache, valid only for the exact journal it describes (evlog_outline_take). After
 * any mismatch or damage the daemon reads the journal. The lines are ordinary journal records, so
 * recovery processes them with the same code. `kinds` fixes their number and order for writer and
 * reader.
 */
#include "session/core/store/session_summary.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "session/core/log/journal_record.h"
#include "session/core/log/journal_trim.h"
#include "session/core/session_paths.h"
#include "session/core/session_part.h"

#include <stdio.h>

static char *summary_path(const struct session *s)
{
	char *path = NULL;

	if (asprintf(&path, "%s/sessions/%s.summary", s->store->state_dir, s->id) < 0)
		abort();
	return path;
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

static void put_line(struct buf *file, const char *kind, struct buf *value)
{
	journal_record_put(file, &(struct journal_record){ .value = buf_slice(value) }, kind);
	buf_reset(value);
}

static bool put_lines(struct session *s, struct buf *file)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!put_summary(s, &b))
		return false;
	put_line(file, "summary", &b);
	paths_put_head(s, &b);
	put_line(file, "session", &b);
	harness_put_native(s, &b);
	put_line(file, "native", &b);
	turn_totals_put(s, s->turn.last_counted, &b);
	put_line(file, "totals", &b);
	trim_put_base(s, &b, s->log.events.trimmed);
	put_line(file, "base", &b);
	return !file->failed && !b.failed;
}

void summary_write(struct session *s)
{
	_cleanup_(buf_done) struct buf file = { 0 };
	_cleanup_(freep) char *path = NULL;

	if (!is_due(s) || evlog_flush(&s->log.events) != 0 || !put_lines(s, &file))
		return;
	path = summary_path(s);
	if (file_replace(path, file.data, file.len, 0600) == 0)
		s->log.summarized = s->log.events.written;
}

void summary_done(struct session *s)
{
	summary_write(s);
	journal_check_forget(s);
}

void summary_drop(struct session *s)
{
	_cleanup_(freep) char *path = summary_path(s);

	unlink(path);
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
		const char *nl = memchr(text.p, '\n', text.n);
		struct slice line = { text.p, nl ? (size_t)(nl - text.p) : 0 };

		if (!nl || journal_record_parse(line, &ret->rec[i]) < 0 ||
		    !slice_is(ret->rec[i].kind_name, kinds[i]))
			return false;
		text = (struct slice){ nl + 1, text.n - line.n - 1 };
	}
	return text.n == 0;
}

static bool take_up(struct session *s, struct slice summary)
{
	_cleanup_(freep) char *journal = paths_journal_path(s->store, s->id);
	struct evlog *l = &s->log.events;

	if (evlog_outline_take(l, s->store->loop, journal, s->store->journal_max, summary) < 0)
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
	    !take_up(s, lines.rec[0].value))
		return false;
	for (size_t i = 1; i < ARRAY_SIZE(kinds); i++)
		fn(ctx, &lines.rec[i]);
	return true;
}
