/*
 * spool_load.c - reads a spool as an earlier daemon left it, wherever that was killed.
 *
 * Files are read in order of their serials. Numbers of events rise, so a missing one was in a damaged line and becomes part of
 * the gap. Only the last file can end in half a line, which is cut off. Files before a hole in the serials are not of this
 * spool, and are removed. An empty last file is of a daemon that was killed between two system calls.
 */
#include "outbox/spool_internal.h"

#include "base/util.h"
#include "base/format/digits.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/file.h"

#include <dirent.h>

/* While it is read: "done" finds its event by these, whose numbers rise. */
struct spool_loading {
	struct spool *spool;
	struct loaded {
		uint64_t n;
		struct spooled *x; /* NULL: it is done */
	} * events;
	size_t n;
	bool headed; /* a head was read */
};

/* Those that are left out were in lines that are damaged. */
static void miss_up_to(struct spool_loading *l, uint64_t next)
{
	if (next <= l->spool->next)
		return;
	spool_gap_grow(l->spool, l->spool->next, next - 1);
	l->spool->next = next;
}

static void set_gap(struct spool *s, const struct spool_record *r)
{
	bool is = r->from && r->from <= r->to;

	s->from = is ? r->from : 0;
	s->to = is ? r->to : 0;
}

static void spool_load_take_head(struct spool_loading *l, const struct spool_record *r)
{
	struct spool *s = l->spool;

	/* Only the first head of the oldest file sets the start. A later one continues, or shows that events
	 * before it are damaged. */
	if (l->headed || l->n) {
		miss_up_to(l, r->n);
	} else {
		s->next = MAX(r->n, 1u);
		set_gap(s, r);
	}
	l->headed = true;
	snprintf(s->id, sizeof(s->id), "%.*s", (int)MIN(r->spool.n, sizeof(s->id) - 1), r->spool.p);
	free_each(s->sandbox, s->events);
	s->sandbox = xstrndup(r->sandbox.p, r->sandbox.n);
	s->events = xstrndup(r->events.p, r->events.n);
}

static void spool_load_take_event(struct spool_loading *l, const struct spool_record *r, off_t at,
				  uint32_t size)
{
	struct spool *s = l->spool;

	/* Numbers must rise: spool_load_forget finds events by bisection. */
	if (r->n < s->next)
		return;
	miss_up_to(l, r->n);
	s->next++;
	*GROW(l->events, l->n) = (struct loaded){ r->n, spool_take(s, r, at, size) };
}

static int by_event(const void *n, const void *loaded)
{
	uint64_t a = *(const uint64_t *)n, b = ((const struct loaded *)loaded)->n;

	return a < b ? -1 : a > b;
}

static void spool_load_forget(struct spool_loading *l, uint64_t n)
{
	struct loaded *at = l->n ? bsearch(&n, l->events, l->n, sizeof(*l->events), by_event) :
				   NULL;

	if (at && at->x)
		spool_release(l->spool, TAKE_PTR(at->x));
}

/* Some of it may have been lost before it was a line. */
static void spool_load_take_gap(struct spool_loading *l, const struct spool_record *r)
{
	set_gap(l->spool, r);
	l->spool->next = MAX(l->spool->next, r->to + 1);
}

static void spool_load_take_line(struct spool_loading *l, struct slice line, off_t at)
{
	struct spool_record r;

	if (spool_record_parse(line, &r) < 0) {
		l->spool->damaged++;
		return;
	}
	switch (r.line) {
	case SPOOL_HEAD:
		spool_load_take_head(l, &r);
		break;
	case SPOOL_EVENT:
		spool_load_take_event(l, &r, at, (uint32_t)line.n + 1);
		break;
	case SPOOL_DONE:
		spool_load_forget(l, r.n);
		break;
	case SPOOL_GAP:
		spool_load_take_gap(l, &r);
		break;
	}
}

