/*
 * source_format.c - detects the archive format from the first 512 bytes, never from a file name.
 *
 * The first bytes decide the format; a declared one must be the same. tar, tar.gz, tar.zst and zip are known, nothing
 * else is tried. A source (of the three tars) inflates on a thread of its own (ring.h) and makes all checks of its
 * compression; it reports the end of the bytes only if they passed. zip.c reads a zip.
 *
 * A tar header is tried first: it has a checksum, while a file name at its start can look like any
 * magic number. Formats that are recognized but not supported have their own refusal, so that a
 * client learns what it sent. The table must list a more specific magic before a shorter one that
 * is its prefix.
 */
#include "unpack/bytes/source.h"

#define TAR_BLOCK 512

static const struct magic {
	const char *bytes;
	size_t n;
	enum archive_format format; /* ARCHIVE_UNKNOWN: known, but not supported */
	bool compressed;
	const char *name;
} magics[] = {
	{ "\x1f\x8b", 2, ARCHIVE_TAR_GZ, true, "gzip" },
	{ "\x28\xb5\x2f\xfd", 4, ARCHIVE_TAR_ZST, true, "zstd" },
	{ "PK\3\4", 4, ARCHIVE_ZIP, false, "zip" },
	{ "PK\5\6", 4, ARCHIVE_ZIP, false, "zip" },
	{ "BZh", 3, ARCHIVE_UNKNOWN, true, "bzip2" },
	{ "\xfd"
	  "7zXZ",
	  5, ARCHIVE_UNKNOWN, true, "xz" },
	{ "\x5d\x00\x00", 3, ARCHIVE_UNKNOWN, true, "lzma" },
	{ "LZIP", 4, ARCHIVE_UNKNOWN, true, "lzip" },
	{ "LRZI", 4, ARCHIVE_UNKNOWN, true, "lrzip" },
	{ "\x89LZO", 4, ARCHIVE_UNKNOWN, true, "lzop" },
	{ "\x04\x22\x4d\x18", 4, ARCHIVE_UNKNOWN, true, "lz4" },
	{ "\x1f\x9d", 2, ARCHIVE_UNKNOWN, true, "compress" },
	{ "7z\xbc\xaf\x27\x1c", 6, ARCHIVE_UNKNOWN, false, "7z" },
	{ "Rar!", 4, ARCHIVE_UNKNOWN, false, "rar" },
	{ "MSCF", 4, ARCHIVE_UNKNOWN, false, "cab" },
	{ "xar!", 4, ARCHIVE_UNKNOWN, false, "xar" },
	{ "!<arch>", 7, ARCHIVE_UNKNOWN, false, "ar" },
	{ "070701", 6, ARCHIVE_UNKNOWN, false, "cpio" },
	{ "070702", 6, ARCHIVE_UNKNOWN, false, "cpio" },
	{ "070707", 6, ARCHIVE_UNKNOWN, false, "cpio" },
	{ "\xc7\x71", 2, ARCHIVE_UNKNOWN, false, "cpio" },
	{ "#mtree", 6, ARCHIVE_UNKNOWN, false, "mtree" },
	{ "begin ", 6, ARCHIVE_UNKNOWN, false, "uuencode" },
	{ "WARC/", 5, ARCHIVE_UNKNOWN, false, "warc" },
	{ "#!", 2, ARCHIVE_UNKNOWN, false, "script" },
};

static const struct magic *find_magic(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if (n >= magics[i].n && memcmp(p, magics[i].bytes, magics[i].n) == 0)
			return &magics[i];
	return NULL;
}

bool format_is_compressed(const uint8_t *p, size_t n)
{
	const struct magic *m = find_magic(p, n);

	return m && m->compressed;
}

/* Stricter than an upload is: nothing but NUL and blanks follows the digits of the checksum. */
bool format_is_tar_header(const uint8_t *block)
{
	size_t i = 148;

	while (i < 156 && block[i] == ' ')
		i++;
	while (i < 156 && block[i] >= '0' && block[i] <= '7')
		i++;
	while (i < 156 && (block[i] == '\0' || block[i] == ' '))
		i++;
	return i == 156 && archive_is_tar_header((struct slice){ (const char *)block, TAR_BLOCK });
}

static bool is_skippable_frame(const uint8_t *p, size_t n)
{
	return n >= 4 && (p[0] & 0xf0) == 0x50 && memcmp(p + 1, "\x2a\x4d\x18", 3) == 0;
}

static int by_magic(const uint8_t *p, size_t n, enum archive_format *ret, struct verdict *v)
{
	const struct magic *m = find_magic(p, n);

	/* a tar first: a name may begin like another format */
	if (n == TAR_BLOCK && (format_is_tar_header(p) || bytes_are_zero(p, n)))
		*ret = ARCHIVE_TAR;
	else if (m && m->format != ARCHIVE_UNKNOWN)
		*ret = m->format;
	else if (is_skippable_frame(p, n))
		*ret = ARCHIVE_TAR_ZST;
	else if (m)
		return refuse(v, "FORMAT_NOT_ALLOWED", NULL, "the archive is of the format %s",
			      m->name);
	else
		return refuse(v, "FORMAT_UNKNOWN", NULL,
			      n ? "the file is no tar, tar.gz, tar.zst or zip" :
				  "the file is empty");
	return 0;
}

int format_detect(int fd, enum archive_format declared, enum archive_format *ret, struct verdict *v)
{
	uint8_t head[TAR_BLOCK];
	struct stat sb;
	ssize_t n;
	int r;

	if (fstat(fd, &sb) < 0)
		return fail_with(v, -errno, NULL, "reading the archive");
	if (!S_ISREG(sb.st_mode))
		return fail_as(v, "NOT_A_FILE", NULL, "the archive is not a regular file");
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		return fail_with(v, -errno, NULL, "reading the archive");
	r = by_magic(head, (size_t)n, ret, v);
	if (r == 0 && declared != ARCHIVE_UNKNOWN && declared != *ret)
		return refuse(v, "FORMAT_MISMATCH", NULL, "declared as %s, but it is %s",
			      archive_format_word(declared), archive_format_word(*ret));
	return r;
}
