/* Requests by the real acpd-fetch to a server on the loopback: what arrives there, what comes back, how it ends. */
#include "fetcher_rig.h"

#include "base/limits.h"
#include "json/jdec.h"
#include "json/jstr.h"

static struct got g;

static int setup(void **state)
{
	g = (struct got){ 0 };
	return far_setup(state);
}

static int teardown(void **state)
{
	got_done(&g);
	return far_teardown(state);
}

static void expect_end(enum fetch_end how, const char *part)
{
	far_until(&g.ended);
	if (g.how != how || !strstr(g.why, part))
		fail_msg("ended with %d: %s", g.how, g.why);
}

static void expect_member(const char *key, const char *want)
{
	struct jval v = jobj_get(buf_slice(&g.body), key);

	if (!slice_is(v.raw, want))
		fail_msg("%s: %.*s", key, (int)v.raw.n, v.raw.p);
}

static void expect_header(const char *name, const char *want)
{
	struct jval v = jobj_get(jobj_get(buf_slice(&g.body), "headers").raw, name);

	if (want ? !jstr_is(v, want) : v.type != J_NONE)
		fail_msg("%s: %.*s", name, (int)v.raw.n, v.raw.p);
}

static void post(const char *url, struct slice body)
{
	got_open(
		&g,
		&(struct fetch_request){
			.method = "POST",
			.url = url,
			.headers = SLICE(
				"{\"X-A\":\"1\",\"x-empty\":\"\",\"accept\":\"text/event-stream\"}"),
			.body = body,
			.named = true,
			.idle_ms = 30000 });
	far_until(&g.ended);
}

/* What it asked for and nothing else goes out: no header of libcurl's, no Expect before a large body. */
static void test_request(void **state _unused_)
{
	static char large[3 * MIB];
	unsigned sum = 0;
	char text[32];

	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)('a' + i % 23);
	for (size_t i = 0; i < sizeof(large); i++)
		sum = (sum * 31 + (unsigned char)large[i]) % 1000003;
	post(far_url("http", far_side.http, "/echo?a=%2f../b"),
	     (struct slice){ large, sizeof(large) });
	assert_int_equal(g.how, FETCH_COMPLETE);
	assert_int_equal(g.status, 200);
	assert_non_null(strstr(g.headers, "\"content-type\":\"application/json\""));
	expect_member("method", "\"POST\"");
	expect_member("path", "\"/echo?a=%2f../b\"");
	expect_member("bytes", "3145728");
	snprintf(text, sizeof(text), "%u", sum);
	expect_member("sum", text);
	expect_header("x-a", "1");
	expect_header("x-empty", "");
	expect_header("accept", "text/event-stream");
	expect_header("content-length", "3145728");
	expect_header("user-agent", NULL);
	expect_header("expect", NULL);
	expect_header("accept-encoding", NULL);
	expect_header("content-type", NULL);
}

/* The same over TLS, and over HTTP/2, which ALPN chooses. */
static void test_tls(void **state _unused_)
{
	post(far_url("https", far_side.https, "/echo"), SLICE("{}"));
	assert_int_equal(g.how, FETCH_COMPLETE);
	expect_member("version", "\"1.1\"");
	got_done(&g);
	post(far_url("https", far_side.http2, "/echo"), SLICE("{\"a\":1}"));
	assert_int_equal(g.how, FETCH_COMPLETE);
	expect_member("version", "\"2.0\"");
	expect_member("bytes", "7");
	expect_header("x-empty", "");
}

/* Each piece as it comes, and all of them. */
static void test_stream(void **state _unused_)
{
	got_all(&g, far_url("http", far_side.http, "/drip?n=20&ms=5"));
	assert_int_equal(g.how, FETCH_COMPLETE);
	assert_true(g.pieces > 10);
	assert_true(slice_starts(buf_slice(&g.body), "data: 0\n\ndata: 1\n\n"));
	assert_int_equal(buf_len(&g.body),
			 10 * strlen("data: 0\n\n") + 10 * strlen("data: 10\n\n"));
	got_done(&g);
	got_all(&g, far_url("https", far_side.http2, "/drip?n=20&ms=5"));
	assert_int_equal(g.how, FETCH_COMPLETE);
	assert_true(g.pieces > 10);
}

