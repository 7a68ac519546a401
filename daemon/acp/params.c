#include "acp/params.h"

#include "base/limits.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

#define PATH_LEN_MAX 4096
#define MCP_SERVERS_MAX 64

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

static const struct jfield *const call_fields[] = {
	[CALL_NEW] = new_fields, [CALL_LOAD] = load_fields, [CALL_RESUME] = resume_fields
};

static const struct jfield acpd_new_fields[] = {
	JF_STR(struct session_args, harness, "harness", 0, 64),
	JF_OBJ(struct session_args, env, "env", 0),
	JF_OBJ(struct session_args, provider, "provider", 0),
	JF_STR(struct session_args, when_detached, "whenDetached", 0, 16),
	JF_END,
};

static const struct jfield acpd_load_fields[] = {
	JF_OBJ(struct session_args, env, "env", 0),
	JF_OBJ(struct session_args, provider, "provider", 0),
	JF_STR(struct session_args, incarnation, "incarnation", 0, 64),
	JF_INT(struct session_args, from_seq, "fromSeq", 0, 1, INT64_MAX),
	JF_END,
};

void session_args_free(struct session_args *a)
{
	jdec_free(load_fields, a);
	jdec_free(acpd_new_fields, a);
	jdec_free(acpd_load_fields, a);
}

/* Our own members are few and known: a misspelt or not yet supported one must not be lost silently. */
static int refuse_unknown(struct slice acpd, const struct jfield *fields, struct err *e)
{
	struct slice key;
	struct jiter it;
	struct jval v;
	char path[80];

	jiter_init(&it, (struct jval){ J_OBJECT, acpd });
	while (jiter_next(&it, &key, &v)) {
		const struct jfield *f = fields;

		while (f->name && !jkey_is(key, f->name))
			f++;
		if (f->name)
			continue;
		snprintf(path, sizeof(path), "_meta.acpd.%.*s", (int)MIN(key.n, 48u), key.p);
		return err_field(e, path, "PARAM_UNSUPPORTED", "this daemon has no such parameter");
	}
	return 0;
}

static int decode_acpd(struct session_args *a, enum session_call call, struct err *e)
{
	const struct jfield *fields = call == CALL_NEW ? acpd_new_fields : acpd_load_fields;
	struct jval acpd = jobj_get(a->meta, "acpd");
	int r;

	if (acpd.type == J_NONE || acpd.type == J_NULL)
		return 0;
	if (acpd.type != J_OBJECT)
		return err_field(e, "_meta.acpd", "FIELD_INVALID", "_meta.acpd must be an object");
	r = refuse_unknown(acpd.raw, fields, e);
	return r < 0 ? r : jdec_object(acpd.raw, fields, "_meta.acpd.", a, e);
}

int session_args_decode(struct slice params, enum session_call call, struct session_args *a,
			struct err *e)
{
	int r;

	memset(a, 0, sizeof(*a));
	r = jdec_object(params, call_fields[call], NULL, a, e);
	if (r == 0)
		r = decode_acpd(a, call, e);
	if (r == 0 && a->system_prompt.type != J_NONE && a->system_prompt.type != J_NULL)
		r = err_field(e, "systemPrompt", "PARAM_UNSUPPORTED",
			      "systemPrompt is not supported by this agent");
	if (r < 0)
		session_args_free(a);
	return r;
}

/* --- MCP servers ----------------------------------------------------------------------------------------- */

struct mcp_server {
	char *type, *name, *command, *url;
	struct slice args, env, headers;
};

static const struct jfield mcp_fields[] = {
	JF_STR(struct mcp_server, type, "type", 0, 16),
	JF_STR(struct mcp_server, name, "name", JF_REQUIRED, 256),
	JF_STR(struct mcp_server, command, "command", 0, PATH_LEN_MAX),
	JF_STR(struct mcp_server, url, "url", 0, 16384),
	JF_ARR(struct mcp_server, args, "args", 0),
	JF_ARR(struct mcp_server, env, "env", 0),
	JF_ARR(struct mcp_server, headers, "headers", 0),
	JF_END,
};

static int bad(struct err *e, const char *prefix, const char *field, const char *reason,
	       const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), "%s%s", prefix, field);
	return err_field(e, path, reason, "%s %s", path, text);
}

