/* test_builtin_toolbox.c - the toolbox as a backend: what is announced, how arguments are checked, what an error looks like. */
#include "unit.h"

#include "loop/loop.h"
#include "tools/builtin/core/toolbox_internal.h"

#include <poll.h>
#include <semaphore.h>

struct rig {
	struct loop *loop;
	struct toolbox *box;
	struct buf result, error, notes;
	bool done;
};

static void on_notify(void *ctx, const char *method, struct slice params)
{
	struct rig *r = ctx;

	buf_printf(&r->notes, "%s %.*s;", method, (int)params.n, params.p);
}

static void on_done(void *ctx, struct slice result, struct slice error)
{
	struct rig *r = ctx;

	buf_add_slice(&r->result, result);
	buf_add_slice(&r->error, error);
	r->done = true;
}

static const struct mcp_reply_ops ops = { on_notify, on_done };

static int rig_setup(void **state)
{
	struct toolbox_config c;
	struct rig *r = new0(struct rig);
	char text[512];
	struct err e;

	if (scratch_setup(state) < 0)
		return -1;
	snprintf(text, sizeof(text), "{\"roots\":[\"%s\"],\"sandboxId\":\"box-1\"}", scratch_dir());
	assert_int_equal(toolbox_config_parse(slice_of(text), &c, &e), 0);
	r->loop = loop_new();
	r->box = toolbox_new(r->loop, &c, &e);
	assert_non_null(r->box);
	*state = r;
	return 0;
}

static int rig_done(void **state)
{
	struct rig *r = *state;

	toolbox_free(r->box);
	loop_free(r->loop);
	buf_done(&r->result);
	buf_done(&r->error);
	buf_done(&r->notes);
	free(r);
	return scratch_done(state);
}

static void turn(struct rig *r)
{
	struct pollfd p = { .fd = loop_fd(r->loop), .events = POLLIN };

	poll(&p, 1, 1000);
	loop_dispatch(r->loop);
}

static void call(struct rig *r, const char *method, const char *params)
{
	struct slice copy = exact_copy(slice_of(params));

	buf_reset(&r->result);
	buf_reset(&r->error);
	r->done = false;
	mcp_backend_call(toolbox_backend(r->box), method, copy, &ops, r);
	slice_freep(&copy);
	assert_false(r->done);
	for (int i = 0; i < 20 && !r->done; i++)
		turn(r);
	assert_true(r->done);
}

static void test_methods(void **state)
{
	struct rig *r = *state;
	struct jval first;
	struct jiter it;

	call(r, "server/discover", "{}");
	assert_int_equal(jobj_get(buf_slice(&r->result), "supportedVersions").type, J_ARRAY);
	call(r, "tools/list", "{}");
	assert_int_equal(jscan_value(buf_slice(&r->result), NULL), JSCAN_OK);
	assert_true(jiter_init(&it, jobj_get(buf_slice(&r->result), "tools")));
	assert_true(jiter_next(&it, NULL, &first));
	assert_int_equal(jobj_get(first.raw, "outputSchema").type, J_OBJECT);
	call(r, "resources/list", "{}");
	assert_text(jobj_get(buf_slice(&r->error), "code").raw, "-32601");
	call(r, "tools/call", "{\"name\":\"nothing\"}");
	assert_text(jobj_get(jobj_get(buf_slice(&r->error), "data").raw, "reason").raw,
		    "\"UNKNOWN_TOOL\"");
}

static void test_arguments(void **state)
{
	static const struct {
		const char *args, *code, *field;
	} rows[] = {
		{ "{}", NULL, NULL },
		{ "{\"sandboxId\":\"box-1\"}", NULL, NULL },
		{ "{\"sandboxId\":\"box\\u002d1\",\"name\":null}", NULL, NULL },
		{ "{\"sandboxId\":\"other\"}", "\"SANDBOX_MISMATCH\"", "\"sandboxId\"" },
		{ "{\"sandboxid\":\"box-1\"}", "\"UNKNOWN_ARGUMENT\"", "\"sandboxid\"" },
		{ "{\"name\":1}", "\"INVALID_ARGUMENT\"", "\"name\"" },
		{ "{\"name\":\"a\",\"name\":\"b\"}", "\"INVALID_ARGUMENT\"", "\"name\"" },
		{ "{\"name\":\"\\u0000\"}", "\"INVALID_ARGUMENT\"", "\"name\"" },
		{ "{\"name\":\"\\ud800\"}", "\"INVALID_ARGUMENT\"", "\"name\"" },
		{ "{\"timeoutMS\":5.00}", NULL, NULL },
		{ "{\"timeoutMS\":5.5}", "\"INVALID_ARGUMENT\"", "\"timeoutMS\"" },
		{ "{\"timeoutMS\":-1}", "\"INVALID_ARGUMENT\"", "\"timeoutMS\"" },
		{ "{\"timeoutMS\":1e99}", "\"INVALID_ARGUMENT\"", "\"timeoutMS\"" },
		{ "{\"labels\":{\"a\":\"b\"}}", NULL, NULL },
		{ "{\"labels\":{\"a\":1}}", "\"INVALID_ARGUMENT\"", "\"labels.a\"" },
		{ "{\"labels\":[]}", "\"INVALID_ARGUMENT\"", "\"labels\"" },
		{ "[]", "\"INVALID_ARGUMENT\"", "\"arguments\"" },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char params[300];
		struct slice got, error;

		snprintf(params, sizeof(params), "{\"name\":\"createSandbox\",\"arguments\":%s}",
			 rows[i].args);
		call(r, "tools/call", params);
		got = jobj_get(buf_slice(&r->result), "structuredContent").raw;
		error = jobj_get(got, "error").raw;
		if (!rows[i].code && !slice_is(got, "{\"sandboxId\":\"box-1\"}"))
			fail_row(i, rows[i].args);
		if (rows[i].code && (!slice_is(jobj_get(error, "code").raw, rows[i].code) ||
				     !slice_is(jobj_get(error, "field").raw, rows[i].field) ||
				     jobj_get(buf_slice(&r->result), "isError").type != J_TRUE))
			fail_row(i, rows[i].args);
	}
}

