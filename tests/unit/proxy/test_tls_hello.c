/* The ClientHello as it passes, and the host that it names. */
#include "unit.h"

#include "hello_text.h"
#include "proxy/tls_hello.h"

static struct tls_hello hello;
static struct buf extensions, message, text;

static int setup(void **state _unused_)
{
	hello = (struct tls_hello){ 0 };
	buf_reset(&extensions);
	buf_reset(&message);
	buf_reset(&text);
	return 0;
}

static int teardown(void **state _unused_)
{
	tls_hello_done(&hello);
	return 0;
}

static int group_teardown(void **state _unused_)
{
	buf_done(&extensions);
	buf_done(&message);
	buf_done(&text);
	return 0;
}

static void put_name(const char *name)
{
	put_names(&extensions, &name, 1);
}

/* All of it, in records of `each` bytes and in pieces of `step`. */
static enum tls_hello_state feed(size_t each, size_t step)
{
	buf_reset(&message);
	buf_reset(&text);
	put_hello(&message, &extensions);
	put_records(&text, buf_slice(&message), each);
	tls_hello_done(&hello);
	hello = (struct tls_hello){ 0 };
	for (size_t at = 0; at < text.len && hello.state == TLS_HELLO_MORE; at += step)
		tls_hello_feed(&hello, (struct slice){ text.data + at, MIN(step, text.len - at) });
	return hello.state;
}

static void test_named(void **state _unused_)
{
	put_extension(&extensions, 0x1a1a, SLICE("")); /* GREASE */
	put_extension(&extensions, 0x002b, SLICE("\x04\x03\x04\x03\x03"));
	put_name("a.example");
	put_extension(&extensions, 0x2a2a, SLICE("\0"));
	for (size_t each = 10; each < 300; each += 7)
		for (size_t step = 1; step < 400; step = step * 2 + 1) {
			if (feed(each, step) != TLS_HELLO_WHOLE || !hello.named || hello.encrypted)
				fail_msg("records of %zu, pieces of %zu", each, step);
			assert_string_equal(hello.name, "a.example");
		}
}

static void test_every_prefix_is_more(void **state _unused_)
{
	put_name("a.example");
	assert_int_equal(feed(1000, 1000), TLS_HELLO_WHOLE);
	for (size_t n = 0; n < text.len; n++) {
		struct tls_hello h = { 0 };

		assert_int_equal(tls_hello_feed(&h, (struct slice){ text.data, n }),
				 TLS_HELLO_MORE);
		tls_hello_done(&h);
	}
}

static void test_what_follows_is_not_looked_at(void **state _unused_)
{
	put_name("a.example");
	feed(1000, 1000);
	buf_puts(&text, "more");
	hello = (struct tls_hello){ 0 };
	assert_int_equal(tls_hello_feed(&hello, buf_slice(&text)), TLS_HELLO_WHOLE);
	assert_int_equal(tls_hello_feed(&hello, SLICE("\0\0\0")), TLS_HELLO_WHOLE);
}

static void test_unnamed(void **state _unused_)
{
	put_extension(&extensions, 0x002b, SLICE("\x02\x03\x04"));
	assert_int_equal(feed(1000, 1000), TLS_HELLO_WHOLE);
	assert_false(hello.named);
	buf_reset(&message);
	buf_reset(&text);
	put_hello(&message, NULL);
	put_records(&text, buf_slice(&message), 1000);
	hello = (struct tls_hello){ 0 };
	assert_int_equal(tls_hello_feed(&hello, buf_slice(&text)), TLS_HELLO_WHOLE);
	assert_false(hello.named);
}

static void test_encrypted(void **state _unused_)
{
	put_name("front.example");
	put_extension(&extensions, 0xfe0d, SLICE("xxxxxxxx"));
	assert_int_equal(feed(1000, 1000), TLS_HELLO_WHOLE);
	assert_true(hello.encrypted);
	assert_string_equal(hello.name, "front.example");
}

