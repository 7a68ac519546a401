#include "usage/ledger.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "digest/digest.h"
#include "json/jscan.h"
#include "usage/ledgercheck.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
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

	struct loop *loop;
	char *problem; /* found at opening */
	void (*on_problem)(void *ctx, const char *text);
	void *problem_ctx;
	struct ledger_check *look; /* over what earlier lives wrote, until look_end */
	struct ledger_lines looked;
	struct ledger_report look_report;
	struct loop_timer look_timer;
	off_t look_end;
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

_printf_(2, 3) static void problem(struct ledger *l, const char *fmt, ...)
{
	va_list ap;

	free(l->problem);
	va_start(ap, fmt);
	if (vasprintf(&l->problem, fmt, ap) < 0)
		abort();
	va_end(ap);
}

static char *aside_path(const char *path)
{
	char *aside = NULL;

	if (asprintf(&aside, "%s.aside", path) < 0)
		abort();
	return aside;
}

static int copy_tail(struct ledger *l, int to, struct buf *tail)
{
	char piece[16 * KIB];
	off_t at = l->size;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = pread(l->fd, piece, sizeof(piece), at)) > 0) {
		if (buf_len(tail) < LEDGER_LINE_MAX)
			r = buf_add(tail, piece, (size_t)n);
		if (r == 0 && to >= 0)
			r = file_write_all(to, piece, (size_t)n);
		at += n;
	}
	return r;
}

/* A number that a lost record had is not given to another. */
static void skip_numbers(struct ledger *l, struct slice tail)
{
	const char *nl;

	for (; (nl = memchr(tail.p, '\n', tail.n));
	     tail.n -= (size_t)(nl + 1 - tail.p), tail.p = nl + 1) {
		struct ledger_head h;

		if (ledger_head_parse((struct slice){ tail.p, (size_t)(nl - tail.p) }, &h) &&
		    h.n > l->last && h.n - l->last < LEDGER_TAIL_MAX)
			l->last = h.n;
	}
}