/* Nothing of an answer is changed or followed, and names that come twice are one. */
static void test_answers(void **state _unused_)
{
	got_all(&g, far_url("http", far_side.http, "/moved"));
	assert_int_equal(g.status, 302);
	assert_non_null(strstr(g.headers, "\"location\":\"/echo\""));
	assert_buf(&g.body, "");
	got_done(&g);
	got_all(&g, far_url("http", far_side.http, "/twice"));
	assert_int_equal(g.status, 429);
	assert_non_null(strstr(g.headers, "\"x-odd\":\"a, b\\\"\\\\\""));
	assert_non_null(strstr(g.headers, "\"retry-after\":\"7\""));
	got_done(&g);
	got_all(&g, far_url("http", far_side.http, "/early")); /* 102 before it */
	assert_int_equal(g.status, 200);
	assert_buf(&g.body, "late");
	got_done(&g);
	got_open(&g, &(struct fetch_request){ .method = "HEAD",
					      .url = far_url("http", far_side.http, "/zipped"),
					      .named = true,
					      .idle_ms = 30000 });
	expect_end(FETCH_COMPLETE, "");
	assert_int_equal(buf_len(&g.body), 0);
}

/* Identity was asked for; a server that compresses all the same is decoded, and its head says so no more. */
static void test_encoded(void **state _unused_)
{
	static const char *const whole[] = { "/zipped", "/deflated", "/deflated-raw" };
	static const char *const broken[] = { "/zipped-wrongly", "/coded" };

	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		got_all(&g, far_url("http", far_side.http, whole[i]));
		expect_end(FETCH_COMPLETE, "");
		assert_buf(&g.body, "whole");
		assert_null(strstr(g.headers, "content-encoding"));
		got_done(&g);
	}
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		got_get(&g, far_url("http", far_side.http, broken[i]));
		expect_end(FETCH_CUT, "");
		assert_true(g.why[0] && g.status == 200);
		got_done(&g);
	}
}

/* 64 MiB of zeros in 64 KiB: no more of it waits than of any other answer. */
static void test_bomb(void **state _unused_)
{
	unsigned before;

	got_all(&g, far_url("http", far_side.http, "/zipped"));
	got_done(&g);
	before = far_memory();
	g.holds = true;
	got_get(&g, far_url("http", far_side.http, "/bomb"));
	far_until(&g.headed);
	far_run(500);
	assert_in_range(buf_len(&g.body), FETCH_WINDOW / 2, FETCH_WINDOW);
	assert_in_range(far_memory(), 0, before + 24 * 1024);
}

static void test_ends(void **state _unused_)
{
	got_get(&g, far_url("http", far_side.http, "/cut"));
	expect_end(FETCH_CUT, "");
	assert_true(g.why[0] && g.status == 200);
	assert_buf(&g.body, "part");
	got_done(&g);
	got_get(&g, far_url("http", far_side.http, "/drop"));
	expect_end(FETCH_UNREACHABLE, "");
	assert_true(g.why[0] && !g.headed);
	got_done(&g);
	got_get(&g, far_url("http", far_side.http, "/large"));
	expect_end(FETCH_CUT, "too large");
	got_done(&g);
	got_get(&g, "http://127.0.0.1:1/");
	expect_end(FETCH_UNREACHABLE, "connect");
	got_done(&g);
	got_get(&g, far_url("https", far_side.unknown, "/echo"));
	expect_end(FETCH_UNREACHABLE, "certificate");
	got_done(&g);
	/* nobody answers in TLS here */
	got_get(&g, far_url("https", far_side.http, "/echo"));
	expect_end(FETCH_UNREACHABLE, "");
}

static void silent(const char *path)
{
	got_open(&g, &(struct fetch_request){ .method = "GET",
					      .url = far_url("http", far_side.http, path),
					      .named = true,
					      .idle_ms = 300 });
	expect_end(FETCH_SILENT, "");
	got_done(&g);
}

