#include "base/format/crc_line.h"

#include "base/format/crc32c.h"

#define CRC_TAIL (CRC_LINE_TAIL - 1)

void crc_line_tail(char out[CRC_LINE_TAIL + 1], uint32_t crc)
{
	static const char digits[] = "0123456789abcdef";

	memcpy(out, ",\"crc\":\"00000000\"}\n", CRC_LINE_TAIL + 1);
	for (int i = 0; i < 8; i++)
		out[8 + i] = digits[crc >> (28 - 4 * i) & 15];
}

void crc_line_end(struct buf *b, size_t start)
{
	char tail[CRC_LINE_TAIL + 1];

	crc_line_tail(tail, crc32c(0, b->data + start, b->len - start));
	buf_add(b, tail, CRC_LINE_TAIL);
}

bool crc_line_open(struct slice line, struct slice *ret)
{
	char want[CRC_LINE_TAIL + 1];

	if (line.n < CRC_TAIL)
		return false;
	*ret = (struct slice){ line.p, line.n - CRC_TAIL };
	crc_line_tail(want, crc32c(0, ret->p, ret->n));
	return memcmp(want, ret->p + ret->n, CRC_TAIL) == 0;
}
