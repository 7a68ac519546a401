/*
 * evlog_scan.c - reading the journal of an earlier daemon, whatever has become of it; and its outline, which
 * makes that unnecessary.
 *
 * A line that cannot be parsed is skipped, and counted as the events that it may have been: their
 * numbers must not be given again. The outline is what reading the whole journal would show. It is
 * stored in the summary, and valid only for a journal of the same size, time of change and last checksum.
 */
#include "session/core/log/evlog_internal.h"

#include "base/util.h"

#include "session/core/log/journal_record.h"
#include "json/json.h"

#include <sys/stat.h>

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
	void (*fn)(void *ctx, const struct journal_record *rec); /* or NULL */
	void *ctx;
};

/* Beyond LOG_GAPS_MAX the last one grows, whatever could be read in between. */
static void scan_add_gap(struct evlog *l, uint64_t from, uint64_t to)
{
	if (l->ngaps == LOG_GAPS_MAX) {
		l->gaps[l->ngaps - 1].to = to;
		return;
	}
	*GROW(l->gaps, l->ngaps) = (struct evlog_gap){ from, to, "damaged" };
}

static void scan_take_record(struct journal_scan *s, const struct journal_record *rec, off_t offset)
{
	struct evlog *l = s->l;
	bool gap = rec->seq > l->last + 1;

	if (rec->seq) {
		if (gap)
			scan_add_gap(l, l->last + 1, rec->seq - 1);
		evlog_index_add(l, rec->seq, offset, gap);
		l->last = rec->seq;
		/* The number of this event tells how many are missing: the estimate is not needed. */
		s->lost = 0;
	}
	if (s->fn)
		s->fn(s->ctx, rec);
}

static void scan_take_line(struct journal_scan *s, struct slice raw)
{
	struct slice line = evlog_line(raw);
	struct journal_record rec;

	if (!line.n)
		return;
	if (!s->endless && journal_record_parse(line, &rec) == 0 &&
	    (!rec.seq || rec.seq > s->l->last)) {
		/* Zeros in front of a line are a hole. They do not count against journal_max. */
		s->l->freed += s->at - s->line + (line.p - raw.p);
		scan_take_record(s, &rec, s->at + (line.p - raw.p));
		return;
	}
	s->l->bad_lines++;
	s->lost += journal_record_count_damaged(line);
}

static void scan_consume(struct journal_scan *s, size_t n)
{
	buf_consume(&s->text, n);
	s->at += (off_t)n;
}

/* All lines that are whole. */
static void scan_take_lines(struct journal_scan *s)
{
	const char *nl;

	while ((nl = memchr(s->text.data + s->text.pos + s->begun, '\n',
			    buf_len(&s->text) - s->begun))) {
		size_t n = (size_t)(nl - (s->text.data + s->text.pos));

		scan_take_line(s, (struct slice){ s->text.data + s->text.pos, n });
		scan_consume(s, n + 1);
		s->line = s->at;
		s->endless = false;
		s->begun = 0;
	}
}

/* What cannot be the beginning of a line is not kept. */
static void scan_forget(struct journal_scan *s)
{
	struct slice text = buf_slice(&s->text);

	scan_consume(s, text.n - evlog_line(text).n);
	if (buf_len(&s->text) > LINE_BYTES_MAX) {
		s->endless = true;
		scan_consume(s, buf_len(&s->text));
	}
	s->begun = buf_len(&s->text);
}

/* A hole is not read through. */
static void scan_skip_hole(struct journal_scan *s)
{
	/* Only between lines: a hole within a line is damage, and its zeros must be seen. */
	off_t data = buf_len(&s->text) ? -1 : lseek(s->l->fd, s->at, SEEK_DATA);

	if (data > s->at)
		s->at = data;
}

static size_t scan_left(const struct journal_scan *s)
{
	off_t from = s->at + (off_t)buf_len(&s->text);

	if (!s->end)
		return READ_CHUNK;
	return from < s->end ? MIN((size_t)(s->end - from), READ_CHUNK) : 0;
}

