/* The decompression stage: what comes out, and what each damage is called. */
#include "unit.h"

#include "unpack/bytes/source.h"

#include <fcntl.h>
#include <zlib.h>
#include <zstd.h>

#define PLAIN 300000

static const struct feed_limits wide = { 1 << 30, 200 };
static char plain[PLAIN];

/* A member with the given header flags; what belongs to them is put in by the caller. */
static void gzip(struct buf *b, const void *p, size_t n, unsigned flags, const char *between)
{
	uint8_t head[10] = { 0x1f, 0x8b, 8, (uint8_t)flags, 0, 0, 0, 0, 0, 3 }, tail[8];
	z_stream z = { 0 };
	uLong crc = crc32(crc32(0, NULL, 0), p, (uInt)n);

	buf_add(b, head, sizeof(head));
	buf_puts(b, between);
	assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(buf_reserve(b, n + 1000), 0);
	z.next_in = (Bytef *)p;
	z.avail_in = (uInt)n;
	z.next_out = (Bytef *)b->data + b->len;
	z.avail_out = (uInt)n + 1000;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	b->len += z.total_out;
	deflateEnd(&z);
	for (unsigned i = 0; i < 4; i++) {
		tail[i] = (uint8_t)(crc >> (8 * i));
		tail[4 + i] = (uint8_t)(n >> (8 * i));
	}
	buf_add(b, tail, sizeof(tail));
}

static void zstd(struct buf *b, const void *p, size_t n, int window_log)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t made;

	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
	if (window_log)
		ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
	assert_int_equal(buf_reserve(b, ZSTD_compressBound(n)), 0);
	made = ZSTD_compress2(c, b->data + b->len, ZSTD_compressBound(n), p, n);
	assert_false(ZSTD_isError(made));
	b->len += made;
	ZSTD_freeCCtx(c);
}

/* Reads all of it and compares with want (NULL: any); the reason, or "". */
static const char *run_once(const struct buf *b, enum archive_format format,
			    struct feed_limits limits, const char *want, size_t n)
{
	static struct verdict v;
	_cleanup_(source_closep) struct source *s = NULL;
	_cleanup_(closep) int fd = -1;
	size_t at = 0;
	ssize_t got;

	scratch_write("archive", b->data, b->len);
	fd = open(scratch_path("archive"), O_RDONLY);
	v = (struct verdict){ .kind = VERDICT_NONE };
	assert_int_equal(source_open(fd, format, limits, NULL, &s, &v), 0);
	for (;;) {
		const uint8_t *p;

		got = source_peek(s, &p);
		if (got <= 0)
			break;
		if (want && (at + (size_t)got > n || memcmp(want + at, p, (size_t)got) != 0))
			return "OTHER_BYTES";
		at += (size_t)got;
		source_take(s, (size_t)got);
	}
	if (got == 0 && want && at != n)
		return "FEWER_BYTES";
	return got < 0 ? v.reason : "";
}

/* By both inflaters, whose reasons must be the same. */
static const char *run(const struct buf *b, enum archive_format format, struct feed_limits limits,
		       const char *want, size_t n)
{
	static char by_zlib[40];

	setenv("ACPD_INFLATE", "zlib", 1);
	snprintf(by_zlib, sizeof(by_zlib), "%s", run_once(b, format, limits, want, n));
	unsetenv("ACPD_INFLATE");
	assert_string_equal(run_once(b, format, limits, want, n), by_zlib);
	return by_zlib;
}

#define CHECK(b, format, want) assert_string_equal(run(b, format, wide, plain, PLAIN), want)

static void test_plain(void **state)
{
	struct buf b = { .data = plain, .len = PLAIN };

	(void)state;
	CHECK(&b, ARCHIVE_TAR, "");
}

