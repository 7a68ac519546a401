/* session_journal.c - the journal of a session is opened, and what follows when it cannot be written. */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "session/core/session_paths.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

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
