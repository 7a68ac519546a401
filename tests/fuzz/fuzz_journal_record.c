/* Journal lines: any text is read without harm, what was written reads back the same, and one wrong bit is seen. */
#include "fuzz.h"

#include "session/core/log/event_table.h"
#include "session/core/log/journal_record.h"
#include "base/format/crc32c.h"

#include <errno.h>

static bool parse(struct slice line, struct journal_record *ret)
{
	int r = journal_record_parse(line, ret);

	FUZZ_CHECK(r == 0 || r == -EBADMSG);
	if (r == 0) {
		FUZZ_CHECK(slice_inside(ret->value, line) && slice_inside(ret->kind_name, line));
		FUZZ_CHECK(ret->kind <= EVENT_KIND_MAX);
	}
	return r == 0;
}

static bool same(const struct journal_record *a, const struct journal_record *b)
{
	return a->seq == b->seq && a->origin == b->origin && a->time_ms == b->time_ms &&
	       slice_eq(a->value, b->value);
}

/* Writing what was read gives a line that reads the same. */
static void check_again(const struct journal_record *r)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char kind[256];
	struct journal_record back;

	if (r->kind_name.n >= sizeof(kind) || memchr(r->kind_name.p, 0, r->kind_name.n))
		return;
	snprintf(kind, sizeof(kind), "%.*s", (int)r->kind_name.n, r->kind_name.p);
	FUZZ_CHECK(journal_record_put(&b, r, kind) == 0);
	FUZZ_CHECK(parse((struct slice){ b.data, b.len - 1 }, &back));
	FUZZ_CHECK(same(r, &back) && slice_eq(r->kind_name, back.kind_name));
}

static void check_line(struct slice line)
{
	struct journal_record r;

	if (parse(line, &r))
		check_again(&r);
}

/* The same with a checksum that is right: the fuzzer cannot guess one. */
static void check_with_crc(struct slice head)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(exact_free) struct slice line = SLICE_NONE;

	buf_add_slice(&b, head);
	buf_printf(&b, ",\"crc\":\"%08x\"}", crc32c(0, head.p, head.n));
	line = exact(b.data, b.len);
	check_line(line);
}

static void check_written(const uint8_t *data, size_t size)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct journal_record r = { 0 }, back;
	size_t bit;

	memcpy(&r.seq, data, 7);
	r.origin = data[7];
	r.time_ms = data[8];
	r.value = (struct slice){ (const char *)data + 12, size - 12 };
	FUZZ_CHECK(journal_record_put(&b, &r, event_kind_name(data[9] % EVENT_KIND_MAX)) == 0);
	FUZZ_CHECK(parse((struct slice){ b.data, b.len - 1 }, &back));
	FUZZ_CHECK(same(&r, &back) && back.kind == data[9] % EVENT_KIND_MAX);
	bit = (data[10] | (size_t)data[11] << 8) % (8 * (b.len - 1));
	b.data[bit / 8] ^= (char)(1 << bit % 8);
	FUZZ_CHECK(!parse((struct slice){ b.data, b.len - 1 }, &back));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);

	check_line(text);
	check_with_crc(text);
	if (size >= 12)
		check_written(data, size);
	return 0;
}