static void test_gzip(void **state)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	(void)state;
	gzip(&b, plain, PLAIN, 0, "");
	CHECK(&b, ARCHIVE_TAR_GZ, "");
	for (unsigned i = 0; i < 1000; i++)
		buf_putc(&b, '\0');
	CHECK(&b, ARCHIVE_TAR_GZ, "");
	buf_putc(&b, 'x');
	CHECK(&b, ARCHIVE_TAR_GZ, "TRAILING_DATA");
	b.len -= 1001;
	b.data[b.len - 1] ^= 1;
	CHECK(&b, ARCHIVE_TAR_GZ, "SIZE_MISMATCH");
	b.data[b.len - 8] ^= 1;
	CHECK(&b, ARCHIVE_TAR_GZ, "CRC_MISMATCH");
	b.len -= 4;
	CHECK(&b, ARCHIVE_TAR_GZ, "ARCHIVE_TRUNCATED");
	b.len = b.len / 2;
	CHECK(&b, ARCHIVE_TAR_GZ, "ARCHIVE_TRUNCATED");
	b.data[2] = 7;
	CHECK(&b, ARCHIVE_TAR_GZ, "ARCHIVE_DAMAGED");
}

static void test_gzip_members(void **state)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	(void)state;
	gzip(&b, plain, 1000, 8, "name");
	b.data[14] = '\0'; /* over the first byte of the deflate stream */
	CHECK(&b, ARCHIVE_TAR_GZ, "ARCHIVE_DAMAGED");
	buf_reset(&b);
	gzip(&b, plain, 1000, 0, "");
	gzip(&b, plain + 1000, 0, 0, "");
	gzip(&b, plain + 1000, PLAIN - 1000, 0, "");
	CHECK(&b, ARCHIVE_TAR_GZ, "");
}

static void test_gzip_header(void **state)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *name = xalloc(70000);

	(void)state;
	memset(name, 'n', 69999);
	gzip(&b, plain, PLAIN, 8, name);
	CHECK(&b, ARCHIVE_TAR_GZ, "HEADER_TOO_LARGE");
	buf_reset(&b);
	gzip(&b, plain, PLAIN, 2, "zz"); /* the header's CRC */
	CHECK(&b, ARCHIVE_TAR_GZ, "CRC_MISMATCH");
	buf_reset(&b);
	gzip(&b, plain, PLAIN, 0x20, "");
	CHECK(&b, ARCHIVE_TAR_GZ, "ARCHIVE_DAMAGED");
}

static void test_zstd(void **state)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t one;

	(void)state;
	zstd(&b, plain, PLAIN, 0);
	one = b.len;
	CHECK(&b, ARCHIVE_TAR_ZST, "");
	buf_add(&b, "\x5a\x2a\x4d\x18\x03\0\0\0abc", 11); /* passed over */
	CHECK(&b, ARCHIVE_TAR_ZST, "");
	buf_putc(&b, '\0');
	CHECK(&b, ARCHIVE_TAR_ZST, "TRAILING_DATA");
	b.len = one - 1;
	CHECK(&b, ARCHIVE_TAR_ZST, "ARCHIVE_TRUNCATED");
	b.len = one;
	b.data[one - 1] ^= 1;
	CHECK(&b, ARCHIVE_TAR_ZST, "CRC_MISMATCH");
	buf_reset(&b);
	zstd(&b, plain, 1000, 0);
	zstd(&b, plain + 1000, PLAIN - 1000, 0);
	CHECK(&b, ARCHIVE_TAR_ZST, "");
}

static void test_zstd_window(void **state)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	/* a frame with a window of 16 MiB and one empty block */
	static const char frame[] = "\x28\xb5\x2f\xfd\x00\x70\x01\x00\x00";

	(void)state;
	buf_add(&b, frame, sizeof(frame) - 1);
	assert_string_equal(run(&b, ARCHIVE_TAR_ZST, wide, NULL, 0), "ZSTD_WINDOW_TOO_LARGE");
	b.data[5] = 0x68; /* 8 MiB */
	assert_string_equal(run(&b, ARCHIVE_TAR_ZST, wide, NULL, 0), "");
	b.data[4] = 1; /* a dictionary of the number that follows */
	b.data[6] = 7;
	buf_puts(&b, "\1");
	b.data[7] = 1;
	assert_string_equal(run(&b, ARCHIVE_TAR_ZST, wide, NULL, 0), "ZSTD_DICTIONARY");
}

