/* A model's answer without secrets, also those of which each event has a part: cut anywhere it comes out the same, events and
 * all else in them stay, and what cannot be masked is not let out. */
#include "unit.h"

#include "base/limits.h"
#include "digest/base64.h"
#include "json/jscan.h"
#include "session/core/redact/masked_answer.h"

#define KEY "sk-\"q/\303\251+9Zab"

static struct mask *mask_for(const char *value)
{
	struct mask *m = mask_new();

	mask_add(m, slice_of(value));
	return m;
}

/* Fed in pieces of these lengths, the rest at once. */
static void run(const struct mask *m, struct slice text, size_t first, size_t then, struct buf *ret)
{
	struct masked_answer *a = masked_answer_new();

	for (size_t at = 0, n = first; at < text.n; at += n, n = then) {
		_cleanup_(slice_freep) struct slice piece = { 0 };

		n = MIN(n, text.n - at);
		piece = exact_copy((struct slice){ text.p + at, n });
		masked_answer_add(a, m, piece, ret);
		assert_false(a->stopped);
	}
	masked_answer_end(a, m, ret);
	assert_true(list_empty(&a->events) && list_empty(&a->texts) && !a->held);
	a = masked_answer_free(a);
}

/* At every place where it can be cut, and byte by byte. */
static void check(const struct mask *m, const char *text, const char *want)
{
	struct slice all = slice_of(text);

	for (size_t cut = 1; cut <= all.n; cut++) {
		_cleanup_(buf_done) struct buf out = { 0 };

		run(m, all, cut, all.n, &out);
		assert_buf(&out, want);
	}
	for (size_t step = 1; step < 9; step++) {
		_cleanup_(buf_done) struct buf out = { 0 };

		run(m, all, step, step, &out);
		assert_buf(&out, want);
	}
}

#define CHAT(i, text)                                                                              \
	"data: {\"id\":\"c\",\"choices\":[{\"index\":" #i ",\"delta\":{\"content\":\"" text        \
	"\"}}]}\n\n"
#define ARGS(i, text)                                                                                      \
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"" text \
	"\"},\"index\":" #i "}]}}]}\n\n"
#define DELTA(i, text)                                                                                           \
	"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":" #i \
	",\"item_id\":\"m\",\"delta\":\"" text "\",\"logprobs\":[]}\n\n"
#define BLOCK(i, text)                                                                             \
	"event: content_block_delta\r\ndata: {\"index\":" #i                                       \
	",\"delta\":{\"type\":\"text_delta\",\"text\":\"" text "\"}}\r\n\r\n"