/* Silence ends a request before its answer and within it. An answer that is longer than that in all does not. */
static void test_silence(void **state _unused_)
{
	silent("/hang");
	silent("/stall");
	got_open(&g,
		 &(struct fetch_request){ .method = "GET",
					  .url = far_url("http", far_side.http, "/drip?n=20&ms=50"),
					  .named = true,
					  .idle_ms = 800 });
	expect_end(FETCH_COMPLETE, "");
}

static int64_t count_of(const char *key)
{
	struct got c = { 0 };
	int64_t n = 0;

	got_all(&c, far_url("http", far_side.http, "/counts"));
	jdec_int(jobj_get(buf_slice(&c.body), key), &n);
	got_done(&c);
	return n;
}

/* A closed request closes its connection: the far side sees it. */
static void test_cancel(void **state _unused_)
{
	int64_t before = count_of("aborted");

	got_get(&g, far_url("http", far_side.http, "/stall"));
	far_until(&g.headed);
	got_done(&g);
	for (int i = 0; i < 500 && count_of("aborted") == before; i++)
		far_run(10);
	assert_int_equal(count_of("aborted"), before + 1);
	assert_false(g.ended);
	/* and before anything of it has gone out */
	got_get(&g, far_url("http", far_side.http, "/echo"));
	g.x = fetch_close(g.x);
	far_run(50);
	assert_false(g.ended || g.headed);
}

/* While nobody takes, no more than the window comes, and the far side has to wait. Others go on beside it. */
static void flood(const char *scheme, unsigned port)
{
	const size_t all = 64 * MIB;
	struct got other = { 0 };
	unsigned memory;
	int64_t sent;

	g.holds = true;
	got_get(&g, far_url(scheme, port, "/flood?bytes=67108864"));
	far_until(&g.headed);
	far_run(500);
	assert_in_range(buf_len(&g.body), FETCH_WINDOW / 2, FETCH_WINDOW);
	memory = far_memory();
	for (int i = 0; i < 5; i++) {
		far_run(50);
		got_all(&other, far_url(scheme, port, "/echo"));
		assert_int_equal(other.how, FETCH_COMPLETE);
		got_done(&other);
	}
	assert_in_range(far_memory(), 0, memory + 2048);
	sent = count_of("floods");
	assert_in_range(sent, 1, all / 2);
	g.holds = false;
	fetch_taken(g.x, buf_len(&g.body));
	expect_end(FETCH_COMPLETE, "");
	assert_int_equal(buf_len(&g.body), all);
	print_message("%s: %lld KiB had left the far side while nobody took\n", scheme,
		      (long long)sent / 1024);
	got_done(&g);
}

static void test_window(void **state _unused_)
{
	flood("http", far_side.http);
	flood("https", far_side.http2);
}

static void refused(const char *url, bool named)
{
	got_open(&g, &(struct fetch_request){
			     .method = "GET", .url = url, .named = named, .idle_ms = 30000 });
	far_until(&g.ended);
	if (g.how != FETCH_REFUSED || !g.why[0])
		fail_msg("%s: %d %s", url, g.how, g.why);
	got_done(&g);
}

static const char *local_url(const char *host)
{
	static char url[128];

	snprintf(url, sizeof(url), "http://%s:%u/echo", host, far_side.http);
	return url;
}

/* Only a literal address, or "localhost", may be of this machine, and only if who wrote it may. x.localhost is a name
 * that means the loopback everywhere. */
static void test_addresses(void **state _unused_)
{
	char allow[128];

	refused(local_url("127.0.0.1"), false);
	refused(local_url("[::1]"), false);
	refused(local_url("localhost"), false);
	refused(local_url("x.localhost"), true);
	refused(local_url("x.localhost"), false);
	refused(local_url("169.254.169.254"), true);
	refused(local_url("metadata.google.internal"), true);
	refused(local_url("[::ffff:169.254.169.254]"), true);
	refused("http://user:secret@example.com/", true);
	got_all(&g, local_url("localhost"));
	assert_int_equal(g.how, FETCH_COMPLETE);
	got_done(&g);
	/* a connection that was kept does not help who may not open one */
	refused(local_url("localhost"), false);

	snprintf(allow, sizeof(allow), "other:1,x.localhost:%u", far_side.http);
	far_again(&(struct fetcher_config){ .allow = allow });
	got_open(&g, &(struct fetch_request){
			     .method = "GET", .url = local_url("x.localhost"), .idle_ms = 30000 });
	expect_end(FETCH_COMPLETE, "");
	got_done(&g);
	refused(local_url("y.localhost"), true);
}

