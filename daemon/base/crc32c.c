#include "base/crc32c.h"

#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <sys/platform/x86.h>
#endif

static uint32_t table[256];

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
	if (!table[1])
		table_init();
	while (n--)
		crc = table[(crc ^ *p++) & 0xff] ^ (crc >> 8);
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const unsigned char *p,
							    size_t n)
{
	uint64_t c = crc;

	for (; n >= 8; n -= 8, p += 8) {
		uint64_t v;

		memcpy(&v, p, 8);
		c = __builtin_ia32_crc32di(c, v);
	}
	for (; n; n--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return (uint32_t)c;
}

/* libc has asked the processor already. What the compiler's own word asks with at each start traps in a virtual machine. */
static bool has_sse42(void)
{
	return x86_cpu_active(x86_cpu_SSE4_2);
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t n)
{
#if defined(__x86_64__)
	if (has_sse42())
		return ~crc_sse42(~crc, data, n);
#endif
	return ~crc_soft(~crc, data, n);
}
