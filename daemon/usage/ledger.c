#include "usage/ledger.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "digest/digest.h"
#include "json/jscan.h"
#include "usage/ledgerfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* The longest head: names and punctuation, n, incarnation, digest. */
#define HEAD_MAX 256
#define VERIFY_PATIENCE_MS 1000

struct ledger {
	int fd;
	off_t size; /* bytes of whole lines */
	uint64_t last;
	int error;  /* of the last append, 0 if it was written */
	bool stuck; /* a part of a line could not be taken back: nothing may follow it */
	char *incarnation;
	char digest[SHA256_HEX]; /* of the last line of this incarnation; empty: there is none */
	struct buf line;
	struct syncer *syncer;
};

/* --- opening ---------------------------------------------------------------------------------------------- */

/* The directory that the file's name stands in, to make the name durable too. */
static int open_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *dir = slash ? xstrndup(path, MAX((size_t)(slash - path), 1u)) :
					     xstrdup(".");

	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_file(const char *path, struct err *e)
{
	_cleanup_(closep) int fd =
		open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat sb;

	if (fd < 0 || fstat(fd, &sb) < 0)
		return err_set(e, -errno, 0, "LEDGER", "cannot open the usage ledger %s: %s", path,
			       strerror(errno));
	if (!S_ISREG(sb.st_mode))
		return err_set(e, -EINVAL, 0, "LEDGER", "%s is no regular file", path);
	if ((sb.st_mode & 0777) != 0600 && fchmod(fd, 0600) < 0)
		return err_set(e, -errno, 0, "LEDGER", "cannot make %s private: %s", path,
			       strerror(errno));
	return TAKE_FD(fd);
}

static int cut_tail(struct ledger *l, const char *path)
{
	struct stat sb;
	char bytes[32];

	if (fstat(l->fd, &sb) < 0)
		return -errno;
	if (sb.st_size == l->size)
		return 0;
	snprintf(bytes, sizeof(bytes), "%lld", (long long)(sb.st_size - l->size));
	log_warn("ledger", "cutting off a torn end", "file", path, "bytes", bytes);
	return ftruncate(l->fd, l->size) < 0 ? -errno : 0;
}

/* Where the last life ended; the chain goes on only within one incarnation. */
static int take_up(struct ledger *l, const char *path, struct err *e)
{
	_cleanup_(buf_done) struct buf line = { 0 };
	struct ledger_head h;
	struct sha256 d;
	const char *what = NULL;
	int r = ledgerfile_last(l->fd, &line, &l->size, &what);

	if (r == 1 && ledger_head_parse(buf_slice(&line), &h)) {
		l->last = h.n;
		if (slice_is(h.incarnation, l->incarnation) && sha256_of(buf_slice(&line), &d) == 0)
			sha256_hex(&d, l->digest);
	}
	if (r >= 0)
		r = cut_tail(l, path);
	return r < 0 ? err_set(e, r, 0, "LEDGER", "%s cannot be taken up: %s", path,
			       what ? what : strerror(-r)) :
		       0;
}

struct ledger *ledger_open(struct loop *loop, const char *path, const char *incarnation,
			   struct err *e)
{
	struct ledger *l;
	int fd = -1;

	if (!ledger_incarnation_valid(slice_of(incarnation)))
		err_set(e, -EINVAL, 0, "LEDGER", "no incarnation: '%.64s'", incarnation);
	else
		fd = open_file(path, e);
	if (fd < 0)
		return NULL;
	l = new0(struct ledger);
	l->fd = fd;
	l->incarnation = xstrdup(incarnation);
	if (take_up(l, path, e) < 0)
		return ledger_free(l);
	l->syncer = syncer_new(loop, l->fd, open_parent(path));
	return l;
}

struct ledger *ledger_free(struct ledger *l)
{
	if (!l)
		return NULL;
	syncer_free(l->syncer);
	closep(&l->fd);
	buf_done(&l->line);
	free(l->incarnation);
	free(l);
	return NULL;
}

/* --- appending -------------------------------------------------------------------------------------------- */

/* One line of JSON that leaves our names alone. */
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

static bool is_empty(struct slice object)
{
	struct jiter it;
	struct jval v;

	return !jiter_init(&it, (struct jval){ J_OBJECT, object }) || !jiter_next(&it, NULL, &v);
}

static int lay_out(struct ledger *l, struct slice record)
{
	bool empty = is_empty(record);
	struct buf *b = &l->line;

	buf_reset(b);
	buf_printf(b, "{\"v\":1,\"n\":%llu,\"incarnation\":\"%s\",\"prevDigest\":",
		   (unsigned long long)(l->last + 1), l->incarnation);
	if (l->digest[0])
		buf_printf(b, "\"%s\"", l->digest);
	else
		buf_puts(b, "null");
	buf_putc(b, empty ? '}' : ',');
	if (!empty)
		buf_add(b, record.p + 1, record.n - 1);
	buf_putc(b, '\n');
	return b->failed ? -ENOMEM : 0;
}

/* One write. What went out in part is taken back: the next life would cut it off, but readers of this one would not. */
static int put_line(struct ledger *l, struct slice line)
{
	ssize_t n;
	int r;

	do
		n = write(l->fd, line.p, line.n);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)line.n)
		return 0;
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

	if (l->stuck || syncer_error(l->syncer) || !record_fits(record))
		return 0;
	l->error = lay_out(l, record);
	line = buf_slice(&l->line);
	if (!l->error)
		l->error = sha256_of((struct slice){ line.p, line.n - 1 }, &d);
	if (!l->error)
		l->error = put_line(l, line);
	if (l->error) {
		log_error("ledger", "cannot be written", "text", strerror(-l->error));
		return 0;
	}
	sha256_hex(&d, l->digest);
	l->size += (off_t)line.n;
	syncer_dirty(l->syncer);
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

void ledger_sync(struct ledger *l, struct ledger_wait *w, void (*done)(void *ctx, int error),
		 void *ctx)
{
	syncer_wait(l->syncer, &w->sync, done, ctx);
}

void ledger_wait_cancel(struct ledger_wait *w)
{
	syncer_cancel(&w->sync);
}

int ledger_read(struct ledger *l, uint64_t since,
		bool (*fn)(void *ctx, uint64_t n, struct slice line), void *ctx)
{
	return since >= l->last ? 0 : ledgerfile_read(l->fd, l->size, since, fn, ctx, NULL);
}

int ledger_verify(const char *path, struct ledger_report *ret, struct err *e)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r = fd < 0 ? -errno : ledgerfile_verify(fd, VERIFY_PATIENCE_MS, ret);

	return r < 0 ? err_set(e, r, 0, "LEDGER", "%s: %s", path, strerror(-r)) : 0;
}
