/*
 * ledger_damage.c - checks the files of a ledger at the start.
 *
 * A torn end is cut off. An end that is no record is set aside and reported. What a stop of the
 * machine has taken is put back first, from usage.ahead: it appends to the files, so their ends are
 * final only after it.
 */
#include "usage/ledger/ledger_internal.h"

#include "base/clock.h"
#include "base/format/digits.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/file.h"
#include "usage/ledger/usage_ahead.h"

#include <stdarg.h>

/* A file, and how much of it is records. */
struct damaged_file {
	int fd;
	off_t size;
	const char *path;
};

void ledger_problem(struct ledger *l, const char *fmt, ...)
{
	va_list ap;

	free(l->problem);
	va_start(ap, fmt);
	if (vasprintf(&l->problem, fmt, ap) < 0)
		abort();
	va_end(ap);
}

static int copy_tail(const struct damaged_file *f, int to, struct buf *tail)
{
	char piece[16 * KIB];
	off_t at = f->size;
	ssize_t n;
	int r = 0;

	/* The whole tail is copied, but only about one line is stored in memory: a damaged tail can be
	 * long. */
	while (r == 0 && (n = pread(f->fd, piece, sizeof(piece), at)) > 0) {
		if (buf_len(tail) < LEDGER_LINE_MAX)
			r = buf_add(tail, piece, (size_t)n);
		if (r == 0 && to >= 0)
			r = file_write_all(to, piece, (size_t)n);
		at += n;
	}
	return r;
}

/* Skips the numbers of lost records, so that they are not used again. */
static void skip_numbers(struct ledger *l, struct slice tail)
{
	struct ledger_head h;
	struct slice line;

	while (slice_cut(&tail, '\n', &line))
		if (ledger_head_parse(line, &h) &&
		    /* Limited by the bytes of a tail: a damaged number must not jump ahead by more than
		     * lines fit in. */
		    h.n > l->last && h.n - l->last < LEDGER_TAIL_MAX)
			l->last = h.n;
}

static int set_tail_aside(struct ledger *l, const struct damaged_file *f, struct buf *tail)
{
	_cleanup_(freep) char *aside = NULL;
	_cleanup_(closep) int fd = -1;
	int r;

	aside = xprintf("%s.aside", f->path);
	/* O_APPEND: what an earlier start has moved there must not be overwritten. */
	fd = open(aside, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	r = fd < 0 ? -errno : 0;
	buf_reset(tail);
	if (r == 0)
		r = copy_tail(f, fd, tail);
	if (r == 0)
		skip_numbers(l, buf_slice(tail));
	if (r == 0)
		ledger_problem(l,
			       "what stood behind record %llu is no record; it was set aside in %s",
			       (unsigned long long)l->last, aside);
	return r;
}

/* Cuts off what follows the last record. */
static int cut_tail(struct ledger *l, const struct damaged_file *f)
{
	_cleanup_(buf_done) struct buf tail = { 0 };
	struct stat sb;
	int r;

	if (fstat(f->fd, &sb) < 0)
		return -errno;
	if (sb.st_size == f->size)
		return 0;
	r = copy_tail(f, -1, &tail);
	if (r == 0 && ledger_tail_is_torn(buf_slice(&tail)))
		log_warn("ledger", "cutting off a torn end", "file", f->path, "bytes",
			 NUMBER_TEXT(sb.st_size - f->size));
	else if (r == 0)
		r = set_tail_aside(l, f, &tail);
	/* Last: a tail that is not a torn record is deleted only after its copy is complete. */
	if (r == 0 && ftruncate(f->fd, f->size) < 0)
		r = -errno;
	return r;
}

int ledger_take_end(struct ledger *l, int fd, const char *path, off_t *ret_size, const char **what)
{
	_cleanup_(buf_done) struct buf line = { 0 };
	struct ledger_head h;
	struct sha256 d;
	int cut, r = ledgerfile_last(fd, &line, ret_size, what);

	if (r < 0)
		return r;
	/* the chain goes on only within one incarnation */
	if (r == 1 && ledger_head_parse(buf_slice(&line), &h)) {
		l->last = h.n;
		if (slice_is(h.incarnation, l->incarnation) && sha256_of(buf_slice(&line), &d) == 0)
			sha256_hex(&d, l->digest);
	}
	cut = cut_tail(l, &(struct damaged_file){ fd, *ret_size, path });
	return cut < 0 ? cut : r;
}

int ledger_set_file_aside(struct ledger *l)
{
	_cleanup_(freep) char *aside = NULL;
	struct err e = { 0 };
	int fd;

	/* With the time in the name, because rename replaces an existing file. */
	aside = xprintf("%s.aside-%llu", l->path, (unsigned long long)clock_real_ms());
	if (rename(l->path, aside) < 0)
		return -errno;
	fd = ledger_open_file(l->path, O_CREAT, &e);
	if (fd < 0)
		return fd;
	close(l->fd);
	l->fd = fd;
	l->size = 0;
	ledger_problem(l, "it was no usage ledger; it was set aside as %s, and another was begun",
		       aside);
	return 0;
}

/* --- what a stop of the machine has taken ---------------------------------------------------------------- */

/* The file that is written to is named in usage.ahead as it will be called when it is closed, since it may have been closed
 * before the machine stopped. */
static int open_for_ends(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* The file that is written to, if its name will be that. */
static int open_written_to(const struct ledger *l, const char *path)
{
	_cleanup_(closep) int fd = open_for_ends(l->path);
	uint64_t first = fd < 0 ? 0 : ledgerfile_first(fd);
	_cleanup_(freep) char *closed = first ? ledger_set_path(&l->set, first) : NULL;

	return closed && strcmp(closed, path) == 0 ? TAKE_FD(fd) : -ENOENT;
}

static int open_by_name(void *ctx, const char *name)
{
	const struct ledger *l = ctx;
	_cleanup_(freep) char *path = file_join(l->set.dir, name);
	/* The name comes from a file that can be damaged: it must not escape the directory. */
	int fd = *name == '/' || strstr(name, "..") ? -ENOENT : open_for_ends(path);

	return fd == -ENOENT ? open_written_to(l, path) : fd;
}

int ledger_restore(struct ledger *l, struct err *e)
{
	_cleanup_(freep) char *ahead = ledger_set_beside(&l->set, ".ahead");
	struct usage_ahead_replay found;
	int r = usage_ahead_restore(ahead, open_by_name, l, &found);

	if (r < 0)
		return err_set(e, r, 0, "LEDGER", "what %s holds cannot be put back: %s", ahead,
			       strerror(-r));
	if (found.restored)
		log_warn("ledger", "put back what a stop of the machine had taken", "files",
			 NUMBER_TEXT(found.restored));
	if (found.unknown)
		ledger_problem(l, "%zu pieces in %s fit no file any more", found.unknown, ahead);
	return 0;
}
