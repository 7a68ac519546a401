/* ledger_audit.c - checks the chain that earlier daemons wrote in the background, over all files, a piece at a time. */
#include "usage/ledger/ledger_internal.h"

#include "base/limits.h"

#include <fcntl.h>

static void audit(void *ctx);

static void look_again(struct ledger *l)
{
	loop_timer_set(l->loop, &l->audit.timer, LEDGER_AUDIT_MS, audit, l);
}

void ledger_audit_end(struct ledger *l)
{
	struct ledger_audit *k = &l->audit;

	loop_timer_cancel(&k->timer);
	k->check = ledger_check_free(k->check);
	ledger_lines_done(&k->lines);
	k->lines = (struct ledger_lines){ 0 };
	closep(&k->fd);
	closep(&k->last_fd);
}

/* The closed file that comes after one; 0: none before the one that was written to when the check began. */
static uint64_t file_after(const struct ledger *l, uint64_t first)
{
	for (size_t i = 0; i < l->set.n; i++)
		if (l->set.closed[i].first > first)
			return l->set.closed[i].first < l->audit.last_first ?
				       l->set.closed[i].first :
				       0;
	return 0;
}

static void new_check(struct ledger *l)
{
	l->audit.check = ledger_check_free(l->audit.check);
	l->audit.check = ledger_check_new(NULL, true, &l->audit.report);
	ledger_check_removed(l->audit.check, &l->retention.state.removed);
}

static int audit_open_file(struct ledger *l)
{
	struct ledger_audit *k = &l->audit;
	_cleanup_(freep) char *path = k->first ? ledger_set_path(&l->set, k->first) : NULL;

	k->fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) :
		       TAKE_FD(k->last_fd);
	if (k->fd < 0)
		return -errno;
	/* the files in between have been removed meanwhile */
	if (k->report.records && k->report.last < l->retention.state.removed.n)
		new_check(l);
	ledger_check_next_file(k->check);
	ledger_lines_init(&k->lines, k->fd, 0, LEDGER_AUDIT_BYTES);
	return 0;
}

static void tell_bad(struct ledger *l)
{
	_cleanup_(freep) char *path = l->audit.first ? ledger_set_path(&l->set, l->audit.first) :
						       NULL;
	const char *name = path ? strrchr(path, '/') + 1 : "";

	ledger_tell(l, SHORT_TEXT(240, "%s%sline %llu: %s; see acpd usage verify", name,
				  *name ? ", " : "", (unsigned long long)l->audit.report.first_bad,
				  l->audit.report.reason));
}

/* At the end of one file. False: it was the last. */
static bool next_file(struct ledger *l)
{
	struct ledger_audit *k = &l->audit;

	if (!k->first)
		return false;
	k->first = file_after(l, k->first);
	closep(&k->fd);
	return true;
}

/* 1: there is more in the file. */
static int look_piece(struct ledger *l)
{
	struct ledger_audit *k = &l->audit;
	off_t until = k->lines.at + (off_t)LEDGER_AUDIT_BYTES;
	struct slice line;
	int r = 1;

	/* A limited number of bytes in each turn of the loop, so that sessions are not held up. */
	until = k->first ? until : MIN(until, k->end);
	while (k->lines.at < until && (r = ledger_lines_next(&k->lines, &line)) > 0)
		if (!ledger_check_line(k->check, line, r))
			return 0;
	return r > 0 && !k->first && k->lines.at >= k->end ? 0 : MIN(r, 1);
}

static void audit(void *ctx)
{
	struct ledger *l = ctx;
	struct ledger_audit *k = &l->audit;
	int r = k->fd < 0 ? audit_open_file(l) : 0;

	if (r == -ENOENT && l->retention.removal.busy) { /* ledger_audit_removed follows */
		look_again(l);
		return;
	}
	r = r < 0 ? r : look_piece(l);
	if (k->report.first_bad)
		tell_bad(l);
	if (!k->report.first_bad && (r > 0 || (r == 0 && next_file(l))))
		look_again(l);
	else
		ledger_audit_end(l);
}

void ledger_audit_removed(struct ledger *l, uint64_t first)
{
	if (l->audit.check && l->audit.fd < 0 && l->audit.first == first)
		l->audit.first = file_after(l, first);
}

void ledger_audit_begin(struct ledger *l)
{
	struct ledger_audit *k = &l->audit;

	if (!l->size && !l->set.n)
		return;
	new_check(l);
	/* A duplicate: after a rotation the syncer closes l->fd, maybe before the check gets there. */
	k->last_fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
	k->last_first = l->first;
	/* Records after this are this daemon's own and are not checked. */
	k->end = l->size;
	k->first = file_after(l, 0);
	look_again(l);
}
