/* check_tests.c - a check that is a run of tests: one call of runTests, in tools of its own without a policy. */
#include "json/jenc.h"
#include "json/jstr.h"
#include "tools/builtin/check/check_job_internal.h"
#include "tools/builtin/core/toolbox.h"

#include "base/limits.h"

struct tests {
	struct toolbox *box;
	struct mcp_call *call;
};

static void check_tests_refuse(struct check_job *j, struct slice error)
{
	_cleanup_(freep) char *why = NULL;

	if (jstr_decode_shown(jobj_get(error, "message"), MESSAGE_MAX, &why) < 0)
		why = xstrdup("the tests could not be started");
	check_job_refuse(j, why);
}

static void check_tests_on_done(void *ctx, struct slice result, struct slice error)
{
	struct check_job *j = ctx;
	struct tests *t = j->own;
	struct slice told = jobj_get(result, "structuredContent").raw;

	t->call = NULL;
	if (error.n)
		check_tests_refuse(j, error);
	else if (jobj_get(result, "isError").type == J_TRUE)
		check_tests_refuse(j, jobj_get(told, "error").raw);
	else
		check_job_answer(j, told);
}

static const struct mcp_reply_ops replies = { mcp_call_hear_nothing, check_tests_on_done };

static struct toolbox *check_tests_box(struct check_job *j, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct toolbox_config config = { 0 };
	struct toolbox *box = NULL;
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_arr(&w, "roots");
	jw_str(&w, NULL, j->root);
	jw_end_arr(&w);
	jw_str(&w, "cwd", j->root);
	jw_str(&w, "stateDir", j->state_dir);
	jw_raw(&w, "tests", j->tests);
	jw_end_obj(&w);
	if (toolbox_config_parse(buf_slice(&b), &config, e) == 0)
		box = toolbox_new(j->loop, &config, e);
	toolbox_config_done(&config);
	return box;
}

static void check_tests_put_call(const struct check_job *j, struct buf *b)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "name", "runTests");
	jw_obj(&w, "arguments");
	jw_str(&w, "target", j->target);
	jw_raw(&w, "only", j->only);
	jw_str(&w, "cwd", j->cwd);
	jw_raw(&w, "env", j->env);
	jw_int(&w, "timeoutMs", j->timeout_ms);
	jw_end_obj(&w);
	jw_end_obj(&w);
}

static void check_tests_start(struct check_job *j)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct tests *t = new0(struct tests);
	struct err e = { 0 };

	j->own = t;
	t->box = check_tests_box(j, &e);
	if (!t->box) {
		check_job_refuse(j, e.msg);
		return;
	}
	check_tests_put_call(j, &b);
	t->call =
		mcp_backend_call(toolbox_backend(t->box), "tools/call", buf_slice(&b), &replies, j);
}

static void check_tests_end(struct check_job *j)
{
	struct tests *t = j->own;

	if (t->call)
		mcp_call_cancel(t->call);
	toolbox_free(t->box);
	free(t);
}

const struct check_job_kind check_job_tests = { check_tests_start, check_tests_end };
