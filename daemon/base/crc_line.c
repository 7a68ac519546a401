#include "base/crc_line.h"

#include "base/crc32c.h"

#define CRC_TAIL (sizeof(",\"crc\":\"00000000\"}") - 1)

/* The end of a line with its newline, CRC_TAIL + 1 bytes and NUL. */
static void crc_text(char out[CRC_TAIL + 2], uint32_t crc)
{
	static const char digits[] = "0123456789abcdef";

	memcpy(out, ",\"crc\":\"00000000\"}\n", CRC_TAIL + 2);
	for (int i = 0; i < 8; i++)
		out[8 + i] = digits[crc >> (28 - 4 * i) & 15];
}

void crc_line_end(struct buf *b, size_t start)
{
	char tail[CRC_TAIL + 2];

	crc_text(tail, crc32c(0, b->data + start, b->len - start));
	buf_add(b, tail, CRC_TAIL + 1);
}

bool crc_line_open(struct slice line, struct slice *ret)
{
	char want[CRC_TAIL + 2];

	if (line.n < CRC_TAIL)
		return false;
	*ret = (struct slice){ line.p, line.n - CRC_TAIL };
	crc_text(want, crc32c(0, ret->p, ret->n));
	return memcmp(want, ret->p + ret->n, CRC_TAIL) == 0;
}