static void test_two_names(void **state _unused_)
{
	static const char *const two[] = { "a.example", "b.example" };

	put_names(&extensions, two, 2);
	assert_int_equal(feed(1000, 1000), TLS_HELLO_BROKEN);
	setup(NULL);
	put_name("a.example");
	put_name("a.example");
	assert_int_equal(feed(1000, 1000), TLS_HELLO_BROKEN);
	setup(NULL); /* a name of another type is passed over */
	put_extension(&extensions, 0,
		      SLICE("\0\x0c\x07\0\x03"
			    "abc\0\0\x03"
			    "x.y"));
	assert_int_equal(feed(1000, 1000), TLS_HELLO_WHOLE);
	assert_string_equal(hello.name, "x.y");
}

static void test_broken_names(void **state _unused_)
{
	static const struct slice rows[] = {
		SLICE(""),
		SLICE("\0"),
		SLICE("\0\0"),
		SLICE("\0\x03\0\0\0"),		  /* an empty name */
		SLICE("\0\x04\0\0\x02x"),	  /* one that is longer than the list */
		SLICE("\0\x05\0\0\x01xy"),	  /* one that is shorter */
		SLICE("\0\x06\0\0\x03x\0y"),	  /* one with NUL */
		SLICE("\0\x04\0\0\x01xtrailing"), /* a list that is shorter than the extension */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		setup(NULL);
		put_extension(&extensions, 0, rows[i]);
		if (feed(1000, 1000) != TLS_HELLO_BROKEN)
			fail_row(i, "names");
	}
}

static void test_no_hello(void **state _unused_)
{
	static const struct {
		struct slice text;
		enum tls_hello_state want;
	} rows[] = {
		{ SLICE("GET / HTTP/1.1\r\n"), TLS_HELLO_NOT_TLS },
		{ SLICE("SSH-2.0-x"), TLS_HELLO_NOT_TLS },
		{ SLICE("\x80\x2e\x01\x03\x01"), TLS_HELLO_NOT_TLS }, /* SSL 2 */
		{ SLICE("\x15\x03\x01\0\x02\x02\x28"), TLS_HELLO_NOT_TLS },
		{ SLICE("\x16\x02\0\0\x05hello"), TLS_HELLO_BROKEN },
		{ SLICE("\x16\x03\x01\0\0"), TLS_HELLO_BROKEN },	       /* an empty record */
		{ SLICE("\x16\x03\x01\x40\x01"), TLS_HELLO_BROKEN },	       /* a large one */
		{ SLICE("\x16\x03\x01\0\x04\x02\0\0\0"), TLS_HELLO_BROKEN },   /* a ServerHello */
		{ SLICE("\x16\x03\x01\0\x04\x01\0\0\0"), TLS_HELLO_BROKEN },   /* an empty hello */
		{ SLICE("\x16\x03\x01\0\x04\x01\x01\0\0"), TLS_HELLO_BROKEN }, /* 64 KiB of one */
		{ SLICE("\x16\x03\x01\0\x01\x01\x17\x03\x01\0\x01"), TLS_HELLO_BROKEN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tls_hello h = { 0 };

		if (tls_hello_feed(&h, rows[i].text) != rows[i].want)
			fail_row(i, "state");
		tls_hello_done(&h);
	}
}

/* Records of a byte each are no client's; the largest hello is. */
static void test_bounds(void **state _unused_)
{
	static char padding[EGRESS_HELLO_MAX];

	put_name("a.example");
	assert_int_equal(feed(1, 100), TLS_HELLO_BROKEN);
	put_extension(&extensions, 21, (struct slice){ padding, sizeof(padding) - 200 });
	assert_int_equal(feed(16384, 1000), TLS_HELLO_WHOLE);
	put_extension(&extensions, 22, (struct slice){ padding, 200 });
	assert_int_equal(feed(16384, 1000), TLS_HELLO_BROKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_named),
		TEST(test_every_prefix_is_more),
		TEST(test_what_follows_is_not_looked_at),
		TEST(test_unnamed),
		TEST(test_encrypted),
		TEST(test_two_names),
		TEST(test_broken_names),
		TEST(test_no_hello),
		TEST(test_bounds),
	};

	return RUN(tests, NULL, group_teardown);
}