/* Bytes of whole lines. */
static size_t spool_load_take_lines(struct spool_loading *l, struct slice text)
{
	const char *p = text.p, *end = text.p + text.n, *nl;

	for (; p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1)
		spool_load_take_line(l, (struct slice){ p, (size_t)(nl - p) }, p - text.p);
	return (size_t)(p - text.p);
}

static int load_file(struct spool_loading *l, uint64_t serial, bool last)
{
	struct spool *s = l->spool;
	_cleanup_(freep) char *path = spool_path(s, serial);
	_cleanup_(buf_done) struct buf b = { .max = 2 * WEBHOOK_SPOOL_MAX };
	int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW), r;
	struct spool_file *f;
	size_t whole;

	if (fd < 0)
		return -errno;
	/* In the list before anything can fail: spool_free closes the descriptor. */
	f = GROW(s->files, s->nfiles);
	*f = (struct spool_file){ .serial = serial, .fd = fd };
	r = file_read_fd(fd, 2 * WEBHOOK_SPOOL_MAX, &b);
	if (r < 0)
		return r;
	whole = spool_load_take_lines(l, buf_slice(&b));
	/* Only the last file is appended to: after a partial line the next event would be damaged, too. */
	if (last && whole < b.len && ftruncate(fd, (off_t)whole) < 0)
		return -errno;
	s->files[s->nfiles - 1].size = (off_t)(last ? whole : b.len);
	return 0;
}

static int spool_load_by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool serial_of(const char *name, uint64_t *ret)
{
	struct slice s = slice_of(name);

	return u64_take(&s, 20, ret) == 20 && slice_is(s, ".spool") && *ret && *ret < UINT64_MAX;
}

static void spool_load_remove_file(const struct spool *s, uint64_t serial)
{
	_cleanup_(freep) char *path = spool_path(s, serial);

	unlink(path);
}

/* Those of the newest files that follow one another; what stands before a hole is not ours. */
static int list_files(const struct spool *s, uint64_t **ret, size_t *n)
{
	DIR *d = opendir(s->dir);
	struct dirent *entry;
	uint64_t serial;
	size_t from;

	if (!d)
		return -errno;
	while ((entry = readdir(d)))
		if (serial_of(entry->d_name, &serial))
			*GROW(*ret, *n) = serial;
	closedir(d);
	if (!*n)
		return 0;
	qsort(*ret, *n, sizeof(**ret), spool_load_by_number);
	for (from = *n - 1; from && (*ret)[from - 1] + 1 == (*ret)[from]; from--)
		;
	for (size_t i = 0; i < from; i++)
		spool_load_remove_file(s, (*ret)[i]);
	memmove(*ret, *ret + from, (*n - from) * sizeof(**ret));
	*n -= from;
	return 0;
}

static int load_files(struct spool_loading *l)
{
	_cleanup_(freep) uint64_t *serials = NULL;
	size_t n = 0;
	int r = list_files(l->spool, &serials, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = load_file(l, serials[i], i + 1 == n);
	return r;
}

/* A daemon that was killed right after it had made the file: its head comes anew. */
static void drop_empty(struct spool *s)
{
	struct spool_file *f = &s->files[--s->nfiles];

	close(f->fd);
	spool_load_remove_file(s, f->serial);
}

int spool_load(struct spool *s, struct err *e)
{
	struct spool_loading l = { .spool = s };
	int r = file_mkdirs(s->dir, 0700);

	if (r == 0)
		r = load_files(&l);
	free(l.events);
	if (s->damaged)
		log_warn("outbox", "a spool of webhooks is not as it was written", "dir", s->dir);
	/* Before spool_roll, which creates a file of that serial with O_EXCL. */
	if (r == 0 && s->nfiles && !s->files[s->nfiles - 1].size)
		drop_empty(s);
	if (r == 0 && (!s->nfiles || !l.headed))
		r = spool_roll(s);
	return r < 0 ? err_set(e, r, RPC_INTERNAL_ERROR, "SPOOL_UNUSABLE", "%s: %s", s->dir,
			       strerror(-r)) :
		       0;
}
