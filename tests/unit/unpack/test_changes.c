/* The list of what a diff has found: marks tell contents apart, the state tells lists apart, and the list is bounded. */
#include "unit.h"

#include "base/limits.h"
#include "json/jscan.h"
#include "unpack/snapshot/lists.h"

#include <stdio.h>
#include <sys/stat.h>

static struct index_entry file(const char *text, uint32_t mode)
{
	struct index_entry e = { .type = INDEX_FILE, .mode = mode, .size = strlen(text) };

	assert_int_equal(sha256_of(slice_of(text), &e.digest), 0);
	return e;
}

/* The state of a list with this one change; raw gets the list. */
static void state_of(const char *path, const struct index_entry *now, char state[SHA256_HEX],
		     char raw[256])
{
	struct changes c;

	changes_init(&c, true);
	changes_add(&c, path, now);
	snprintf(raw, 256, "[%.*s]", (int)buf_len(&c.json), buf_slice(&c.json).p);
	changes_state(&c, state);
	changes_done(&c);
}

static bool same(const char *path, const struct index_entry *a, const struct index_entry *b)
{
	char sa[SHA256_HEX], sb[SHA256_HEX], ra[256], rb[256];

	state_of(path, a, sa, ra);
	state_of(path, b, sb, rb);
	assert_int_equal(strcmp(sa, sb) == 0, strcmp(ra, rb) == 0);
	return strcmp(sa, sb) == 0;
}

static void test_marks(void **state _unused_)
{
	struct index_entry a = file("a", 0644), later = a, run = file("a", 0755),
			   b = file("b", 0644);
	struct index_entry link = a, none = { 0 }, large = { .type = INDEX_OMITTED, .size = 5 },
			   touched = large;

	later.mtime = 7;
	later.ino = 9;
	link.type = INDEX_LINK;
	touched.mtime = 7;
	assert_true(same("x", &a, &later)); /* the contents count */
	assert_false(same("x", &a, &run));
	assert_false(same("x", &a, &b));
	assert_false(same("x", &a, &link));
	assert_false(same("x", &a, &none));
	assert_false(same("x", &large, &touched)); /* of which only the times are known */
}

static void test_paths(void **state _unused_)
{
	struct index_entry a = file("a", 0644);
	char one[SHA256_HEX], other[SHA256_HEX], raw[256];
	struct jval v;

	state_of("dir/a \"b\"\n\xff", &a, one, raw);
	assert_int_equal(jscan_value(slice_of(raw), &v), JSCAN_OK);
	state_of("dir/a \"b\"\n\xfe", &a, other, raw);
	assert_string_not_equal(one, other); /* although both are shown alike */
}

static void test_bounds(void **state _unused_)
{
	static const int widths[] = { 5, 150 }; /* bounded by number, and by bytes */
	struct index_entry a = file("a", 0644);

	for (size_t f = 0; f < ARRAY_SIZE(widths); f++) {
		struct changes c;
		struct jiter it;
		struct jval v;
		size_t n = 0;
		_cleanup_(buf_done) struct buf list = { 0 };

		changes_init(&c, true);
		for (size_t i = 0; i < CHANGES_MAX + 50; i++) {
			char path[256];

			snprintf(path, sizeof(path), "%0*zu", widths[f], i);
			changes_add(&c, path, &a);
		}
		buf_printf(&list, "[%.*s]", (int)buf_len(&c.json), buf_slice(&c.json).p);
		assert_int_equal(jscan_value(buf_slice(&list), &v), JSCAN_OK);
		assert_true(jiter_init(&it, v));
		while (jiter_next(&it, NULL, &v))
			n++;
		assert_int_equal(c.total, CHANGES_MAX + 50);
		assert_true(n <= CHANGES_MAX && n > 1000);
		changes_done(&c);
	}
}

static void test_unwanted(void **state _unused_)
{
	struct index_entry a = file("a", 0644);
	struct changes c;

	changes_init(&c, false);
	changes_add(&c, "x", &a);
	assert_int_equal(c.total, 0);
	assert_int_equal(buf_len(&c.json), 0);
	changes_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_unwanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
