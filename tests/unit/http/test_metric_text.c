/* Metrics as Prometheus' text: families, labels and their escapes, numbers. */
#include "unit.h"

#include "http/metrics/metrics.h"

static void test_text(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct metric_label labels[] = { { "one", "a\\b\"c\nd" }, { "none", NULL }, { "two", "" } };
	struct metric_text t;

	metric_text_init(&t, &b);
	metric_put(&t.sink, "x_total", "Counts.", 18);
	metric_family(&t.sink, "nothing", "Is left out.");
	metric_family(&t.sink, "y_seconds", "Time.");
	t.sink.point(&t.sink, labels, ARRAY_SIZE(labels), 0.25);
	metric_point(&t.sink, NULL, NULL, 1e15);
	buf_putc(&b, '\0');
	assert_string_equal(b.data, "# HELP x_total Counts.\n# TYPE x_total counter\nx_total 18\n"
				    "# HELP y_seconds Time.\n# TYPE y_seconds gauge\n"
				    "y_seconds{one=\"a\\\\b\\\"c\\nd\",two=\"\"} 0.250000\n"
				    "y_seconds 1000000000000000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_text) };

	return RUN(tests, NULL, NULL);
}
