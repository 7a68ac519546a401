/*
 * session_journal.c - the journal of a session: how it is opened, which of its events a client has acknowledged
 * (_acpd/ack), and giving acknowledged bytes back to the file system.
 *
 * Acknowledged events stay as long as there is space. When the journal reaches its limit, or the disk
 * is full, those of turns that have ended are freed, oldest first and all at once. Readers see a gap
 * with the reason "trimmed".
 *
 * Trimming punches the head of the file, but that head also has state that a later daemon needs:
 * title, prompt keys, ids in use, the records that are not events. A "base" record replaces it. Normally base is written and flushed before the head is freed, so a
 * kill in between loses nothing. On a full disk the order is reversed, because the freed head is
 * the only space for base. Events of turns that have not ended stay.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "json/json.h"
#include "session/core/session_paths.h"
#include "session/core/session_part.h"

#include <sys/statvfs.h>

/* --- what is acknowledged ------------------------------------------------------------------------------- */

/* The last event that the line of this incarnation has in common with those it comes from. */
static uint64_t inherited_last(const struct session *s)
{
	const struct incarnations *l = &s->log.incarnations;

	/* Without an event of its own the incarnation shares all events with its predecessor. */
	return incarnations_now(l, s->store->incarnation) ? l->list[l->n - 1].from - 1 :
							    s->log.events.last;
}

/* A number that is of nobody known may be of a copy: what nobody has had from here cannot have been stored. */
static int ack_check(const struct session *s, const char *incarnation, uint64_t seq, struct err *e)
{
	bool own = incarnation && strcmp(incarnation, s->store->incarnation) == 0;
	uint64_t end = incarnation && !own ? session_shares(s, incarnation) : 0;

	if (incarnation && !own && !end)
		return err_field(e, "incarnation", "FIELD_OUT_OF_RANGE",
				 "the session's journal does not know that incarnation");
	if (end && seq >= end)
		return err_field(e, "seq", "FIELD_OUT_OF_RANGE",
				 "that incarnation's number means another event here");
	if (seq > s->log.events.last)
		return err_field(e, "seq", "FIELD_OUT_OF_RANGE",
				 "the session has no such event yet");
	if (!incarnation && seq > MAX(s->log.handed, inherited_last(s)))
		return err_field(e, "seq", "FIELD_OUT_OF_RANGE",
				 "nobody has been sent that event by this incarnation");
	return 0;
}

int session_ack(struct session *s, const char *incarnation, uint64_t seq, struct err *e)
{
	int r = ack_check(s, incarnation, seq, e);

	/* Acknowledgements only grow: an older one that arrives late has no effect. */
	if (r < 0 || seq <= s->log.acked)
		return r;
	s->log.acked = seq;
	evlog_note(&s->log.events, "ack",
		   slice_of(SHORT_TEXT(48, "{\"seq\":%llu}", (unsigned long long)seq)));
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
	evlog_was_trimmed(&s->log.events, jobj_uint(value, "to"));
	s->log.acked = MAX(s->log.acked, jobj_uint(value, "acked"));
	s->log.last_content = MAX(s->log.last_content, jobj_uint(value, "told"));
	incarnations_load(&s->log.incarnations, jobj_get(value, "incarnations"));
	s->turn.count = MAX(s->turn.count, jobj_uint(value, "turns"));
	PARTS_CALL(load_base, s, value);
	jstr_set(&s->title, jobj_get(value, "title"), 64 * KIB);
	keyed_results_load(s, jobj_get(value, "keys"));
	client_ids_load(&s->turn.ids, jobj_get(value, "ids"));
}

/* --- giving up ------------------------------------------------------------------------------------------ */

/* What is known of a turn that is not over stays. */
static uint64_t trim_limit(const struct session *s)
{
	uint64_t upto = s->log.acked;

	list_each(t, (struct list *)&s->turn.queue, struct session_turn, link)
		if (t->first_seq)
			upto = MIN(upto, t->first_seq > 2 ? t->first_seq - 2 : 0);
	return upto;
}

