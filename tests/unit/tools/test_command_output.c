/* What is kept of the output of a command, and where its text and its pieces start and end. */
#include "unit.h"

#include "base/limits.h"
#include "tools/builtin/run/command_run.h"

static void test_kept(void **state _unused_)
{
	static const struct {
		size_t keep, lines;
		const char *pieces[4], *want;
		uint64_t dropped;
	} rows[] = {
		{ 8, 0, { "abc", "def" }, "abcdef", 0 },
		{ 8, 0, { "abc", "defgh" }, "abcdefgh", 0 },
		{ 8, 0, { "abc", "defgh", "ij" }, "cdefghij", 2 },
		{ 8, 0, { "0123456789abcdef", "gh" }, "abcdefgh", 10 },
		{ 8, 0, { "x\xc3\xa4\xc3\xa4\xc3\xa4zz", "q" }, "\xc3\xa4\xc3\xa4zzq", 2 },
		{ 4, 0, { "\x80\x80\x80\x80\x80" }, "\x80", 1 }, /* no text at all */
		{ 4, 0, { "\x80\x80" }, "\x80\x80", 0 },
		{ 64, 2, { "a\nb\nc\n" }, "b\nc\n", 0 },
		{ 64, 2, { "a\nb\nc" }, "b\nc", 0 },
		{ 64, 9, { "a\nb\nc" }, "a\nb\nc", 0 },
		{ 64, 1, { "\n\n" }, "\n", 0 },
		{ 0, 0, { "abc" }, "", 3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf text = { 0 };
		struct command_output o;

		command_output_init(&o, rows[i].keep);
		for (size_t k = 0; rows[i].pieces[k]; k++)
			command_output_add(&o, slice_of(rows[i].pieces[k]));
		command_output_text(&o, rows[i].lines, &text);
		if (!slice_is(buf_slice(&text), rows[i].want) ||
		    command_output_dropped(&o) != rows[i].dropped)
			fail_row(i, rows[i].pieces[0]);
		command_output_done(&o);
	}
}

/* A piece from the oldest kept byte on starts at a character, and nothing is missing of a stream that is kept whole. */
static void test_piece(void **state _unused_)
{
	static const struct {
		size_t keep;
		const char *pieces[3], *want;
		uint64_t from, begins;
	} rows[] = {
		{ 8, { "abc" }, "abc", 0, 0 },
		{ 8, { "abc" }, "c", 2, 2 },
		{ 8, { "\x80\x80q" }, "\x80\x80q", 0, 0 },
		{ 4, { "\xc3\xa4zzz" }, "zzz", OUTPUT_HEAD_BYTES, 2 },
		{ 4, { "\xe2\x82\xaczz" }, "zz", OUTPUT_HEAD_BYTES, 3 },
		{ 4, { "\xf0\x9f\x98\x80z" }, "z", OUTPUT_HEAD_BYTES, 4 },
		{ 4, { "\xff\x80\x80\x80\x80" }, "\x80", OUTPUT_HEAD_BYTES, 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf text = { 0 };
		uint64_t more = rows[i].from, begins;
		struct command_output o;

		command_output_init(&o, rows[i].keep);
		/* The first bytes are kept, too: the row comes after them. */
		for (uint64_t k = 0; more >= OUTPUT_HEAD_BYTES && k < more; k++)
			command_output_add(&o, SLICE("x"));
		for (size_t k = 0; rows[i].pieces[k]; k++)
			command_output_add(&o, slice_of(rows[i].pieces[k]));
		begins = command_output_piece(&o, rows[i].from, 64, &text);
		if (more >= OUTPUT_HEAD_BYTES)
			begins -= OUTPUT_HEAD_BYTES;
		if (!slice_is(buf_slice(&text), rows[i].want) || begins != rows[i].begins)
			fail_row(i, rows[i].pieces[0]);
		command_output_done(&o);
	}
}

static void test_whole(void **state _unused_)
{
	static const struct {
		const char *piece;
		size_t whole;
	} rows[] = {
		{ "", 0 },
		{ "abc", 3 },
		{ "ab\xc3", 2 },
		{ "ab\xc3\xa4", 4 },
		{ "\xe2\x82", 0 },
		{ "\xe2\x82\xac", 3 },
		{ "x\xf0\x9f\x98", 1 },
		{ "x\xf0\x9f\x98\x80", 5 },
		{ "\xff", 1 },
		{ "\x80\x80\x80\x80", 4 },
		{ "\xc3\xa4\xa4", 3 },
		{ "a\xf0", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice s = exact_copy(slice_of(rows[i].piece));

		if (command_output_whole(s) != rows[i].whole)
			fail_row(i, rows[i].piece);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_piece),
		cmocka_unit_test(test_whole),
	};

	return RUN(tests, NULL, NULL);
}
