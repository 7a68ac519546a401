/* The table of routes and the usage endpoint over a real ledger, without a socket: bodies are pulled as net/ would. */
#include "unit.h"

#include "http/endpoints.h"
#include "session/core/session_internal.h"
#include "usage/ledger/ledger.h"

static struct loop *loop;
static struct session_store store;
static struct http_context ctx;

static int setup(void **state _unused_)
{
	struct err e;

	unlink(scratch_path("usage.jsonl"));
	loop = loop_new();
	store.incarnation = "inc1";
	list_init(&store.sessions);
	list_init(&store.recovery.dormant);
	store.ledger = ledger_open(loop, scratch_path("usage.jsonl"), "inc1", &e);
	ctx = (struct http_context){ .loop = loop, .store = &store };
	return store.ledger ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	store.ledger = ledger_free(store.ledger);
	loop = loop_free(loop);
	return 0;
}

/* Asks; query items are separated by "&". */
static struct http_reply ask(const char *method, const char *path, const char *query)
{
	struct http_request rq = { .method = method, .path = path, .grant = &grant_admin };
	struct slice items[8];
	struct http_reply r;

	while (query && *query) {
		size_t n = strcspn(query, "&");

		items[rq.nquery++] = (struct slice){ query, n };
		query += n + (query[n] == '&');
	}
	rq.query = items;
	http_respond(&ctx, &rq, &r);
	return r;
}

static void reply_done(struct http_reply *r)
{
	buf_done(&r->body);
	r->stream = http_stream_free(r->stream);
}

/* The whole body, in pieces of about room bytes; counts them. */
static enum http_fill drain(struct http_reply *r, size_t room, unsigned *pieces)
{
	enum http_fill f = HTTP_FILL_MORE;
	_cleanup_(buf_done) struct buf piece = { 0 };

	for (*pieces = 0; f == HTTP_FILL_MORE; ++*pieces) {
		buf_reset(&piece);
		f = r->stream->ops->fill(r->stream, &piece, room);
		assert_true(buf_len(&piece) < room + 400);
		buf_add_slice(&r->body, buf_slice(&piece));
	}
	return f;
}

static void append(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		_cleanup_(buf_done) struct buf b = { 0 };

		buf_printf(&b, "{\"type\":\"turn\",\"sessionId\":\"%s\",\"turn\":%u}",
			   i % 10 ? "a" : "b", i + 1);
		assert_true(ledger_append(store.ledger, buf_slice(&b)) > 0);
	}
}

static uint64_t count(struct slice text, const char *what)
{
	const char *p = text.p, *end = text.p + text.n;
	uint64_t n = 0;

	while (p && (p = memmem(p, (size_t)(end - p), what, strlen(what)))) {
		n++;
		p += strlen(what);
	}
	return n;
}

