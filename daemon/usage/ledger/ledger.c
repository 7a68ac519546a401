/*
 * ledger.c - the open ledger: continues the last file, appends records, reads them back.
 *
 * A record is one write(2) and counts once it is complete. A partial write is truncated; if that
 * fails, the ledger is `stuck` and accepts no more. Number, digest and size change only after the
 * write, so a failed append leaves the chain unchanged. Opening first restores the tails that a
 * stop of the machine lost, then lists the closed files, then reads the last record.
 */
#include "usage/ledger/ledger_internal.h"

#include "base/clock.h"
#include "base/format/digits.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/jscan.h"

#include <fcntl.h>
#include <sys/stat.h>

/* The longest head: names and punctuation, n, incarnation, digest. */
#define HEAD_MAX 256

/* --- opening ---------------------------------------------------------------------------------------------- */

int ledger_open_dir(const struct ledger *l)
{
	return open(l->set.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_private(const char *path, int flags, struct err *e)
{
	_cleanup_(closep) int fd =
		open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
	struct stat sb;

	if (fd < 0 || fstat(fd, &sb) < 0)
		return err_set(e, -errno, 0, "LEDGER", "cannot open the usage ledger %s: %s", path,
			       strerror(errno));
	if (!S_ISREG(sb.st_mode))
		return err_set(e, -EINVAL, 0, "LEDGER", "%s is no regular file", path);
	/* An earlier daemon, or a copy, may have left it readable for others. */
	if ((sb.st_mode & 0777) != 0600 && fchmod(fd, 0600) < 0)
		return err_set(e, -errno, 0, "LEDGER", "cannot make %s private: %s", path,
			       strerror(errno));
	return TAKE_FD(fd);
}

/* O_APPEND: after ftruncate of a partial line the descriptor's own offset would leave a hole. */
int ledger_open_file(const char *path, int flags, struct err *e)
{
	return open_private(path, O_APPEND | flags, e);
}

/* Without O_APPEND, with which Linux ignores the offset of pwrite (pwrite(2), BUGS). */
int ledger_open_state(const char *path, struct err *e)
{
	return open_private(path, O_CREAT, e);
}

/* After a kill or a removal the file that is written to is empty. Takes up the end of the newest closed file. */
static int take_up_closed(struct ledger *l, const char **what)
{
	struct ledger_closed *c = l->set.n ? &l->set.closed[l->set.n - 1] : NULL;
	_cleanup_(freep) char *path = c ? ledger_set_path(&l->set, c->first) : NULL;
	_cleanup_(closep) int fd = -1;
	struct err e = { 0 };
	int r = 0;

	if (c) {
		fd = ledger_open_file(path, 0, &e);
		r = fd < 0 ? fd : ledger_take_end(l, fd, path, &c->size, what);
	}
	if (c && (r == 0 || r == -EBADMSG)) {
		ledger_problem(l, "there is no record in %s", path);
		/* Its name still tells the number of one record: numbers must not be used twice. */
		l->last = MAX(l->last, c->first);
	}
	/* If all files were removed, only the state has the last number used. */
	if (l->last < l->retention.state.removed.n)
		l->last = l->retention.state.removed.n;
	return r == -EBADMSG ? 0 : MIN(r, 0);
}

/* Milliseconds since the epoch. Not every file system stores the birth time: then the file's age starts
 * now. */
static uint64_t begun_ms(int fd)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &sx) < 0 || !(sx.stx_mask & STATX_BTIME))
		return clock_real_ms();
	return (uint64_t)sx.stx_btime.tv_sec * 1000 + sx.stx_btime.tv_nsec / 1000000;
}

/* Continues where the last daemon ended. */
static int ledger_take_up(struct ledger *l, struct err *e)
{
	const char *what = NULL;
	int r = ledger_take_end(l, l->fd, l->path, &l->size, &what), have = r;

	if (r == -EBADMSG)
		r = ledger_set_file_aside(l);
	if (r == 0)
		r = take_up_closed(l, &what);
	if (r == -EPROTONOSUPPORT)
		return err_set(e, r, 0, "STATE_VERSION", "%s: %s", l->path, what);
	if (r < 0)
		return err_set(e, r, 0, "LEDGER", "%s cannot be taken up: %s", l->path,
			       strerror(-r));
	/* 0: the file is empty, or its first LEDGER_LINE_MAX bytes hold no record. */
	l->first = have == 1 ? ledgerfile_first(l->fd) : 0;
	l->first = l->first ? l->first : l->last + 1;
	l->begun_ms = begun_ms(l->fd);
	return 0;
}

void ledger_tell(struct ledger *l, const char *text)
{
	if (l->on_problem)
		l->on_problem(l->problem_ctx, text);
}

void ledger_on_problem(struct ledger *l, void (*fn)(void *ctx, const char *text), void *ctx)
{
	l->on_problem = fn;
	l->problem_ctx = ctx;
	/* The file was opened before a listener could be set, so what was found then is reported now. */
	if (l->problem)
		ledger_tell(l, l->problem);
}

