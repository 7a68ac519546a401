/* Log lines: each is one JSON object on one line, whatever a child or peer put into it. */
#include "unit.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/log.h"
#include "json/jstr.h"

#include <fcntl.h>

/* What one call wrote to standard error. */
static void captured(struct buf *b, void (*fn)(const void *), const void *arg)
{
	int keep = dup(STDERR_FILENO);
	int fd = open(scratch_path("log"), O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	fn(arg);
	assert_true(dup2(keep, STDERR_FILENO) >= 0);
	close(keep);
	close(fd);
	buf_reset(b);
	assert_int_equal(file_read(scratch_path("log"), 1 << 20, b), 0);
}

static void write_error(const void *text)
{
	log_error("test", text, "key", text);
}

static void assert_one_line(const struct buf *b)
{
	const char *nl = memchr(b->data, '\n', b->len);

	assert_non_null(nl);
	assert_ptr_equal(nl, b->data + b->len - 1);
	assert_int_equal(jscan_object((struct slice){ b->data, b->len - 1 }, NULL, 0), JSCAN_OK);
}

static void test_members(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *t = NULL;
	struct slice line;

	captured(&b, write_error, "hello");
	assert_one_line(&b);
	line = (struct slice){ b.data, b.len - 1 };
	assert_text(jobj_get(line, "level").raw, "\"error\"");
	assert_text(jobj_get(line, "mod").raw, "\"test\"");
	assert_text(jobj_get(line, "msg").raw, "\"hello\"");
	assert_text(jobj_get(line, "key").raw, "\"hello\"");
	assert_int_equal(jstr_decode(jobj_get(line, "t"), 100, &t), 0);
	assert_int_equal(strlen(t), 24);
	assert_int_equal(t[10], 'T');
	assert_int_equal(t[23], 'Z');
}

/* Every byte but NUL; those beyond printable ASCII are shown as \u00XX. */
static void test_every_byte(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char text[256];
	struct jval v;

	for (int i = 1; i < 256; i++)
		text[i - 1] = (char)i;
	text[255] = '\0';
	captured(&b, write_error, text);
	assert_one_line(&b);
	for (size_t i = 0; i + 1 < b.len; i++)
		assert_true(b.data[i] >= 0x20 && b.data[i] < 0x7f);
	v = jobj_get((struct slice){ b.data, b.len - 1 }, "msg");
	assert_true(v.raw.n > 256);
	assert_non_null(strstr(v.raw.p, "\\u0001\\u0002"));
	assert_non_null(strstr(v.raw.p, " !\\\"#"));
	assert_non_null(strstr(v.raw.p, "[\\\\]"));
	assert_non_null(strstr(v.raw.p, "~\\u007f\\u0080"));
}

/* Child text may be of any length: the line may lose its end, never its newline or its syntax. */
static void test_very_long(void **state _unused_)
{
	static const size_t sizes[] = { 1000, 60000, 65300, 65400, 65500, 65536, 100000, 300000 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		_cleanup_(freep) char *text = xalloc(sizes[i] + 1);

		memset(text, i % 2 ? '\n' : 'x', sizes[i]);
		captured(&b, write_error, text);
		assert_one_line(&b);
	}
}

static void write_levels(const void *arg _unused_)
{
	log_error("m", "1");
	log_warn("m", "2");
	log_info("m", "3");
	log_debug("m", "4", "k", NULL);
}

static void test_levels(void **state _unused_)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };

	for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		int lines = 0;

		assert_int_equal(log_level_parse(names[level]), level);
		log_set_level((enum log_level)level);
		assert_int_equal(log_get_level(), level);
		captured(&b, write_levels, NULL);
		for (size_t i = 0; i < b.len; i++)
			lines += b.data[i] == '\n';
		assert_int_equal(lines, level + 1);
	}
	log_set_level(LOG_INFO);
	assert_int_equal(log_level_parse("loud"), -1);
	assert_int_equal(log_level_parse(""), -1);
}

static void test_clock_iso(void **state _unused_)
{
	char out[CLOCK_ISO_SIZE];

	assert_string_equal(clock_iso(0, out), "1970-01-01T00:00:00.000Z");
	assert_string_equal(clock_iso(1795248000123u, out), "2026-11-21T08:00:00.123Z");
	assert_string_equal(clock_iso(951782400009u, out), "2000-02-29T00:00:00.009Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),	  cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_very_long), cmocka_unit_test(test_levels),
		cmocka_unit_test(test_clock_iso),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
