/* Signatures: the example of the specification, and one for each secret. */
#include "unit.h"

#include "digest/base64.h"
#include "outbox/receiver_internal.h"
#include "json/jscan.h"

#define PUBLISHED "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

static void add_secret(struct webhook *w, const char *base64)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(base64_decode(slice_of(base64), &b), 0);
	w->secrets[w->nsecrets++] = locked_text_new(buf_slice(&b));
}

static void check_signature(struct webhook *w, const char *wanted)
{
	struct webhook_message m = { "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
				     SLICE("{\"test\": 2432232314}") };
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(webhook_headers_put(&b, w, &m), 0);
	assert_int_equal(jscan_value(buf_slice(&b), NULL), JSCAN_OK);
	assert_text(jobj_get(buf_slice(&b), "webhook-id").raw, "\"msg_p5jXN8AQM9LWM0D4loKWxJek\"");
	assert_text(jobj_get(buf_slice(&b), "webhook-timestamp").raw, "\"1614265330\"");
	assert_text(jobj_get(buf_slice(&b), "webhook-signature").raw, wanted);
}

static void test_the_published_example(void **state _unused_)
{
	struct webhook w = { .key = "" };

	add_secret(&w, PUBLISHED);
	check_signature(&w, "\"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\"");
	webhook_done(&w);
}

static void test_two_secrets(void **state _unused_)
{
	struct webhook w = { .key = "" };

	add_secret(&w, PUBLISHED);
	add_secret(&w, PUBLISHED);
	check_signature(&w, "\"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= "
			    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\"");
	webhook_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_published_example),
		cmocka_unit_test(test_two_secrets),
	};

	return RUN(tests, NULL, NULL);
}
