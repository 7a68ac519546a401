/* CRC-32C against the vectors of RFC 3720, and the table path against the instruction. */
#include "unit.h"

/* the file itself, under another name: its table path is static */
#define crc32c crc32c_here
#include "base/format/crc32c.c"
#undef crc32c

uint32_t crc32c(uint32_t crc, const void *data, size_t n);

static uint32_t soft(uint32_t crc, const void *p, size_t n)
{
	return ~crc_soft(~crc, p, n);
}

static void check(const void *p, size_t n, uint32_t want)
{
	assert_int_equal(crc32c(0, p, n), want);
	assert_int_equal(soft(0, p, n), want);
}

static void test_vectors(void **state _unused_)
{
	unsigned char up[32], down[32], zeros[32] = { 0 }, ones[32];

	memset(ones, 0xff, sizeof(ones));
	for (unsigned i = 0; i < 32; i++) {
		up[i] = (unsigned char)i;
		down[i] = (unsigned char)(31 - i);
	}
	check("", 0, 0);
	check("123456789", 9, 0xe3069283u);
	check("a", 1, 0xc1d04330u);
	check(zeros, 32, 0x8a9136aau);
	check(ones, 32, 0x62a8ab43u);
	check(up, 32, 0x46dd794eu);
	check(down, 32, 0x113fdb5cu);
}

static void fill(unsigned char *p, size_t n)
{
	uint32_t x = 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = (unsigned char)(x >> 24);
	}
}

static void test_paths_agree(void **state _unused_)
{
	unsigned char data[720];

	fill(data, sizeof(data));
	for (size_t at = 0; at < 16; at++)
		for (size_t n = 0; n <= 700; n++)
			assert_int_equal(crc32c(0x12345678u, data + at, n),
					 soft(0x12345678u, data + at, n));
}

static void test_continues(void **state _unused_)
{
	unsigned char data[100];
	uint32_t whole;

	fill(data, sizeof(data));
	whole = crc32c(0, data, sizeof(data));
	for (size_t cut = 0; cut <= sizeof(data); cut++)
		assert_int_equal(crc32c(crc32c(0, data, cut), data + cut, sizeof(data) - cut),
				 whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_paths_agree),
		cmocka_unit_test(test_continues),
	};

	return RUN(tests, NULL, NULL);
}
