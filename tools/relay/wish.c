#include "tools/relay/wish.h"

#include "base/limits.h"
#include "json/jdec.h"
#include "tools/builtin/policy.h"
#include "tools/mcp/msg.h"
#include "tools/relay/gate.h"

#include <stdio.h>

#define FIELD "_meta.acpd.mcp"

struct wish_args {
	struct jval builtin;
	bool project;
	struct slice hosted, policy;
};

static const struct jfield wish_fields[] = {
	JF_RAW(struct wish_args, builtin, "builtin", 0),
	JF_BOOL(struct wish_args, project, "project", 0),
	JF_ARR(struct wish_args, hosted, "hosted", 0),
	JF_OBJ(struct wish_args, policy, "policy", 0),
	JF_END,
};

struct builtin_args {
	struct slice tools;
};

static const struct jfield builtin_fields[] = {
	JF_ARR(struct builtin_args, tools, "tools", 0),
	JF_END,
};

#define NO_MEMBER "there is no such member"

static int check_strings(struct slice array, const char *field, struct err *e)
{
	struct jiter it;
	struct jval v;
	char path[64];

	if (!array.n)
		return 0;
	jiter_init(&it, (struct jval){ J_ARRAY, array });
	for (size_t i = 0; jiter_next(&it, NULL, &v); i++) {
		snprintf(path, sizeof(path), "%s[%zu]", field, i);
		if (v.type != J_STRING)
			return err_field(e, path, "FIELD_INVALID", "%s must be a string", path);
	}
	return 0;
}

static int parse_builtin(struct jval v, struct wish *ret, struct err *e)
{
	struct builtin_args a = { 0 };
	int r;

	if (v.type == J_NONE || v.type == J_NULL || v.type == J_FALSE)
		return 0;
	ret->builtin = true;
	if (v.type == J_TRUE)
		return 0;
	if (v.type != J_OBJECT)
		return err_field(e, FIELD ".builtin", "FIELD_INVALID",
				 "builtin must be true, false or {tools: [names]}");
	r = jdec_strict(v.raw, builtin_fields, FIELD ".builtin.", NO_MEMBER, &a, e);
	ret->tools = a.tools;
	return r == 0 ? check_strings(a.tools, FIELD ".builtin.tools", e) : r;
}

int wish_parse(struct slice raw, struct wish *ret, struct err *e)
{
	struct wish_args a = { 0 };
	int r;

	*ret = (struct wish){ 0 };
	if (!raw.n)
		return 0;
	r = jdec_strict(raw, wish_fields, FIELD ".", NO_MEMBER, &a, e);
	if (r == 0)
		r = parse_builtin(a.builtin, ret, e);
	if (r == 0)
		r = check_strings(a.hosted, FIELD ".hosted", e);
	ret->project = a.project;
	ret->hosted = a.hosted;
	ret->policy = a.policy;
	return r;
}

int wish_check_policy(struct slice mcp_policy, struct slice policy, struct err *e)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_(buf_done) struct buf own = { 0 };
	struct toolgate_rules *rules = NULL;
	int r = toolgate_rules_parse(mcp_policy, FIELD ".policy", &rules, e);

	toolgate_rules_free(rules);
	if (r < 0 || !policy.n)
		return r;
	wish_tool_policy(&own, policy);
	r = policy_parse(buf_slice(&own), &p, e);
	if (r < 0 && strncmp(e->field, "_meta", 5) != 0) {
		_cleanup_(freep) char *field = xstrdup(e->field);

		snprintf(e->field, sizeof(e->field), "_meta.acpd.policy.%.*s",
			 (int)sizeof(e->field) - 20, field);
	}
	return r;
}

void wish_tool_policy(struct buf *out, struct slice policy)
{
	static const char *const of_harness[] = { "approval", NULL };

	mcp_object_strip(out, policy, of_harness);
}
