/* Requests to a proxy, what their servers get of them, and what clients get of the answers. */
#include "unit.h"

#include "base/limits.h"
#include "proxy/proxy.h"
#include "proxy/proxy_request.h"

static struct proxy_request request;
static enum egress_reason why;

static ssize_t parse(const char *text)
{
	return proxy_request_parse(slice_of(text), &request, &why);
}

static void test_tunnels(void **state _unused_)
{
	static const struct {
		const char *target, *host;
		int port;
	} rows[] = {
		{ "a.example:443", "a.example", 443 },
		{ "A.Example.:22", "a.example", 22 },
		{ "[2001:DB8::1]:443", "2001:db8::1", 443 },
		{ "1.2.3.4:80", "1.2.3.4", 80 },
	};
	char text[256];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(text, sizeof(text), "CONNECT %s HTTP/1.%zu\r\nX: y\r\n\r\n",
			 rows[i].target, i % 2);
		if (parse(text) != (ssize_t)strlen(text) || !request.tunnel ||
		    strcmp(request.host.text, rows[i].host) != 0 || request.port != rows[i].port)
			fail_row(i, text);
	}
}

static void test_refused(void **state _unused_)
{
	static const struct {
		const char *text;
		enum egress_reason why;
	} rows[] = {
		{ "CONNECT a.example HTTP/1.1\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "CONNECT a.example: HTTP/1.1\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "CONNECT a.example:0 HTTP/1.1\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "CONNECT a.example:99999 HTTP/1.1\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "CONNECT user@a.example:443 HTTP/1.1\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "CONNECT http://a.example:443 HTTP/1.1\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "CONNECT a.example:443 HTTP/2.0\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "CONNECT a.example:443\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "CONNECT  a.example:443 HTTP/1.1\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n", EGRESS_HOST_INVALID },
		{ "CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n", EGRESS_HOST_INVALID },
		{ "CONNECT 0177.0.0.1:443 HTTP/1.1\r\n\r\n", EGRESS_HOST_INVALID },
		{ "CONNECT %31.example:443 HTTP/1.1\r\n\r\n", EGRESS_HOST_INVALID },
		{ "CONNECT [1.2.3.4]:443 HTTP/1.1\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n",
		  EGRESS_HOST_MISMATCH },
		{ "CONNECT a.example:443 HTTP/1.1\r\nContent-Length: 1\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "GET http:///x HTTP/1.1\r\nHost: a.example\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "GET http://u:p@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "GET http://a.example/#x HTTP/1.1\r\nHost: a.example\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "GET http://a.example\\@b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "GET http://a.example/ HTTP/1.1\r\n\r\n", EGRESS_REQUEST_INVALID },
		{ "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
		  EGRESS_HOST_MISMATCH },
		{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n",
		  EGRESS_HOST_MISMATCH },
		{ "GET http://a.example/ HTTP/1.1\r\nHost:\r\n\r\n", EGRESS_HOST_MISMATCH },
		{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		/* smuggling */
		{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\n"
		  "Content-Length: 1\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: +1\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
		  "Transfer-Encoding: gzip, chunked\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: a\r\n b\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: a\nY: b\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX : a\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: a\rb\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
		{ "G\x01T http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		  EGRESS_REQUEST_INVALID },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (parse(rows[i].text) != -1 || why != rows[i].why)
			fail_msg("row %zu: %s: %s", i, rows[i].text, egress_reasons[why].name);
}

static void test_more_has_to_come(void **state _unused_)
{
	static const char text[] = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n";
	static char large[EGRESS_HEAD_MAX + 1];

	for (size_t n = 0; n < strlen(text); n++)
		assert_int_equal(proxy_request_parse((struct slice){ text, n }, &request, &why), 0);
	memset(large, 'a', sizeof(large));
	assert_int_equal(
		proxy_request_parse((struct slice){ large, sizeof(large) }, &request, &why), -1);
	assert_int_equal(why, EGRESS_REQUEST_TOO_LARGE);
}

static void test_put(void **state _unused_)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "GET http://A.example/b?c HTTP/1.1\r\nHost: a.EXAMPLE\r\nAccept: */*\r\n\r\n",
		  "GET /b?c HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\nConnection: close\r\n\r\n" },
		{ "GET HTTP://a.example HTTP/1.1\r\nHost: a.example:80\r\n\r\n",
		  "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n" },
		{ "GET http://a.example:8080?q HTTP/1.1\r\nHost: a.example:8080\r\n\r\n",
		  "GET /?q HTTP/1.1\r\nHost: a.example:8080\r\nConnection: close\r\n\r\n" },
		{ "GET http://[::1]:81/ HTTP/1.1\r\nHost: [::1]:81\r\n\r\n",
		  "GET / HTTP/1.1\r\nHost: [::1]:81\r\nConnection: close\r\n\r\n" },
		{ "GET http://a.example/ HTTP/1.0\r\n\r\n",
		  "GET / HTTP/1.0\r\nHost: a.example\r\nConnection: close\r\n\r\n" },
		{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n"
		  "Connection: keep-alive, X-Mine, content-length\r\nx-mine: 1\r\nKeep-Alive: 5\r\n"
		  "Proxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\n"
		  "Upgrade: h2c\r\nCookie: a\r\n\r\n",
		  "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\nCookie: a\r\n"
		  "Connection: close\r\n\r\n" },
		{ "GET http://a.example/ws HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\n"
		  "Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n",
		  "GET /ws HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\n"
		  "Sec-WebSocket-Key: x\r\nConnection: Upgrade\r\n\r\n" },
		{ "GET http://a.example/ws HTTP/1.1\r\nHost: a.example\r\n"
		  "Upgrade: websocket\r\n\r\n",
		  "GET /ws HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };

		if (parse(rows[i].text) < 0)
			fail_row(i, egress_reasons[why].name);
		proxy_request_put(&request, &b);
		assert_buf(&b, rows[i].want);
	}
}

/* --- answers -------------------------------------------------------------------------------------------------- */

static const struct {
	const char *text, *want; /* NULL: it is none */
	bool may_switch, switched;
} answers[] = {
	{ "HTTP/1.1 200 OK\r\nA: b\r\nConnection: keep-alive, Mine\r\nKeep-Alive: 5\r\nMine: 1\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
	  "2\r\nxy\r\n0\r\n\r\n",
	  false, false },
	{ "HTTP/1.0 404 \r\nConnection: x,\r\n y\r\nOdd Name: kept\r\n\r\nbody",
	  "HTTP/1.0 404 \r\nOdd Name: kept\r\nConnection: close\r\n\r\nbody", false, false },
	{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
	  "HTTP/1.1 204 No\r\n\r\n",
	  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
	  "HTTP/1.1 204 No\r\nConnection: close\r\n\r\n",
	  false, false },
	{ "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nraw\0",
	  "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nraw", true, true },
	{ "HTTP/1.1 101 Switching\r\n\r\n", NULL, false, false },
	{ "SSH-2.0-OpenSSH\r\n", NULL, false, false },
	{ "HTTP/2 200\r\n\r\n", NULL, false, false },
	{ "HTTP/1.1 20\r\n\r\n", NULL, false, false },
};

static void test_answers(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		for (size_t step = 1; step < 300; step = 3 * step) {
			struct slice in = slice_of(answers[i].text);
			struct answer_pass a = { .may_switch = answers[i].may_switch };
			_cleanup_(buf_done) struct buf got = { 0 };
			int r = 0;

			for (size_t at = 0; r >= 0 && at < in.n; at += step)
				r = answer_pass_feed(
					&a, (struct slice){ in.p + at, MIN(step, in.n - at) },
					&got);
			answer_pass_done(&a);
			if ((r < 0) != !answers[i].want || a.switched != answers[i].switched)
				fail_row(i, answers[i].text);
			if (answers[i].want)
				assert_buf(&got, answers[i].want);
		}
}

/* Where the connection ends: of each, all bytes up to the first of what is behind it pass. */
static const struct {
	const char *text, *behind;
	bool whole, to_head;
} ends[] = {
	{ "HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\nbody", "HTTP/1.1 200 OK\r\n\r\n", true,
	  false },
	{ "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nbody", "", false, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "more", true, false },
	{ "HTTP/1.1 204 OK\r\n\r\n", "more", true, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "more", true, true },
	{ "HTTP/1.1 200 OK\r\n\r\nbody", "", false, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n", "more", true,
	  false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n", "", false, false },
	/* broken, or not to be told */
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\nxy\r\n0\r\n\r\nmore", "",
	  false, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxyz", "", false,
	  false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nxyz", "", false, false },
};

static void test_answer_ends(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		for (size_t step = 1; step < 300; step = 3 * step) {
			struct answer_pass a = { .to_head = ends[i].to_head };
			_cleanup_(buf_done) struct buf in = { 0 }, got = { 0 };

			buf_puts(&in, ends[i].text);
			buf_puts(&in, ends[i].behind);
			for (size_t at = 0; !a.whole && at < buf_len(&in); at += step)
				assert_int_equal(
					answer_pass_feed(&a,
							 (struct slice){ in.data + at,
									 MIN(step, in.len - at) },
							 &got),
					0);
			answer_pass_done(&a);
			buf_add(&got, "", 1);
			if (a.whole != ends[i].whole ||
			    strcmp(strstr(got.data, "\r\n\r\n"),
				   strstr(ends[i].text, "\r\n\r\n")) != 0)
				fail_row(i, got.data);
		}
}

static void test_answer_without_end(void **state _unused_)
{
	static char large[EGRESS_ANSWER_MAX];
	struct answer_pass a = { 0 };
	_cleanup_(buf_done) struct buf got = { 0 };

	memset(large, 'x', sizeof(large));
	assert_int_equal(answer_pass_feed(&a, SLICE("HTTP/1.1 200 OK\r\nA: "), &got), 0);
	assert_true(answer_pass_feed(&a, (struct slice){ large, sizeof(large) }, &got) < 0);
	assert_int_equal(buf_len(&got), 0);
	answer_pass_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tunnels),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_more_has_to_come),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_answer_ends),
		cmocka_unit_test(test_answer_without_end),
	};

	return RUN(tests, NULL, NULL);
}
