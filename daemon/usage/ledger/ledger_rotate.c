/*
 * ledger_rotate.c - renames the file that is written to as a closed one, and begins the next in its place. Nothing is
 * copied, and no number is in two files: if a daemon is killed at any point, all records are in files of the ledger's
 * names, once each.
 *
 *	a new file beside it, usage.jsonl.tmp	killed here: it is empty; the next start removes it
 *	usage.jsonl -> usage-<N>.jsonl		killed here: the next start makes a usage.jsonl
 *	usage.jsonl.tmp -> usage.jsonl
 *	fdatasync of the old one, the new one, and their names: in the thread; a wait for a record waits for all of it
 */
#include "usage/ledger/ledger_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static char *next_path(const struct ledger *l)
{
	return ledger_set_beside(&l->set, ".jsonl.tmp");
}

void ledger_rotate_clean(struct ledger *l)
{
	_cleanup_(freep) char *next = next_path(l);

	unlink(next);
}

/* Never replaces another file; not every file system has a flag for that. */
static int move(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (access(to, F_OK) == 0)
		return -EEXIST;
	return rename(from, to) < 0 ? -errno : 0;
}

static int put_in_place(struct ledger *l, const char *next)
{
	_cleanup_(freep) char *closed = ledger_set_path(&l->set, l->first);
	int r = move(l->path, closed);

	if (r < 0)
		return r;
	r = move(next, l->path);
	if (r < 0 && move(closed, l->path) < 0)
		l->misnamed = true; /* writing goes on in it, and the next start finds it */
	return r;
}

static void on_closed(void *ctx, int error)
{
	struct ledger *l = ctx;

	if (error == 0)
		ledger_retention_check(l);
}

static void take_next(struct ledger *l, int fd)
{
	struct ledger_closed c = { l->first, l->size, clock_real_ms() };
	_cleanup_(freep) char *closed = ledger_set_path(&l->set, l->last + 1);
	char records[32];

	snprintf(records, sizeof(records), "%llu", (unsigned long long)(l->last + 1 - l->first));
	log_info("ledger", "a file is full, the next is begun", "records", records);
	syncer_switch(l->syncer, fd, ledger_open_dir(l), ledger_below(l, closed));
	ledger_set_add(&l->set, &c);
	l->fd = fd;
	l->size = l->again_at = 0;
	l->first = l->last + 1;
	l->begun_ms = c.ended_ms;
	ledger_wait_cancel(&l->closed);
	ledger_sync(l, &l->closed, on_closed, l);
}

int ledger_rotate(struct ledger *l)
{
	_cleanup_(freep) char *next = next_path(l);
	struct err e = { 0 };
	int r, fd;

	if (l->misnamed || l->stuck || !syncer_may_switch(l->syncer))
		return -EBUSY;
	unlink(next);
	fd = ledger_open_file(next, O_CREAT | O_EXCL, &e);
	if (fd < 0)
		return fd;
	r = put_in_place(l, next);
	if (r < 0) {
		close(fd);
		unlink(next);
		return r;
	}
	take_next(l, fd);
	return 0;
}

void ledger_rotate_for(struct ledger *l, size_t bytes)
{
	int r;

	if (!l->size || (uint64_t)l->size + bytes <= l->file_max || l->size < l->again_at)
		return;
	r = ledger_rotate(l);
	if (r == 0)
		return;
	l->again_at = l->size + (off_t)MAX(l->file_max / 16, 4 * KIB);
	if (r != -EBUSY)
		log_warn("ledger", "no new file can be begun", "text", strerror(-r));
}
