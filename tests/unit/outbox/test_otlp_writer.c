/* Messages of OTLP byte by byte, in both forms; the official decoder reads them in tests/integration/otel. */
#include "unit.h"

#include "outbox/otlp/otlp_body.h"
#include "outbox/otlp/otlp_metrics.h"
#include "outbox/otlp/otlp_writer.h"

#include <zlib.h>

static void write_all(struct otlp_writer *w)
{
	const uint64_t numbers[] = { 1, 2 };

	otlp_id(w, 1, "traceId", "0aff");
	otlp_begin(w, 2, "inner");
	otlp_text(w, 1, "name", SLICE("\"\n\xff"));
	otlp_number(w, 2, "kind", 300);
	otlp_end(w);
	otlp_wide(w, 3, "time", 5, true);
	otlp_wide(w, 4, "count", (uint64_t)-1, false);
	otlp_double(w, 5, "sum", 0.5);
	otlp_bool(w, 6, "yes", true);
	otlp_packed(w, 7, "numbers", numbers, 2);
	otlp_list(w, "attributes");
	otlp_attr_text(w, 9, "a", "b");
	otlp_attr_text(w, 9, "none", "");
	otlp_attr_only(w, 9, "c", "d");
	otlp_list_end(w);
	otlp_close(w);
}

static void test_json(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct otlp_writer w;

	otlp_open(&w, &b, true);
	write_all(&w);
	buf_putc(&b, '\0');
	assert_string_equal(
		b.data,
		"{\"traceId\":\"0aff\",\"inner\":{\"name\":\"\\\"\\n\xef\xbf\xbd\",\"kind\":300},"
		"\"time\":\"5\",\"count\":\"-1\",\"sum\":0.5,\"yes\":true,\"numbers\":[\"1\",\"2\"],"
		"\"attributes\":[{\"key\":\"a\",\"value\":{\"stringValue\":\"b\"}},"
		"{\"key\":\"c\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"d\"}]}}}]}");
}

static void test_protobuf(void **state _unused_)
{
	static const char want[] = "\x0a\x02\x0a\xff"
				   "\x12\x0a\x0a\x05\"\n\xef\xbf\xbd\x10\xac\x02"
				   "\x19\x05\0\0\0\0\0\0\0"
				   "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
				   "\x29\0\0\0\0\0\0\xe0\x3f"
				   "\x30\x01"
				   "\x3a\x10\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"
				   "\x4a\x08\x0a\x01"
				   "a\x12\x03\x0a\x01"
				   "b"
				   "\x4a\x0c\x0a\x01"
				   "c\x12\x07\x2a\x05\x0a\x03\x0a\x01"
				   "d";
	_cleanup_(buf_done) struct buf b = { 0 };
	struct otlp_writer w;

	otlp_open(&w, &b, false);
	write_all(&w);
	assert_int_equal(b.len, sizeof(want) - 1);
	assert_memory_equal(b.data, want, sizeof(want) - 1);
}

/* Longer than one byte says: what was written moves. */
static void test_long(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 }, text = { 0 };
	struct otlp_writer w;

	for (int i = 0; i < 5000; i++)
		buf_puts(&text, "\xc3\xa4");
	otlp_open(&w, &b, false);
	otlp_begin(&w, 1, "a");
	otlp_begin(&w, 1, "b");
	otlp_text(&w, 1, "c", buf_slice(&text));
	otlp_end(&w);
	otlp_end(&w);
	assert_int_equal(b.len, 4096 + 3 * 3);
	assert_memory_equal(b.data, "\x0a\x86\x20\x0a\x83\x20\x0a\x80\x20\xc3\xa4", 11);
}

static void test_answers(void **state _unused_)
{
	static const struct {
		struct slice body;
		bool json;
		uint64_t rejected;
		const char *message;
	} rows[] = {
		{ SLICE("\x0a\x07\x08\x05\x12\x03old"), false, 5, "old" },
		{ SLICE("\x0a\x02\x08\x80"), false, 0, "" },
		{ SLICE("\x0a\xff\xff\xff\xff\x0f"), false, 0, "" },
		{ SLICE(""), false, 0, "" },
		{ SLICE("{\"partialSuccess\":{\"rejectedSpans\":\"3\",\"errorMessage\":\"x\"}}"),
		  true, 3, "\"x\"" },
		{ SLICE("{\"partialSuccess\":{\"rejectedDataPoints\":4}}"), true, 4, "" },
		{ SLICE("{\"partialSuccess\":{\"rejectedSpans\":\"x\"}}"), true, 0, "" },
		{ SLICE("not JSON"), true, 0, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice body = exact_copy(rows[i].body);
		struct slice message;

		assert_int_equal(otlp_answer_rejected(body, rows[i].json, &message),
				 rows[i].rejected);
		assert_true(slice_is(message, rows[i].message));
	}
}

static void test_gzip(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char text[64];
	z_stream z = { .next_out = (Bytef *)text, .avail_out = sizeof(text) };

	assert_int_equal(otlp_gzip(SLICE("one body, one body"), &b), 0);
	z.next_in = (Bytef *)b.data;
	z.avail_in = (uInt)b.len;
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_true(slice_is((struct slice){ text, z.total_out }, "one body, one body"));
	inflateEnd(&z);
}

static void keep(void *ctx, struct slice metric)
{
	buf_add_slice(ctx, metric);
	buf_putc(ctx, '\n');
}

static void test_metrics(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct otlp_metrics m;

	otlp_metrics_init(&m, true, 1, 2, keep, &b);
	metric_put(&m.sink, "acpd_turns_total", "Turns.", 3);
	metric_family(&m.sink, "acpd_disk_size_bytes", "Size.");
	metric_point(&m.sink, "of", "x", 4);
	otlp_metrics_done(&m);
	buf_putc(&b, '\0');
	assert_string_equal(
		b.data,
		"{\"name\":\"acpd.turns\",\"description\":\"Turns.\",\"unit\":\"1\",\"sum\":{\"dataPoints\":["
		"{\"startTimeUnixNano\":\"1\",\"timeUnixNano\":\"2\",\"asDouble\":3,\"attributes\":[]}],"
		"\"aggregationTemporality\":2,\"isMonotonic\":true}}\n"
		"{\"name\":\"acpd.disk_size\",\"description\":\"Size.\",\"unit\":\"By\",\"gauge\":{\"dataPoints\":["
		"{\"timeUnixNano\":\"2\",\"asDouble\":4,\"attributes\":[{\"key\":\"of\",\"value\":{\"stringValue\":\"x\"}}]}]}}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json), cmocka_unit_test(test_protobuf),
		cmocka_unit_test(test_long), cmocka_unit_test(test_answers),
		cmocka_unit_test(test_gzip), cmocka_unit_test(test_metrics),
	};

	return RUN(tests, NULL, NULL);
}
