/*
 * crc32c.c - CRC-32C by table, or by the CPU's CRC32 and PCLMULQDQ instructions.
 *
 * Both variants give the same value, which is part of on-disk formats: journal lines, the usage
 * ledger, snapshot indexes and intent logs. The hardware variant is chosen at run time, because one
 * binary must also run on CPUs without it. The table is filled on first use, once for all
 * threads.
 */
#include "base/format/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <sys/platform/x86.h>
#endif

static uint32_t table[256];
/* Journals and uploads have threads of their own. */
static pthread_once_t table_made = PTHREAD_ONCE_INIT;

static void table_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = (c & 1) ? (c >> 1) ^ 0x82f63b78u : c >> 1;
		table[i] = c;
	}
}

static uint32_t crc_soft(uint32_t crc, const unsigned char *p, size_t n)
{
	pthread_once(&table_made, table_init);
	while (n--)
		crc = table[(crc ^ *p++) & 0xff] ^ (crc >> 8);
	return crc;
}

#if defined(__x86_64__)
#define CRC_TARGET __attribute__((target("sse4.2,pclmul")))

/* A step waits three cycles for the one before, so three parts are reckoned at a time. The CRC of what stands before a part is
 * moved over it by a product with x^(8 * its bytes - 33), modulo the polynomial, reflected as all of this is. */
#define PART 64
#define OVER_1_PART 0x9e4addf8u
#define OVER_2_PARTS 0x0d3b6092u

typedef long long crc_words __attribute__((vector_size(16)));

static inline uint64_t load_word(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

CRC_TARGET static inline uint64_t crc_over(uint64_t crc, uint32_t parts)
{
	crc_words product = __builtin_ia32_pclmulqdq128((crc_words){ (long long)crc, 0 },
							(crc_words){ parts, 0 }, 0);

	return __builtin_ia32_crc32di(0, (uint64_t)product[0]);
}

CRC_TARGET static uint64_t crc_parts(uint64_t a, const unsigned char *p)
{
	uint64_t b = 0, c = 0;

	for (size_t i = 0; i < PART; i += 8) {
		a = __builtin_ia32_crc32di(a, load_word(p + i));
		b = __builtin_ia32_crc32di(b, load_word(p + PART + i));
		c = __builtin_ia32_crc32di(c, load_word(p + 2 * (size_t)PART + i));
	}
	return crc_over(a, OVER_2_PARTS) ^ crc_over(b, OVER_1_PART) ^ c;
}

CRC_TARGET static uint32_t crc_hard(uint32_t crc, const unsigned char *p, size_t n)
{
	uint64_t c = crc;

	for (; n >= 3 * (size_t)PART; n -= 3 * (size_t)PART, p += 3 * (size_t)PART)
		c = crc_parts(c, p);
	for (; n >= 8; n -= 8, p += 8)
		c = __builtin_ia32_crc32di(c, load_word(p));
	for (; n; n--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return (uint32_t)c;
}

/* libc has asked the processor already. What the compiler's own word asks with at each start traps in a virtual machine. */
static bool has_words(void)
{
	return x86_cpu_active(x86_cpu_SSE4_2) && x86_cpu_active(x86_cpu_PCLMULQDQ);
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t n)
{
#if defined(__x86_64__)
	if (has_words())
		return ~crc_hard(~crc, data, n);
#endif
	return ~crc_soft(~crc, data, n);
}
