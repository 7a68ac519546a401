/* The pure parts of reaching HTTP servers: addresses and headers, event streams, arguments that go into headers. */
#include "unit.h"

#include "base/limits.h"
#include "tools/upstream/http/http_post.h"

/* --- URLs ------------------------------------------------------------------------------------------------- */

/* url, "host port authority path" or the reason. */
static const struct {
	const char *url, *want;
} urls[] = {
	{ "http://localhost", "localhost 80 localhost /" },
	{ "HTTP://h:8080/mcp?a=b&c#frag", "h 8080 h:8080 /mcp?a=b&c" },
	{ "http://[::1]:9/x", "::1 9 [::1]:9 /x" },
	{ "http://[::1]", "::1 80 [::1] /" },
	{ "http://h?q", "h 80 h /?q" },
	{ "http://h#f", "h 80 h /" },
	{ "https://h/", "h 443 h /" },
	{ "HTTPS://h:8443/mcp?a", "h 8443 h:8443 /mcp?a" },
	{ "https://[::1]/", "::1 443 [::1] /" },
	{ "https://u:p@h/", "URL_INVALID" },
	{ "ws://h/", "TRANSPORT_UNSUPPORTED" },
	{ "h:80", "TRANSPORT_UNSUPPORTED" },
	{ "", "TRANSPORT_UNSUPPORTED" },
	{ "http://", "URL_INVALID" },
	{ "http:///x", "URL_INVALID" },
	{ "http://:80/", "URL_INVALID" },
	{ "http://u:p@h/", "URL_INVALID" },
	{ "http://h:0/", "URL_INVALID" },
	{ "http://h:65536/", "URL_INVALID" },
	{ "http://h:99999999999999999999/", "URL_INVALID" },
	{ "http://h:/", "URL_INVALID" },
	{ "http://h:8a/", "URL_INVALID" },
	{ "http://h/a b", "URL_INVALID" },
	{ "http://h/a\r\nX: y", "URL_INVALID" },
	{ "http://h/\xc3\xa9", "URL_INVALID" },
};

static void test_urls(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		struct http_target t;
		char got[200];
		struct err e = { 0 };

		if (http_target_parse(&t, urls[i].url, NULL, &e) == 0)
			snprintf(got, sizeof(got), "%s %s %s %s", t.host, t.port, t.authority,
				 t.path);
		else
			snprintf(got, sizeof(got), "%s", e.reason);
		if (strcmp(got, urls[i].want) != 0) {
			print_error("got %s\n", got);
			fail_row(i, urls[i].url);
		}
		if (e.reason[0])
			assert_string_equal(e.field, "url");
		http_target_done(&t);
	}
}

static const struct {
	const char *line, *reason;
} headers[] = {
	{ "X-Key: a b\t", NULL },
	{ "x:", NULL },
	{ "Authorization: Bearer x", NULL },
	{ "no colon", "HEADER_INVALID" },
	{ ": x", "HEADER_INVALID" },
	{ "a b: x", "HEADER_INVALID" },
	{ "x: a\r\nb: c", "HEADER_INVALID" },
	{ "x: \x01", "HEADER_INVALID" },
	{ "Host: x", "HEADER_RESERVED" },
	{ "content-LENGTH: 1", "HEADER_RESERVED" },
	{ "Mcp-Session-Id: x", "HEADER_RESERVED" },
};

static void test_headers(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		char *list[] = { (char *)(uintptr_t)headers[i].line, NULL };
		struct http_target t;
		struct err e = { 0 };

		http_target_parse(&t, "http://h", list, &e);
		if (strcmp(e.reason, headers[i].reason ? headers[i].reason : "") != 0)
			fail_row(i, headers[i].line);
		http_target_done(&t);
	}
}

