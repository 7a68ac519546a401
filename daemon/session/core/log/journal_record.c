/*
 * journal_record.c - writes and parses one line of a journal.
 *
 * The member order is fixed, so a record is parsed by prefix comparison, and value needs no JSON
 * scan. The checksum makes this safe: a line with any other order or a flipped bit is -EBADMSG. For
 * a damaged line, count_damaged estimates how many events it contained, from the places where a
 * lost newline joined two records. Event numbers that are lost must not be given again.
 */
#include "session/core/log/journal_record.h"

#include "base/format/crc_line.h"
#include "base/format/digits.h"
#include "base/util.h"
#include "session/core/log/event_table.h"

static char *write_text(char *p, const char *text)
{
	return mempcpy(p, text, strlen(text));
}

/* Room for all of a line but its value and its kind. */
#define AROUND 160

static char *write_head(char *p, const struct journal_record *r, const char *kind)
{
	p = write_text(p, "{\"n\":");
	p = u64_write(p, r->seq);
	p = write_text(p, ",\"o\":");
	p = u64_write(p, r->origin);
	p = write_text(p, ",\"k\":\"");
	p = write_text(p, kind);
	p = write_text(p, "\",\"t\":");
	p = u64_write(p, r->time_ms);
	return write_text(p, ",\"m\":");
}

int journal_record_head(struct buf *b, const struct journal_record *r, const char *kind)
{
	if (buf_reserve(b, strlen(kind) + AROUND) < 0)
		return -E2BIG;
	b->len = (size_t)(write_head(b->data + b->len, r, kind) - b->data);
	return 0;
}

int journal_record_put(struct buf *b, const struct journal_record *r, const char *kind)
{
	size_t start;
	char *p;

	if (buf_reserve(b, r->value.n + strlen(kind) + AROUND) < 0)
		return -E2BIG;
	start = b->len;
	p = write_head(b->data + start, r, kind);
	p = r->value.n ? mempcpy(p, r->value.p, r->value.n) : p;
	b->len = (size_t)(p - b->data);
	crc_line_end(b, start);
	return b->failed ? -E2BIG : 0;
}

static bool take_uint(struct slice *s, uint64_t *ret)
{
	size_t n = u64_take(s, s->n, ret);

	/* 20 digits may exceed 64 bits. */
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

/* Up to the value. */
static bool record_take_head(struct slice *s, struct journal_record *ret)
{
	return slice_skip(s, "{\"n\":") && take_uint(s, &ret->seq) && slice_skip(s, ",\"o\":") &&
	       take_uint(s, &ret->origin) && slice_skip(s, ",\"k\":\"") &&
	       take_until(s, '"', &ret->kind_name) && slice_skip(s, "\",\"t\":") &&
	       take_uint(s, &ret->time_ms) && slice_skip(s, ",\"m\":");
}

int journal_record_parse(struct slice line, struct journal_record *ret)
{
	struct slice s;

	/* The checksum first: after it the fixed order of members can be trusted. */
	if (!crc_line_open(line, &s) || !record_take_head(&s, ret))
		return -EBADMSG;
	ret->value = s;
	ret->kind = (uint8_t)event_kind_find(ret->kind_name);
	return 0;
}

/* Where one line goes over into the next, the newline between them being something else. */
static size_t joints(struct slice line)
{
	static const char next[] = "{\"n\":";
	const char *p = line.p, *end = line.p + line.n;
	size_t n = 0;

	/* The byte before it may be anything: damage has changed the newline. */
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
	/* A line that still begins as a record which is not an event has taken no number. */
	bool note = record_take_head(&s, &r) && !r.seq &&
		    event_kind_find(r.kind_name) == EVENT_KIND_MAX;

	return joints(line) + !note;
}