static struct ledger *ledger_new(struct loop *loop, const char *path, const char *incarnation)
{
	struct ledger *l = new0(struct ledger);

	l->loop = loop;
	/* Before anything can fail: ledger_free closes whatever is not -1. */
	l->fd = l->retention.fd = l->audit.fd = l->audit.last_fd = -1;
	l->retention.mark.io.fd = l->retention.removal.io.fd = -1;
	l->path = xstrdup(path);
	l->incarnation = xstrdup(incarnation);
	l->file_max = LEDGER_FILE_MAX;
	ledger_set_init(&l->set, path);
	return l;
}

static int ledger_open_files(struct ledger *l, struct err *e)
{
	/* First: it appends to the files, so their ends are final only after it. */
	int r = ledger_restore(l, e);

	if (r < 0)
		return r;
	r = ledger_set_list(&l->set);
	if (r < 0)
		return err_set(e, r, 0, "LEDGER", "cannot read %s: %s", l->set.dir, strerror(-r));
	l->fd = ledger_open_file(l->path, O_CREAT, e);
	if (l->fd < 0)
		return l->fd;
	ledger_retention_open(l);
	return ledger_take_up(l, e);
}

static int check_incarnation(const char *incarnation, struct err *e)
{
	if (ledger_incarnation_valid(slice_of(incarnation)))
		return 0;
	return err_set(e, -EINVAL, 0, "LEDGER", "no incarnation: '%.64s'", incarnation);
}

static void begin_syncing(struct ledger *l)
{
	_cleanup_(freep) char *ahead = ledger_set_beside(&l->set, ".ahead");
	_cleanup_(freep) char *closed = ledger_set_path(&l->set, l->first);

	l->syncer = syncer_new(l->loop, &(struct syncer_spec){ l->fd, l->size, ledger_open_dir(l),
							       ledger_below(l, closed), ahead });
}

struct ledger *ledger_open(struct loop *loop, const char *path, const char *incarnation,
			   struct err *e)
{
	struct ledger *l;

	if (*incarnation && check_incarnation(incarnation, e) < 0)
		return NULL;
	l = ledger_new(loop, path, incarnation);
	if (ledger_open_files(l, e) < 0)
		return ledger_free(l);
	ledger_rotate_clean(l);
	begin_syncing(l);
	ledger_retention_begin(l);
	ledger_audit_begin(l);
	return l;
}

int ledger_begin(struct ledger *l, const char *incarnation, struct err *e)
{
	int r = check_incarnation(incarnation, e);

	if (r < 0)
		return r;
	if (strcmp(incarnation, l->incarnation) == 0)
		return err_set(e, -EINVAL, 0, "LEDGER", "the incarnation is '%.64s' already",
			       incarnation);
	xstrset(&l->incarnation, incarnation);
	/* Each incarnation is a chain of its own, whose first record has prevDigest null. */
	l->digest[0] = '\0';
	return 0;
}

struct ledger *ledger_free(struct ledger *l)
{
	if (!l)
		return NULL;
	/* Both wait for their threads, which use the files of the ledger. */
	ledger_audit_end(l);
	ledger_retention_close(l);
	ledger_wait_cancel(&l->closed);
	/* Waits for a running sync, which uses l->fd. */
	syncer_free(l->syncer);
	closep(&l->fd);
	ledger_set_done(&l->set);
	free(l->problem);
	buf_done(&l->line);
	free_each(l->incarnation, l->path, l);
	return NULL;
}

/* --- appending -------------------------------------------------------------------------------------------- */

/* True for one line of JSON without members of our names. */
static bool record_fits(struct slice record)
{
	struct jslot s[] = {
		{ .key = "v" }, { .key = "n" }, { .key = "incarnation" }, { .key = "prevDigest" }
	};

	if (record.n < 2 || record.n > LEDGER_LINE_MAX - HEAD_MAX || record.p[0] != '{' ||
	    record.p[record.n - 1] != '}' || memchr(record.p, '\n', record.n) ||
	    jscan_object(record, s, ARRAY_SIZE(s)) != JSCAN_OK)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		if (s[i].v.type != J_NONE)
			return false;
	return true;
}

static int record_lay_out(struct ledger *l, struct slice record)
{
	bool empty = !jobj_has_members((struct jval){ J_OBJECT, record });
	struct buf *b = &l->line;

	buf_reset(b);
	buf_puts(b, "{\"v\":1,\"n\":");
	u64_put(b, l->last + 1);
	buf_puts(b, ",\"incarnation\":\"");
	buf_puts(b, l->incarnation);
	buf_puts(b, "\",\"prevDigest\":");
	buf_puts(b, l->digest[0] ? "\"" : "null");
	buf_puts(b, l->digest);
	buf_puts(b, l->digest[0] ? "\"" : "");
	buf_putc(b, empty ? '}' : ',');
	if (!empty)
		buf_add(b, record.p + 1, record.n - 1);
	buf_putc(b, '\n');
	return b->failed ? -ENOMEM : 0;
}