static void test_routes(void **state _unused_)
{
	static const struct {
		const char *method, *path, *query;
		int status;
		const char *reason;
	} rows[] = {
		{ "GET", "/health", NULL, 200, NULL },
		{ "HEAD", "/health", "any=thing", 200, NULL },
		{ "GET", "/v1/sessions", NULL, 200, NULL },
		{ "HEAD", "/v1/sessions", NULL, 200, NULL },
		{ "GET", "/v1/sessions", "x=1", 400, "QUERY_UNKNOWN" },
		{ "POST", "/v1/sessions", NULL, 405, "METHOD_NOT_ALLOWED" },
		{ "GET", "/v1/sessions/none", NULL, 404, "SESSION_NOT_FOUND" },
		{ "GET", "/v1/sessions/none", "x=1", 400, "QUERY_UNKNOWN" },
		{ "GET", "/v1/sessions/none/events", NULL, 404, "SESSION_NOT_FOUND" },
		{ "GET", "/v1/sessions/none/events", "follow=maybe", 400, "QUERY_INVALID" },
		{ "DELETE", "/v1/sessions/none/events", NULL, 405, "METHOD_NOT_ALLOWED" },
		{ "GET", "/v1/sessions/none/event", NULL, 404, "NOT_FOUND" },
		{ "GET", "/v1/usage", "since=x", 400, "QUERY_INVALID" },
		{ "GET", "/v1/usage", "format=sse", 400, "QUERY_INVALID" },
		{ "GET", "/v1/usage", NULL, 200, NULL },
		{ "GET", "/v1", NULL, 404, "NOT_FOUND" },
		{ "?", "/v1/usage", NULL, 405, "METHOD_NOT_ALLOWED" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_reply r = ask(rows[i].method, rows[i].path, rows[i].query);

		if (r.status != rows[i].status || (rows[i].reason && r.stream) ||
		    (rows[i].reason && !count(buf_slice(&r.body), rows[i].reason)) ||
		    (r.status == 405) != (r.nheaders && !strcmp(r.headers[0].name, "Allow:")))
			fail_row(i, rows[i].path);
		reply_done(&r);
	}
	assert_true(http_route_open(&ctx, "GET", "/health") &&
		    http_route_open(&ctx, "HEAD", "/health"));
	assert_false(http_route_open(&ctx, "POST", "/health") ||
		     http_route_open(&ctx, "GET", "/v1/usage"));
}

static void claim_told(void *told, const struct http_request *rq, struct http_reply *ret)
{
	*(unsigned *)told += (unsigned)rq->access_token.n + 1;
	ret->status = 202;
}

/* Without who answers it there is no such route, and it is not open. */
static void test_claim_route(void **state _unused_)
{
	unsigned told = 0;
	struct http_reply r = ask("POST", "/v1/claim", NULL);

	assert_int_equal(r.status, 404);
	assert_false(http_route_open(&ctx, "POST", "/v1/claim"));
	reply_done(&r);
	ctx.claim = claim_told;
	ctx.claim_ctx = &told;
	assert_true(http_route_open(&ctx, "POST", "/v1/claim"));
	assert_false(http_route_open(&ctx, "GET", "/v1/claim"));
	r = ask("POST", "/v1/claim", "x=1");
	assert_int_equal(r.status, 400);
	assert_int_equal(told, 0);
	reply_done(&r);
	r = ask("POST", "/v1/claim", NULL);
	assert_int_equal(r.status, 202);
	assert_int_equal(told, 1);
	reply_done(&r);
	ctx.claim = NULL;
}

static void test_usage_lines(void **state _unused_)
{
	struct http_reply r;
	unsigned pieces;

	append(1000);
	r = ask("GET", "/v1/usage", NULL);
	assert_string_equal(r.headers[0].name, "Acpd-Last:");
	assert_string_equal(r.headers[0].value, "1000");
	append(5); /* after the question: not in the answer */
	assert_int_equal(drain(&r, 1000, &pieces), HTTP_FILL_END);
	assert_true(pieces > 50);
	assert_int_equal(count(buf_slice(&r.body), "\n"), 1000);
	reply_done(&r);
	r = ask("GET", "/v1/usage", "since=1003");
	drain(&r, 1000, &pieces);
	assert_int_equal(count(buf_slice(&r.body), "\n"), 2);
	assert_int_equal(count(buf_slice(&r.body), "\"n\":1004,"), 1);
	reply_done(&r);
}

/* A filter that lets nothing through must not hold up the loop, nor end the answer early. */
static void test_usage_filter(void **state _unused_)
{
	struct http_reply r;
	unsigned pieces;

	append(1000);
	r = ask("GET", "/v1/usage", "session=b&since=1");
	assert_int_equal(drain(&r, 4000, &pieces), HTTP_FILL_END);
	assert_true(pieces > 10);
	assert_int_equal(count(buf_slice(&r.body), "\"sessionId\":\"b\""), 99);
	assert_int_equal(count(buf_slice(&r.body), "\n"), 99);
	reply_done(&r);
	r = ask("GET", "/v1/usage", "session=nobody");
	assert_int_equal(drain(&r, 4000, &pieces), HTTP_FILL_END);
	assert_int_equal(buf_len(&r.body), 0);
	reply_done(&r);
}

static void test_usage_object(void **state _unused_)
{
	struct http_reply r = ask("GET", "/v1/usage", "format=json");
	unsigned pieces;
	struct jval v;

	assert_int_equal(drain(&r, 1000, &pieces), HTTP_FILL_END);
	assert_buf(&r.body, "{\"records\":[],\"last\":0}");
	reply_done(&r);
	append(30);
	r = ask("GET", "/v1/usage", "format=json&session=b");
	assert_int_equal(drain(&r, 1000, &pieces), HTTP_FILL_END);
	assert_int_equal(jscan_value(buf_slice(&r.body), &v), JSCAN_OK);
	assert_int_equal(count(buf_slice(&r.body), "\"prevDigest\""), 3);
	assert_text(jobj_get(buf_slice(&r.body), "last").raw, "30");
	reply_done(&r);
	r = ask("GET", "/v1/usage", "since=77");
	assert_int_equal(drain(&r, 1000, &pieces), HTTP_FILL_END);
	assert_int_equal(buf_len(&r.body), 0);
	reply_done(&r);
}

static void test_no_ledger(void **state _unused_)
{
	struct ledger *l = TAKE_PTR(store.ledger);
	struct http_reply r = ask("GET", "/v1/usage", NULL);

	assert_int_equal(r.status, 404);
	assert_true(count(buf_slice(&r.body), "LEDGER_OFF") == 1);
	reply_done(&r);
	store.ledger = l;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_routes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_claim_route, setup, teardown),
		cmocka_unit_test_setup_teardown(test_usage_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_usage_filter, setup, teardown),
		cmocka_unit_test_setup_teardown(test_usage_object, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_ledger, setup, teardown),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