static void test_volume(void **state)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *zeros = xalloc(UNPACK_RATIO_FROM + MIB);
	struct feed_limits few = { PLAIN - 1, 200 };

	(void)state;
	gzip(&b, plain, PLAIN, 0, "");
	assert_string_equal(run(&b, ARCHIVE_TAR_GZ, few, plain, PLAIN), "TOO_LARGE");
	buf_reset(&b);
	gzip(&b, zeros, UNPACK_RATIO_FROM, 0, "");
	assert_string_equal(run(&b, ARCHIVE_TAR_GZ, wide, zeros, UNPACK_RATIO_FROM), "");
	buf_reset(&b);
	gzip(&b, zeros, UNPACK_RATIO_FROM + MIB, 0, "");
	assert_string_equal(run(&b, ARCHIVE_TAR_GZ, wide, NULL, 0), "RATIO_TOO_HIGH");
}

/* The consumer may leave at any time. */
static void test_left_early(void **state)
{
	struct verdict v = { .kind = VERDICT_NONE };
	_cleanup_(closep) int fd = -1;
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *zeros = xalloc(8 * MIB);

	(void)state;
	gzip(&b, zeros, 8 * MIB, 0, "");
	scratch_write("archive", b.data, b.len);
	fd = open(scratch_path("archive"), O_RDONLY);
	for (unsigned i = 0; i < 20; i++) {
		struct source *s = NULL;
		char head[1000];

		assert_int_equal(source_open(fd, ARCHIVE_TAR_GZ, wide, NULL, &s, &v), 0);
		if (i % 2)
			assert_int_equal(source_read(s, head, sizeof(head)), sizeof(head));
		source_close(s);
	}
}

static const struct {
	struct slice bytes;
	const char *reason;
	enum archive_format declared, want;
} formats[] = {
	{ SLICE(""), "FORMAT_UNKNOWN", ARCHIVE_UNKNOWN, ARCHIVE_UNKNOWN },
	{ SLICE("text"), "FORMAT_UNKNOWN", ARCHIVE_UNKNOWN, ARCHIVE_UNKNOWN },
	{ SLICE("\x1f\x8b\x08"), NULL, ARCHIVE_UNKNOWN, ARCHIVE_TAR_GZ },
	{ SLICE("\x1f\x8b\x08"), NULL, ARCHIVE_TAR_GZ, ARCHIVE_TAR_GZ },
	{ SLICE("\x1f\x8b\x08"), "FORMAT_MISMATCH", ARCHIVE_ZIP, ARCHIVE_UNKNOWN },
	{ SLICE("\x28\xb5\x2f\xfd"), NULL, ARCHIVE_UNKNOWN, ARCHIVE_TAR_ZST },
	{ SLICE("\x50\x2a\x4d\x18\0\0\0\0"), NULL, ARCHIVE_UNKNOWN, ARCHIVE_TAR_ZST },
	{ SLICE("PK\5\6"), NULL, ARCHIVE_UNKNOWN, ARCHIVE_ZIP },
	{ SLICE("BZh91AY"), "FORMAT_NOT_ALLOWED", ARCHIVE_UNKNOWN, ARCHIVE_UNKNOWN },
	{ SLICE("#mtree\n"), "FORMAT_NOT_ALLOWED", ARCHIVE_UNKNOWN, ARCHIVE_UNKNOWN },
	{ SLICE("LRZI"), "FORMAT_NOT_ALLOWED", ARCHIVE_UNKNOWN, ARCHIVE_UNKNOWN },
};

static void test_formats(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct verdict v = { .kind = VERDICT_NONE };
		enum archive_format got = ARCHIVE_UNKNOWN;
		_cleanup_(closep) int fd = -1;
		int r;

		scratch_write("archive", formats[i].bytes.p, formats[i].bytes.n);
		fd = open(scratch_path("archive"), O_RDONLY);
		r = format_detect(fd, formats[i].declared, &got, &v);
		if (formats[i].reason ? r == 0 || strcmp(v.reason, formats[i].reason) != 0 :
					r < 0 || got != formats[i].want)
			fail_row(i, v.reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	     cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_gzip_members), cmocka_unit_test(test_gzip_header),
		cmocka_unit_test(test_zstd),	     cmocka_unit_test(test_zstd_window),
		cmocka_unit_test(test_volume),	     cmocka_unit_test(test_left_early),
		cmocka_unit_test(test_formats),
	};

	for (size_t i = 0; i < PLAIN; i++)
		plain[i] = (char)(i * i * 31 + (i >> 5));
	return RUN(tests, scratch_setup, scratch_done);
}
