/* Memory for secrets. */
#include "unit.h"

#include "base/limits.h"
#include "base/os/locked.h"

#define PIECES 600

#ifdef __SANITIZE_ADDRESS__
#define LOCKS 0 /* under the sanitizers mlock does nothing */
#else
#define LOCKS 1
#endif

static long locked_kib(void)
{
	char line[128];
	long n = -1;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmLck: %ld", &n);
	if (f)
		fclose(f);
	return n;
}

/* Pieces do not overlap, are zeroed when they come and wiped when they go, and pages are given back. */
static void test_pieces(void **state _unused_)
{
	unsigned char *p[PIECES];
	long before = locked_kib();

	for (size_t i = 0; i < PIECES; i++) {
		size_t n = 1 + i % 200;

		p[i] = locked_alloc(n);
		assert_non_null(p[i]);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(p[i][k], 0);
		memset(p[i], (int)(1 + i % 255), n);
	}
	assert_in_range(locked_kib() - before, LOCKS * PIECES * 100 / 1024, 200);
	for (size_t i = 0; i < PIECES; i++)
		for (size_t k = 0; k < 1 + i % 200; k++)
			assert_int_equal(p[i][k], 1 + i % 255);
	for (size_t i = 0; i < PIECES; i += 2)
		locked_free(p[i], 1 + i % 200);
	for (size_t i = 0; i < PIECES; i += 2) {
		p[i] = locked_alloc(1 + i % 200);
		for (size_t k = 0; k < 1 + i % 200; k++)
			assert_int_equal(p[i][k], 0);
	}
	for (size_t i = 0; i < PIECES; i++)
		locked_free(p[i], 1 + i % 200);
	assert_int_equal(locked_kib(), before);
}

static void test_large(void **state _unused_)
{
	char *p = locked_alloc(40 * KIB), *q = locked_alloc(1);

	assert_true(p && q);
	memset(p, 'x', 40 * KIB);
	locked_free(q, 1);
	locked_free(p, 40 * KIB);
	assert_null(locked_alloc(LOCKED_MAX + 1));
	locked_free(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_pieces),
					    cmocka_unit_test(test_large) };

	return RUN(tests, NULL, NULL);
}