/* What follows stands for what is gone. False: it could not be written. */
static bool base_note(struct session *s, struct slice base)
{
	bool trimming = s->log.events.trimming;
	uint64_t last = s->log.events.last;
	bool done;

	/* The records may exceed the limit of the journal: the head that is freed for them is larger. */
	s->log.events.trimming = true;
	session_note_head(s);
	harness_note_native(s);
	turn_totals_note(s, s->turn.last_counted);
	evlog_note(&s->log.events, "base", base);
	/* A flush within the calls above may have failed and rolled back. Then `last` is smaller, and a record is
	 * missing. */
	done = evlog_flush(&s->log.events) == 0 && s->log.events.last == last;
	s->log.events.trimming = trimming;
	return done;
}

bool trim_now(struct session *s, bool disk_full)
{
	_cleanup_(buf_done) struct buf base = { 0 };
	struct evlog_index at;

	if (s->stored.headless || s->log.events.hole || !list_empty(&s->turn.unwritten) ||
	    !evlog_cut(&s->log.events, trim_limit(s), LOG_TRIM_MIN, &at))
		return false;
	trim_put_base(s, &base, at.seq - 1);
	/* Again, with the size of the base known: a trim must free at least twice what it writes. */
	if (!evlog_cut(&s->log.events, trim_limit(s), MAX(LOG_TRIM_MIN, 2 * buf_len(&base)), &at))
		return false;
	if (!disk_full && (!base_note(s, buf_slice(&base)) || !evlog_trim(&s->log.events, &at)))
		return false;
	if (disk_full && !evlog_trim(&s->log.events, &at)) /* else there is nowhere to write it */
		return false;
	if (disk_full)
		base_note(s, buf_slice(&base));
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

/* struct evlog.full */
static void trim_full(void *ctx, int error)
{
	struct session *s = ctx;

	/* -EFBIG is the limit of this journal alone. Only a full disk is a reason to delete other sessions. */
	if (!trim_now(s, error != -EFBIG) && error != -EFBIG)
		retain_pressure(s->store);
}

/* --- opening it ---------------------------------------------------------------------------------------- */

void journal_watch(struct session *s)
{
	s->log.events.recovered = turns_journal_recovered;
	s->log.events.full = trim_full;
	s->log.events.settled = harness_journal_settled;
	s->log.events.ctx = s;
}

bool store_has_space(const struct session_store *st, uint64_t bytes)
{
	struct statvfs sv;

	return statvfs(st->state_dir, &sv) < 0 || (uint64_t)sv.f_bavail * sv.f_frsize >= bytes;
}

static int no_log(struct err *e, int r)
{
	bool full = r == -ENOSPC || r == -EDQUOT || r == -EFBIG;

	return err_set(e, r, RPC_INTERNAL_ERROR, full ? "NO_SPACE" : "STATE_NOT_WRITABLE",
		       "cannot write the session's journal: %s", strerror(-r));
}

int journal_open(struct session *s, struct err *e)
{
	_cleanup_(freep) char *path = paths_journal_path(s->store, s->id);
	int r;

	/* Checked before the file is made: an almost full disk would take the head, and fail in the first turn. */
	if (s->store->journal && !store_has_space(s->store, JOURNAL_ROOM_MIN)) {
		ledger_pressed(s->store->ledger);
		retain_pressure(s->store);
		return no_log(e, -ENOSPC);
	}
	r = evlog_open(&s->log.events, s->store->loop, s->store->journal ? path : NULL,
		       s->store->terms.journal_max);
	if (r < 0)
		return no_log(e, r);
	/* Before the first record: a write that fails calls these. */
	journal_watch(s);
	session_note_head(s);
	r = evlog_flush(&s->log.events);
	return r < 0 ? no_log(e, r) : 0;
}
