/* Chunked coding, ranges and the kinds of archives by their first bytes. */
#include "unit.h"

#include "tree/archive_format.h"
#include "base/limits.h"
#include "base/http/chunked.h"
#include "http/request_parts.h"

/* The body, "!" behind it if it ended, "?" if it was refused. */
static void decode(const char *text, struct buf *out)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(slice_of(text));
	struct slice in = copy, data;
	struct chunked c = { 0 };
	int r;

	while ((r = chunked_next(&c, &in, &data)) > 0)
		buf_add_slice(out, data);
	if (r < 0)
		buf_putc(out, '?');
	else if (c.state == CHUNKED_END)
		buf_printf(out, "!%zu", in.n);
}

static void test_chunked(void **state _unused_)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "5\r\nhello\r\n0\r\n\r\n", "hello!0" },
		{ "005\r\nhello\r\nA;x=\"y z\"\r\n0123456789\r\n0;e\r\n\r\nrest",
		  "hello0123456789!4" },
		{ "1\r\na\r\n0\r\nA: b\r\nC:d\r\n\r\n", "a!0" },
		{ "0\r\n\r\n", "!0" },
		{ "", "" },
		{ "5\r\nhel", "hel" },
		{ "0\r\n", "" },
		{ "\r\n", "?" },
		{ ";\r\n", "?" },
		{ "g\r\n", "?" },
		{ "-1\r\n", "?" },
		{ " 1\r\n", "?" },
		{ "1 \r\n", "?" },
		{ "0x1\r\n", "?" },
		{ "1\n", "?" },
		{ "1\r\naX", "a?" },
		{ "1\r\na\rX", "a?" },
		{ "1\r\na\n", "a?" },
		{ "1\rX", "?" },
		{ "1;\x01\r\n", "?" },
		{ "0\r\nA\n\r\n", "?" },
		{ "0\r\n\rX", "?" },
		{ "fffffffffffffff\r\n", "" },
		{ "1000000000000000\r\n", "?" },
		{ "0000000000000001\r\n", "?" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };

		decode(rows[i].text, &b);
		if (!slice_is(buf_slice(&b), rows[i].want))
			fail_row(i, rows[i].text);
	}
}

static void test_chunked_bounds(void **state _unused_)
{
	_cleanup_(buf_done) struct buf text = { 0 }, b = { 0 };

	buf_puts(&text, "1;");
	while (text.len < CHUNK_LINE_MAX - 2)
		buf_putc(&text, 'e');
	buf_add(&text, "\r\na", 4); /* with the NUL */
	decode(text.data, &b);
	assert_buf(&b, "a");
	text.len -= 4;
	buf_add(&text, "e\r\na", 5);
	buf_reset(&b);
	decode(text.data, &b);
	assert_buf(&b, "?");
	buf_reset(&text);
	buf_puts(&text, "0\r\n");
	while (text.len < CHUNK_TRAILERS_MAX)
		buf_puts(&text, "T: x\r\n");
	buf_add(&text, "U: x\r\n\r\n", 9);
	buf_reset(&b);
	decode(text.data, &b);
	assert_buf(&b, "?");
}

static void test_content_range(void **state _unused_)
{
	static const struct {
		const char *text;
		struct content_range want;
		bool ok;
	} rows[] = {
		{ "bytes 0-9/10", { 0, 10, 10 }, true },
		{ "bytes 3-3/10", { 3, 1, 10 }, true },
		{ "bytes */10", { 10, 0, 10 }, true },
		{ "bytes */0", { 0, 0, 0 }, true },
		{ "bytes 0-18446744073709551613/18446744073709551615",
		  { 0, UINT64_MAX - 1, UINT64_MAX },
		  true },
		{ .text = "" },
		{ .text = "bytes" },
		{ .text = "bytes 0-9" },
		{ .text = "bytes 0-9/" },
		{ .text = "bytes 0-9/*" },
		{ .text = "bytes 0-10/10" },
		{ .text = "bytes 5-4/10" },
		{ .text = "bytes -4/10" },
		{ .text = "bytes 4-/10" },
		{ .text = "bytes 4/10" },
		{ .text = "bytes  0-9/10" },
		{ .text = "bytes=0-9/10" },
		{ .text = "bytes 0-9/10 " },
		{ .text = "bytes 0-9/18446744073709551616" },
		{ .text = "Bytes 0-9/10" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(rows[i].text));
		struct content_range r;
		bool ok = content_range_parse(text, &r) == 0;

		if (ok != rows[i].ok || (ok && memcmp(&r, &rows[i].want, sizeof(r)) != 0))
			fail_row(i, rows[i].text);
	}
}

