/* relay_assemble.c - what a session's harness gets: for each server our shim and a served server behind the session
 * socket, or the server itself. */
#include "base/limits.h"
#include "base/strv.h"
#include "harnesses/spawn_plan.h"
#include "json/json.h"
#include "tools/hosted/hosted.h"
#include "tools/relay/client/client_backend.h"
#include "tools/mcp/msg.h"
#include "tools/relay/relay_internal.h"
#include "tools/relay/server_request.h"
#include "tools/mcp/tag_backend.h"
#include "session/core/session_host.h"
#include "session/parts/mcp/mcp_servers.h"

/* The work of one call of session_servers_assemble. */
struct assembly {
	struct session_servers *v;
	struct server_request request;
	struct jw list; /* the array for the harness */
	char **env;
};

/* --- what the harness is given ------------------------------------------------------------------------------- */

static void put_var(struct jw *w, const char *name, const char *value)
{
	jw_object(w, NULL, JW_STR("name", name), JW_STR("value", value));
}

/* The shim of a served server, as a server of type stdio (which in ACP has no "type"). */
static void add_shim(struct assembly *a, const char *name)
{
	struct jw *w = &a->list;

	jw_obj(w, NULL);
	jw_str(w, "name", name);
	jw_str(w, "command", a->v->relay->self);
	jw_arr(w, "args");
	jw_str(w, NULL, "mcp");
	jw_end_arr(w);
	jw_arr(w, "env");
	put_var(w, "ACPD_MCP_SOCKET", a->v->socket);
	put_var(w, "ACPD_MCP_SERVER", name);
	put_var(w, "ACPD_MCP_KEY", a->v->key);
	jw_end_arr(w);
	jw_end_obj(w);
}

/* is_own: b is freed with it, also after an error. */
static int add_backend(struct assembly *a, const char *name, enum served_via via,
		       struct mcp_backend *b, bool is_own, struct err *e)
{
	struct session_servers *v = a->v;
	const struct served_server_spec spec = { .name = name,
						 .via = via,
						 .inner = b,
						 .is_own = is_own,
						 .for_harness = true,
						 .rules = v->rules,
						 .fallback = v->fallback,
						 .names = v->names };
	struct served_server *o;

	if (session_servers_listen(v, e) < 0) {
		if (is_own)
			mcp_backend_free(b);
		return -EIO;
	}
	o = served_server_new(v->relay->loop, v->session, &spec);
	list_add_tail(&v->servers, &o->link);
	add_shim(a, name);
	return 0;
}

/* --- servers that the client named --------------------------------------------------------------------------- */

struct named_server {
	char *name, *type, *command, *url;
	struct slice args, env, headers;
};

static const struct jfield named_fields[] = {
	JF_STR(struct named_server, name, "name", JF_REQUIRED, 256),
	JF_STR(struct named_server, type, "type", 0, 16),
	JF_STR(struct named_server, command, "command", 0, PATH_BYTES_MAX),
	JF_STR(struct named_server, url, "url", 0, 16384),
	JF_ARR(struct named_server, args, "args", 0),
	JF_ARR(struct named_server, env, "env", 0),
	JF_ARR(struct named_server, headers, "headers", 0),
	JF_END,
};

/* Reports a server without further data. why: its error, or NULL. */
static void assembly_report(struct assembly *a, const char *name, const char *via,
			    const struct err *why)
{
	struct jw w = { &a->v->reports, buf_len(&a->v->reports) > 0 };

	jw_obj(&w, NULL);
	jw_str(&w, "name", name);
	jw_str(&w, "via", via);
	if (why)
		jw_object(&w, "error", JW_STR("reason", why->reason), JW_STR("message", why->msg));
	jw_end_obj(&w);
}

/* Adds one that the harness reaches by itself: its lists do not pass through us. */
static void add_direct(struct assembly *a, struct slice raw, const struct named_server *s)
{
	jw_raw(&a->list, NULL, raw);
	assembly_report(a, s->name, "harness", NULL);
}

/* True if a policy has a rule for it, by name, or for all. */
static bool has_rule_for(const struct assembly *a, const char *name)
{
	struct slice policy = a->request.policy;

	return a->v->fallback != POLICY_ALLOW ||
	       (policy.n &&
		(jobj_get(policy, name).type != J_NONE || jobj_get(policy, "*").type != J_NONE));
}

static int add_own(struct assembly *a, const char *name, struct relay_server *own, struct err *e)
{
	list_add_tail(&a->v->own, &own->link);
	return add_backend(a, name, SERVED_CLIENT, relay_server_backend(own), false, e);
}

