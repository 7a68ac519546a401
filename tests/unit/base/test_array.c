/* Arrays that grow one by one: new items are zeros, old ones stay, and one that was cut short grows again. */
#include "base/util.h"
#include "unit.h"

#include <stdint.h>
#include <stdlib.h>

struct pair {
	uint64_t a;
	char b;
};

static void items_stay_and_new_ones_are_zeros(void **state)
{
	struct pair *v = NULL;
	unsigned char n = 0; /* any type that counts will do */

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		struct pair *p = GROW(v, n);

		assert_int_equal(n, i + 1);
		assert_ptr_equal(p, &v[i]);
		assert_true(p->a == 0 && p->b == 0);
		*p = (struct pair){ i, 'x' };
	}
	for (unsigned i = 0; i < 200; i++)
		assert_true(v[i].a == i && v[i].b == 'x');
	free(v);
}

static void one_that_was_cut_short_grows_again(void **state)
{
	int *v = NULL;
	size_t n = 0;

	(void)state;
	for (size_t cut = 0; cut < 70; cut++) {
		while (n < 70) {
			int *at = GROW(v, n);

			*at = (int)n;
		}
		for (size_t i = 0; i < n; i++)
			/* cppcheck-suppress nullPointer ; the loop above has made it */
			assert_int_equal(v[i], (int)i + 1);
		n = cut;
	}
	free(v);
	v = NULL;
	n = 0;
	assert_int_equal(*GROW(v, n), 0);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_stay_and_new_ones_are_zeros),
		cmocka_unit_test(one_that_was_cut_short_grows_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
