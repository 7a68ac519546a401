/*
 * spool_record.c - one line of a spool: a fixed order of members, so that parsing is a few
 * comparisons.
 *
 * A line has a CRC (crc_line.h), which is checked before it is parsed. The kinds have different
 * beginnings, so each parser is tried in turn. Every text but `m` is the daemon's, has no quotes or
 * backslashes, and is not escaped. `m` is the last member, so the parser need not find its end.
 */
#include "outbox/spool_record.h"

#include "base/format/crc_line.h"
#include "base/format/digits.h"
#include "base/util.h"

#define U64(v) ((unsigned long long)(v))

static void spool_record_put_word(struct buf *b, const char *lead, struct slice word)
{
	buf_puts(b, lead);
	buf_add_slice(b, word);
	buf_putc(b, '"');
}

static void spool_record_put_head(struct buf *b, const struct spool_record *r)
{
	spool_record_put_word(b, "{\"v\":1,\"spool\":\"", r->spool);
	buf_printf(b, ",\"next\":%llu,\"from\":%llu,\"to\":%llu", U64(r->n), U64(r->from),
		   U64(r->to));
	spool_record_put_word(b, ",\"sandbox\":\"", r->sandbox);
	spool_record_put_word(b, ",\"events\":\"", r->events);
}

static void spool_record_put_event(struct buf *b, const struct spool_record *r)
{
	buf_printf(b, "{\"n\":%llu,\"t\":%llu", U64(r->n), U64(r->time_ms));
	spool_record_put_word(b, ",\"k\":\"", r->type);
	spool_record_put_word(b, ",\"s\":\"", r->session);
	spool_record_put_word(b, ",\"i\":\"", r->id);
	buf_puts(b, ",\"m\":");
	buf_add_slice(b, r->data);
}

static void spool_record_put_done(struct buf *b, const struct spool_record *r)
{
	buf_printf(b, "{\"done\":%llu", U64(r->n));
}

static void spool_record_put_gap(struct buf *b, const struct spool_record *r)
{
	buf_printf(b, "{\"from\":%llu,\"to\":%llu", U64(r->from), U64(r->to));
}

static bool spool_record_take_uint(struct slice *s, const char *lead, uint64_t *ret)
{
	size_t n = slice_skip(s, lead) ? u64_take(s, s->n, ret) : 0;

	/* Up to 19 digits fit into 64 bits. */
	return n && n < 20;
}

static bool spool_record_take_word(struct slice *s, const char *lead, struct slice *ret)
{
	return slice_skip(s, lead) && slice_cut(s, '"', ret);
}

static bool spool_record_take_head(struct slice s, struct spool_record *ret)
{
	return spool_record_take_word(&s, "{\"v\":1,\"spool\":\"", &ret->spool) &&
	       spool_record_take_uint(&s, ",\"next\":", &ret->n) &&
	       spool_record_take_uint(&s, ",\"from\":", &ret->from) &&
	       spool_record_take_uint(&s, ",\"to\":", &ret->to) &&
	       spool_record_take_word(&s, ",\"sandbox\":\"", &ret->sandbox) &&
	       spool_record_take_word(&s, ",\"events\":\"", &ret->events) && !s.n;
}

static bool spool_record_take_event(struct slice s, struct spool_record *ret)
{
	if (!spool_record_take_uint(&s, "{\"n\":", &ret->n) ||
	    !spool_record_take_uint(&s, ",\"t\":", &ret->time_ms) ||
	    !spool_record_take_word(&s, ",\"k\":\"", &ret->type) ||
	    !spool_record_take_word(&s, ",\"s\":\"", &ret->session) ||
	    !spool_record_take_word(&s, ",\"i\":\"", &ret->id) || !slice_skip(&s, ",\"m\":"))
		return false;
	ret->data = s;
	return s.n > 0;
}

static bool take_done(struct slice s, struct spool_record *ret)
{
	return spool_record_take_uint(&s, "{\"done\":", &ret->n) && !s.n;
}

static bool spool_record_take_gap(struct slice s, struct spool_record *ret)
{
	return spool_record_take_uint(&s, "{\"from\":", &ret->from) &&
	       spool_record_take_uint(&s, ",\"to\":", &ret->to) && !s.n;
}

static const struct {
	void (*put)(struct buf *b, const struct spool_record *r);
	bool (*take)(struct slice s, struct spool_record *ret);
} lines[] = {
	[SPOOL_HEAD] = { spool_record_put_head, spool_record_take_head },
	[SPOOL_EVENT] = { spool_record_put_event, spool_record_take_event },
	[SPOOL_DONE] = { spool_record_put_done, take_done },
	[SPOOL_GAP] = { spool_record_put_gap, spool_record_take_gap },
};

int spool_record_put(struct buf *b, const struct spool_record *r)
{
	size_t start = b->len;

	lines[r->line].put(b, r);
	if (!b->failed)
		crc_line_end(b, start);
	return b->failed ? -E2BIG : 0;
}

int spool_record_parse(struct slice line, struct spool_record *ret)
{
	struct slice s;

	if (!crc_line_open(line, &s))
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		*ret = (struct spool_record){ .line = (enum spool_line)i };
		if (lines[i].take(s, ret))
			return 0;
	}
	return -EBADMSG;
}
