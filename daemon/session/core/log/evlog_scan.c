/* evlog_scan.c - taking up the journal of an earlier life, whatever has become of it. */
#include "session/core/log/evlog_internal.h"

#include "base/util.h"

#include "session/core/log/journal_record.h"

#include <errno.h>

/* Longer than any line that was ever written. */
#define LINE_BYTES_MAX (2 * LINE_MAX_BYTES)

/* Shorter than any. */
#define LINE_BYTES_MIN 48

struct journal_scan {
	struct evlog *l;
	struct buf text; /* from the file's byte `at` on */
	size_t begun;	 /* bytes of it without a newline */
	off_t at, line;	 /* line: where the one that is read now begins */
	off_t end;	 /* nothing is read from here on; 0: to the end of the file */
	bool endless;	 /* so much of it has been seen that it is none */
	uint64_t lost;	 /* events that damage may have taken since the last good one */
	void (*fn)(void *ctx, const struct journal_record *rec);
	void *ctx;
};

/* Beyond LOG_GAPS_MAX the last one grows, whatever could be read in between. */
static void add_gap(struct evlog *l, uint64_t from, uint64_t to)
{
	if (l->ngaps == LOG_GAPS_MAX) {
		l->gaps[l->ngaps - 1].to = to;
		return;
	}
	*GROW(l->gaps, l->ngaps) = (struct evlog_gap){ from, to, "damaged" };
}

static void take_record(struct journal_scan *s, const struct journal_record *rec, off_t offset)
{
	struct evlog *l = s->l;
	bool gap = rec->seq > l->last + 1;

	if (rec->seq) {
		if (gap)
			add_gap(l, l->last + 1, rec->seq - 1);
		evlog_index_add(l, rec->seq, offset, gap);
		l->last = rec->seq;
		s->lost = 0;
	}
	s->fn(s->ctx, rec);
}

static void take_line(struct journal_scan *s, struct slice raw)
{
	struct slice line = evlog_line(raw);
	struct journal_record rec;

	if (!line.n)
		return;
	if (!s->endless && journal_record_parse(line, &rec) == 0 &&
	    (!rec.seq || rec.seq > s->l->last)) {
		s->l->freed += s->at - s->line + (line.p - raw.p);
		take_record(s, &rec, s->at + (line.p - raw.p));
		return;
	}
	s->l->bad_lines++;
	s->lost += journal_record_count_damaged(line);
}

static void drop(struct journal_scan *s, size_t n)
{
	buf_consume(&s->text, n);
	s->at += (off_t)n;
}

/* All lines that are whole. */
static void take_lines(struct journal_scan *s)
{
	const char *nl;

	while ((nl = memchr(s->text.data + s->text.pos + s->begun, '\n',
			    buf_len(&s->text) - s->begun))) {
		size_t n = (size_t)(nl - (s->text.data + s->text.pos));

		take_line(s, (struct slice){ s->text.data + s->text.pos, n });
		drop(s, n + 1);
		s->line = s->at;
		s->endless = false;
		s->begun = 0;
	}
}

/* What cannot be the beginning of a line is not kept. */
static void forget(struct journal_scan *s)
{
	struct slice text = buf_slice(&s->text);

	drop(s, text.n - evlog_line(text).n);
	if (buf_len(&s->text) > LINE_BYTES_MAX) {
		s->endless = true;
		drop(s, buf_len(&s->text));
	}
	s->begun = buf_len(&s->text);
}

/* A hole is not read through. */
static void skip_hole(struct journal_scan *s)
{
	off_t data = buf_len(&s->text) ? -1 : lseek(s->l->fd, s->at, SEEK_DATA);

	if (data > s->at)
		s->at = data;
}

static size_t left_to_read(const struct journal_scan *s)
{
	off_t from = s->at + (off_t)buf_len(&s->text);

	if (!s->end)
		return READ_CHUNK;
	return from < s->end ? MIN((size_t)(s->end - from), READ_CHUNK) : 0;
}