static void test_texts(void **state _unused_)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ CHAT(0, "a sk-") CHAT(0, "\\\"q/") CHAT(0, "\303\251+9")
			  CHAT(0, "Zab!") "data: [DONE]\n\n",
		  CHAT(0, "a ***") CHAT(0, "") CHAT(0, "") CHAT(0, "!") "data: [DONE]\n\n" },
		/* choices and calls are texts of their own */
		{ CHAT(0, "sk-\\\"q") CHAT(1, "sk-\\\"q") CHAT(0, "/\303\251+9Zab")
			  CHAT(1, "x/\303\251+9Zab"),
		  CHAT(0, "***") CHAT(1, "sk-\\\"q") CHAT(0, "") CHAT(1, "x/\303\251+9Zab") },
		{ ARGS(0, "{\\\"k\\\":\\\"sk-\\\\") ARGS(1, "{\\\"")
			  ARGS(0, "\\\"q\\\\/\\\\u00e9+9Zab\\\"}"),
		  ARGS(0, "{\\\"k\\\":\\\"***") ARGS(1, "{\\\"") ARGS(0, "\\\"}") },
		{ DELTA(0, "sk-\\\"q/") DELTA(1, "s") DELTA(0, "\\u00e9+9Zabc") DELTA(1, "o"),
		  DELTA(0, "***") DELTA(1, "s") DELTA(0, "c") DELTA(1, "o") },
		{ BLOCK(0, "s") BLOCK(0, "k") BLOCK(
			  0, "-\\\"q/\303\251+9Zab") "event: message_stop\r\ndata: {}\r\n\r\n",
		  BLOCK(0, "***") BLOCK(0, "")
			  BLOCK(0, "") "event: message_stop\r\ndata: {}\r\n\r\n" },
		/* a beginning that was none */
		{ CHAT(0, "sk-") CHAT(0, "no") CHAT(0, "s"),
		  CHAT(0, "sk-") CHAT(0, "no") CHAT(0, "s") },
		/* two of them, one in the tail of the other */
		{ CHAT(0, "sk-sk-\\\"q/\303\251+9Za") CHAT(0, "bsk")
			  CHAT(0, "-\\\"q/\303\251+9Zab"),
		  CHAT(0, "sk-***") CHAT(0, "***") CHAT(0, "") },
		/* whole strings, names, other lines, text that is no JSON, in events and without an end */
		{ ": sk-\"q/\303\251+9Zab\ndata: {\"x\":\"sk-\\\"q/\303\251+9Zab\",\"sk-\\\"q/\303\251+9Zab\":1}\n\n",
		  ": ***\ndata: {\"x\":\"***\",\"***\":1}\n\n" },
		{ "data: sk-\"q\n\ndata: /\303\251+9Zab\n\ndata: sk-",
		  "data: ***\n\ndata: \n\ndata: sk-" },
		{ CHAT(0,
		       "sk-\\\"q") "data: {\"choices\":[{\"delta\":{\"content\":\"/\303\251+9Zab",
		  CHAT(0, "***") "data: {\"choices\":[{\"delta\":{\"content\":\"" },
		{ "data: {\"delta\":\ndata: \"sk-\\\"q\"}\n\ndata: {\ndata: \"delta\":\"/\303\251+9Zab\"}\n\n",
		  "data: {\"delta\":\ndata: \"***\"}\n\ndata: {\ndata: \"delta\":\"\"}\n\n" },
		{ "data: {\"x\": sk-\"q/\303\251+9Zab, \"delta\":\"a\"}\n\n",
		  "data: {\"x\": sk-\"q/\303\251+9Zab, \"delta\":\"a\"}\n\n" },
		/* an array, one object, anything */
		{ "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"sk-\\\"q\"},{\"text\":\"/\"}]}}]},\r\n{\"candidates\":[{\"index\":0,\"content\":{\"parts\":[{\"text\":\"\303\251+9Zab.\"}]}}]}\r\n]",
		  "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"***\"},{\"text\":\"\"}]}}]},\r\n{\"candidates\":[{\"index\":0,\"content\":{\"parts\":[{\"text\":\".\"}]}}]}\r\n]" },
		{ "{\"message\":\"sk-\\\"q/\303\251+9Zab\"}", "{\"message\":\"***\"}" },
		{ "<p>sk-\"q/\303\251+9Zab</p>", "<p>***</p>" },
	};
	struct mask *m = mask_for(KEY);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(m, rows[i].text, rows[i].want);
	m = mask_free(m);
}

/* The same text as tokens goes with it. */
static void test_tokens(void **state _unused_)
{
	struct mask *m = mask_for("secret-value");

	check(m,
	      "data: {\"choices\":[{\"logprobs\":{\"content\":[{\"token\":\"secret\",\"bytes\":[115]}]},\"delta\":{\"content\":\"secret\"}}]}\n\n"
	      "data: {\"choices\":[{\"logprobs\":{\"content\":[]},\"delta\":{\"content\":\"-value\"}}]}\n\n"
	      "data: {\"delta\":\"se\",\"logprobs\":[{\"token\":\"se\"}]}\n\ndata: {\"delta\":\"cret-value\",\"logprobs\":[]}\n\n",
	      "data: {\"choices\":[{\"logprobs\":null,\"delta\":{\"content\":\"***\"}}]}\n\n"
	      "data: {\"choices\":[{\"logprobs\":null,\"delta\":{\"content\":\"\"}}]}\n\n"
	      "data: {\"delta\":\"***\",\"logprobs\":[]}\n\ndata: {\"delta\":\"\",\"logprobs\":[]}\n\n");
	m = mask_free(m);
}

/* What the deltas of a stream say together. */
static void put_said(struct slice text, struct buf *ret)
{
	static const char before[] = "\"delta\":\"";
	const char *p = text.p, *end = text.p + text.n;

	while ((p = memmem(p, (size_t)(end - p), before, sizeof(before) - 1))) {
		p += sizeof(before) - 1;
		buf_add(ret, p, strcspn(p, "\""));
	}
}

/* In base64, said in pieces of every length. */
static void test_base64_in_pieces(void **state _unused_)
{
	struct mask *m = mask_for("the secret of all");
	_cleanup_(buf_done) struct buf coded = { 0 }, want = { 0 };

	base64_encode(SLICE("before the secret of all and after"), &coded);
	mask_put(m, buf_slice(&coded), true, 0, NULL, &want);
	assert_non_null(memmem(want.data, want.len, MASK, 3));
	for (size_t step = 1; step < 20; step++) {
		_cleanup_(buf_done) struct buf text = { 0 }, out = { 0 }, said = { 0 };

		for (size_t at = 0; at < buf_len(&coded); at += step)
			buf_printf(&text, "data: {\"delta\":\"%.*s\"}\n\n",
				   (int)MIN(step, buf_len(&coded) - at), coded.data + at);
		run(m, buf_slice(&text), 7, 7, &out);
		put_said(buf_slice(&out), &said);
		assert_true(slice_eq(buf_slice(&said), buf_slice(&want)));
	}
	m = mask_free(m);
}