/* An array whose elements are all strings, or all objects with string name and value. */
static bool all_strings(struct slice array, bool pairs)
{
	struct jiter it;
	struct jval v;

	if (!array.n)
		return true;
	jiter_init(&it, (struct jval){ J_ARRAY, array });
	while (jiter_next(&it, NULL, &v)) {
		if (!pairs && v.type != J_STRING)
			return false;
		if (pairs && (v.type != J_OBJECT || jobj_get(v.raw, "name").type != J_STRING ||
			      jobj_get(v.raw, "value").type != J_STRING))
			return false;
	}
	return true;
}

static int check_transport(const struct mcp_server *s, const struct harness_caps *caps,
			   const char *prefix, struct err *e)
{
	bool http = s->type && strcmp(s->type, "http") == 0,
	     sse = s->type && strcmp(s->type, "sse") == 0;

	if (!s->type || strcmp(s->type, "stdio") == 0) {
		if (!s->command)
			return bad(e, prefix, "command", "FIELD_MISSING", "is required");
		if (!all_strings(s->args, false))
			return bad(e, prefix, "args", "FIELD_INVALID",
				   "must be an array of strings");
		return all_strings(s->env, true) ? 0 :
						   bad(e, prefix, "env", "FIELD_INVALID",
						       "must be an array of {name, value}");
	}
	if (!(http && caps->http) && !(sse && caps->sse))
		return bad(e, prefix, "type", "MCP_TRANSPORT_UNSUPPORTED",
			   "is a transport that this harness was not advertised with");
	if (!s->url)
		return bad(e, prefix, "url", "FIELD_MISSING", "is required");
	return all_strings(s->headers, true) ? 0 :
					       bad(e, prefix, "headers", "FIELD_INVALID",
						   "must be an array of {name, value}");
}

static int check_mcp_servers(struct jval list, const struct harness_caps *caps, struct err *e)
{
	struct jiter it;
	struct jval v;
	size_t n = 0;
	int r = 0;

	if (list.type == J_NONE || list.type == J_NULL)
		return 0;
	if (list.type != J_ARRAY)
		return err_field(e, "mcpServers", "FIELD_INVALID", "mcpServers must be an array");
	jiter_init(&it, list);
	for (; r == 0 && jiter_next(&it, NULL, &v); n++) {
		struct mcp_server s = { 0 };
		char prefix[32];

		snprintf(prefix, sizeof(prefix), "mcpServers[%zu].", n);
		if (n >= MCP_SERVERS_MAX)
			return bad(e, "mcpServers", "", "TOO_MANY", "has too many entries");
		if (v.type != J_OBJECT)
			return bad(e, prefix, "", "FIELD_INVALID", "must be an object");
		r = jdec_object(v.raw, mcp_fields, prefix, &s, e);
		if (r == 0)
			r = check_transport(&s, caps, prefix, e);
		jdec_free(mcp_fields, &s);
	}
	return r;
}

/* --- the rest ---------------------------------------------------------------------------------------- */

static int check_dirs(struct jval list, const struct harness_caps *caps, struct err *e)
{
	struct jiter it;
	struct jval v;
	char path[48];
	size_t n = 0;

	if (list.type == J_NONE || list.type == J_NULL)
		return 0;
	if (list.type != J_ARRAY)
		return err_field(e, "additionalDirectories", "FIELD_INVALID",
				 "additionalDirectories must be an array");
	jiter_init(&it, list);
	for (; jiter_next(&it, NULL, &v); n++) {
		_cleanup_(freep) char *dir = NULL;

		snprintf(path, sizeof(path), "additionalDirectories[%zu]", n);
		if (jstr_decode(v, PATH_LEN_MAX, &dir) < 0)
			return err_field(e, path, "FIELD_INVALID", "%s must be a string", path);
		if (dir[0] != '/')
			return err_field(e, path, "PATH_NOT_ABSOLUTE",
					 "%s must be an absolute path", path);
	}
	if (n && !caps->additional_dirs)
		return err_field(e, "additionalDirectories", "CAPABILITY_MISSING",
				 "this harness takes no additional directories");
	return 0;
}

static bool env_name_ok(struct slice key)
{
	if (!key.n || key.n > 256 || slice_starts(key, "ACPD_"))
		return false;
	for (size_t i = 0; i < key.n; i++) {
		char c = key.p[i];

		if (!(c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		      (i && c >= '0' && c <= '9')))
			return false;
	}
	return true;
}