/* Runs its program as the harness would: so it comes back after its end, and its calls pass the gate. */
static int add_client(struct assembly *a, const struct named_server *s, const char *program,
		      struct err *e)
{
	return add_own(a, s->name, client_process_new(a->v, s->name, program, s->args, s->env), e);
}

static int add_stdio(struct assembly *a, struct slice raw, const struct named_server *s,
		     const char *field, struct err *e)
{
	_cleanup_(freep) char *program = NULL;
	const char *path = SHORT_TEXT(64, "%s.command", field);

	/* Both checks come before the start, because a program that fails later has no client
	 * to report to. */
	program = server_reach_command(s->command, strv_env(a->env, "PATH"), path, e);
	if (!program)
		return -ENOENT;
	if (!agent_user_may(session_user(a->v->session), program, X_OK))
		return err_field(e, path, "MCP_COMMAND_NOT_EXECUTABLE",
				 "%s: the user that runs the harness cannot execute '%s'", path,
				 program);
	if (!a->request.stdio_by_harness)
		return add_client(a, s, program, e);
	if (has_rule_for(a, s->name))
		return err_field(
			e, field, "MCP_POLICY_UNSUPPORTED",
			"no policy can hold for '%s': with stdio \"harness\" the harness runs it",
			s->name);
	add_direct(a, raw, s);
	return 0;
}

/* One that the harness cannot reach: we call it. */
static int add_remote(struct assembly *a, const struct named_server *s, const char *field,
		      struct err *e)
{
	struct relay *r = a->v->relay;
	const struct mcp_remote_config rc = {
		.name = s->name, .url = s->url, .fetcher = r->fetcher, .fetched = true
	};
	struct relay_server *own = relay_remote_new(r->loop, &rc, s->headers, e);
	char member[sizeof(e->field)];

	if (own)
		return add_own(a, s->name, own, e);
	/* The error names a member of the server; it gets the path of the server in front. */
	snprintf(member, sizeof(member), "%s", e->field);
	snprintf(e->field, sizeof(e->field), "%s.%.32s", field, member);
	err_wrap(e, "%s", field);
	return -EINVAL;
}

static int add_url(struct assembly *a, struct slice raw, const struct named_server *s,
		   const char *field, struct err *e)
{
	bool walled = session_is_walled(a->v->session);
	int r;
	const char *path = SHORT_TEXT(64, "%s.url", field);

	/* acpd-fetch speaks streamable HTTP alone, so a server of type sse has no way out of
	 * the session. */
	if (walled && strcmp(s->type, "http") != 0)
		return err_field(
			e, path, "MCP_SERVER_UNREACHABLE",
			"%s: the network of the session is not open, and only acpd can reach a server then: one of type http",
			path);
	r = server_reach_url(s->url, path, e);
	if (r == 0 && walled)
		return add_remote(a, s, field, e);
	/* A policy that no gate enforces would be a false promise. */
	if (r == 0 && has_rule_for(a, s->name))
		r = err_field(
			e, field, "MCP_POLICY_UNSUPPORTED",
			"no policy can hold for '%s': the harness reaches it by itself over HTTP",
			s->name);
	if (r == 0)
		add_direct(a, raw, s);
	return r;
}

/* Adds a server of the client's mcpServers. In ACP a server without a type and without a URL
 * is a program. */
static int add_named(struct assembly *a, struct slice raw, const char *field, struct err *e)
{
	struct named_server s = { 0 };
	int r = jdec_object(raw, named_fields, NULL, &s, e);

	if (r == 0 && !mcp_policy_serve(a->v->rules, s.name, a->v->fallback))
		assembly_report(a, s.name, "denied", NULL);
	else if (r == 0 && s.type && strcmp(s.type, "acp") == 0)
		r = add_backend(a, s.name, SERVED_ACP, client_backend_new(a->v->session, s.name),
				true, e);
	else if (r == 0 && s.url)
		r = add_url(a, raw, &s, field, e);
	else if (r == 0)
		r = add_stdio(a, raw, &s, field, e);
	jdec_free(named_fields, &s);
	return r;
}

/* An error of one server fails all: the client named it, and must learn that it cannot be
 * used. */