static void test_range(void **state _unused_)
{
	static const struct {
		const char *text;
		int want;
		uint64_t first, count;
	} rows[] = {
		{ "bytes=0-", 1, 0, 100 },	 { "bytes=99-", 1, 99, 1 },
		{ "bytes=10-19", 1, 10, 10 },	 { "bytes=10-1000", 1, 10, 90 },
		{ "bytes=100-", -ERANGE, 0, 0 }, { "", 0, 0, 100 },
		{ "bytes=-5", 0, 0, 100 },	 { "bytes=5-4", 0, 0, 100 },
		{ "bytes=0-1,3-4", 0, 0, 100 },	 { "bytes=x-", 0, 0, 100 },
		{ "items=0-", 0, 0, 100 },	 { "bytes=5", 0, 0, 100 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(rows[i].text));
		uint64_t first, count;
		int r = range_parse(text, 100, &first, &count);

		if (r != rows[i].want ||
		    (r >= 0 && (first != rows[i].first || count != rows[i].count)))
			fail_row(i, rows[i].text);
	}
}

/* A header as tar writes it, with its checksum. */
static void tar_head(char out[512], bool as_signed)
{
	int sum = 0;

	memset(out, 0, 512);
	memcpy(out, "caf\xc3\xa9", 5);
	memcpy(out + 100, "0000644", 8);
	memset(out + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += as_signed ? (signed char)out[i] : (unsigned char)out[i];
	snprintf(out + 148, 8, "%06o", (unsigned)sum);
}

static void test_formats(void **state _unused_)
{
	char head[512];

	for (int as_signed = 0; as_signed < 2; as_signed++) {
		tar_head(head, as_signed);
		assert_int_equal(archive_format_of((struct slice){ head, 512 }), ARCHIVE_TAR);
		assert_int_equal(archive_format_of((struct slice){ head, 511 }), ARCHIVE_UNKNOWN);
		head[3] ^= 1;
		assert_int_equal(archive_format_of((struct slice){ head, 512 }), ARCHIVE_UNKNOWN);
	}
	memset(head, 0, sizeof(head));
	assert_int_equal(archive_format_of((struct slice){ head, 512 }), ARCHIVE_TAR);
	assert_int_equal(archive_format_of(SLICE("\x1f\x8b\x08")), ARCHIVE_TAR_GZ);
	assert_int_equal(archive_format_of(SLICE("\x1f\x8b\x07")), ARCHIVE_UNKNOWN);
	assert_int_equal(archive_format_of(SLICE("\x28\xb5\x2f\xfd")), ARCHIVE_TAR_ZST);
	assert_int_equal(archive_format_of(SLICE("PK\3\4")), ARCHIVE_ZIP);
	assert_int_equal(archive_format_of(SLICE("PK\5\6")), ARCHIVE_ZIP);
	assert_int_equal(archive_format_of(SLICE("PK\1\2")), ARCHIVE_UNKNOWN);
	assert_int_equal(archive_format_of(SLICE("BZh9")), ARCHIVE_UNKNOWN);
	assert_int_equal(archive_format_of(SLICE_NONE), ARCHIVE_UNKNOWN);
	assert_string_equal(archive_format_word(ARCHIVE_TAR_ZST), "tar.zst");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunked),	      cmocka_unit_test(test_chunked_bounds),
		cmocka_unit_test(test_content_range), cmocka_unit_test(test_range),
		cmocka_unit_test(test_formats),
	};

	return RUN(tests, NULL, NULL);
}