static int check_env(struct slice env, struct err *e)
{
	struct slice key;
	struct jiter it;
	struct jval v;
	char path[96];
	size_t n = 0;

	if (!env.n)
		return 0;
	jiter_init(&it, (struct jval){ J_OBJECT, env });
	for (; jiter_next(&it, &key, &v); n++) {
		_cleanup_(freep) char *value = NULL;

		snprintf(path, sizeof(path), "_meta.acpd.env.%.*s", (int)MIN(key.n, 64u), key.p);
		if (n >= EXTRA_ENV_MAX)
			return err_field(e, "_meta.acpd.env", "TOO_MANY", "more than %d variables",
					 EXTRA_ENV_MAX);
		if (!env_name_ok(key))
			return err_field(e, path, "ENV_NAME_INVALID",
					 "not a variable name, or one that belongs to the daemon");
		if (jstr_decode(v, 128 * KIB, &value) < 0)
			return err_field(e, path, "FIELD_INVALID",
					 "the value must be a string without NUL");
	}
	return 0;
}

static int check_when_detached(const char *word, enum when_detached *ret, struct err *e)
{
	static const char *const words[] = { "continue", "hold", "cancel" };

	*ret = DETACHED_CONTINUE;
	if (!word)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(word, words[i]) != 0)
			continue;
		*ret = (enum when_detached)i;
		return 0;
	}
	return err_field(e, "_meta.acpd.whenDetached", "FIELD_INVALID",
			 "whenDetached must be continue, hold or cancel");
}

int session_args_check(const struct session_args *a, const struct harness_caps *caps,
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
		r = check_env(a->env, e);
	if (r == 0)
		r = check_when_detached(a->when_detached, &p->when_detached, e);
	if (r < 0)
		return r;
	p->cwd = a->cwd;
	p->mcp_servers = a->mcp_servers.type == J_ARRAY ? a->mcp_servers.raw : SLICE_NONE;
	p->additional_dirs = a->additional_dirs.type == J_ARRAY ? a->additional_dirs.raw :
								  SLICE_NONE;
	p->env = a->env;
	p->provider = a->provider;
	return 0;
}

/* --- prompts --------------------------------------------------------------------------------------------- */

struct block_row {
	const char *type;
	const char *needs[2]; /* required string members */
	size_t cap;	      /* offset of the flag in harness_caps; 0 with baseline */
	bool baseline;
};

static const struct block_row blocks[] = {
	{ "text", { "text" }, 0, true },
	{ "resource_link", { "uri", "name" }, 0, true },
	{ "image", { "data", "mimeType" }, offsetof(struct harness_caps, image), false },
	{ "audio", { "data", "mimeType" }, offsetof(struct harness_caps, audio), false },
	{ "resource", { NULL }, offsetof(struct harness_caps, embedded_context), false },
};

static int check_block(struct jval v, const struct harness_caps *caps, const char *path,
		       struct err *e)
{
	const struct block_row *row = NULL;
	struct jval type;

	if (v.type != J_OBJECT)
		return err_field(e, path, "FIELD_INVALID", "%s must be an object", path);
	type = jobj_get(v.raw, "type");
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if (jstr_is(type, blocks[i].type))
			row = &blocks[i];
	if (!row)
		return err_field(e, path, "CONTENT_UNKNOWN", "%s has no known type", path);
	if (!row->baseline && !*(const bool *)((const char *)caps + row->cap))
		return err_field(e, path, "CAPABILITY_MISSING",
				 "this harness takes no content of type %s", row->type);
	for (size_t i = 0; i < ARRAY_SIZE(row->needs) && row->needs[i]; i++)
		if (jobj_get(v.raw, row->needs[i]).type != J_STRING)
			return err_field(e, path, "FIELD_MISSING", "%s: %s must be a string", path,
					 row->needs[i]);
	if (strcmp(row->type, "resource") == 0 && jobj_get(v.raw, "resource").type != J_OBJECT)
		return err_field(e, path, "FIELD_MISSING", "%s: resource must be an object", path);
	return 0;
}

int prompt_check(struct slice content, const struct harness_caps *caps, struct err *e)
{
	struct jiter it;
	struct jval v;
	char path[32];
	size_t n = 0;
	int r = 0;

	jiter_init(&it, (struct jval){ J_ARRAY, content });
	for (; r == 0 && jiter_next(&it, NULL, &v); n++) {
		snprintf(path, sizeof(path), "prompt[%zu]", n);
		r = check_block(v, caps, path, e);
	}
	if (r == 0 && n == 0)
		r = err_field(e, "prompt", "PROMPT_EMPTY",
			      "prompt must hold at least one content block");
	return r;
}
