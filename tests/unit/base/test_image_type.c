/* Which bytes count as an image: whole ones, whatever stands behind them, and nothing else. */
#include "unit.h"

#include "base/format/image_type.h"

#define BYTES(text) text, sizeof(text) - 1

/* A picture of 2 x 1, one of 3 x 2 with a preview in it, one of 4 x 5 with colors of its own, and one of 1 x 1. */
#define PNG                                                                                          \
	"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\1\x08\0\0\0\0crc.\0\0\0\1IDATxcrc.\0\0\0\0IEND" \
	"crc."
#define JPEG_PREVIEW "\xff\xe1\0\x0a\xff\xd8\xff\xd9    "
#define JPEG_FRAME "\xff\xc0\0\x0b\x08\0\2\0\3\1\1\x11\0"
#define JPEG "\xff\xd8" JPEG_PREVIEW JPEG_FRAME "\xff\xda\0\x08\1\1\0\0?\0\xd2\xcf\xff\0\xff\xd9"
#define GIF "GIF89a\4\0\5\0\x80\0\0;;;;;;!\xf9\4\1\0\0\0\0\0,\0\0\0\0\4\0\5\0\x80;;;;;;\2\2D\1\0;"
#define WEBP "RIFF\x16\0\0\0WEBPVP8L\x0a\0\0\0/\0\0\0\0\0\0\0\0\0"

static const struct row {
	const char *name, *bytes;
	size_t n;
	const char *type;
	unsigned width, height;
} rows[] = {
	{ "png", BYTES(PNG), "image/png", 2, 1 },
	{ "jpeg", BYTES(JPEG), "image/jpeg", 3, 2 },
	{ "gif", BYTES(GIF), "image/gif", 4, 5 },
	{ "webp", BYTES(WEBP), "image/webp", 1, 1 },
};

static bool is_image(const char *p, size_t n, struct image *ret)
{
	return image_type_find((struct slice){ p, n }, ret);
}

static void check_row(const struct row *r, const char *p, size_t n)
{
	struct image i;

	if (!is_image(p, n, &i))
		fail_msg("%s of %zu bytes is refused", r->name, n);
	assert_string_equal(i.type, r->type);
	assert_int_equal(i.width, r->width);
	assert_int_equal(i.height, r->height);
}

static void whole(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rows[i], rows[i].bytes, rows[i].n);
}

/* What cameras and editors append, also more of it than an end was once looked for in. */
static void more_behind(void **state _unused_)
{
	static const char *const behind[] = { "\n", "SEFT", "\xff\xd8\xff", ";",
					      "<?xpacket end='w'?>" };
	char bytes[1024];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		memcpy(bytes, rows[i].bytes, rows[i].n);
		for (size_t k = 0; k < ARRAY_SIZE(behind); k++) {
			size_t more = strlen(behind[k]);

			memcpy(bytes + rows[i].n, behind[k], more);
			check_row(&rows[i], bytes, rows[i].n + more);
		}
		memset(bytes + rows[i].n, 0, sizeof(bytes) - rows[i].n);
		check_row(&rows[i], bytes, sizeof(bytes));
	}
}

static void cut_off(void **state _unused_)
{
	struct image image;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t n = 0; n < rows[i].n - 4 * (i == 0); n++) {
			/* of its own size: a read behind it is seen by the sanitizer */
			_cleanup_(freep) char *bytes = malloc(n + !n);

			memcpy(bytes, rows[i].bytes, n);
			if (is_image(bytes, n, &image))
				fail_msg("%s, cut off after %zu bytes, is taken", rows[i].name, n);
		}
}

static void none(void **state _unused_)
{
	static const struct {
		const char *bytes;
		size_t n;
	} texts[] = {
		{ BYTES("") },
		{ BYTES("%PDF-1.7 \xff\xd8 \xff\xd9;") },
		{ BYTES("GIF89a\1\0\1\0\0\0\0;") },			  /* without an image */
		{ BYTES("GIF89a\1\0\1\0\0\0\0 this is text, you see;") }, /* no block begins so */
		{ BYTES("\xff\xd8\xff\xe0\0\x10JFIF text \xff\xd9") },
		{ BYTES("\xff\xd8" JPEG_PREVIEW JPEG_FRAME "\xff\xd9") }, /* without a scan */
	};
	struct image image;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (is_image(texts[i].bytes, texts[i].n, &image))
			fail_msg("row %zu is taken for an image", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(more_behind),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(none),
	};

	return RUN(tests, NULL, NULL);
}
