/*
 * params.c - decodes and checks the parameters of session/new, session/load, session/resume and
 * session/fork.
 *
 * One table of fields per call, and one struct for all of them. session_args_free uses load_fields,
 * which has every member of the other tables: a member that is added to another table only would
 * leak. Checks run in full before anything of the session changes. A transport that the harness
 * does not support is an error, never dropped.
 */
#include "acp/params.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "tools/mcp/msg.h"

#define PATH_LEN_MAX 4096

/* --- decoding ---------------------------------------------------------------------------------------- */

static const struct jfield new_fields[] = {
	JF_STR(struct session_args, cwd, "cwd", JF_REQUIRED, PATH_LEN_MAX),
	JF_RAW(struct session_args, mcp_servers, "mcpServers", JF_REQUIRED),
	JF_RAW(struct session_args, additional_dirs, "additionalDirectories", 0),
	JF_RAW(struct session_args, system_prompt, "systemPrompt", 0),
	JF_OBJ(struct session_args, meta, "_meta", JF_LENIENT),
	JF_END,
};

static const struct jfield load_fields[] = {
	JF_STR(struct session_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct session_args, cwd, "cwd", JF_REQUIRED, PATH_LEN_MAX),
	JF_RAW(struct session_args, mcp_servers, "mcpServers", JF_REQUIRED),
	JF_RAW(struct session_args, additional_dirs, "additionalDirectories", 0),
	JF_RAW(struct session_args, system_prompt, "systemPrompt", 0),
	JF_OBJ(struct session_args, meta, "_meta", JF_LENIENT),
	JF_END,
};

static const struct jfield resume_fields[] = {
	JF_STR(struct session_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct session_args, cwd, "cwd", JF_REQUIRED, PATH_LEN_MAX),
	JF_RAW(struct session_args, mcp_servers, "mcpServers", 0),
	JF_RAW(struct session_args, additional_dirs, "additionalDirectories", 0),
	JF_RAW(struct session_args, system_prompt, "systemPrompt", 0),
	JF_OBJ(struct session_args, meta, "_meta", JF_LENIENT),
	JF_END,
};

static const struct jfield *const call_fields[] = { [CALL_NEW] = new_fields,
						    [CALL_LOAD] = load_fields,
						    [CALL_RESUME] = resume_fields,
						    [CALL_FORK] = resume_fields };

void session_args_free(struct session_args *a)
{
	jdec_free(load_fields, a);
	meta_args_free(a);
}

int session_args_decode(struct slice params, enum session_call call, struct session_args *a,
			struct err *e)
{
	int r;

	memset(a, 0, sizeof(*a));
	r = jdec_object(params, call_fields[call], NULL, a, e);
	if (r == 0)
		r = meta_args_decode(a, call, e);
	/* jdec_object has freed its strings and set them to NULL, so they can be freed again. */
	if (r < 0)
		session_args_free(a);
	return r;
}

/* --- MCP servers ----------------------------------------------------------------------------------------- */

struct mcp_server {
	char *type, *name, *command, *url, *server_id;
	struct slice args, env, headers;
};

static const struct jfield mcp_fields[] = {
	JF_STR(struct mcp_server, type, "type", 0, 16),
	JF_STR(struct mcp_server, name, "name", JF_REQUIRED, 256),
	JF_STR(struct mcp_server, command, "command", 0, PATH_LEN_MAX),
	JF_STR(struct mcp_server, url, "url", 0, 16384),
	JF_STR(struct mcp_server, server_id, "serverId", 0, RPC_ID_MAX),
	JF_ARR(struct mcp_server, args, "args", 0),
	JF_ARR(struct mcp_server, env, "env", 0),
	JF_ARR(struct mcp_server, headers, "headers", 0),
	JF_END,
};

/* An array whose elements are all strings, or all objects with string name and value. */
static bool all_strings(struct slice array, bool pairs)
{
	if (!array.n)
		return true;
	jarr_each(v, array) {
		if (!pairs && v.type != J_STRING)
			return false;
		if (pairs && (v.type != J_OBJECT || jobj_get(v.raw, "name").type != J_STRING ||
			      jobj_get(v.raw, "value").type != J_STRING))
			return false;
	}
	return true;
}

/* --- one server, by its type */

struct mcp_type {
	const char *name;
	bool (*supported)(const struct harness_caps *caps); /* by the harness, or by us through it */
	int (*check)(const struct mcp_server *s, const char *prefix, struct err *e);
};

static int check_stdio(const struct mcp_server *s, const char *prefix, struct err *e)
{
	if (!s->command)
		return jdec_refuse(e, prefix, "command", "FIELD_MISSING", "is required");
	if (!all_strings(s->args, false))
		return jdec_refuse(e, prefix, "args", "FIELD_INVALID",
				   "must be an array of strings");
	return all_strings(s->env, true) ? 0 :
					   jdec_refuse(e, prefix, "env", "FIELD_INVALID",
						       "must be an array of {name, value}");
}

static int check_url(const struct mcp_server *s, const char *prefix, struct err *e)
{
	if (!s->url)
		return jdec_refuse(e, prefix, "url", "FIELD_MISSING", "is required");
	return all_strings(s->headers, true) ? 0 :
					       jdec_refuse(e, prefix, "headers", "FIELD_INVALID",
							   "must be an array of {name, value}");
}

static int check_acp(const struct mcp_server *s, const char *prefix, struct err *e)
{
	return s->server_id ? 0 :
			      jdec_refuse(e, prefix, "serverId", "FIELD_MISSING", "is required");
}

