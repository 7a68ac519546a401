/*
 * toolbox_config.c - reads the configuration of the toolbox strictly, and checks every part that a
 * call would need later.
 *
 * An unknown member or tool is an error, because ignoring it could drop a restriction unnoticed.
 * server_request.c checks the settings of a client with this parser before a session starts. Names
 * of variables are compared raw, so one with an escape is refused.
 */
#include "base/limits.h"
#include "json/jdec.h"
#include "json/jstr.h"
#include "tools/builtin/code/run_code.h"
#include "tools/builtin/core/toolbox_internal.h"
#include "tools/builtin/testrun/testrun.h"

#include <stdio.h>

struct raw_config {
	struct slice roots, env, tools, policy, tests, interpreters;
	char *cwd, *state_dir, *sandbox_id, *session;
	bool dry_run;
};

static const struct jfield fields[] = {
	JF_ARR(struct raw_config, roots, "roots", JF_REQUIRED),
	JF_STR(struct raw_config, cwd, "cwd", 0, PATH_BYTES_MAX),
	JF_STR(struct raw_config, state_dir, "stateDir", 0, PATH_BYTES_MAX),
	JF_STR(struct raw_config, sandbox_id, "sandboxId", 0, 64),
	JF_STR(struct raw_config, session, "session", 0, RPC_ID_MAX),
	JF_OBJ(struct raw_config, env, "env", 0),
	JF_ARR(struct raw_config, tools, "tools", 0),
	JF_OBJ(struct raw_config, policy, "policy", 0),
	JF_OBJ(struct raw_config, tests, "tests", 0),
	JF_OBJ(struct raw_config, interpreters, "interpreters", 0),
	JF_BOOL(struct raw_config, dry_run, "dryRun", 0),
	JF_END,
};

static int strings(struct slice list, const char *name, char ***ret, struct err *e)
{
	struct jval array = { J_ARRAY, list };
	size_t n = 0;
	char at[64];

	if (!list.n)
		return 0;
	*ret = xalloc((jarr_length(array) + 1) * sizeof(char *));
	jarr_each(v, array) {
		snprintf(at, sizeof(at), "%s[%zu]", name, n);
		if (jstr_decode(v, PATH_BYTES_MAX, &(*ret)[n]) < 0)
			return err_field(e, at, "CONFIG_INVALID", "%s must be a string", at);
		n++;
	}
	return 0;
}

/* An unknown one would otherwise be missing silently. */
static int tools_check(char *const *names, struct err *e)
{
	char at[64];

	for (size_t i = 0; names && names[i]; i++) {
		if (tool_find(slice_of(names[i])))
			continue;
		snprintf(at, sizeof(at), "tools[%zu]", i);
		return err_field(e, at, "TOOL_UNKNOWN", "there is no built-in tool '%.64s'",
				 names[i]);
	}
	return 0;
}

static int variables(struct slice object, char ***ret, struct err *e)
{
	size_t n = 0;

	if (!object.n)
		return 0;
	jobj_each(key, v, object)
		n++;
	*ret = xalloc((n + 1) * sizeof(char *));
	n = 0;
	jobj_each(key, v, object) {
		_cleanup_(freep) char *value = NULL;
		bool plain = key.n && !memchr(key.p, '\\', key.n) && !memchr(key.p, '=', key.n);

		if (!plain || jstr_decode(v, MESSAGE_MAX, &value) < 0)
			return err_field(e, "env", "CONFIG_INVALID",
					 "env: %.*s is no name with a string", (int)MIN(key.n, 64),
					 key.p);
		if (asprintf(&(*ret)[n++], "%.*s=%s", (int)key.n, key.p, value) < 0)
			abort();
	}
	return 0;
}

static void toolbox_config_take(struct toolbox_config *c, struct raw_config *raw)
{
	c->cwd = TAKE_PTR(raw->cwd);
	c->state_dir = TAKE_PTR(raw->state_dir);
	c->sandbox_id = TAKE_PTR(raw->sandbox_id);
	c->session = TAKE_PTR(raw->session);
	c->dry_run = raw->dry_run;
	if (raw->policy.n)
		c->policy = xstrndup(raw->policy.p, raw->policy.n);
	if (raw->tests.n)
		c->tests = xstrndup(raw->tests.p, raw->tests.n);
	if (raw->interpreters.n)
		c->interpreters = xstrndup(raw->interpreters.p, raw->interpreters.n);
}

int toolbox_config_parse(struct slice text, struct toolbox_config *ret, struct err *e)
{
	struct raw_config raw = { 0 };
	struct jval v;
	int r;

	*ret = (struct toolbox_config){ 0 };
	if (jscan_value(text, &v) != JSCAN_OK || v.type != J_OBJECT)
		return err_field(e, "config", "CONFIG_INVALID",
				 "the configuration is no JSON object");
	r = jdec_strict(v.raw, fields, NULL, "is not known to the built-in tools", &raw, e);
	if (r < 0)
		return r;
	toolbox_config_take(ret, &raw);
	r = strings(raw.roots, "roots", &ret->roots, e);
	if (r == 0)
		r = strings(raw.tools, "tools", &ret->tools, e);
	if (r == 0)
		r = tools_check(ret->tools, e);
	if (r == 0)
		r = variables(raw.env, &ret->env, e);
	if (r == 0)
		r = test_rows_check(raw.tests, e);
	if (r == 0)
		r = code_interpreters_check(raw.interpreters, e);
	jdec_free(fields, &raw);
	return r;
}

void toolbox_config_done(struct toolbox_config *c)
{
	c->roots = strv_free(c->roots);
	c->env = strv_free(c->env);
	c->tools = strv_free(c->tools);
	free(c->cwd);
	free(c->state_dir);
	free(c->sandbox_id);
	free(c->session);
	free(c->policy);
	free(c->tests);
	free(c->interpreters);
	*c = (struct toolbox_config){ 0 };
}