/* One write. If only a part went out it is undone: the next daemon would cut it off, but readers of this one would
 * not. */
static int ledger_write_line(struct ledger *l, struct slice line)
{
	ssize_t n;
	int r;

	n = RETRY(write(l->fd, line.p, line.n));
	if (n == (ssize_t)line.n)
		return 0;
	/* A write to a regular file is short if the disk, a quota or RLIMIT_FSIZE leaves no space
	 * (write(2)). */
	r = n < 0 ? -errno : -ENOSPC;
	if (n > 0 && ftruncate(l->fd, l->size) < 0) {
		log_error("ledger", "a part of a line stays", "text", strerror(errno));
		l->stuck = true;
	}
	return r;
}

uint64_t ledger_append(struct ledger *l, struct slice record)
{
	struct slice line;
	struct sha256 d;

	if (!*l->incarnation || l->stuck || syncer_error(l->syncer))
		return 0;
	l->error = 0; /* a record that does not fit is the caller's error */
	if (!record_fits(record))
		return 0;
	ledger_rotate_for(l, record.n + HEAD_MAX);
	l->error = record_lay_out(l, record);
	line = buf_slice(&l->line);
	if (!l->error)
		l->error = sha256_of((struct slice){ line.p, line.n - 1 }, &d);
	if (!l->error)
		l->error = ledger_write_line(l, line);
	if (l->error) {
		log_error("ledger", "cannot be written", "text", strerror(-l->error));
		/* If the disk is full, files that were read can be removed for the next record. */
		ledger_pressed(l);
		return 0;
	}
	sha256_hex(&d, l->digest);
	l->size += (off_t)line.n;
	syncer_dirty(l->syncer, l->size);
	buf_reset(&l->line);
	buf_trim(&l->line, 8 * KIB);
	return ++l->last;
}

uint64_t ledger_last(const struct ledger *l)
{
	return l->last;
}

int ledger_error(const struct ledger *l)
{
	return l->error ? l->error : syncer_error(l->syncer);
}

/* --- durability and reading ------------------------------------------------------------------------------- */

bool ledger_syncs(const struct ledger *l)
{
	return syncer_works(l->syncer);
}

const char *ledger_below(const struct ledger *l, const char *path)
{
	size_t n = strlen(l->set.dir);

	return strncmp(path, l->set.dir, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

int ledger_sync_also(struct ledger *l, const struct sync_also *f)
{
	struct sync_also below = *f;

	/* A file outside the directory has no name for a restore, so it is synced in its place and not
	 * in usage.ahead. */
	below.name = ledger_below(l, f->name);
	return syncer_also(l->syncer, &below);
}

void ledger_sync(struct ledger *l, struct ledger_wait *w, void (*done)(void *ctx, int error),
		 void *ctx)
{
	syncer_wait(l->syncer, &w->sync, done, ctx);
}

void ledger_wait_cancel(struct ledger_wait *w)
{
	syncer_cancel(&w->sync);
}

/* A reading of several files. */
struct ledger_pass {
	bool (*fn)(void *ctx, uint64_t n, struct slice line);
	void *ctx;
	uint64_t last;
	bool stopped;
};

static bool pass_line(void *ctx, uint64_t n, struct slice line)
{
	struct ledger_pass *p = ctx;

	if (n <= p->last && p->fn(p->ctx, n, line))
		return true;
	p->stopped = true;
	return false;
}

static int read_closed(const struct ledger *l, uint64_t first, uint64_t since,
		       struct ledger_pass *p)
{
	_cleanup_(freep) char *path = ledger_set_path(&l->set, first);
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0) /* the file is being removed */
		return errno == ENOENT ? 0 : -errno;
	return ledgerfile_read(fd, 0, since, pass_line, p, NULL);
}

int ledger_read(struct ledger *l, uint64_t since,
		bool (*fn)(void *ctx, uint64_t n, struct slice line), void *ctx)
{
	struct ledger_pass p = { fn, ctx, l->last, false };
	/* fn may append, so these are copies */
	uint64_t first = l->first;
	size_t n = l->set.n;
	off_t size = l->size;
	int r = 0, fd = l->fd;

	/* Nothing is newer, so no file is opened. */
	if (since >= l->last)
		return 0;
	for (size_t i = 0; r == 0 && !p.stopped && i < n; i++)
		/* A file is skipped if the next one starts at since + 1 or before: all its records are
		 * older. */
		if ((i + 1 < n ? l->set.closed[i + 1].first : first) > since + 1)
			r = read_closed(l, l->set.closed[i].first, since, &p);
	if (r == 0 && !p.stopped && size)
		r = ledgerfile_read(fd, size, since, pass_line, &p, NULL);
	return r;
}

uint64_t ledger_first(const struct ledger *l)
{
	return l->set.n ? l->set.closed[0].first : l->first;
}