static bool takes_stdio(const struct harness_caps *caps)
{
	return !caps->no_stdio;
}

static bool takes_http(const struct harness_caps *caps)
{
	return caps->http;
}

static bool takes_sse(const struct harness_caps *caps)
{
	return caps->sse;
}

/* "acp" reaches the harness as a server of type stdio: our shim. */
static const struct mcp_type mcp_types[] = {
	{ "stdio", takes_stdio, check_stdio },
	{ "http", takes_http, check_url },
	{ "sse", takes_sse, check_url },
	{ "acp", takes_stdio, check_acp },
};

static int check_server(const struct mcp_server *s, const struct harness_caps *caps,
			const char *prefix, struct err *e)
{
	/* In ACP a stdio server has no type. */
	const char *type = s->type ? s->type : "stdio";

	if (!s->name[0])
		return jdec_refuse(e, prefix, "name", "FIELD_INVALID", "must not be empty");
	if (strcmp(s->name, MCP_OWN_NAME) == 0)
		return jdec_refuse(e, prefix, "name", "MCP_NAME_RESERVED",
				   "is the name of the daemon's own server");
	for (size_t i = 0; i < ARRAY_SIZE(mcp_types); i++) {
		const struct mcp_type *t = &mcp_types[i];

		if (strcmp(type, t->name) != 0)
			continue;
		return t->supported(caps) ?
			       t->check(s, prefix, e) :
			       jdec_refuse(e, prefix, "type", "MCP_TRANSPORT_UNSUPPORTED",
					   "is a transport that this harness does not take");
	}
	return jdec_refuse(e, prefix, "type", "MCP_TRANSPORT_UNSUPPORTED",
			   "is not one of stdio, http, sse and acp");
}

static int check_mcp_servers(struct jval list, const struct harness_caps *caps, struct err *e)
{
	struct jiter it;
	struct jval v;
	size_t n = 0;
	int r = 0;

	/* Only a resume or a fork may leave it out: the other tables require it. */
	if (list.type == J_NONE || list.type == J_NULL)
		return 0;
	if (list.type != J_ARRAY)
		return err_field(e, "mcpServers", "FIELD_INVALID", "mcpServers must be an array");
	jiter_init(&it, list);
	for (; r == 0 && jiter_next(&it, NULL, &v); n++) {
		struct mcp_server s = { 0 };
		const char *prefix = SHORT_TEXT(32, "mcpServers[%zu].", n);

		if (n >= MCP_SERVERS_MAX)
			return jdec_refuse(e, "mcpServers", "", "TOO_MANY", "has too many entries");
		if (v.type != J_OBJECT)
			return jdec_refuse(e, prefix, "", "FIELD_INVALID", "must be an object");
		r = jdec_object(v.raw, mcp_fields, prefix, &s, e);
		if (r == 0)
			r = check_server(&s, caps, prefix, e);
		/* Quadratic: MCP_SERVERS_MAX bounds it. */
		if (r == 0 && mcp_server_named(list, n, s.name))
			r = jdec_refuse(
				e, prefix, "name", "MCP_NAME_TAKEN",
				"is the name of an earlier entry, or harnesses take both for one");
		jdec_free(mcp_fields, &s);
	}
	return r;
}

/* --- the rest ---------------------------------------------------------------------------------------- */

static int check_dirs(struct jval list, const struct harness_caps *caps, struct err *e)
{
	size_t n = 0;

	if (list.type == J_NONE || list.type == J_NULL)
		return 0;
	if (list.type != J_ARRAY)
		return err_field(e, "additionalDirectories", "FIELD_INVALID",
				 "additionalDirectories must be an array");
	jarr_each(v, list) {
		_cleanup_(freep) char *dir = NULL;
		const char *path = SHORT_TEXT(48, "additionalDirectories[%zu]", n++);

		if (jstr_decode(v, PATH_LEN_MAX, &dir) < 0)
			return err_field(e, path, "FIELD_INVALID", "%s must be a string", path);
		if (dir[0] != '/')
			return err_field(e, path, "PATH_NOT_ABSOLUTE",
					 "%s must be an absolute path", path);
	}
	/* Last, so that an empty list needs no capability. */
	if (n && !caps->additional_dirs)
		return err_field(e, "additionalDirectories", "CAPABILITY_MISSING",
				 "this harness takes no additional directories");
	return 0;
}

struct session_params opener_params(const struct acp_conn *c)
{
	return (struct session_params){ .client = c->client, .model_apis = c->model_apis };
}

int session_args_check(struct session_args *a, const struct harness_caps *caps,
		       struct session_params *p, struct err *e)
{
	int r = a->cwd[0] == '/' ?
			0 :
			err_field(e, "cwd", "CWD_NOT_ABSOLUTE", "cwd must be an absolute path");

	if (r == 0)
		r = check_mcp_servers(a->mcp_servers, caps, e);
	if (r == 0)
		r = check_dirs(a->additional_dirs, caps, e);
	if (r == 0)
		r = meta_args_check(a, caps, p, e);
	if (r < 0)
		return r;
	/* p borrows from a, and is only valid as long as a is. */
	p->cwd = a->cwd;
	p->meta = a->meta;
	p->setup.mcp_servers = a->mcp_servers.type == J_ARRAY ? a->mcp_servers.raw : SLICE_NONE;
	p->setup.additional_dirs = a->additional_dirs.type == J_ARRAY ? a->additional_dirs.raw :
									SLICE_NONE;
	return 0;
}
