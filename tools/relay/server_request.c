/*
 * server_request.c - parses and checks the settings of a client for its MCP servers, before the
 * session starts.
 *
 * Errors are found here, because a process that starts later has no client to report to. The setup
 * of the built-in tools is checked by their own parser, with a placeholder root. The field of a
 * nested error is completed to its path from the top. Results borrow from the request.
 */
#include "tools/relay/server_request.h"

#include "base/limits.h"
#include "json/json.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/core/toolbox.h"
#include "tools/mcp/msg.h"
#include "tools/relay/gate/toolgate.h"

#define FIELD "_meta.acpd.mcp"
#define WISH_NAME_MAX 256

struct server_request_args {
	struct jval builtin;
	bool project;
	char *stdio;
	struct slice hosted, policy;
};

static const struct jfield request_fields[] = {
	JF_RAW(struct server_request_args, builtin, "builtin", 0),
	JF_BOOL(struct server_request_args, project, "project", 0),
	JF_STR(struct server_request_args, stdio, "stdio", 0, 16),
	JF_ARR(struct server_request_args, hosted, "hosted", 0),
	JF_OBJ(struct server_request_args, policy, "policy", 0),
	JF_END,
};

struct builtin_args {
	struct slice tools, tests, interpreters;
};

static const struct jfield builtin_fields[] = {
	JF_ARR(struct builtin_args, tools, "tools", 0),
	JF_OBJ(struct builtin_args, tests, "tests", 0),
	JF_OBJ(struct builtin_args, interpreters, "interpreters", 0),
	JF_END,
};

#define NO_MEMBER "there is no such member"

/* An error of a part, whose field is said from the top. */
static void put_below(struct err *e, const char *prefix)
{
	_cleanup_(freep) char *field = xstrdup(e->field);
	size_t room = sizeof(e->field) - strlen(prefix) - 1;

	snprintf(e->field, sizeof(e->field), "%s%.*s", prefix, (int)room, field);
}

static int server_request_check_names(struct slice array, const char *field, struct err *e)
{
	size_t i = 0;

	jarr_each(v, array) {
		_cleanup_(freep) char *name = NULL;
		const char *path = SHORT_TEXT(64, "%s[%zu]", field, i++);

		if (jstr_decode(v, WISH_NAME_MAX, &name) < 0)
			return err_field(e, path, "FIELD_INVALID", "%s must be a name", path);
	}
	return 0;
}

/* Checks it with the parser of the tools themselves. */
static int check_setup(struct slice setup, struct err *e)
{
	JW_BUF(w, text);
	struct toolbox_config c = { 0 };
	int r;

	jw_obj(&w, NULL);
	jw_raw(&w, "roots", SLICE("[\"/\"]"));
	jw_members(&w, setup, NULL);
	jw_end_obj(&w);
	r = toolbox_config_parse(buf_slice(&text), &c, e);
	toolbox_config_done(&c);
	if (r < 0)
		put_below(e, FIELD ".builtin.");
	return r;
}

static int parse_builtin(struct jval v, struct server_request *ret, struct err *e)
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
	if (r == 0)
		r = server_request_check_names(a.tools, FIELD ".builtin.tools", e);
	/* Also after an error; the caller does not use the result then. */
	ret->setup = v.raw;
	return r == 0 ? check_setup(v.raw, e) : r;
}

/* Who starts the programs among mcpServers. */
static int parse_stdio(const char *word, struct server_request *ret, struct err *e)
{
	ret->stdio_by_harness = word && strcmp(word, "harness") == 0;
	if (!word || ret->stdio_by_harness || strcmp(word, "acpd") == 0)
		return 0;
	return err_field(e, FIELD ".stdio", "FIELD_INVALID", "stdio must be acpd or harness");
}

int server_request_parse(struct slice raw, struct server_request *ret, struct err *e)
{
	struct server_request_args a = { 0 };
	int r;

	*ret = (struct server_request){ 0 };
	if (!raw.n)
		return 0;
	r = jdec_strict(raw, request_fields, FIELD ".", NO_MEMBER, &a, e);
	if (r == 0)
		r = parse_builtin(a.builtin, ret, e);
	if (r == 0)
		r = server_request_check_names(a.hosted, FIELD ".hosted", e);
	if (r == 0)
		r = parse_stdio(a.stdio, ret, e);
	jdec_free(request_fields, &a);
	ret->project = a.project;
	ret->hosted = a.hosted;
	ret->policy = a.policy;
	return r;
}

int server_request_check_policy(struct slice mcp_policy, struct slice policy, struct err *e)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_(buf_done) struct buf own = { 0 };
	struct mcp_policy *rules = NULL;
	int r = mcp_policy_parse(mcp_policy, FIELD ".policy", &rules, e);

	mcp_policy_free(rules);
	if (r < 0 || !policy.n)
		return r;
	server_request_tool_policy(&own, policy);
	r = policy_parse(buf_slice(&own), tool_known, &p, e);
	if (r < 0)
		put_below(e, "_meta.acpd.policy.");
	return r;
}

/* The policy for the tools is the session's, less the member that only a harness reads. */
void server_request_tool_policy(struct buf *out, struct slice policy)
{
	static const char *const of_harness[] = { "approval", NULL };

	mcp_object_strip(out, policy, of_harness);
}

/* The category "mcp" of the session's policy judges every server without a rule of its own. */
enum policy_verdict server_request_fallback(struct slice policy)
{
	struct jval v = jobj_get(jobj_get(policy, "categories").raw, "mcp");

	return jstr_is(v, "deny") ? POLICY_DENY : jstr_is(v, "ask") ? POLICY_ASK : POLICY_ALLOW;
}
