/*
 * session_recover.c - rebuilds sessions of an earlier daemon from their journals.
 *
 * At the start only the names are read. Each journal is read when a client needs that session, or in
 * the background, a few at a time, so a start takes the same time whatever the state directory
 * contains. A recovered session is closed: it can be listed, loaded and deleted. A journal that is
 * empty, or whose harness is no longer configured, is left alone and logged; damaged parts of one are
 * skipped and reported.
 *
 * Records apply in journal order: a later record of the same kind replaces the earlier one. A turn
 * with events and no end is ended now, exactly once, as failed with class "shutdown" or as the usage
 * ledger says: its end becomes an event, which the next daemon reads. The journal of an imported bundle is untrusted: only its display data is used, and
 * nothing is ever started. The ledger retains all records until the last journal has been read,
 * because they decide how an orphaned turn ended.
 */
#include "session/core/session_states.h"
#include "session/core/session_internal.h"

#include "base/util.h"
#include "base/clock.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/json.h"
#include "session/core/session_paths.h"
#include "session/core/log/journal_record.h"
#include "session/core/session_part.h"

#include <dirent.h>

#define SUFFIX ".jsonl"
#define RECORD_TEXT_MAX (64 * KIB)

/* A journal not yet read. */
struct dormant_session {
	struct list link;
	char *id;
	struct timespec changed;
};

/* What reading one journal has shown. */
struct journal_reading {
	struct session *s;
	char *harness;
	uint64_t next; /* number of the event that should come next */
	size_t bad;    /* lines that could not be read so far */
	uint64_t turn; /* newest turn with an event or an end */
	struct session_turn *
		open; /* has begun and not ended (no 0: none); those that waited may end before it */
	uint64_t taken_seq; /* an event of the incarnation that took what is open */
	char *begun;	    /* the last "turn" record, raw */
};

/* --- records ------------------------------------------------------------------------------------------ */

static void recover_head(struct journal_reading *r, const struct journal_record *rec)
{
	/* A journal has this record again after each change. The last one is valid. */
	jstr_set(&r->s->cwd, jobj_get(rec->value, "cwd"), RECORD_TEXT_MAX);
	jstr_set(&r->harness, jobj_get(rec->value, "harness"), RECORD_TEXT_MAX);
	r->s->stored.uid = jobj_uint(rec->value, "uid");
	r->s->stored.imported |= jobj_get(rec->value, "imported").type == J_OBJECT;
	if (r->s->stored.imported)
		return; /* nothing is ever started with what else it says */
	setup_load(&r->s->setup, rec->value);
	PARTS_CALL(load_record, r->s, rec->value);
}

static void on_native(struct journal_reading *r, const struct journal_record *rec)
{
	jstr_set(&r->s->harness.native_id, jobj_get(rec->value, "nativeId"), RECORD_TEXT_MAX);
}

static void on_totals(struct journal_reading *r, const struct journal_record *rec)
{
	totals_load(&r->s->turn.totals, rec->value);
	r->s->turn.last_counted = jobj_uint(rec->value, "turn");
	r->open->counted |= r->open->no && r->s->turn.last_counted == r->open->no;
}

static void on_begun(struct journal_reading *r, const struct journal_record *rec)
{
	free(r->begun);
	r->begun = xstrndup(rec->value.p, rec->value.n);
}

static void on_ack(struct journal_reading *r, const struct journal_record *rec)
{
	r->s->log.acked = MAX(r->s->log.acked, jobj_uint(rec->value, "seq"));
}

static void on_base(struct journal_reading *r, const struct journal_record *rec)
{
	trim_load_base(r->s, rec->value);
}

static void on_incarnation(struct journal_reading *r, const struct journal_record *rec)
{
	incarnations_load_one(&r->s->log.incarnations, rec->value, r->next);
}

static const struct {
	const char *kind;
	void (*fn)(struct journal_reading *r, const struct journal_record *rec);
} notes[] = {
	{ "session", recover_head },
	{ "native", on_native },
	{ "totals", on_totals },
	{ "turn", on_begun },
	{ "ack", on_ack },
	{ "base", on_base },
	{ "incarnation", on_incarnation },
};