/* Without a mask it passes as it comes; a mask may come and go. */
static void test_no_mask(void **state _unused_)
{
	struct masked_answer *a = masked_answer_new();
	struct mask *m = mask_for("secret-value");
	_cleanup_(buf_done) struct buf out = { 0 };

	masked_answer_add(a, NULL, SLICE("data: {\"delta\":\"half"), &out);
	assert_buf(&out, "data: {\"delta\":\"half");
	masked_answer_add(a, m, SLICE("\"}\n\ndata: {\"delta\":\"secret\"}\n\n"), &out);
	assert_buf(&out, "data: {\"delta\":\"half\"}\n\n");
	masked_answer_add(a, m, SLICE("data: {\"delta\":\"-value\"}\n\n"), &out);
	assert_buf(
		&out,
		"data: {\"delta\":\"half\"}\n\ndata: {\"delta\":\"***\"}\n\ndata: {\"delta\":\"\"}\n\n");
	masked_answer_add(a, m, SLICE("data: {\"delta\":\"se\"}\n\n"), &out);
	buf_reset(&out);
	masked_answer_add(a, NULL, SLICE("data: {\"delta\":\"t\"}\n\n"), &out);
	masked_answer_end(a, NULL, &out);
	assert_buf(&out, "data: {\"delta\":\"se\"}\n\ndata: {\"delta\":\"t\"}\n\n");
	m = mask_free(m);
	a = masked_answer_free(a);
}

/* What waits too long comes out masked, and so does its rest; memory has its bound. */
static void test_waits_too_long(void **state _unused_)
{
	struct masked_answer *a = masked_answer_new();
	struct mask *m = mask_for("secret-value");
	_cleanup_(buf_done) struct buf out = { 0 };
	size_t most = 0;

	masked_answer_add(a, m, SLICE(DELTA(0, "my sec")), &out);
	for (int i = 0; i < 60000; i++) {
		masked_answer_add(a, m, SLICE(DELTA(1, "ooo")), &out);
		most = MAX(most, a->held);
	}
	assert_true(most <= ANSWER_HELD_MAX && most > ANSWER_HELD_MAX / 2 && !a->stopped);
	assert_memory_equal(out.data, DELTA(0, "my ***"), strlen(DELTA(0, "my ***")));
	buf_reset(&out);
	masked_answer_add(a, m, SLICE(DELTA(0, "ret-value, and")), &out);
	assert_buf(&out, DELTA(0, "***, and"));
	masked_answer_end(a, m, &out);
	m = mask_free(m);
	a = masked_answer_free(a);
}

/* One event that is too long, has too many pieces, or texts that are too many: nothing more comes out. */
static void test_stops(void **state _unused_)
{
	static const struct {
		const char *first, *before, *after; /* before and after a number, again and again */
		unsigned n;
	} rows[] = {
		{ "data: {\"delta\":\"", "an event without an end ", "", ANSWER_HELD_MAX / 24 },
		{ "data: {\"parts\":[\"s\"", ",\"x", "\"", ANSWER_PIECES_MAX },
		{ "", "data: {\"delta\":\"sec\",\"output_index\":", "}\n\n",
		  ANSWER_STREAMS_MAX + 1 },
	};
	struct mask *m = mask_for("secret-value");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct masked_answer *a = masked_answer_new();
		_cleanup_(buf_done) struct buf out = { 0 };

		masked_answer_add(a, m, slice_of(rows[i].first), &out);
		for (unsigned j = 0; j < rows[i].n && !a->stopped; j++) {
			_cleanup_(buf_done) struct buf b = { 0 };

			buf_printf(&b, "%s%u%s", rows[i].before, j, rows[i].after);
			masked_answer_add(a, m, buf_slice(&b), &out);
		}
		masked_answer_add(a, m, SLICE("]}\n\n"), &out);
		assert_true(a->stopped);
		masked_answer_add(a, m, SLICE("data: more\n\n"), &out);
		masked_answer_end(a, m, &out);
		assert_int_equal(buf_len(&out), 0);
		assert_int_equal(a->held, 0);
		a = masked_answer_free(a);
	}
	m = mask_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_base64_in_pieces),
		cmocka_unit_test(test_no_mask),
		cmocka_unit_test(test_waits_too_long),
		cmocka_unit_test(test_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
