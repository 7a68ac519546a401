/*
 * ledger_file.c - lines of a ledger file on disk: parsing, bisection by number, the last record.
 *
 * pread(2) alone is used, so the daemon can append during a read. Heads have one spelling (order of
 * members, no leading zero), so finding a record compares prefixes; only lines that are returned
 * are parsed completely. Numbers rise with the offset: bisection stops at SEEK_CLOSE bytes. The
 * last record is searched backwards in a growing window, up to LEDGER_TAIL_MAX. A line above
 * LEDGER_LINE_MAX is skipped without being stored.
 */
#include "usage/ledger/ledger_file.h"

#include "base/format/digits.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "digest/digest.h"
#include "json/json.h"

#define READ_CHUNK (64 * KIB)
#define PROBE_CHUNK (4 * KIB)
/* Closer than this the rest is read in order. */
#define SEEK_CLOSE (64 * KIB)

/* --- a line ----------------------------------------------------------------------------------------------- */

/* Canonical: no leading zero, so that a number is written in one way only. */
static bool head_take_number(struct slice *s, uint64_t *ret)
{
	bool zero = slice_starts(*s, "0");

	return u64_take(s, 19, ret) && !zero;
}

/* Printable ASCII without quotes and backslashes: the text is compared and copied without JSON escapes. */
bool ledger_incarnation_valid(struct slice text)
{
	return text.n > 0 && text.n <= INCARNATION_MAX && slice_is_visible(text, "\"\\");
}

static bool take_quoted(struct slice *s, struct slice *ret)
{
	return slice_skip(s, "\"") && slice_cut(s, '"', ret);
}

static bool head_take_digest(struct slice *s, struct slice *ret)
{
	*ret = SLICE_NONE;
	if (slice_skip(s, "null"))
		return true;
	return take_quoted(s, ret) && ret->n == SHA256_HEX - 1 &&
	       slice_only(*ret, "0123456789abcdef");
}

bool ledger_head_parse(struct slice line, struct ledger_head *ret)
{
	struct slice s = line;

	if (!slice_skip(&s, "{\"v\":1,\"n\":") || !head_take_number(&s, &ret->n) ||
	    !slice_skip(&s, ",\"incarnation\":") || !take_quoted(&s, &ret->incarnation) ||
	    !ledger_incarnation_valid(ret->incarnation) || !slice_skip(&s, ",\"prevDigest\":") ||
	    !head_take_digest(&s, &ret->prev_digest))
		return false;
	ret->size = line.n - s.n;
	return s.n && (s.p[0] == ',' || s.p[0] == '}');
}

enum ledger_line_kind ledger_line_check(struct slice line, struct ledger_head *ret,
					const char **what)
{
	struct jslot s[] = {
		{ .key = "v" }, { .key = "n" }, { .key = "incarnation" }, { .key = "prevDigest" }
	};
	enum jscan_error e = jscan_object(line, s, ARRAY_SIZE(s));
	const char *why = jscan_strerror(e);
	enum ledger_line_kind kind = LEDGER_LINE_OK;

	/* Well-formed, so not damaged; but which of two equal members is valid would depend on the
	 * reader. */
	if (e == JSCAN_E_DUPLICATE)
		kind = LEDGER_LINE_FOREIGN;
	else if (e)
		kind = LEDGER_LINE_DAMAGED;
	else if (!slice_is(s[0].v.raw, "1")) {
		kind = LEDGER_LINE_FOREIGN;
		why = "v is not 1";
	} else if (!ledger_head_parse(line, ret) || line.p[line.n - 1] != '}') {
		kind = LEDGER_LINE_FOREIGN;
		why = "it does not begin with v, n, incarnation and prevDigest";
	}
	if (what)
		*what = why;
	return kind;
}

/* --- lines ------------------------------------------------------------------------------------------------ */

void ledger_lines_init(struct ledger_lines *l, int fd, off_t at, size_t chunk)
{
	size_t keep = l->b.cap;

	l->fd = fd;
	l->at = at;
	l->chunk = chunk;
	l->used = 0;
	if (keep)
		buf_reset(&l->b);
	/* A line of the maximum length, and one chunk more in which its end is found. */
	l->b.max = LEDGER_LINE_MAX + 2 * chunk;
}