static void test_listen_and_cancel(void **state)
{
	struct rig *r = *state;
	struct mcp_call *c, *early;

	r->done = false;
	c = mcp_backend_call(toolbox_backend(r->box), "subscriptions/listen",
			     SLICE("{\"notifications\":{}}"), &ops, r);
	turn(r);
	assert_buf(&r->notes, "notifications/subscriptions/acknowledged {\"notifications\":{}};");
	mcp_call_cancel(c);
	/* cancelled with the answer on its way: nothing comes */
	early = mcp_backend_call(toolbox_backend(r->box), "tools/list", SLICE("{}"), &ops, r);
	mcp_call_cancel(early);
	early = mcp_backend_call(toolbox_backend(r->box), "tools/call",
				 SLICE("{\"name\":\"createSandbox\"}"), &ops, r);
	mcp_call_cancel(early);
	turn(r);
	assert_false(r->done);
}

/* --- a tool that does not notice that its call was ended -------------------------------------------- */

static sem_t entered, released, left;

static void work_stuck(struct builtin_call *c)
{
	sem_post(&entered);
	sem_wait(&released);
	tool_done(c, SLICE(""));
	sem_post(&left);
}

static const struct builtin_tool stuck = { .name = "stuck", .work = work_stuck };

/* Its thread ends when the box has long been closed, and finds everything that it uses. */
static void test_closed_while_stuck(void **state)
{
	struct rig *r = *state;
	struct toolbox_call *c;

	sem_init(&entered, 0, 0);
	sem_init(&released, 0, 0);
	sem_init(&left, 0, 0);
	c = container_of(toolbox_call_new(r->box, SLICE("{}"), &ops, r), struct toolbox_call, base);
	c->tool.tool = &stuck;
	c->tool.args = SLICE("{}");
	toolbox_call_start(c);
	sem_wait(&entered);
	r->box = toolbox_free(r->box);
	sem_post(&released);
	sem_wait(&left);
	assert_false(r->done);
}

static void test_config(void **state _unused_)
{
	static const struct {
		const char *text, *field;
	} rows[] = {
		{ "{}", "roots" },
		{ "[]", "config" },
		{ "{\"roots\":[]}", "roots" },
		{ "{\"roots\":[\"relative\"]}", "roots" },
		{ "{\"roots\":[\"/nowhere/at/all\"]}", "roots" },
		{ "{\"roots\":[\"/etc/passwd\"]}", "roots" },
		{ "{\"roots\":[1]}", "roots[0]" },
		{ "{\"roots\":[\"/usr\"],\"cwd\":\"/etc\"}", "cwd" },
		{ "{\"roots\":[\"/usr\"],\"cwd\":\"lib\"}", "cwd" },
		{ "{\"roots\":[\"/usr\"],\"root\":1}", "root" },
		{ "{\"roots\":[\"/usr\"],\"env\":{\"A=B\":\"c\"}}", "env" },
		{ "{\"roots\":[\"/usr\"],\"env\":{\"A\":1}}", "env" },
	};
	struct loop *loop = loop_new();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct toolbox_config c;
		struct err e = { 0 };

		if (toolbox_config_parse(slice_of(rows[i].text), &c, &e) == 0 &&
		    toolbox_new(loop, &c, &e))
			fail_row(i, rows[i].text);
		if (strcmp(e.field, rows[i].field) != 0)
			fail_row(i, e.field);
		toolbox_config_done(&c);
	}
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_methods, rig_setup, rig_done),
		cmocka_unit_test_setup_teardown(test_arguments, rig_setup, rig_done),
		cmocka_unit_test_setup_teardown(test_listen_and_cancel, rig_setup, rig_done),
		cmocka_unit_test_setup_teardown(test_closed_while_stuck, rig_setup, rig_done),
		cmocka_unit_test(test_config),
	};

	return RUN(tests, NULL, NULL);
}