static int set_tail_aside(struct ledger *l, const char *path, struct buf *tail)
{
	_cleanup_(freep) char *aside = aside_path(path);
	_cleanup_(closep) int fd =
		open(aside, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 ? -errno : 0;

	buf_reset(tail);
	if (r == 0)
		r = copy_tail(l, fd, tail);
	if (r == 0)
		skip_numbers(l, buf_slice(tail));
	if (r == 0)
		problem(l, "what stood behind record %llu is no record; it was set aside in %s",
			(unsigned long long)l->last, aside);
	return r;
}

/* Behind the last record. */
static int cut_tail(struct ledger *l, const char *path)
{
	_cleanup_(buf_done) struct buf tail = { 0 };
	struct stat sb;
	char bytes[32];
	int r;

	if (fstat(l->fd, &sb) < 0)
		return -errno;
	if (sb.st_size == l->size)
		return 0;
	snprintf(bytes, sizeof(bytes), "%lld", (long long)(sb.st_size - l->size));
	r = copy_tail(l, -1, &tail);
	if (r == 0 && ledger_tail_is_torn(buf_slice(&tail)))
		log_warn("ledger", "cutting off a torn end", "file", path, "bytes", bytes);
	else if (r == 0)
		r = set_tail_aside(l, path, &tail);
	if (r == 0 && ftruncate(l->fd, l->size) < 0)
		r = -errno;
	return r;
}

/* There is no record in it: another file takes its place. */
static int set_file_aside(struct ledger *l, const char *path)
{
	_cleanup_(freep) char *aside = NULL;
	struct err e = { 0 };
	int fd;

	if (asprintf(&aside, "%s.aside-%llu", path, (unsigned long long)clock_real_ms()) < 0)
		abort();
	if (rename(path, aside) < 0)
		return -errno;
	fd = open_file(path, &e);
	if (fd < 0)
		return fd;
	close(l->fd);
	l->fd = fd;
	l->size = 0;
	problem(l, "it was no usage ledger; it was set aside as %s, and another was begun", aside);
	return 0;
}

/* Where the last life ended; the chain goes on only within one incarnation. */
static int take_up(struct ledger *l, const char *path, struct err *e)
{
	_cleanup_(buf_done) struct buf line = { 0 };
	struct ledger_head h;
	struct sha256 d;
	const char *what = NULL;
	int r = ledgerfile_last(l->fd, &line, &l->size, &what);

	if (r == -EPROTONOSUPPORT)
		return err_set(e, r, 0, "STATE_VERSION", "%s: %s", path, what);
	if (r == 1 && ledger_head_parse(buf_slice(&line), &h)) {
		l->last = h.n;
		if (slice_is(h.incarnation, l->incarnation) && sha256_of(buf_slice(&line), &d) == 0)
			sha256_hex(&d, l->digest);
	}
	r = r == -EBADMSG ? set_file_aside(l, path) : r < 0 ? r : cut_tail(l, path);
	return r < 0 ? err_set(e, r, 0, "LEDGER", "%s cannot be taken up: %s", path, strerror(-r)) :
		       0;
}

/* --- looking at all of it --------------------------------------------------------------------------------- */

static void tell(struct ledger *l, const char *text)
{
	if (l->on_problem)
		l->on_problem(l->problem_ctx, text);
}

static void look_done(struct ledger *l)
{
	l->look = ledger_check_free(l->look);
	ledger_lines_done(&l->looked);
	l->looked = (struct ledger_lines){ 0 };
}

/* What earlier lives wrote, a piece at a time: nobody waits for it. */
static void look(void *ctx)
{
	struct ledger *l = ctx;
	off_t until = MIN(l->looked.at + (off_t)LEDGER_LOOK_BYTES, l->look_end);
	struct slice line;
	char text[160];
	int r = 0;

	while (l->looked.at < until && (r = ledger_lines_next(&l->looked, &line)) > 0)
		if (!ledger_check_line(l->look, line, r))
			break;
	if (l->look_report.first_bad) {
		snprintf(text, sizeof(text), "line %llu: %s; see acpd usage verify",
			 (unsigned long long)l->look_report.first_bad, l->look_report.reason);
		tell(l, text);
	}
	if (l->look_report.first_bad || r < 0 || l->looked.at >= l->look_end)
		look_done(l);
	else
		loop_timer_set(l->loop, &l->look_timer, LEDGER_LOOK_MS, look, l);
}

static void look_begin(struct ledger *l)
{
	if (!l->size)
		return;
	l->look = ledger_check_new(NULL, true, &l->look_report);
	l->look_end = l->size;
	ledger_lines_init(&l->looked, l->fd, 0, LEDGER_LOOK_BYTES);
	loop_timer_set(l->loop, &l->look_timer, LEDGER_LOOK_MS, look, l);
}

void ledger_on_problem(struct ledger *l, void (*fn)(void *ctx, const char *text), void *ctx)
{
	l->on_problem = fn;
	l->problem_ctx = ctx;
	if (l->problem)
		tell(l, l->problem);
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
	l->loop = loop;
	l->incarnation = xstrdup(incarnation);
	if (take_up(l, path, e) < 0)
		return ledger_free(l);
	l->syncer = syncer_new(loop, l->fd, open_parent(path));
	look_begin(l);
	return l;
}

struct ledger *ledger_free(struct ledger *l)
{
	if (!l)
		return NULL;
	loop_timer_cancel(&l->look_timer);
	look_done(l);
	syncer_free(l->syncer);
	closep(&l->fd);
	free(l->problem);
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

int ledger_verify(const char *path, const struct ledger_anchor *anchor, struct ledger_report *ret,
		  struct err *e)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r = fd < 0 ? -errno : ledgerfile_verify(fd, anchor, VERIFY_PATIENCE_MS, ret);

	return r < 0 ? err_set(e, r, 0, "LEDGER", "%s: %s", path, strerror(-r)) : 0;
}