static void test_encoded(void **state _unused_)
{
	static const char *const rows[][2] = {
		{ "a b", "X: a b\r\n" },
		{ "", "X: =?base64?"
		      "?=\r\n" },
		{ " a", "X: =?base64?IGE=?=\r\n" },
		{ "a\n", "X: =?base64?YQo=?=\r\n" },
		{ "\xc3\xa9", "X: =?base64?w6k=?=\r\n" },
		{ "=?base64?x?=", "X: =?base64?PT9iYXNlNjQ/eD89?=\r\n" },
		{ "=?base64?=", "X: =?base64?=\r\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };

		http_target_put_encoded(&b, "X", rows[i][0]);
		if (!slice_is(buf_slice(&b), rows[i][1]))
			fail_row(i, rows[i][1]);
	}
}

/* --- event streams ------------------------------------------------------------------------------------------ */

static bool keep(void *ctx, struct slice data)
{
	struct buf *b = ctx;

	buf_putc(b, '[');
	buf_add_slice(b, data);
	buf_putc(b, ']');
	return buf_len(b) < 40;
}

static const struct {
	const char *text, *events, *id;
	uint64_t retry;
} streams[] = {
	{ "data: a\n\n", "[a]", "", 0 },
	{ "data:a\r\ndata: b\r\rdata\n\n", "[a\nb][]", "", 0 },
	{ "\xef\xbb\xbf"
	  "data: a\n\n: c\n\nevent: e\n\n",
	  "[a]", "", 0 },
	{ "id: 1\ndata\n\nid: 2\n\n", "[]", "2", 0 },
	{ "id: 1\nid\n", "", "", 0 },
	{ "id: a\x01"
	  "b\nretry: 15\nretry: x\nretry: 1-\n",
	  "", "", 15 },
	{ "retry: 0\n", "", "", 1 },
	{ "retry: 99999999999999999999\n", "", "", 60000 },
	{ "data: not ended\n", "", "", 0 },
	{ "data: 0123456789012345678901234567890123456789\n\ndata: more\n\n",
	  "[0123456789012345678901234567890123456789]", "", 0 },
};

static void test_streams(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct sse s = { .max = 100 };
		struct slice text = exact_copy(slice_of(streams[i].text));

		assert_int_equal(sse_feed(&s, text, keep, &b), 0);
		if (!slice_is(buf_slice(&b), streams[i].events) || s.retry_ms != streams[i].retry ||
		    !slice_is(buf_slice(&s.id), streams[i].id))
			fail_row(i, streams[i].text);
		slice_freep(&text);
		sse_reader_done(&s);
	}
}

static void test_stream_limits(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct sse s = { .max = 10 };

	assert_int_equal(sse_feed(&s, SLICE("data: 12345678901"), keep, &b), -EMSGSIZE);
	sse_reader_done(&s);
	s = (struct sse){ .max = 10 };
	assert_int_equal(sse_feed(&s, SLICE("data: 1234\ndata: 1234\ndata: 1\n"), keep, &b),
			 -EMSGSIZE);
	sse_reader_done(&s);
}

/* --- arguments ---------------------------------------------------------------------------------------------- */

#define TOOL(name, properties)                                                                     \
	"{\"tools\":[{\"name\":\"" name "\",\"inputSchema\":{\"properties\":{" properties "}}}]}"
#define FIELD(name, type, header)                                                                  \
	"\"" name "\":{\"type\":\"" type "\",\"x-mcp-header\":\"" header "\"}"

static const struct {
	const char *arguments, *want;
} calls[] = {
	{ "{\"s\":\"a\",\"i\":12,\"b\":true}",
	  "Mcp-Param-S: a\r\nMcp-Param-I: 12\r\nMcp-Param-B: true\r\n" },
	{ "{\"s\":null,\"i\":-1.00,\"b\":false}", "Mcp-Param-I: -1\r\nMcp-Param-B: false\r\n" },
	{ "{\"s\":\"\\ud800\",\"i\":1.5,\"b\":{}}", "" },
	{ "{\"i\":9007199254740991}", "Mcp-Param-I: 9007199254740991\r\n" },
	{ "{\"i\":9007199254740992}", "" },
	{ "{\"i\":1e2}", "" },
	{ "{\"s\":\"a\\r\\nX: y\"}", "Mcp-Param-S: =?base64?YQ0KWDogeQ==?=\r\n" },
	{ "[]", "" },
};

static void test_mirror(void **state _unused_)
{
	struct param_headers m;
	_cleanup_(buf_done) struct buf other = { 0 };

	param_headers_init(&m);
	param_headers_learn(
		&m, SLICE(TOOL("t",
			       FIELD("s", "string", "S") "," FIELD("i", "integer", "I") "," FIELD(
				       "b", "boolean",
				       "B") "," FIELD("n", "number",
						      "N") "," FIELD("x", "string",
								     "a:b") "," FIELD("y", "string",
										      ""))));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		_cleanup_(buf_done) struct buf b = { 0 }, p = { 0 };

		buf_printf(&p, "{\"name\":\"t\",\"arguments\":%s}", calls[i].arguments);
		param_headers_put(&b, &m, buf_slice(&p));
		if (!slice_is(buf_slice(&b), calls[i].want))
			fail_row(i, calls[i].arguments);
	}
	param_headers_put(&other, &m, SLICE("{\"name\":\"u\",\"arguments\":{\"s\":\"a\"}}"));
	param_headers_learn(&m, SLICE(TOOL("t", FIELD("s", "string", "New"))));
	param_headers_put(&other, &m,
			  SLICE("{\"name\":\"t\",\"arguments\":{\"s\":\"a\",\"b\":true}}"));
	assert_buf(&other, "Mcp-Param-New: a\r\n");
	param_headers_learn(&m, SLICE("{\"tools\":{}}"));
	assert_int_equal(m.n, 1);
	param_headers_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),	      cmocka_unit_test(test_headers),
		cmocka_unit_test(test_encoded),	      cmocka_unit_test(test_streams),
		cmocka_unit_test(test_stream_limits), cmocka_unit_test(test_mirror),
	};

	return RUN(tests, NULL, NULL);
}