void ledger_lines_done(struct ledger_lines *l)
{
	buf_done(&l->b);
}

/* Bytes read, 0 at the end of the file. */
static ssize_t ledger_lines_fill(struct ledger_lines *l)
{
	ssize_t n;
	int r = buf_reserve(&l->b, l->chunk);

	if (r < 0)
		return r;
	n = RETRY(pread(l->fd, l->b.data + l->b.len, l->chunk, l->at + (off_t)buf_len(&l->b)));
	if (n < 0)
		return -errno;
	l->b.len += (size_t)n;
	return n;
}

int ledger_lines_next(struct ledger_lines *l, struct slice *line)
{
	bool too_long = false;
	size_t seen = 0;

	buf_consume(&l->b, l->used);
	l->used = 0;
	for (;;) {
		struct slice s = buf_slice(&l->b);
		const char *nl = s.n > seen ? memchr(s.p + seen, '\n', s.n - seen) : NULL;
		ssize_t n;

		if (nl) {
			l->used = (size_t)(nl + 1 - s.p);
			l->at += (off_t)l->used;
			too_long |= l->used > LEDGER_LINE_MAX;
			*line = too_long ? SLICE_NONE : (struct slice){ s.p, l->used - 1 };
			return too_long ? 2 : 1;
		}
		seen = s.n;
		if (s.n > LEDGER_LINE_MAX) { /* no record: only its end matters */
			too_long = true;
			l->at += (off_t)s.n;
			buf_reset(&l->b);
			seen = 0;
		}
		n = ledger_lines_fill(l);
		if (n <= 0)
			return (int)n;
	}
}

/* --- finding a number ------------------------------------------------------------------------------------- */

static off_t size_of(int fd)
{
	struct stat sb;

	return fstat(fd, &sb) < 0 ? -errno : sb.st_size;
}

/* The first record that begins after offset at and before end. 1 with its offset and number, 0: there is none. */
static int probe(struct ledger_lines *l, int fd, off_t at, off_t end, off_t *ret_at, uint64_t *n)
{
	struct ledger_head h;
	struct slice line;
	int r;

	ledger_lines_init(l, fd, at, PROBE_CHUNK);
	r = ledger_lines_next(l, &line); /* the rest of a line, most likely */
	while (r > 0 && l->at < end) {
		*ret_at = l->at;
		r = ledger_lines_next(l, &line);
		if (r == 1 && ledger_head_parse(line, &h)) {
			*n = h.n;
			return 1;
		}
	}
	return r < 0 ? r : 0;
}

/* An offset where a line begins, before which no record is newer than since. */
static off_t seek_number(struct ledger_lines *l, int fd, off_t end, uint64_t since)
{
	off_t lo = 0, hi = end, at = 0;
	uint64_t n = 0;

	while (since && hi - lo > (off_t)SEEK_CLOSE) {
		off_t mid = lo + (hi - lo) / 2;
		int r = probe(l, fd, mid, hi, &at, &n);

		if (r < 0)
			return r;
		if (r && n <= since)
			lo = at;
		else
			/* Also if the upper half holds no record up to hi: then the lower half is
			 * searched. */
			hi = mid;
	}
	return lo;
}

int ledgerfile_read(int fd, off_t end, uint64_t since,
		    bool (*fn)(void *ctx, uint64_t n, struct slice line), void *ctx,
		    uint64_t *skipped)
{
	_cleanup_(ledger_lines_done) struct ledger_lines l = { 0 };
	struct ledger_head h;
	struct slice line;
	off_t size = size_of(fd), at;
	uint64_t none = 0;
	int r = 0;

	skipped = skipped ? skipped : &none;
	*skipped = 0;
	if (size < 0)
		return (int)size;
	/* The file may have become shorter since the caller learned its size. */
	end = end ? MIN(end, size) : size;
	at = seek_number(&l, fd, end, since);
	if (at < 0)
		return (int)at;
	ledger_lines_init(&l, fd, at, READ_CHUNK);
	while (l.at < end && (r = ledger_lines_next(&l, &line)) > 0) {
		if (r == 1 && ledger_head_parse(line, &h) && h.n <= since)
			continue; /* skipped without a check */
		if (r == 2 || ledger_line_check(line, &h, NULL) != LEDGER_LINE_OK)
			++*skipped;
		else if (!fn(ctx, h.n, line))
			break;
	}
	return MIN(r, 0);
}