/* A proxy gets what is not of this machine, whole or as a tunnel. */
static void test_proxy(void **state _unused_)
{
	const char *proxy = far_url("http", far_side.proxy, "");
	char url[128];

	far_again(&(struct fetcher_config){
		.http_proxy = proxy, .https_proxy = proxy, .no_proxy = "10.0.0.0/8,.inner" });
	got_all(&g, "http://far.example/a");
	assert_int_equal(g.how, FETCH_COMPLETE);
	assert_non_null(strstr(g.headers, "\"x-proxy\":\"http://far.example/a\""));
	got_done(&g);
	got_all(&g, local_url("127.0.0.1"));
	assert_int_equal(g.how, FETCH_COMPLETE);
	assert_null(strstr(g.headers, "x-proxy"));
	got_done(&g);
	refused("http://192.168.1.1/", true);
	refused("http://metadata.google.internal/", true);
	/* the tunnel leads to a certificate of localhost: the name that was asked for is what counts */
	snprintf(url, sizeof(url), "https://far.example:%u/", far_side.https);
	got_get(&g, url);
	expect_end(FETCH_UNREACHABLE, "far.example");
}

static const char *why_not(const struct fetch_request *r)
{
	static const struct fetch_ops none;
	static struct err e;

	e = (struct err){ 0 };
	assert_null(fetch_open(far_fetcher, r, &none, NULL, &e));
	assert_true(e.msg[0]);
	return e.field;
}

static void test_wrong_at_once(void **state _unused_)
{
	static char text[FETCH_URL_MAX + 2] = "http://a/";
	struct fetch_request good = { .method = "GET", .url = "http://a/", .idle_ms = 1 }, r;

	memset(text + 9, 'x', sizeof(text) - 10);
#define WRONG(what, value, where)                                                                  \
	r = good;                                                                                  \
	r.what = value;                                                                            \
	assert_string_equal(why_not(&r), where)
	WRONG(method, "GE T", "method");
	WRONG(method, "CONNECT", "method");
	WRONG(url, "ftp://a/", "url");
	WRONG(url, "http://a/\r\nb", "url");
	WRONG(url, text, "url");
	WRONG(idle_ms, 0, "idle_ms");
	WRONG(headers, SLICE("[]"), "headers");
	WRONG(headers, SLICE("{\"a\":1}"), "headers");
	WRONG(headers, SLICE("{\"a b\":\"1\"}"), "headers");
	WRONG(headers, SLICE("{\"a\":\"1\\r\\nb: 2\"}"), "headers");
	WRONG(headers, SLICE("{\"Transfer-Encoding\":\"chunked\"}"), "headers");
	WRONG(headers, SLICE("{\"Proxy-Authorization\":\"x\"}"), "headers");
	WRONG(body, ((struct slice){ text, FETCH_BODY_MAX + 1 }), "body");
}

static void test_unavailable(void **state _unused_)
{
	far_again(&(struct fetcher_config){ .program = "/nonexistent/acpd-fetch" });
	got_get(&g, far_url("http", far_side.http, "/echo"));
	expect_end(FETCH_UNAVAILABLE, "acpd-fetch");
	got_done(&g);
	/* it begins and ends at once */
	far_again(&(struct fetcher_config){ .ca_file = "/nonexistent/ca.pem" });
	got_get(&g, far_url("http", far_side.http, "/echo"));
	expect_end(FETCH_UNAVAILABLE, "trusted certificates");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_request),	  TEST(test_tls),	  TEST(test_stream),
		TEST(test_answers),	  TEST(test_encoded),	  TEST(test_bomb),
		TEST(test_ends),	  TEST(test_silence),	  TEST(test_cancel),
		TEST(test_window),	  TEST(test_addresses),	  TEST(test_proxy),
		TEST(test_wrong_at_once), TEST(test_unavailable),
	};

	return RUN(tests, far_begin, far_end);
}
