/*
 * image_type.c - finds type and size of an image by walking its container: PNG chunks, JPEG
 * segments, GIF blocks, RIFF.
 *
 * The files are untrusted: an agent's workspace or a client's prompt. Each walker compares every
 * length with the bytes that remain before it advances, and never decodes pixels. A file counts
 * only if its container is complete, because providers reject the whole request for one broken
 * image.
 */
#include "base/format/image_type.h"

#include "base/limits.h"
#include "base/util.h"

static unsigned be16(const unsigned char *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static unsigned le16(const unsigned char *p)
{
	return (unsigned)p[1] << 8 | p[0];
}

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static uint32_t le32(const unsigned char *p)
{
	return (uint32_t)le16(p + 2) << 16 | le16(p);
}

/* Chunks: length, name, bytes, sum; the first is IHDR, the last IEND. */
static bool image_is_png(const unsigned char *p, size_t n, struct image *ret)
{
	bool bytes = false;
	size_t at = 8;

	if (n < 33 || memcmp(p, "\x89PNG\r\n\x1a\n", 8) != 0 || memcmp(p + 12, "IHDR", 4) != 0)
		return false;
	ret->width = be32(p + 16);
	ret->height = be32(p + 20);
	while (n - at >= 12) {
		size_t size = be32(p + at);

		if (size > n - at - 12)
			return false;
		if (memcmp(p + at + 4, "IEND", 4) == 0)
			return bytes;
		bytes |= memcmp(p + at + 4, "IDAT", 4) == 0;
		at += 12 + size;
	}
	return false;
}

/* Segments up to the scan; a start of frame has the sides. Inside of a scan 0xff is escaped, so the first end behind it
 * is the image's own: an end before it is of a preview. Cameras append to it, which decoders pass over. */
static bool image_is_jpeg(const unsigned char *p, size_t n, struct image *ret)
{
	size_t at = 2;

	if (n < 4 || p[0] != 0xff || p[1] != 0xd8)
		return false;
	while (n - at >= 10 && p[at] == 0xff) {
		unsigned mark = p[at + 1], size = be16(p + at + 2);
		bool frame = mark >= 0xc0 && mark <= 0xcf && mark != 0xc4 && mark != 0xc8 &&
			     mark != 0xcc;

		if (mark == 0xff) { /* filling */
			at++;
			continue;
		}
		if (frame) {
			ret->height = be16(p + at + 5);
			ret->width = be16(p + at + 7);
		}
		if (mark == 0xda)
			return memmem(p + at, n - at, "\xff\xd9", 2);
		if (size < 2 || size + 2 > n - at)
			return false;
		at += size + 2;
	}
	return false;
}

static size_t gif_colors(unsigned flags)
{
	return flags & 0x80 ? (size_t)6 << (flags & 7) : 0;
}

/* Returns the place behind a chain of data blocks, which an empty one ends; n: the chain is cut off. */
static size_t gif_chain(const unsigned char *p, size_t n, size_t at)
{
	while (at < n && p[at])
		at += (size_t)p[at] + 1;
	return MIN(at + 1, n);
}

/* Extensions and images up to the trailer, behind which decoders read no more. */
static bool image_is_gif(const unsigned char *p, size_t n, struct image *ret)
{
	bool bytes = false;
	size_t at;

	if (n < 14 || (memcmp(p, "GIF87a", 6) != 0 && memcmp(p, "GIF89a", 6) != 0))
		return false;
	ret->width = le16(p + 6);
	ret->height = le16(p + 8);
	for (at = 13 + gif_colors(p[10]); at < n && p[at] != 0x3b;) {
		if (p[at] == 0x21) {
			at = gif_chain(p, n, at + 2);
		} else if (p[at] == 0x2c && n - at > 10) {
			at = gif_chain(p, n, at + 11 + gif_colors(p[at + 9]));
			bytes = true;
		} else if (p[at]) {
			return false;
		} else {
			at++; /* filling */
		}
	}
	return bytes && at < n;
}

static bool image_is_webp(const unsigned char *p, size_t n, struct image *ret)
{
	if (n < 30 || memcmp(p, "RIFF", 4) != 0 || memcmp(p + 8, "WEBP", 4) != 0 ||
	    le32(p + 4) > n - 8 || le32(p + 16) > n - 20)
		return false;
	if (memcmp(p + 12, "VP8 ", 4) == 0) {
		ret->width = le16(p + 26) & 0x3fff;
		ret->height = le16(p + 28) & 0x3fff;
	} else if (memcmp(p + 12, "VP8L", 4) == 0 && p[20] == 0x2f) {
		ret->width = (le32(p + 21) & 0x3fff) + 1;
		ret->height = (le32(p + 21) >> 14 & 0x3fff) + 1;
	} else if (memcmp(p + 12, "VP8X", 4) == 0) {
		ret->width = (le32(p + 24) & 0xffffff) + 1;
		ret->height = (le32(p + 26) >> 8) + 1;
	}
	return true;
}

static const struct {
	const char *type;
	bool (*look)(const unsigned char *p, size_t n, struct image *ret);
} kinds[] = {
	{ "image/png", image_is_png },
	{ "image/jpeg", image_is_jpeg },
	{ "image/gif", image_is_gif },
	{ "image/webp", image_is_webp },
};

bool image_type_find(struct slice file, struct image *ret)
{
	const unsigned char *p = (const unsigned char *)file.p;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		*ret = (struct image){ .type = kinds[i].type };
		if (file.n && kinds[i].look(p, file.n, ret))
			return ret->width && ret->height;
	}
	return false;
}

bool image_type_fits(const struct image *i)
{
	return i->width <= TOOL_IMAGE_SIDE && i->height <= TOOL_IMAGE_SIDE;
}