static void open_turn(struct journal_reading *r, uint64_t no)
{
	turn_free(r->open);
	tool_calls_forget(r->s);
	/* The events of the turn before are complete, or its end is damaged: no event of it follows. */
	PARTS_CALL(recall_turn_end, r->s, false);
	r->open = turn_blank(r->s);
	r->open->no = no;
}

/* The clock of the journal: the turn lasts from its first event to its last. */
static void on_turn_event(struct journal_reading *r, const struct journal_record *rec,
			  struct slice update)
{
	struct session_turn *t = r->open;

	if (!t->started_ms) {
		t->started_ms = t->started_mono = rec->time_ms;
		r->taken_seq = rec->seq;
	}
	t->ended_ms = t->ended_mono = rec->time_ms;
	if (!t->first_output_mono && rec->kind != UPDATE_USER_CHUNK &&
	    (event_kind_row(rec->kind)->flags & EVENT_F_TURN))
		t->first_output_mono = rec->time_ms;
	/* tool_call_recall counts the call for the current turn. */
	if (rec->kind == UPDATE_TOOL_CALL || rec->kind == UPDATE_TOOL_CALL_UPDATE) {
		r->s->turn.current = t;
		tool_call_recall(r->s, update, rec->time_ms);
		r->s->turn.current = NULL;
	}
}

static void on_turn_end(struct journal_reading *r, uint64_t seq, struct slice params)
{
	struct slice acpd = jobj_get(jobj_get(params, "_meta").raw, "acpd").raw;

	if (r->open->no == jobj_uint(params, "turn"))
		open_turn(r, 0);
	if (jobj_get(params, "key").type == J_STRING)
		keyed_result_recall(r->s, params, slice_of(r->begun));
	if (PARTS_FIRST(recall_ended, r->s, acpd))
		r->taken_seq = seq;
}

/* Which ids clients have seen: none of them comes again. */
static void note_id(struct session *s, unsigned kind, struct slice update)
{
	bool call = kind == UPDATE_TOOL_CALL;
	struct jval id = { J_NONE, SLICE_NONE };

	if (call)
		id = jobj_get(update, "toolCallId");
	else if (kind == UPDATE_AGENT_CHUNK || kind == UPDATE_THOUGHT_CHUNK)
		id = jobj_get(update, "messageId");
	if (id.type == J_STRING)
		client_ids_take(&s->turn.ids, call ? ID_CALL : ID_MESSAGE, id.raw);
}

static void note_title(struct session *s, const struct journal_record *rec, struct slice update)
{
	struct jval title = jobj_get(update, "title");

	if (rec->kind != UPDATE_INFO)
		return;
	if (title.type == J_NULL)
		xstrset(&s->title, NULL);
	else
		jstr_set(&s->title, title, RECORD_TEXT_MAX);
}

static void on_event(struct journal_reading *r, const struct journal_record *rec)
{
	struct slice params = jobj_get(rec->value, "params").raw;
	struct slice acpd = jobj_get(jobj_get(params, "_meta").raw, "acpd").raw;
	struct slice update = jobj_get(params, "update").raw;

	uint64_t turn = jobj_uint(acpd, "turn");

	r->turn = MAX(r->turn, turn);
	r->s->updated_ms = rec->time_ms;
	if (rec->kind != EVENT_LIFECYCLE)
		r->s->log.last_content = rec->seq;
	note_title(r->s, rec, update);
	if (r->s->stored.imported)
		return; /* no turn follows, and none is to be ended */
	if (turn && rec->kind != EVENT_TURN_END) {
		if (r->open->no != turn)
			open_turn(r, turn);
		on_turn_event(r, rec, update);
	}
	note_id(r->s, rec->kind, update);
	PARTS_CALL(recall_event, r->s, rec->kind, jobj_get(params, "event").raw);
	if (rec->kind == EVENT_TURN_END)
		on_turn_end(r, rec->seq, params);
}

/* One that is damaged may have named an incarnation. found: number of the event that has been found. */
static void note_damage(struct journal_reading *r, uint64_t found)
{
	if (r->bad == r->s->log.events.bad_lines && found <= r->next)
		return;
	incarnations_begin(&r->s->log.incarnations, "", r->next);
	r->bad = r->s->log.events.bad_lines;
}

