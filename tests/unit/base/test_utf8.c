/* UTF-8 in strings: what the scanner takes is exactly what Unicode calls well-formed. */
#include "unit.h"

#include "json/jscan.h"
#include "json/jstr.h"

static enum jscan_error scan_quoted(const char *p, size_t n)
{
	_cleanup_(freep) char *text = malloc(n + 2);

	text[0] = '"';
	memcpy(text + 1, p, n);
	text[n + 1] = '"';
	return jscan_value((struct slice){ text, n + 2 }, NULL);
}

/* By value, not by table: the code point, then the shortest form of it. Returns the length of the sequence or 0. */
static size_t oracle(const unsigned char *p, size_t n)
{
	static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t want = p[0] < 0x80 ? 1 :
		      p[0] < 0xc0 ? 0 :
		      p[0] < 0xe0 ? 2 :
		      p[0] < 0xf0 ? 3 :
		      p[0] < 0xf8 ? 4 :
				    0;
	unsigned cp = want < 2 ? p[0] : p[0] & (0x7fu >> want);

	if (!want || want > n)
		return 0;
	for (size_t i = 1; i < want; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (p[i] & 0x3f);
	}
	return cp < least[want] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff) ? 0 : want;
}

static bool oracle_all(const unsigned char *p, size_t n)
{
	for (size_t used; n; p += used, n -= used) {
		if (*p < 0x20 || *p == '"' || *p == '\\')
			return false;
		used = oracle(p, n);
		if (!used)
			return false;
	}
	return true;
}

static void check(const unsigned char *p, size_t n)
{
	bool want = oracle_all(p, n), got = scan_quoted((const char *)p, n) == JSCAN_OK;

	if (want != got)
		fail_msg("%02x %02x %02x %02x (%zu bytes): want %d, got %d", p[0], p[1], p[2], p[3],
			 n, want, got);
}

/* Every leading byte with every second byte, and the interesting third and fourth ones. */
static void test_all_sequences(void **state _unused_)
{
	static const unsigned char tails[] = { 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 'a' };

	for (unsigned a = 0x80; a < 0x100; a++) {
		for (unsigned b = 0; b < 0x100; b++) {
			unsigned char s[4] = { (unsigned char)a, (unsigned char)b, 0, 0 };

			check(s, 1);
			check(s, 2);
			if (b < 0x70)
				continue;
			for (size_t i = 0; i < ARRAY_SIZE(tails) * ARRAY_SIZE(tails);
			     i += stride(8)) {
				s[2] = tails[i / ARRAY_SIZE(tails)];
				s[3] = tails[i % ARRAY_SIZE(tails)];
				check(s, 3);
				check(s, 4);
			}
		}
	}
}

static void test_known_evils(void **state _unused_)
{
	static const struct {
		const char *what, *bytes;
	} rows[] = {
		{ "overlong slash", "\xc0\xaf" },
		{ "overlong slash, 3 bytes", "\xe0\x80\xaf" },
		{ "overlong slash, 4 bytes", "\xf0\x80\x80\xaf" },
		{ "overlong DEL", "\xc1\xbf" },
		{ "overlong U+07FF", "\xe0\x9f\xbf" },
		{ "overlong U+FFFF", "\xf0\x8f\xbf\xbf" },
		{ "modified UTF-8 NUL", "\xc0\x80" },
		{ "first surrogate", "\xed\xa0\x80" },
		{ "last surrogate", "\xed\xbf\xbf" },
		{ "CESU-8 pair", "\xed\xa0\xbd\xed\xb8\x80" },
		{ "U+110000", "\xf4\x90\x80\x80" },
		{ "5 bytes", "\xf8\x88\x80\x80\x80" },
		{ "6 bytes", "\xfc\x84\x80\x80\x80\x80" },
		{ "lone continuation", "a\x80z" },
		{ "lone lead", "a\xc3z" },
		{ "FE and FF", "\xfe\xff" },
		{ "Latin-1", "caf\xe9" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (scan_quoted(rows[i].bytes, strlen(rows[i].bytes)) != JSCAN_E_UTF8)
			fail_row(i, rows[i].what);
}

/* Mixed widths at all alignments, cut at every offset: valid exactly where a character ends. */
static void test_cut_at_every_offset(void **state _unused_)
{
	static const char mixed[] =
		"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80zz\xdf\xbf\xef\xbf\xbd\xf4\x8f\xbf\xbf";
	char text[64];

	for (size_t pad = 0; pad < 9; pad++) {
		memset(text, 'p', pad);
		memcpy(text + pad, mixed, sizeof(mixed));
		for (size_t n = 0; n < pad + sizeof(mixed) - 1; n++) {
			bool whole = oracle_all((const unsigned char *)text, n);

			assert_int_equal(scan_quoted(text, n) == JSCAN_OK, whole);
			/* and without the closing quote it is never a string */
			assert_int_not_equal(jscan_value((struct slice){ text, n }, NULL),
					     JSCAN_OK);
		}
	}
}

/* Encoding repairs: each byte that belongs to no character becomes U+FFFD, the rest stays. */
static void test_encode_repairs(void **state _unused_)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "a\xff"
		  "b",
		  "\"a\xef\xbf\xbd"
		  "b\"" },
		{ "\xc3", "\"\xef\xbf\xbd\"" },
		{ "\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"" },
		{ "\xc3\xa9\xc3", "\"\xc3\xa9\xef\xbf\xbd\"" },
		{ "\xc3\"", "\"\xef\xbf\xbd\\\"\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		_cleanup_(slice_freep) struct slice in = exact_copy(slice_of(rows[i].in));

		assert_int_equal(jstr_encode(&b, in), 0);
		assert_buf(&b, rows[i].out);
		assert_int_equal(jscan_value(buf_slice(&b), NULL), JSCAN_OK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_sequences),
		cmocka_unit_test(test_known_evils),
		cmocka_unit_test(test_cut_at_every_offset),
		cmocka_unit_test(test_encode_repairs),
	};

	return RUN(tests, NULL, NULL);
}
