/*
 * journal_trim.c - acknowledgements, and giving acknowledged journal bytes back to the file system.
 *
 * Trimming punches the head of the file, but that head also has state that a later daemon needs. A
 * "base" record replaces it. Normally base is written and flushed before the head is freed, so a
 * kill in between loses nothing. On a full disk the order is reversed, because the freed head is
 * the only space for base. Events of turns that have not ended stay.
 */
#include "session/core/log/journal_trim.h"

#include "base/limits.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "session/core/session_paths.h"
#include "session/core/session_internal.h"
#include "session/core/session_part.h"

#include <errno.h>
#include <stdio.h>

/* --- what is acknowledged ---------------------------------------------------------------------------- */

int session_ack(struct session *s, const char *incarnation, uint64_t seq, struct err *e)
{
	char text[48];
	int r = session_check_ack(s, incarnation, seq, e);

	if (r < 0 || seq <= s->log.acked)
		return r;
	s->log.acked = seq;
	snprintf(text, sizeof(text), "{\"seq\":%llu}", (unsigned long long)seq);
	evlog_note(&s->log.events, "ack", slice_of(text));
	retain_check(s);
	return 0;
}

uint64_t session_acked(const struct session *s)
{
	return s->log.acked;
}

bool trim_stored(const struct session *s)
{
	return s->log.acked >= s->log.last_content;
}

/* --- the record that stands for what is given up ------------------------------------------------------ */

void trim_put_base(struct session *s, struct buf *b, uint64_t to)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_uint(&w, "to", to);
	jw_uint(&w, "acked", s->log.acked);
	jw_uint(&w, "told", s->log.last_content);
	incarnations_put(&s->log.incarnations, &w, "incarnations");
	jw_uint(&w, "turns", s->turn.count);
	PARTS_CALL(put_base, &w, s);
	jw_str(&w, "title", s->title);
	keyed_results_put(s, &w, "keys");
	client_ids_put(&s->turn.ids, &w, "ids");
	jw_end_obj(&w);
}

void trim_load_base(struct session *s, struct slice value)
{
	_cleanup_(freep) char *title = NULL;

	evlog_was_trimmed(&s->log.events, jobj_uint(value, "to"));
	s->log.acked = MAX(s->log.acked, jobj_uint(value, "acked"));
	s->log.last_content = MAX(s->log.last_content, jobj_uint(value, "told"));
	incarnations_load(&s->log.incarnations, jobj_get(value, "incarnations"));
	s->turn.count = MAX(s->turn.count, jobj_uint(value, "turns"));
	PARTS_CALL(load_base, s, value);
	if (jstr_decode(jobj_get(value, "title"), 64 * KIB, &title) == 0)
		xstrset(&s->title, title);
	keyed_results_load(s, jobj_get(value, "keys"));
	client_ids_load(&s->turn.ids, jobj_get(value, "ids"));
}

void trim_load_ack(struct session *s, struct slice value)
{
	s->log.acked = MAX(s->log.acked, jobj_uint(value, "seq"));
}

/* --- giving up ------------------------------------------------------------------------------------------ */

/* What is known of a turn that is not over stays. */
static uint64_t may_go(const struct session *s)
{
	uint64_t upto = s->log.acked;

	list_each(t, (struct list *)&s->turn.queue, struct session_turn, link)
		if (t->first_seq)
			upto = MIN(upto, t->first_seq > 2 ? t->first_seq - 2 : 0);
	return upto;
}

/* What follows stands for what is gone. False: it could not be written. */
static bool note_base(struct session *s, struct slice base)
{
	bool trimming = s->log.events.trimming;
	uint64_t last = s->log.events.last;
	bool done;

	s->log.events.trimming = true;
	paths_note_head(s);
	harness_note_native(s);
	turn_totals_note(s, s->turn.last_counted);
	evlog_note(&s->log.events, "base", base);
	done = evlog_flush(&s->log.events) == 0 && s->log.events.last == last;
	s->log.events.trimming = trimming;
	return done;
}

bool trim_now(struct session *s, bool disk_full)
{
	_cleanup_(buf_done) struct buf base = { 0 };
	struct evlog_index at;

	if (s->stored.headless || s->log.events.hole || !list_empty(&s->turn.unwritten) ||
	    !evlog_cut(&s->log.events, may_go(s), LOG_TRIM_MIN, &at))
		return false;
	trim_put_base(s, &base, at.seq - 1);
	if (!evlog_cut(&s->log.events, may_go(s), MAX(LOG_TRIM_MIN, 2 * buf_len(&base)), &at))
		return false;
	if (!disk_full && (!note_base(s, buf_slice(&base)) || !evlog_trim(&s->log.events, &at)))
		return false;
	if (disk_full && !evlog_trim(&s->log.events, &at)) /* else there is nowhere to write it */
		return false;
	if (disk_full)
		note_base(s, buf_slice(&base));
	s->store->totals.trimmed++;
	session_log(s, "journal trimmed, there was no room for what is acknowledged", NULL);
	return true;
}

void trim_inherit(struct session *s)
{
	_cleanup_(buf_done) struct buf base = { 0 };

	trim_put_base(s, &base, s->log.events.trimmed);
	evlog_note(&s->log.events, "base", buf_slice(&base));
}

void trim_full(void *ctx, int error)
{
	struct session *s = ctx;

	if (!trim_now(s, error != -EFBIG) && error != -EFBIG)
		retain_pressure(s->store);
}
