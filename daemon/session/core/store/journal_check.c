/* journal_check.c - journals that were not read because their summaries hold are read in the background, for damage. */
#include "session/core/store/session_recover.h"
#include "session/core/store/session_summary.h"

#include "base/clock.h"
#include "base/limits.h"

static void go_on(void *ctx);

static void later(struct session_store *st)
{
	loop_timer_set(st->loop, &st->recovery.check_timer, RECOVER_PAUSE_MS, go_on, st);
}

/* The first that waits is done: r as evlog_check_step has it. */
static void settle(struct session_store *st, struct session *s, int r)
{
	if (r < 0)
		store_note_problem(st, "journal", s->id, strerror(-r));
	else if (evlog_check_end(st->recovery.check, &s->log.events)) {
		summary_drop(s);
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
		settle(st, s, r);
}

static void go_on(void *ctx)
{
	struct session_store *st = ctx;
	uint64_t begun = clock_mono_ms();

	while (!list_empty(&st->recovery.unchecked) && !st->stopping) {
		check_first(st);
		if (clock_mono_ms() - begun < RECOVER_SLICE_MS)
			continue;
		later(st);
		return;
	}
}

void journal_check_later(struct session *s)
{
	bool first = list_empty(&s->store->recovery.unchecked);

	list_add_tail(&s->store->recovery.unchecked, &s->stored.check_link);
	if (first)
		later(s->store);
}

void journal_check_forget(struct session *s)
{
	struct store_recovery *r = &s->store->recovery;

	if (list_empty(&s->stored.check_link))
		return;
	if (r->unchecked.next == &s->stored.check_link)
		r->check = evlog_check_free(r->check);
	list_del(&s->stored.check_link);
}

void journal_checks_done(struct session_store *st)
{
	loop_timer_cancel(&st->recovery.check_timer);
	st->recovery.check = evlog_check_free(st->recovery.check);
}