static void on_record(void *ctx, const struct journal_record *rec)
{
	struct journal_reading *r = ctx;

	note_damage(r, rec->seq);
	if (rec->seq) {
		r->next = rec->seq + 1;
		on_event(r, rec);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		if (slice_is(rec->kind_name, notes[i].kind))
			notes[i].fn(r, rec);
}

/* A turn that was to go on with a prompt of the journal, and never began. */
static void recover_next_turn(struct journal_reading *r)
{
	struct session_turn *next = orphaned_next(r->s);

	if (!PARTS_FIRST(recall_next, r->s, next)) {
		turn_free(next);
		return;
	}
	r->s->turn.count = next->no;
	turn_free(r->open);
	r->open = next;
}

/* --- one session ---------------------------------------------------------------------------------------- */

/* Stands for the harness of a session whose journal does not say any more which it was. */
static const struct harness_def unknown = { .id = "unknown" };

void recover_report_damage(struct session *s)
{
	char text[128];

	snprintf(text, sizeof(text), "damaged: %llu events are missing, %zu lines cannot be read%s",
		 (unsigned long long)evlog_missing(&s->log.events), s->log.events.bad_lines,
		 s->stored.headless ? ", nor what the session was made with" : "");
	store_note_problem(s->store, "journal", s->id, text);
	event_broken(s, text, "JOURNAL_DAMAGED", text); /* the same, as long as it is damaged so */
}

static bool take_summary(struct session *s, struct journal_reading *r)
{
	if (!summary_take(s, on_record, r))
		return false;
	/* The summary has no events, so the records did not move `next`. */
	r->next = s->log.events.last + 1;
	journal_check_later(s);
	return true;
}

static int recover_read_journal(struct session *s, struct journal_reading *r)
{
	_cleanup_(freep) char *path = paths_journal_path(s->store, s->id);
	int e = take_summary(s, r) ? 0 :
				     evlog_reopen(&s->log.events, s->store->loop, path,
						  s->store->terms.journal_max, on_record, r);

	if (e < 0)
		return e;
	note_damage(r, s->log.events.last + 1);
	s->stored.headless = !s->cwd || !r->harness;
	/* Without damage there never was a head: the daemon was killed before it wrote one, or this is not a journal. */
	if (s->stored.headless && !evlog_damaged(&s->log.events))
		return -EBADMSG;
	if (s->stored.headless)
		xstrset(&s->cwd, "/"); /* clients want an absolute one */
	return 0;
}

/* Its name, which is shown, and nothing that could be started: another harness of that name may be here. */
static const struct harness_def *imported_def(struct session *s, const char *harness)
{
	s->stored.harness = xstrdup(harness);
	s->stored.def = (struct harness_def){ .id = s->stored.harness };
	return &s->stored.def;
}

static bool usable(struct session *s, struct journal_reading *r)
{
	int e = recover_read_journal(s, r);

	if (e == 0 && s->stored.imported && !s->stored.headless)
		s->def = imported_def(s, r->harness);
	else if (e == 0)
		s->def = s->stored.headless ? &unknown :
					      harness_table_find(s->store->harnesses, r->harness);
	if (e == 0 && s->def && evlog_damaged(&s->log.events))
		recover_report_damage(s);
	if (e == 0 && s->def)
		return true;
	log_warn("session",
		 e < 0 ? "journal not readable, session left alone" :
			 "harness no longer configured, session left alone",
		 "session", s->id, "text", e < 0 ? strerror(-e) : r->harness);
	return false;
}

struct session *recover_new(struct session_store *st, const char *id)
{
	struct session *s = session_blank(st, id);
	struct journal_reading r = { .s = s, .next = 1, .open = turn_blank(s) };
	_cleanup_(freep) char *begun = NULL;
	bool ok = usable(s, &r);

	free(r.harness);
	begun = r.begun;
	if (!ok) {
		turn_free(r.open);
		session_free(s);
		return NULL;
	}
	PARTS_CALL(recovered, s);
	journal_watch(s);
	session_set_state(s, SESSION_CLOSED);
	s->harness.caps = s->def->caps;
	s->turn.count = MAX(s->turn.count, r.turn);
	if (paths_find_home(s) < 0)
		xstrset(&s->harness.native_id, NULL); /* what the harness remembered is gone */
	s->harness.home_filled = s->stored.recovered = true;
	s->harness.began = s->turn.count > 0;
	if (!r.open->no)
		recover_next_turn(&r);
	if (r.open->no) {
		xstrset(&r.open->incarnation, incarnations_at(&s->log.incarnations, r.taken_seq));
		orphaned_turn_end(s, r.open, slice_of(begun));
	}
	turn_free(r.open);
	PARTS_CALL(recall_turn_end, s, false); /* of a turn whose end is damaged */
	evlog_shrink(&s->log.events);
	summary_write(s);
	return s;
}

/* --- all of them ------------------------------------------------------------------------------------------ */

static void dormant_free(struct dormant_session *d)
{
	list_del(&d->link);
	free_each(d->id, d);
}

static struct session *recover_dormant(struct session_store *st, struct dormant_session *d)
{
	_cleanup_(freep) char *id = TAKE_PTR(d->id);

	dormant_free(d);
	return recover_new(st, id);
}

struct session *recover_one(struct session_store *st, const char *id)
{
	list_each(d, &st->recovery.dormant, struct dormant_session, link)
		if (strcmp(d->id, id) == 0)
			return recover_dormant(st, d);
	return NULL;
}

void recover_all(struct session_store *st)
{
	while (!list_empty(&st->recovery.dormant))
		recover_dormant(st,
				list_first(&st->recovery.dormant, struct dormant_session, link));
}

void recover_done(struct session_store *st)
{
	loop_timer_cancel(&st->recovery.timer);
	list_each(d, &st->recovery.dormant, struct dormant_session, link)
		dormant_free(d);
}

static void next(void *ctx)
{
	uint64_t begun = clock_mono_ms();
	struct session_store *st = ctx;

	if (list_empty(&st->recovery.dormant))
		ledger_hold(st->ledger, false);
	if (list_empty(&st->recovery.dormant) || st->stopping)
		return;
	do
		recover_dormant(st,
				list_first(&st->recovery.dormant, struct dormant_session, link));
	while (!list_empty(&st->recovery.dormant) && clock_mono_ms() - begun < RECOVER_SLICE_MS);
	loop_timer_set(st->loop, &st->recovery.timer, RECOVER_PAUSE_MS, next, st);
}

static int by_change(const void *pa, const void *pb)
{
	const struct dormant_session *a = *(struct dormant_session *const *)pa,
				     *b = *(struct dormant_session *const *)pb;

	if (a->changed.tv_sec != b->changed.tv_sec)
		return a->changed.tv_sec < b->changed.tv_sec ? -1 : 1;
	if (a->changed.tv_nsec != b->changed.tv_nsec)
		return a->changed.tv_nsec < b->changed.tv_nsec ? -1 : 1;
	return strcmp(a->id, b->id);
}

/* Journals as they are found. */
struct found_journals {
	struct dormant_session **d;
	size_t n;
};

static void note(struct found_journals *f, int dir, const char *name)
{
	size_t n = strlen(name), suffix = strlen(SUFFIX);
	struct dormant_session *d;
	struct stat sb;

	if (n <= suffix || strcmp(name + n - suffix, SUFFIX) != 0 || name[0] == '.' ||
	    fstatat(dir, name, &sb, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(sb.st_mode))
		return;
	d = new0(struct dormant_session);
	list_init(&d->link);
	d->id = xstrndup(name, n - suffix);
	d->changed = sb.st_mtim;
	*GROW(f->d, f->n) = d;
}

/* Oldest change first: that is the order of session/list. */
static void found_done(struct found_journals *f, struct session_store *st)
{
	if (f->n)
		qsort(f->d, f->n, sizeof(struct dormant_session *), by_change);
	for (size_t i = 0; i < f->n; i++)
		list_add_tail(&st->recovery.dormant, &f->d[i]->link);
	free(f->d);
}

void recover_begin(struct session_store *st)
{
	_cleanup_(freep) char *path = file_join(st->state_dir, "sessions");
	_cleanup_(closedirp) DIR *dir = st->journal ? opendir(path) : NULL;
	struct found_journals found = { 0 };
	struct dirent *de;

	while (dir && (de = readdir(dir)))
		note(&found, dirfd(dir), de->d_name);
	found_done(&found, st);
	loop_timer_set(st->loop, &st->recovery.timer, RECOVER_PAUSE_MS, next, st);
}
