#include "diff/binary.h"

#include "base/util.h"

#include <errno.h>
#include <zlib.h>

#define LINE_BYTES 52
#define ROOM_BYTES (LINE_BYTES * 512)

/* Four bytes, big end first, become five digits. */
static void put_group(struct buf *out, const unsigned char *p, size_t n)
{
	static const char digits[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"!#$%&()*+-;<=>?@^_`{|}~";
	uint32_t value = 0;
	char group[5];

	for (size_t i = 0; i < 4; i++)
		value = value << 8 | (i < n ? p[i] : 0);
	for (size_t i = sizeof(group); i-- > 0; value /= 85)
		group[i] = digits[value % 85];
	buf_add(out, group, sizeof(group));
}

/* The first character says how many bytes: A to Z are 1 to 26, a to z are 27 to 52. */
static void put_line(struct buf *out, const unsigned char *p, size_t n)
{
	buf_putc(out, (char)(n <= 26 ? 'A' + n - 1 : 'a' + n - 27));
	for (size_t i = 0; i < n; i += 4)
		put_group(out, p + i, n - i);
	buf_putc(out, '\n');
}

static void put_lines(struct buf *out, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i += LINE_BYTES)
		put_line(out, p + i, MIN(n - i, (size_t)LINE_BYTES));
}

/* Writes whole lines while more comes. At git's own level: binary files are mostly compressed already.
 * The sides are smaller than zlib's 4 GiB. */
static int put_deflated(struct buf *out, struct slice data)
{
	unsigned char room[ROOM_BYTES];
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)data.p, .avail_in = (uInt)data.n };
	int r;

	if (deflateInit(&z, Z_BEST_SPEED) != Z_OK)
		return -ENOMEM;
	do {
		z.next_out = room;
		z.avail_out = sizeof(room);
		r = deflate(&z, Z_FINISH);
		put_lines(out, room, sizeof(room) - z.avail_out);
	} while (r == Z_OK && !out->failed);
	deflateEnd(&z);
	return out->failed ? -E2BIG : r == Z_STREAM_END ? 0 : -EIO;
}

static int put_literal(struct buf *out, struct slice data)
{
	int r;

	buf_printf(out, "literal %zu\n", data.n);
	r = put_deflated(out, data);
	buf_putc(out, '\n');
	return r;
}

int binary_patch_append(struct buf *out, struct slice from, struct slice to)
{
	int r;

	buf_puts(out, "GIT binary patch\n");
	r = put_literal(out, to);
	return r < 0 ? r : put_literal(out, from);
}