static int scan_read_more(struct journal_scan *s)
{
	size_t want;
	ssize_t n;
	int r;

	scan_skip_hole(s);
	want = scan_left(s);
	r = buf_reserve(&s->text, READ_CHUNK);
	if (r < 0)
		return r;
	n = RETRY(pread(s->l->fd, s->text.data + s->text.len, want,
			s->at + (off_t)buf_len(&s->text)));
	if (n < 0)
		return -errno;
	s->text.len += (size_t)n;
	return n > 0;
}

/* A write that was cut off is taken back. Is only the newline another character, then it is put right: what comes next
 * must begin a line. Zeros at the end are what a machine leaves that lost its power: there were events. */
static int scan_end_whole(struct journal_scan *s)
{
	struct slice raw = buf_slice(&s->text), rest = evlog_line(raw);
	uint64_t zeros = (uint64_t)(s->at - s->line) + (raw.n - rest.n);
	struct journal_record rec;

	if (rest.n && !s->endless &&
	    journal_record_parse((struct slice){ rest.p, rest.n - 1 }, &rec) == 0) {
		scan_take_line(s, (struct slice){ raw.p, raw.n - 1 });
		s->line = s->at + (off_t)raw.n;
		if (ftruncate(s->l->fd, s->line - 1) < 0 || write(s->l->fd, "\n", 1) != 1)
			return -EIO;
		return 0;
	}
	/* An upper bound, as no line is shorter than LINE_BYTES_MIN: numbers must not be given again. */
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

	while (r == 0 && (r = scan_read_more(&s)) > 0) {
		scan_take_lines(&s);
		scan_forget(&s);
		r = 0;
	}
	if (r == 0)
		r = scan_end_whole(&s);
	buf_done(&s.text);
	if (s.lost) { /* they were the last ones, and may have been seen */
		scan_add_gap(l, l->last + 1, l->last + s.lost);
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

struct evlog_check *evlog_check_begin(const struct evlog *l)
{
	struct evlog_check *c = new0(struct evlog_check);

	c->scan = (struct journal_scan){ .l = &c->log,
					 .end = l->written,
					 .text.max = LINE_BYTES_MAX + 2 * READ_CHUNK };
	/* A journal that ends before this event has lost its last lines. */
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
	int r = scan_read_more(&c->scan);

	scan_take_lines(&c->scan);
	scan_forget(&c->scan);
	return r;
}

/* Nothing that is written there ends without a newline. */
bool evlog_check_end(struct evlog_check *c, struct evlog *l)
{
	struct evlog *found = &c->log;

	found->bad_lines += c->scan.endless || buf_len(&c->scan.text);
	if (found->last < c->last)
		scan_add_gap(found, found->last + 1, c->last);
	/* The head may have been freed while it was read. Zeros there are not damage. */
	evlog_was_trimmed(found, l->trimmed);
	if (!evlog_damaged(found))
		return false;
	free(l->gaps);
	l->gaps = TAKE_PTR(found->gaps);
	l->ngaps = found->ngaps;
	l->bad_lines = found->bad_lines;
	return true;
}

/* --- the outline of a journal --------------------------------------------------------------------------------- */

/* The last line of a journal ends with its checksum: these digits, and "\"}\n". */
#define CRC_DIGITS 8
#define CRC_END (CRC_DIGITS + 3)

static int outline_read_end(const struct evlog *l, off_t size, char crc[CRC_DIGITS + 1])
{
	crc[CRC_DIGITS] = '\0';
	return pread(l->fd, crc, CRC_DIGITS, size - CRC_END) == CRC_DIGITS ? 0 : -EIO;
}

static bool outline_is_possible(const struct evlog *l)
{
	/* The file must be final: pending records, a trim that runs or a hole would change it. */
	return l->path && !evlog_damaged(l) && !l->hole && !l->error && !l->large &&
	       !buf_len(&l->pending) && l->flushed == l->last && l->trim_next >= l->free_to &&
	       l->written > CRC_END;
}

/* Not all of a long index: readers go on from there line by line. */
static void outline_put_index(const struct evlog *l, struct jw *w)
{
	size_t step = l->nindex / LOG_OUTLINE_INDEX + 1;

	jw_arr(w, "index");
	for (size_t i = 0; i < l->nindex; i += step) {
		jw_uint(w, NULL, l->index[i].seq);
		jw_uint(w, NULL, (uint64_t)l->index[i].offset);
	}
	jw_end_arr(w);
}

static void outline_put_members(const struct evlog *l, const struct stat *sb, const char *crc,
				struct jw *w)
{
	jw_uint(w, "size", (uint64_t)l->written);
	jw_int(w, "sec", sb->st_mtim.tv_sec);
	jw_int(w, "nsec", sb->st_mtim.tv_nsec);
	jw_str(w, "end", crc);
	jw_uint(w, "last", l->last);
	jw_uint(w, "freed", (uint64_t)l->freed);
	jw_uint(w, "freeTo", (uint64_t)l->free_to);
	outline_put_index(l, w);
}

bool evlog_outline_put(struct evlog *l, struct jw *w)
{
	char end[CRC_DIGITS + 1];
	struct stat sb;
	int r = outline_is_possible(l) ? evlog_journal_get(l, 0) : -EBUSY;

	if (r == 0 && fstat(l->fd, &sb) < 0)
		r = -errno;
	/* The file was changed behind this log. An outline would make the next daemon trust the change. */
	if (r == 0 && sb.st_size != l->written)
		r = -ESTALE;
	if (r == 0)
		r = outline_read_end(l, l->written, end);
	if (r == 0)
		outline_put_members(l, &sb, end, w);
	if (l->path)
		evlog_journal_put(l);
	return r == 0;
}

/* Nobody has touched it since. */
static bool outline_is_current(const struct evlog *l, struct slice outline)
{
	char end[CRC_DIGITS + 1];
	struct stat sb;
	int64_t sec = -1, nsec = -1;

	/* Size and time first: they detect almost every change without a read. */
	if (fstat(l->fd, &sb) < 0 || !S_ISREG(sb.st_mode) || sb.st_size <= CRC_END ||
	    (uint64_t)sb.st_size != jobj_uint(outline, "size"))
		return false;
	jdec_int(jobj_get(outline, "sec"), &sec);
	jdec_int(jobj_get(outline, "nsec"), &nsec);
	return sb.st_mtim.tv_sec == sec && sb.st_mtim.tv_nsec == nsec &&
	       outline_read_end(l, sb.st_size, end) == 0 && jstr_is(jobj_get(outline, "end"), end);
}

static uint64_t outline_next_uint(struct jiter *it)
{
	struct jval v;
	int64_t n = -1;

	return jiter_next(it, NULL, &v) && jdec_int(v, &n) == 0 && n >= 0 ? (uint64_t)n : 0;
}

static void outline_load_index(struct evlog *l, struct jval list)
{
	struct jiter it;
	uint64_t seq;

	if (!jiter_init(&it, list))
		return;
	/* All entries: outline_put_index has thinned them out already. */
	while ((seq = outline_next_uint(&it)))
		evlog_index_add(l, seq, (off_t)outline_next_uint(&it), true);
}

int evlog_outline_take(struct evlog *l, struct loop *loop, const char *path, size_t journal_max,
		       struct slice outline)
{
	int r = evlog_init(l, loop, path, journal_max, 0);

	if (r == 0 && !outline_is_current(l, outline))
		r = -ESTALE;
	if (r < 0) {
		evlog_close(l);
		return r;
	}
	l->written = (off_t)jobj_uint(outline, "size");
	l->last = l->flushed = jobj_uint(outline, "last");
	l->tail_first = l->last + 1;
	l->freed = (off_t)jobj_uint(outline, "freed");
	l->free_to = l->trim_next = (off_t)jobj_uint(outline, "freeTo");
	outline_load_index(l, jobj_get(outline, "index"));
	return 0;
}
