/*
 * archive_format.c - recognizes an archive by its first bytes, never by its name.
 *
 * This decides only whether an upload is kept: acpd-unpack has stricter rules, and reads what is kept as untrusted input. A
 * name at the start of a tar can look like any magic number, and the checksum of its header decides only where no magic
 * number fits.
 */
#include "tree/archive_format.h"

#include "base/util.h"

#define TAR_BLOCK 512
#define TAR_SUM_AT 148
#define TAR_SUM_BYTES 8

static const char *const names[] = {
	[ARCHIVE_UNKNOWN] = "unknown", [ARCHIVE_TAR] = "tar", [ARCHIVE_TAR_GZ] = "tar.gz",
	[ARCHIVE_TAR_ZST] = "tar.zst", [ARCHIVE_ZIP] = "zip",
};

const char *archive_format_word(enum archive_format f)
{
	return names[f];
}

enum archive_format archive_format_by_name(const char *name)
{
	for (unsigned i = ARCHIVE_TAR; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return (enum archive_format)i;
	return ARCHIVE_UNKNOWN;
}

/* Octal digits between blanks, as tar writes its numbers. */
static bool tar_octal(struct slice text, unsigned *ret)
{
	size_t i = 0, digits = 0;

	*ret = 0;
	while (i < text.n && text.p[i] == ' ')
		i++;
	for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '7'; i++, digits++)
		*ret = *ret << 3 | (unsigned)(text.p[i] - '0');
	return digits && (i == text.n || text.p[i] == ' ' || !text.p[i]);
}

/* The checksum covers the header with blanks in its own place; some old writers added signed bytes. */
bool archive_is_tar_header(struct slice head)
{
	unsigned sum = 0, want;
	int sum_signed = 0;

	for (size_t i = 0; i < TAR_BLOCK; i++) {
		bool blank = i >= TAR_SUM_AT && i < TAR_SUM_AT + TAR_SUM_BYTES;

		sum += blank ? ' ' : (unsigned char)head.p[i];
		sum_signed += blank ? ' ' : (signed char)head.p[i];
	}
	return tar_octal((struct slice){ head.p + TAR_SUM_AT, TAR_SUM_BYTES }, &want) &&
	       (want == sum || (int)want == sum_signed);
}

/* An archive without entries begins with its end, a block of zeros. */
static bool is_tar(struct slice head)
{
	return head.n >= TAR_BLOCK && ((!head.p[0] && !memcmp(head.p, head.p + 1, TAR_BLOCK - 1)) ||
				       archive_is_tar_header(head));
}

enum archive_format archive_format_of(struct slice head)
{
	static const struct {
		struct slice magic;
		enum archive_format format;
	} rows[] = {
		{ { "\x1f\x8b\x08", 3 }, ARCHIVE_TAR_GZ },
		{ { "\x28\xb5\x2f\xfd", 4 }, ARCHIVE_TAR_ZST },
		{ { "PK\3\4", 4 }, ARCHIVE_ZIP },
		{ { "PK\5\6", 4 }, ARCHIVE_ZIP }, /* without entries */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (head.n >= rows[i].magic.n &&
		    memcmp(head.p, rows[i].magic.p, rows[i].magic.n) == 0)
			return rows[i].format;
	return is_tar(head) ? ARCHIVE_TAR : ARCHIVE_UNKNOWN;
}