static int add_all_named(struct assembly *a, struct err *e)
{
	char field[32];
	size_t i = 0;
	int r;

	jarr_each(v, mcp_servers_given(a->v->session)) {
		snprintf(field, sizeof(field), "mcpServers[%zu]", i++);
		r = add_named(a, v.raw, field, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- servers of the sandbox ------------------------------------------------------------------------------------- */

/* Neither the harness nor a policy could distinguish two of one name. */
static bool assembly_has_name(const struct assembly *a, const char *name)
{
	list_each(o, &a->v->servers, struct served_server, link)
		if (mcp_name_alike(o->name, name))
			return true;
	return mcp_server_named((struct jval){ J_ARRAY, mcp_servers_given(a->v->session) },
				MCP_SERVERS_MAX, name);
}

static int add_hosted_one(struct assembly *a, const char *name, const char *field, struct err *e)
{
	struct mcp_backend *b = hosted_find_for_session(a->v->relay->hosted, name, e);

	if (!b) {
		snprintf(e->field, sizeof(e->field), "%s", field);
		return -ENOENT;
	}
	if (assembly_has_name(a, name))
		return err_field(
			e, field, "MCP_NAME_TAKEN",
			"%s: another server of the session is named '%s', or harnesses take both for one",
			field, name);
	if (!mcp_policy_serve(a->v->rules, name, a->v->fallback)) {
		assembly_report(a, name, "denied", NULL);
		return 0;
	}
	/* other sessions use it, too */
	b = caller_tag_new(b, session_id(a->v->session));
	return add_backend(a, name, SERVED_HOSTED, b, true, e);
}

static int add_hosted(struct assembly *a, struct err *e)
{
	size_t i = 0;
	int r;

	jarr_each(v, a->request.hosted) {
		_cleanup_(freep) char *name = NULL;
		const char *field = SHORT_TEXT(48, "_meta.acpd.mcp.hosted[%zu]", i++);

		if (jstr_decode(v, 256, &name) < 0)
			return err_field(e, field, "FIELD_INVALID", "%s is no name", field);
		r = add_hosted_one(a, name, field, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_builtin(struct assembly *a, struct err *e)
{
	if (!a->request.builtin)
		return 0;
	if (!mcp_policy_serve(a->v->rules, MCP_OWN_NAME, POLICY_ALLOW)) {
		assembly_report(a, MCP_OWN_NAME, "denied", NULL);
		return 0;
	}
	if (session_servers_listen(a->v, e) < 0)
		return -EIO;
	session_servers_builtin(a->v, true, a->request.setup);
	add_shim(a, MCP_OWN_NAME);
	return 0;
}

/* A file of others must never keep a session from starting: an unusable server is only reported. */
static void add_one_of_project(void *ctx, const char *name, struct mcp_backend *b,
			       const struct err *why)
{
	struct assembly *a = ctx;
	struct err e = { 0 };

	if (b && assembly_has_name(a, name)) {
		err_set(&e, -EEXIST, 0, "MCP_NAME_TAKEN",
			"another server of the session has this name, or one that harnesses take for it");
		why = &e;
	} else if (b && !mcp_policy_serve(a->v->rules, name, a->v->fallback)) {
		assembly_report(a, name, "denied", NULL);
		return;
	} else if (b && add_backend(a, name, SERVED_PROJECT, b, false, &e) == 0) {
		return;
	}
	assembly_report(a, name, "project", why ? why : &e);
}

static int add_project(struct assembly *a, struct err *e _unused_)
{
	struct hosted_project p = { .cwd = session_workdir(a->v->session),
				    .session = session_id(a->v->session),
				    .env = a->env,
				    .bounds = session_bounds(a->v->session) };
	const struct err *wrong;

	if (!a->request.project)
		return 0;
	a->v->project = hosted_set_load(a->v->relay->hosted, &p);
	wrong = hosted_set_error(a->v->project);
	if (wrong)
		assembly_report(a, ".mcp.json", "project", wrong);
	hosted_set_each(a->v->project, add_one_of_project, a);
	return 0;
}

/* --- all of it --------------------------------------------------------------------------------------------------- */

/* The order of the steps decides who keeps a name: a server of the client before one of the
 * sandbox, and one of the project last. */
static int assemble(struct assembly *a, struct err *e)
{
	static int (*const steps[])(struct assembly *, struct err *) = {
		add_all_named,
		add_builtin,
		add_hosted,
		add_project,
	};
	/* Before the steps, which all ask these rules. */
	int r = mcp_policy_parse(a->request.policy, "_meta.acpd.mcp.policy", &a->v->rules, e);

	a->v->fallback = server_request_fallback(session_policy(a->v->session));

	jw_arr(&a->list, NULL);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(steps); i++)
		r = steps[i](a, e);
	jw_end_arr(&a->list);
	return r;
}

int session_servers_assemble(struct session_servers *v, struct buf *ret, struct err *e)
{
	struct assembly a = { .v = v, .list = JW(ret) };
	int r = server_request_parse(session_mcp(v->session), &a.request, e);

	if (r < 0)
		return r;
	a.env = session_environ(v->session, session_id(v->session));
	r = assemble(&a, e);
	harness_plan_free_environ(a.env);
	return r;
}
