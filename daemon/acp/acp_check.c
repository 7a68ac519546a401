/* acp_check.c - checks and their retry as clients give them (_meta.acpd.checks, .retry), and _acpd/check, which runs some by hand. */
#include "acp/params.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "session/parts/check/check.h"
#include "tools/builtin/testrun/testrun_target.h"

#include <errno.h>
#include <stdio.h>

/* A check's own command for its tests, as runTests will read it. */
static int check_tests(struct slice check, const char *field, size_t n, struct err *e)
{
	static const char *const names[] = { "command", "format", "report" };
	_cleanup_(buf_done) struct buf b = { 0 };
	char path[sizeof(e->field)];
	struct err why;
	struct jw w = JW(&b);

	if (!jstr_is(jobj_get(check, "kind"), "tests") || jobj_get(check, "command").type <= J_NULL)
		return 0;
	jw_obj(&w, NULL);
	jw_obj(&w, "check");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (jobj_get(check, names[i]).type > J_NULL)
			jw_raw(&w, names[i], jobj_get(check, names[i]).raw);
	jw_end_obj(&w);
	jw_end_obj(&w);
	if (test_rows_check(buf_slice(&b), &why) == 0)
		return 0;
	err_unprefix(&why, "tests.check.");
	snprintf(path, sizeof(path), "%.48s[%zu].%.24s", field, n, why.field);
	return err_field(e, path, why.reason, "%.60s[%zu].%.150s", field, n, why.msg);
}

int checks_check(struct slice raw, const char *field, struct err *e)
{
	struct check_list *l = NULL;
	int r = raw.n ? check_list_parse(raw, field, &l, e) : 0;
	struct jiter it;
	struct jval v;

	check_list_free(l);
	if (r < 0 || !raw.n)
		return r;
	jiter_init(&it, (struct jval){ J_ARRAY, raw });
	for (size_t n = 0; r == 0 && jiter_next(&it, NULL, &v); n++)
		r = check_tests(v.raw, field, n, e);
	return r;
}

struct retry_args {
	int64_t max;
};

static const struct jfield retry_fields[] = {
	JF_INT(struct retry_args, max, "max", JF_REQUIRED, 0, RETRY_MAX),
	JF_END,
};

int retry_check(struct slice raw, const char *field, struct err *e)
{
	char prefix[sizeof(e->field)];
	struct retry_args a;

	if (!raw.n)
		return 0;
	snprintf(prefix, sizeof(prefix), "%.80s.", field);
	return jdec_strict(raw, retry_fields, prefix, "a retry has no such member", &a, e);
}

struct check_method_args {
	char *session_id;
	struct slice checks, meta;
};

static const struct jfield check_fields[] = {
	JF_STR(struct check_method_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_ARR(struct check_method_args, checks, "checks", 0),
	JF_OBJ(struct check_method_args, meta, "_meta", 0),
	JF_END,
};

static void on_checked(void *ctx, const struct check_outcome *o)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	check_outcome_put(&w, NULL, o->verdict, o->results);
	call_result(ctx, buf_slice(&b));
}

static int check_now(struct acp_request *q, struct err *e)
{
	const struct check_method_args *a = q->args;
	struct method_call *k;

	if (checks_check(a->checks, "checks", e) < 0)
		return -EINVAL;
	k = request_call(q);
	return call_started(k, session_check(q->session, a->checks, on_checked, k, e));
}

const struct acp_handler on_check = ACP_HANDLER(check_now, struct check_method_args, check_fields);