uint64_t ledgerfile_first(int fd)
{
	_cleanup_(ledger_lines_done) struct ledger_lines l = { 0 };
	struct ledger_head h;
	struct slice line;

	ledger_lines_init(&l, fd, 0, PROBE_CHUNK);
	while (l.at < (off_t)LEDGER_LINE_MAX) {
		int r = ledger_lines_next(&l, &line);

		if (r <= 0)
			break;
		if (r == 1 && ledger_head_parse(line, &h))
			return h.n;
	}
	return 0;
}

/* --- the end ---------------------------------------------------------------------------------------------- */

static int read_range(int fd, off_t at, size_t n, struct buf *ret)
{
	int r = buf_reserve(ret, n);

	if (r == 0)
		r = file_read_at(fd, ret->data + ret->len, n, (uint64_t)at);
	ret->len += r == 0 ? n : 0;
	return r == -EBADMSG ? -EIO : r; /* it became shorter meanwhile */
}

/* True for a line written by a later version of the daemon, which we cannot check. */
static bool is_newer(struct slice line)
{
	struct jval v = jobj_get(line, "v");
	int64_t n;

	return v.type == J_NUMBER && jdec_int(v, &n) == 0 && n > 1;
}

/* The last line of text that is a record; what follows it is torn, or no record. */
static int last_record(struct slice text, bool whole, struct slice *ret, const char **what)
{
	const char *nl;

	while ((nl = memrchr(text.p, '\n', text.n))) {
		const char *start = memrchr(text.p, '\n', (size_t)(nl - text.p));
		struct ledger_head h;

		/* The line begins before the window, so the caller reads a larger one. */
		if (!start && !whole)
			return 0;
		start = start ? start + 1 : text.p;
		*ret = (struct slice){ start, (size_t)(nl - start) };
		switch (ledger_line_check(*ret, &h, what)) {
		case LEDGER_LINE_OK:
			return 1;
		case LEDGER_LINE_FOREIGN:
			if (is_newer(*ret))
				return -EPROTONOSUPPORT;
			break;
		case LEDGER_LINE_DAMAGED:
			break;
		}
		text.n = (size_t)(start - text.p);
	}
	return 0;
}

bool ledger_tail_is_torn(struct slice text)
{
	static const char head[] = "{\"v\":1,";
	size_t n = MIN(text.n, sizeof(head) - 1);

	if (!n || text.p[0] == '\0')
		return true;
	return memcmp(text.p, head, n) == 0 && !memchr(text.p, '\n', text.n);
}

int ledgerfile_last(int fd, struct buf *line, off_t *ret_end, const char **what)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	off_t size = size_of(fd);
	size_t want = 4 * KIB;
	struct slice last;
	int r = 0;

	*ret_end = 0;
	if (size <= 0)
		return (int)size;
	/* Grows by 8: the usual last record is in the first 4 KiB, and a long damaged tail needs few
	 * attempts. */
	for (;; want *= 8) {
		bool whole = (off_t)want >= size;

		want = whole ? (size_t)size : want;
		buf_reset(&b);
		r = read_range(fd, size - (off_t)want, want, &b);
		if (r == 0)
			r = last_record(buf_slice(&b), whole, &last, what);
		if (r || whole || want > LEDGER_TAIL_MAX)
			break;
	}
	if (r == 1) {
		*ret_end = size - (off_t)want + (last.p + last.n + 1 - b.data);
		return buf_add_slice(line, last) < 0 ? -ENOMEM : 1;
	}
	if (r == 0 && want == (size_t)size && ledger_tail_is_torn(buf_slice(&b)))
		return 0;
	*what = r == -EPROTONOSUPPORT ? "a later version of acpd wrote it" :
					"there is no record in it";
	return r < 0 ? r : -EBADMSG;
}