static int read_more(struct journal_scan *s)
{
	size_t want;
	ssize_t n;
	int r;

	skip_hole(s);
	want = left_to_read(s);
	r = buf_reserve(&s->text, READ_CHUNK);
	if (r < 0)
		return r;
	do
		n = pread(s->l->fd, s->text.data + s->text.len, want,
			  s->at + (off_t)buf_len(&s->text));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	s->text.len += (size_t)n;
	return n > 0;
}

/* A write that was cut off is taken back. Is only the newline another character, then it is put right: what comes next
 * must begin a line. Zeros at the end are what a machine leaves that lost its power: there were events. */
static int end_whole(struct journal_scan *s)
{
	struct slice raw = buf_slice(&s->text), rest = evlog_line(raw);
	uint64_t zeros = (uint64_t)(s->at - s->line) + (raw.n - rest.n);
	struct journal_record rec;

	if (rest.n && !s->endless &&
	    journal_record_parse((struct slice){ rest.p, rest.n - 1 }, &rec) == 0) {
		take_line(s, (struct slice){ raw.p, raw.n - 1 });
		s->line = s->at + (off_t)raw.n;
		if (ftruncate(s->l->fd, s->line - 1) < 0 || write(s->l->fd, "\n", 1) != 1)
			return -EIO;
		return 0;
	}
	if (zeros && !s->endless) {
		s->l->bad_lines++;
		s->lost += zeros / LINE_BYTES_MIN + 1;
	}
	return ftruncate(s->l->fd, s->line) < 0 ? -errno : 0;
}

int evlog_reopen(struct evlog *l, struct loop *loop, const char *path, size_t journal_max,
		 void (*fn)(void *ctx, const struct journal_record *rec), void *ctx)
{
	struct journal_scan s = {
		.l = l, .fn = fn, .ctx = ctx, .text.max = LINE_BYTES_MAX + 2 * READ_CHUNK
	};
	int r = evlog_init(l, loop, path, journal_max, 0);

	while (r == 0 && (r = read_more(&s)) > 0) {
		take_lines(&s);
		forget(&s);
		r = 0;
	}
	if (r == 0)
		r = end_whole(&s);
	buf_done(&s.text);
	if (s.lost) { /* they were the last ones, and may have been seen */
		add_gap(l, l->last + 1, l->last + s.lost);
		l->last += s.lost;
	}
	l->written = s.line;
	l->tail_first = l->last + 1;
	l->flushed = l->last;
	return r;
}

/* --- a look at one that is in use ---------------------------------------------------------------------- */

/* A log of its own reads it. */
struct evlog_check {
	struct evlog log;
	struct journal_scan scan;
	uint64_t last; /* number of the event that the last line has */
};

static void pass_over(void *ctx _unused_, const struct journal_record *rec _unused_)
{
}

struct evlog_check *evlog_check_begin(const struct evlog *l)
{
	struct evlog_check *c = new0(struct evlog_check);

	c->scan = (struct journal_scan){ .l = &c->log,
					 .fn = pass_over,
					 .end = l->written,
					 .text.max = LINE_BYTES_MAX + 2 * READ_CHUNK };
	c->last = l->flushed;
	if (evlog_init(&c->log, l->loop, l->path, 0, 0) == 0)
		return c;
	return evlog_check_free(c);
}

struct evlog_check *evlog_check_free(struct evlog_check *c)
{
	if (!c)
		return NULL;
	evlog_close(&c->log);
	buf_done(&c->scan.text);
	free(c);
	return NULL;
}

int evlog_check_step(struct evlog_check *c)
{
	int r = read_more(&c->scan);

	take_lines(&c->scan);
	forget(&c->scan);
	return r;
}

/* Nothing that is written there ends without a newline. */
bool evlog_check_end(struct evlog_check *c, struct evlog *l)
{
	struct evlog *found = &c->log;

	found->bad_lines += c->scan.endless || buf_len(&c->scan.text);
	if (found->last < c->last)
		add_gap(found, found->last + 1, c->last);
	evlog_was_trimmed(found, l->trimmed);
	if (!evlog_damaged(found))
		return false;
	free(l->gaps);
	l->gaps = TAKE_PTR(found->gaps);
	l->ngaps = found->ngaps;
	l->bad_lines = found->bad_lines;
	return true;
}
