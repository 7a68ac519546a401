#include "session/log/journal_record.h"

#include "base/crc32c.h"
#include "base/digits.h"
#include "base/util.h"
#include "session/log/event_table.h"

#include <errno.h>

#define CRC_TAIL (sizeof(",\"crc\":\"00000000\"}") - 1)

static void put_uint(struct buf *b, uint64_t v)
{
	char text[24], *p = text + sizeof(text);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	buf_add(b, p, (size_t)(text + sizeof(text) - p));
}

/* The end of a line with its newline, CRC_TAIL + 1 bytes and NUL. */
static void crc_text(char out[CRC_TAIL + 2], uint32_t crc)
{
	static const char digits[] = "0123456789abcdef";

	memcpy(out, ",\"crc\":\"00000000\"}\n", CRC_TAIL + 2);
	for (int i = 0; i < 8; i++)
		out[8 + i] = digits[crc >> (28 - 4 * i) & 15];
}

static void put_crc(struct buf *b, uint32_t crc)
{
	char tail[CRC_TAIL + 2];

	crc_text(tail, crc);
	buf_add(b, tail, CRC_TAIL + 1);
}

int journal_record_put(struct buf *b, const struct journal_record *r, const char *kind)
{
	size_t start;

	if (buf_reserve(b, r->value.n + 160) < 0)
		return -E2BIG;
	start = b->len;
	buf_puts(b, "{\"n\":");
	put_uint(b, r->seq);
	buf_puts(b, ",\"o\":");
	put_uint(b, r->origin);
	buf_puts(b, ",\"k\":\"");
	buf_puts(b, kind);
	buf_puts(b, "\",\"t\":");
	put_uint(b, r->time_ms);
	buf_puts(b, ",\"m\":");
	buf_add_slice(b, r->value);
	put_crc(b, crc32c(0, b->data + start, b->len - start));
	return b->failed ? -E2BIG : 0;
}

static bool take_uint(struct slice *s, uint64_t *ret)
{
	size_t n = u64_take(s, s->n, ret);

	return n && n < 20;
}

static bool take_until(struct slice *s, char end, struct slice *ret)
{
	const char *at = memchr(s->p, end, s->n);

	if (!at)
		return false;
	*ret = (struct slice){ s->p, (size_t)(at - s->p) };
	s->n -= ret->n;
	s->p = at;
	return true;
}

static bool crc_matches(struct slice line)
{
	char want[CRC_TAIL + 2];

	crc_text(want, crc32c(0, line.p, line.n - CRC_TAIL));
	return memcmp(want, line.p + line.n - CRC_TAIL, CRC_TAIL) == 0;
}

/* Up to the value. */
static bool take_head(struct slice *s, struct journal_record *ret)
{
	return slice_skip(s, "{\"n\":") && take_uint(s, &ret->seq) && slice_skip(s, ",\"o\":") &&
	       take_uint(s, &ret->origin) && slice_skip(s, ",\"k\":\"") &&
	       take_until(s, '"', &ret->kind_name) && slice_skip(s, "\",\"t\":") &&
	       take_uint(s, &ret->time_ms) && slice_skip(s, ",\"m\":");
}

int journal_record_parse(struct slice line, struct journal_record *ret)
{
	struct slice s = line;

	if (line.n < CRC_TAIL || !crc_matches(line) || !take_head(&s, ret) || s.n < CRC_TAIL)
		return -EBADMSG;
	ret->value = (struct slice){ s.p, s.n - CRC_TAIL };
	ret->kind = (uint8_t)event_kind_find(ret->kind_name);
	return 0;
}

/* Where one line goes over into the next, the newline between them being something else. */
static size_t joints(struct slice line)
{
	static const char next[] = "{\"n\":";
	const char *p = line.p, *end = line.p + line.n;
	size_t n = 0;

	while ((p = memmem(p, (size_t)(end - p), next, sizeof(next) - 1))) {
		n += p - line.p >= 3 && memcmp(p - 3, "\"}", 2) == 0;
		p++;
	}
	return n;
}

size_t journal_record_count_damaged(struct slice line)
{
	struct slice s = line;
	struct journal_record r = { 0 };
	bool note = take_head(&s, &r) && !r.seq && event_kind_find(r.kind_name) == EVENT_KIND_MAX;

	return joints(line) + !note;
}
