/* A look at a server: pages counted to their end, errors told apart, an end in any case. The server is a backend of the test. */
#include "unit.h"

#include "base/limits.h"
#include "json/jscan.h"
#include "tools/hosted/hosted_check.h"

static struct loop *loop;

/* --- a server that answers with what the test says -------------------------------------------------------- */

static struct {
	struct mcp_backend backend;
	struct mcp_call call;
	const struct mcp_reply_ops *ops;
	void *ctx;
	struct loop_task task;
	const char *const *results; /* one a page, the last for all that follow */
	const char *error;
	bool silent;
	unsigned calls, cancels;
	char cursor[64];
} server;

static void answer(void *ctx _unused_)
{
	const char *const *r = server.results;

	for (unsigned i = 1; r && i < server.calls && r[1]; i++)
		r++;
	server.ops->done(server.ctx, r ? slice_of(*r) : SLICE_NONE, slice_of(server.error));
}

static struct mcp_call *on_call(struct mcp_backend *b, const char *method, struct slice params,
				const struct mcp_reply_ops *ops, void *ctx)
{
	struct jval cursor = jobj_get(params, "cursor"), v;

	assert_string_equal(method, "tools/list");
	assert_int_equal(jscan_value(params, &v), JSCAN_OK);
	assert_int_equal(jobj_get(params, "_meta").type, J_OBJECT);
	snprintf(server.cursor, sizeof(server.cursor), "%.*s", (int)cursor.raw.n,
		 cursor.raw.p ? cursor.raw.p : "");
	server.call.backend = b;
	server.ops = ops;
	server.ctx = ctx;
	server.calls++;
	if (!server.silent)
		loop_defer(loop, &server.task, answer, NULL);
	return &server.call;
}

static void on_cancel(struct mcp_call *c _unused_)
{
	server.cancels++;
	loop_task_cancel(&server.task);
}

static const struct mcp_backend_ops backend_ops = { .call = on_call, .cancel = on_cancel };

/* --- looking ---------------------------------------------------------------------------------------------- */

static struct {
	unsigned times;
	int tools;
	char reason[40];
} got;

static void on_looked(void *ctx _unused_, const struct hosted_check_result *result)
{
	got.times++;
	got.tools = result->tools;
	snprintf(got.reason, sizeof(got.reason), "%s", result->why ? result->why->reason : "");
	loop_quit(loop);
}

static struct hosted_check *begin(const char *const *results, const char *error)
{
	static struct hosted_check look;

	memset(&server, 0, sizeof(server));
	memset(&got, 0, sizeof(got));
	server.backend.ops = &backend_ops;
	server.results = results;
	server.error = error;
	look = (struct hosted_check){ .loop = loop, .backend = &server.backend };
	hosted_check_begin(&look, on_looked, NULL);
	assert_non_null(look.done);
	assert_int_equal(got.times, 0); /* never from inside */
	return &look;
}

static void check(const char *const *results, const char *error, int tools, const char *reason)
{
	struct hosted_check *l = begin(results, error);

	loop_run_deferred(loop);
	assert_int_equal(got.times, 1);
	assert_int_equal(got.tools, tools);
	assert_string_equal(got.reason, reason);
	assert_null(l->done);
}

static void test_pages(void **state _unused_)
{
	static const char *const one[] = { "{\"tools\":[{},{},{}]}", NULL };
	static const char *const none[] = { "{\"tools\":[],\"nextCursor\":null}", NULL };
	static const char *const three[] = { "{\"tools\":[{}],\"nextCursor\":\"a\\u0062\"}",
					     "{\"tools\":[],\"nextCursor\":\"\"}",
					     "{\"tools\":[{},{}]}", NULL };

	check(one, NULL, 3, "");
	assert_string_equal(server.cursor, "");
	check(none, NULL, 0, "");
	check(three, NULL, 3, "");
	assert_int_equal(server.calls, 3);
	assert_string_equal(server.cursor, "\"\""); /* as it was written */
}

static void test_endless(void **state _unused_)
{
	static const char *const endless[] = { "{\"tools\":[{}],\"nextCursor\":\"x\"}", NULL };

	check(endless, NULL, HOSTED_PAGES_MAX, "");
	assert_int_equal(server.calls, HOSTED_PAGES_MAX);
}

static void test_errors(void **state _unused_)
{
	static const char *const odd[] = { "{\"tools\":{}}", NULL };
	static const char *const later[] = { "{\"tools\":[{}],\"nextCursor\":\"x\"}", "{}", NULL };

	check(NULL, "{\"code\":-32603,\"message\":\"no\"}", -1, "SERVER_ERROR");
	check(NULL, "{}", -1, "SERVER_ERROR");
	check(odd, NULL, -1, "SERVER_PROTOCOL");
	check(later, NULL, 1, "SERVER_PROTOCOL");
	/* a server without tools is in order */
	check(NULL, "{\"code\":-32601,\"message\":\"no such method\"}", -1, "");
}

static void test_cancelled(void **state _unused_)
{
	static const char *const one[] = { "{\"tools\":[]}", NULL };
	struct hosted_check *l = begin(one, NULL);

	hosted_check_cancel(l);
	hosted_check_cancel(l);
	loop_run_deferred(loop);
	assert_int_equal(server.cancels, 1);
	assert_int_equal(got.times, 0);
	assert_null(l->done);
	/* and again */
	hosted_check_begin(l, on_looked, NULL);
	loop_run_deferred(loop);
	assert_int_equal(got.times, 1);
}

static void test_again_while_one_goes_on(void **state _unused_)
{
	static const char *const one[] = { "{\"tools\":[]}", NULL };
	struct hosted_check *l = begin(one, NULL);

	hosted_check_begin(l, on_looked, NULL);
	loop_run_deferred(loop);
	assert_int_equal(server.cancels, 1);
	assert_int_equal(got.times, 1);
}

static int setup(void **state _unused_)
{
	loop = loop_new();
	return loop ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	loop = loop_free(loop);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_again_while_one_goes_on),
	};

	return RUN(tests, setup, teardown);
}
