/* Sets of hosted servers without a process: what is found, what is told, what a stop waits for. Lives and deaths are
 * integration/tools/mcp-hosted.test.mjs. */
#include "unit.h"

#include "json/jenc.h"
#include "tools/hosted/hosted.h"

static struct loop *loop;
static struct proc_host *procs;
static char *const env[] = { "PATH=/usr/bin:/bin", "API_TOKEN=0123456789", NULL };

static struct hosted *open_file(const char *text)
{
	struct hosted_config c = { .env = env, .home = "/" };

	if (text) {
		scratch_write("mcp.json", text, strlen(text));
		c.file = scratch_path("mcp.json");
	}
	return hosted_new(loop, procs, &c);
}

static void status_of(const struct hosted *h, struct buf *b)
{
	struct jw w = JW(b);
	struct jval v;

	buf_reset(b);
	hosted_put_status(h, &w, NULL);
	assert_int_equal(jscan_value(buf_slice(b), &v), JSCAN_OK);
}

static size_t count(struct buf *b, const char *list)
{
	struct jiter it;
	struct jval v;
	size_t n = 0;

	assert_true(jiter_init(&it, jobj_get(buf_slice(b), list)));
	while (jiter_next(&it, NULL, &v))
		n++;
	return n;
}

static const char *why_not(struct hosted *h, const char *name)
{
	static struct err e;

	e = (struct err){ 0 };
	if (hosted_find(h, name, &e))
		return "";
	assert_true(e.msg[0] && e.rpc == RPC_INVALID_PARAMS);
	return e.reason;
}

static void test_find(void **state _unused_)
{
	struct hosted *h = open_file("{\"mcpServers\":{\"ok\":{\"command\":\"true\"},"
				     "\"off\":{\"command\":\"true\",\"disabled\":true},"
				     "\"missing\":{\"command\":\"no-such-program\"},"
				     "\"dir\":{\"command\":\"/usr/bin\"},"
				     "\"unset\":{\"command\":\"${NOPE}\"},"
				     "\"tls\":{\"url\":\"https://127.0.0.1/\"},"
				     "\"far\":{\"url\":\"http://127.0.0.1:1/\"}}}");

	assert_string_equal(why_not(h, "ok"), "");
	assert_string_equal(why_not(h, "far"), "");
	assert_string_equal(why_not(h, "off"), "MCP_SERVER_DISABLED");
	assert_string_equal(why_not(h, "missing"), "COMMAND_NOT_FOUND");
	assert_string_equal(why_not(h, "dir"), "COMMAND_NOT_FOUND");
	assert_string_equal(why_not(h, "unset"), "ENV_UNSET");
	assert_string_equal(why_not(h, "tls"), "TRANSPORT_UNSUPPORTED");
	assert_string_equal(why_not(h, "nobody"), "MCP_SERVER_UNKNOWN");
	assert_string_equal(hosted_error(h)->reason, "ENV_UNSET");
	hosted_free(h);
}

/* What was missing may be there the next time. */
static void test_found_later(void **state _unused_)
{
	_cleanup_(freep) char *text = NULL;
	struct hosted *h;

	assert_true(asprintf(&text, "{\"mcpServers\":{\"later\":{\"command\":\"%s\"}}}",
			     scratch_path("later")) > 0);
	h = open_file(text);
	assert_string_equal(why_not(h, "later"), "COMMAND_NOT_FOUND");
	assert_int_equal(symlink("/bin/true", scratch_path("later")), 0);
	assert_string_equal(why_not(h, "later"), "");
	hosted_free(h);
}

static void test_status(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct hosted_totals t;
	struct hosted *h = open_file(NULL);

	status_of(h, &b);
	assert_buf(&b, "{\"servers\":[],\"problems\":[]}");
	hosted_free(h);
	h = open_file(
		"{\"mcpServers\":{\"a\":{\"command\":\"true\",\"x\":1},\"b\":{},\"acpd\":{}}}");
	status_of(h, &b);
	assert_int_equal(count(&b, "servers"), 2);
	assert_int_equal(count(&b, "problems"), 3);
	hosted_totals(h, &t);
	assert_int_equal(t.servers, 2);
	assert_int_equal(t.failed, 1);
	hosted_free(h);
	h = open_file("{");
	status_of(h, &b);
	assert_int_equal(count(&b, "servers"), 0);
	assert_int_equal(count(&b, "problems"), 1);
	assert_string_equal(hosted_error(h)->reason, "JSON_INVALID");
	hosted_free(h);
}

/* --- projects --------------------------------------------------------------------------------------------- */

static void on_each(void *ctx, const char *name, struct mcp_backend *backend, const struct err *why)
{
	buf_printf(ctx, "%s:%s ", name, backend ? "yes" : why->reason);
}

static struct hosted_set *load(struct hosted *h, const char *text)
{
	struct hosted_project p = { .cwd = scratch_dir(), .session = "s1", .env = env };

	scratch_write(".mcp.json", text, strlen(text));
	return hosted_set_load(h, &p);
}

static void test_project(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct hosted *h = open_file(NULL);
	struct hosted_set *set = load(h, "{\"mcpServers\":{\"a\":{\"command\":\"true\"},"
					 "\"off\":{\"command\":\"x\",\"disabled\":true},"
					 "\"b\":{\"command\":\"${NOPE}\"}}}");

	hosted_set_each(set, on_each, &b);
	assert_buf(&b, "a:yes b:ENV_UNSET ");
	assert_null(hosted_set_error(set));
	status_of(h, &b);
	assert_int_equal(count(&b, "servers"), 3);
	hosted_set_free(set);
	loop_run_deferred(loop);
	status_of(h, &b);
	assert_buf(&b, "{\"servers\":[],\"problems\":[]}");
	set = load(h, "[]");
	assert_string_equal(hosted_set_error(set)->reason, "JSON_INVALID");
	hosted_set_free(set);
	hosted_free(h);
}

static void on_stopped(void *ctx)
{
	++*(unsigned *)ctx;
}

/* Nothing runs: a stop is told at once, though not from inside; what is loaded later stays stopped. */
static void test_stop(void **state _unused_)
{
	struct hosted *h = open_file("{\"mcpServers\":{\"a\":{\"command\":\"true\"}}}");
	struct hosted_set *set;
	unsigned stopped = 0;

	hosted_stop(h, on_stopped, &stopped);
	assert_int_equal(stopped, 0);
	loop_run_deferred(loop);
	assert_int_equal(stopped, 1);
	hosted_start(h);
	set = load(h, "{\"mcpServers\":{\"a\":{\"command\":\"true\"}}}");
	hosted_set_free(set);
	loop_run_deferred(loop);
	assert_int_equal(stopped, 1);
	assert_int_equal(proc_host_count(procs), 0);
	hosted_free(h);
}

static int setup(void **state)
{
	loop = loop_new();
	procs = proc_host_new(loop, NULL);
	return scratch_setup(state);
}

static int teardown(void **state)
{
	procs = proc_host_free(procs);
	loop = loop_free(loop);
	return scratch_done(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),   cmocka_unit_test(test_found_later),
		cmocka_unit_test(test_status), cmocka_unit_test(test_project),
		cmocka_unit_test(test_stop),
	};

	return RUN(tests, setup, teardown);
}
