/* meta.c - _meta.acpd of session/new, load and resume, and ACP's systemPrompt: decoded, checked, handed on as
 * setup parameters. */
#include "acp/params.h"

#include "base/limits.h"
#include "harnesses/adapter.h"
#include "json/jstr.h"
#include "model/model_api.h"
#include "session/core/harness/session_env.h"
#include "tools/relay/server_request.h"

#include <errno.h>
#include <stdio.h>

#define REF_LEN_MAX 256

/* Members that every call that opens a session may have. */
#define COMMON_FIELDS                                                                              \
	JF_OBJ(struct session_args, setup.env, "env", 0),                                          \
		JF_OBJ(struct session_args, setup.secrets, "secrets", 0),                          \
		JF_ARR(struct session_args, setup.env_keep, "envKeep", 0),                         \
		JF_OBJ(struct session_args, setup.provider, "provider", 0),                        \
		JF_STR(struct session_args, setup.model, "model", JF_FILLED, 256),                 \
		JF_STR(struct session_args, setup.mode, "mode", JF_FILLED, 256),                   \
		JF_RAW(struct session_args, meta_prompt, "systemPrompt", 0),                       \
		JF_OBJ(struct session_args, setup.policy, "policy", 0),                            \
		JF_OBJ(struct session_args, setup.mcp, "mcp", 0),                                  \
		JF_RAW(struct session_args, level, "level", 0),                                    \
		JF_OBJ(struct session_args, setup.network, "network", 0),                          \
		JF_OBJ(struct session_args, limits, "limits", 0),                                  \
		JF_RAW(struct session_args, inner, "innerSandbox", 0),                             \
		JF_OBJ(struct session_args, draft_after, "draftAfter", 0),                         \
		JF_RAW(struct session_args, draft, "draft", 0),                                    \
		JF_OBJ(struct session_args, budgets, "budgets", 0),                                \
		JF_ARR(struct session_args, setup.checks, "checks", 0),                            \
		JF_OBJ(struct session_args, approvals, "approvals", 0),                            \
		JF_OBJ(struct session_args, setup.retry, "retry", 0),                              \
		JF_STR(struct session_args, setup.labels[LABEL_BILLING_REF], "billingRef", 0,      \
		       REF_LEN_MAX),                                                               \
		JF_STR(struct session_args, setup.labels[LABEL_CONFIG_VERSION], "configVersion",   \
		       0, REF_LEN_MAX)

/* What is put into workspace and home, for calls that start the harness. */
#define FURNISH_FIELDS                                                                             \
	JF_OBJ(struct session_args, provision.workspace, "workspace", 0),                          \
		JF_ARR(struct session_args, provision.skills, "skills", 0),                        \
		JF_RAW(struct session_args, provision.instructions, "instructions", 0),            \
		JF_ARR(struct session_args, provision.harness_files, "harnessFiles", 0)

static const struct jfield new_fields[] = {
	COMMON_FIELDS,
	FURNISH_FIELDS,
	JF_STR(struct session_args, harness, "harness", 0, 64),
	JF_STR(struct session_args, when_detached, "whenDetached", 0, 16),
	JF_END,
};

static const struct jfield load_fields[] = {
	COMMON_FIELDS,
	FURNISH_FIELDS,
	JF_STR(struct session_args, incarnation, "incarnation", 0, INCARNATION_MAX),
	JF_INT(struct session_args, from_seq, "fromSeq", 0, 1, INT64_MAX),
	JF_RAW(struct session_args, observe, "observe", 0),
	JF_END,
};

static const struct jfield fork_fields[] = {
	COMMON_FIELDS,
	JF_STR(struct session_args, when_detached, "whenDetached", 0, 16),
	JF_END,
};

void meta_args_free(struct session_args *a)
{
	/* Both tables have most of the strings: jdec_free sets what it frees to NULL. */
	jdec_free(new_fields, a);
	jdec_free(load_fields, a);
	free(a->system_text);
	a->system_text = NULL;
	request_done(&a->request);
}

#define NO_PARAMETER "this daemon has no such parameter"

static int check_observe(struct jval v, struct err *e)
{
	if (v.type == J_NONE || v.type == J_NULL || v.type == J_TRUE || v.type == J_FALSE)
		return 0;
	return err_field(e, "_meta.acpd.observe", "FIELD_INVALID",
			 "_meta.acpd.observe must be true or false");
}

/* A parameter of ours beside acpd would be ignored. Other names are other programs' and pass; so does systemPrompt, which
 * some harnesses have there. */
static int refuse_misplaced(struct slice meta, const struct jfield *fields, struct err *e)
{
	char at[96];

	for (const struct jfield *f = fields; f->name; f++) {
		if (strcmp(f->name, "systemPrompt") == 0 || jobj_get(meta, f->name).type == J_NONE)
			continue;
		snprintf(at, sizeof(at), "_meta.%s", f->name);
		return err_field(e, at, "PARAM_UNSUPPORTED",
				 "_meta.%s: acpd reads this parameter as _meta.acpd.%s only",
				 f->name, f->name);
	}
	return 0;
}

int meta_args_decode(struct session_args *a, enum session_call call, struct err *e)
{
	const struct jfield *fields = call == CALL_NEW	? new_fields :
				      call == CALL_FORK ? fork_fields :
							  load_fields;
	struct jval acpd = jobj_get(a->meta, "acpd");
	int r = refuse_misplaced(a->meta, fields, e);

	if (r < 0 || acpd.type == J_NONE || acpd.type == J_NULL)
		return r;
	if (acpd.type != J_OBJECT)
		return err_field(e, "_meta.acpd", "FIELD_INVALID", "_meta.acpd must be an object");
	r = jdec_strict(acpd.raw, fields, "_meta.acpd.", NO_PARAMETER, a, e);
	return r == 0 ? check_observe(a->observe, e) : r;
}

static int check_value(struct jval v, size_t name, const char *path, struct err *e)
{
	_cleanup_(freep) char *value = NULL;
	/* NAME=VALUE is one string for execve(2), which limits its length. */
	size_t max = ARG_BYTES_MAX - name - 1;
	int r = jstr_decode(v, max, &value);

	if (r == -ENAMETOOLONG)
		return err_field(e, path, "FIELD_TOO_LONG",
				 "%s: a variable has at most %zu bytes on this system; "
				 "pass a file instead",
				 path, max);
	return r < 0 ? err_field(e, path, "FIELD_INVALID",
				 "the value must be a string without NUL") :
		       0;
}

static int check_env(struct slice env, const char *member, struct err *e)
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
		int r;

		snprintf(path, sizeof(path), "_meta.acpd.%s.%.*s", member, (int)MIN(key.n, 64u),
			 key.p);
		if (n >= EXTRA_ENV_MAX)
			return err_field(e, path, "TOO_MANY", "more than %d variables",
					 EXTRA_ENV_MAX);
		/* The name is raw text: one with an escape is not valid. */
		if (!session_env_name(key))
			return err_field(e, path, "ENV_NAME_INVALID",
					 "not a variable name, or one that belongs to the daemon");
		r = check_value(v, key.n, path, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int name_refused(struct err *e, const char *path, const char *why)
{
	return err_field(e, path, "FIELD_INVALID", "%s", why);
}

static bool has_member(struct slice object, struct slice name)
{
	struct slice key;
	struct jiter it;
	struct jval v;

	if (!object.n)
		return false;
	jiter_init(&it, (struct jval){ J_OBJECT, object });
	while (jiter_next(&it, &key, &v))
		if (slice_eq(key, name))
			return true;
	return false;
}

/* A name twice would leave open which value holds. */
static int check_names_once(const struct session_args *a, struct err *e)
{
	struct slice key;
	struct jiter it;
	struct jval v;
	char path[96];

	if (!a->setup.secrets.n)
		return 0;
	jiter_init(&it, (struct jval){ J_OBJECT, a->setup.secrets });
	while (jiter_next(&it, &key, &v)) {
		snprintf(path, sizeof(path), "_meta.acpd.secrets.%.*s", (int)MIN(key.n, 64u),
			 key.p);
		/* As raw text: valid names have no escapes. */
		if (has_member(a->setup.env, key))
			return name_refused(e, path, "the variable is in env, too");
	}
	return 0;
}

static int check_env_keep(const struct session_args *a, struct err *e)
{
	struct jiter it;
	struct jval v;
	char path[48];
	size_t n = 0;

	if (!a->setup.env_keep.n)
		return 0;
	jiter_init(&it, (struct jval){ J_ARRAY, a->setup.env_keep });
	for (; jiter_next(&it, NULL, &v); n++) {
		struct slice name = v.type == J_STRING ?
					    (struct slice){ v.raw.p + 1, v.raw.n - 2 } :
					    SLICE_NONE;

		snprintf(path, sizeof(path), "_meta.acpd.envKeep[%zu]", n);
		if (n >= EXTRA_ENV_MAX)
			return err_field(e, path, "TOO_MANY", "more than %d names", EXTRA_ENV_MAX);
		if (v.type != J_STRING)
			return name_refused(e, path, "must be the name of a variable");
		if (!session_env_name(name))
			return err_field(e, path, "ENV_NAME_INVALID", "not a variable name");
	}
	return 0;
}

static int check_variables(const struct session_args *a, struct err *e)
{
	int r = check_env(a->setup.env, "env", e);

	if (r == 0)
		r = check_env(a->setup.secrets, "secrets", e);
	if (r == 0)
		r = check_names_once(a, e);
	return r == 0 ? check_env_keep(a, e) : r;
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

/* approval is the harness's own affair; the rest is for our own tools. */
static int check_approval(struct slice policy, int *ret, struct err *e)
{
	struct jval v = jobj_get(policy, "approval");
	_cleanup_(freep) char *word = NULL;

	*ret = APPROVAL_UNCHANGED;
	if (v.type == J_NONE || v.type == J_NULL)
		return 0;
	if (jstr_decode(v, 32, &word) == 0)
		*ret = harness_approval_find(word);
	return *ret >= 0 ? 0 :
			   err_field(e, "_meta.acpd.policy.approval", "FIELD_INVALID",
				     "approval must be ask, accept-edits or never");
}

/* All of it reaches a harness as a server of type stdio. */
static int check_server_request(const struct server_request *asked, const struct harness_caps *caps,
				struct err *e)
{
	const struct {
		bool on;
		const char *field;
	} rows[] = {
		{ asked->builtin, "_meta.acpd.mcp.builtin" },
		{ asked->project, "_meta.acpd.mcp.project" },
		{ asked->hosted.n, "_meta.acpd.mcp.hosted" },
	};

	for (size_t i = 0; caps->no_stdio && i < ARRAY_SIZE(rows); i++)
		if (rows[i].on)
			return err_field(e, rows[i].field, "MCP_TRANSPORT_UNSUPPORTED",
					 "this harness takes no MCP servers that are programs");
	return 0;
}

static int check_policy(const struct session_args *a, const struct harness_caps *caps,
			int *approval, struct err *e)
{
	struct server_request asked = { 0 };
	int r = check_approval(a->setup.policy, approval, e);

	if (r == 0)
		r = server_request_parse(a->setup.mcp, &asked, e);
	if (r == 0)
		r = check_server_request(&asked, caps, e);
	return r == 0 ? server_request_check_policy(asked.policy, a->setup.policy, e) : r;
}

/* Whoever gives no key makes the calls: the opener, if it can, or who is named for it. */
static int check_caller(const struct harness_provider *p, unsigned apis, struct err *e)
{
	if (p->via != PROVIDER_TUNNEL || p->via_name || (apis & 1u << model_api_find(p->api)))
		return 0;
	return err_field(e, "_meta.acpd.provider.key", "FIELD_MISSING",
			 "_meta.acpd.provider.key is required: this client has not announced that "
			 "it makes model calls of that API");
}

int provider_check(struct slice raw, unsigned apis, struct err *e)
{
	struct harness_provider p;
	int r;

	if (!raw.n)
		return 0;
	r = harness_provider_parse(raw, &p, e);
	if (r < 0)
		return r;
	r = check_caller(&p, apis, e);
	if (r == 0)
		r = model_paths_check((enum model_api)model_api_find(p.api), p.paths,
				      "_meta.acpd.provider.paths", e);
	harness_provider_done(&p);
	return r;
}

/* --- the system prompt ------------------------------------------------------------------------------------- */

/* ACP has an array of text blocks; they are paragraphs of one prompt. */
static int join_blocks(struct slice array, const char *field, struct buf *ret, struct err *e)
{
	struct jiter it;
	struct jval v;

	jiter_init(&it, (struct jval){ J_ARRAY, array });
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *text = NULL;

		if (v.type != J_OBJECT || !jstr_is(jobj_get(v.raw, "type"), "text") ||
		    jstr_decode(jobj_get(v.raw, "text"), SYSTEM_PROMPT_MAX, &text) < 0)
			return err_field(e, field, "FIELD_INVALID",
					 "%s: content must be blocks of text", field);
		if (buf_len(ret))
			buf_puts(ret, "\n\n");
		buf_puts(ret, text);
	}
	return 0;
}

/* {mode, content} as ACP has it, or plain text, which is appended. */
static int read_prompt(struct session_args *a, struct jval v, const char *field, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jval mode = jobj_get(v.raw, "mode"), content = jobj_get(v.raw, "content");
	int r;

	xstrset(&a->system_text, NULL);
	a->setup.system_override = false;
	if (jstr_decode(v, SYSTEM_PROMPT_MAX, &a->system_text) == 0)
		return 0;
	a->setup.system_override = jstr_is(mode, "override");
	if (v.type != J_OBJECT || content.type != J_ARRAY ||
	    (!a->setup.system_override && !jstr_is(mode, "append")))
		return err_field(e, field, "FIELD_INVALID",
				 "%s must be {mode: append or override, content: [text blocks]}",
				 field);
	r = join_blocks(content.raw, field, &b, e);
	if (r == 0)
		a->system_text = xstrndup(b.data ? b.data : "", b.len);
	return r;
}

static int check_prompt(struct session_args *a, const struct harness_caps *caps, struct err *e)
{
	const char *field = "systemPrompt";
	struct jval v = a->system_prompt;
	int r;

	/* ACP's own member wins over the one in _meta. */
	if (v.type == J_NONE || v.type == J_NULL) {
		field = "_meta.acpd.systemPrompt";
		v = a->meta_prompt;
	}
	if (v.type == J_NONE || v.type == J_NULL)
		return 0;
	r = read_prompt(a, v, field, e);
	if (r == 0 && !(a->setup.system_override ? caps->system_override : caps->system_append))
		r = err_field(e, field, "CAPABILITY_MISSING",
			      "this harness cannot have its system prompt %s",
			      a->setup.system_override ? "replaced" : "added to");
	return r;
}

static int check_draft(struct jval v, enum draft_wish *ret, struct err *e)
{
	if (v.type == J_NONE || v.type == J_NULL)
		return 0;
	if (v.type != J_TRUE && v.type != J_FALSE)
		return err_field(e, "_meta.acpd.draft", "FIELD_INVALID",
				 "_meta.acpd.draft must be true or false");
	*ret = v.type == J_TRUE ? DRAFT_WISH_ON : DRAFT_WISH_OFF;
	return 0;
}

static int check_inner(struct jval v, const struct harness_caps *caps, enum inner_choice *ret,
		       struct err *e)
{
	const char *field = "_meta.acpd.innerSandbox";

	if (v.type == J_NONE || v.type == J_NULL)
		return 0;
	if (v.type != J_TRUE && v.type != J_FALSE)
		return err_field(e, field, "FIELD_INVALID", "%s must be true or false", field);
	if (v.type == J_TRUE && !caps->inner_sandbox)
		return err_field(e, field, "CAPABILITY_MISSING",
				 "this harness has no sandbox of its own that could be asked for");
	*ret = v.type == J_TRUE ? INNER_ON : INNER_OFF;
	return 0;
}

int meta_args_check(struct session_args *a, const struct harness_caps *caps,
		    struct session_params *p, struct err *e)
{
	int r = check_variables(a, e);

	if (r == 0)
		r = check_when_detached(a->when_detached, &p->when_detached, e);
	if (r == 0)
		r = provider_check(a->setup.provider, p->model_apis, e);
	if (r == 0)
		r = check_policy(a, caps, &a->setup.approval, e);
	if (r == 0)
		r = meta_level_check(a->level, &a->level_wish, e);
	if (r == 0)
		r = meta_network_check(a->setup.network, "_meta.acpd.network", e);
	if (r == 0)
		r = meta_limits_check(a->limits, &a->setup.limits, e);
	if (r == 0)
		r = check_inner(a->inner, caps, &a->setup.inner, e);
	if (r == 0)
		r = check_draft(a->draft, &p->draft, e);
	if (r == 0)
		r = draft_terms_parse(a->draft_after, &a->draft_terms, e);
	if (r == 0)
		r = check_prompt(a, caps, e);
	if (r == 0 && a->budgets.n)
		r = budgets_parse(a->budgets, "_meta.acpd.budgets", &a->budget_limits, e);
	if (r == 0)
		r = checks_check(a->setup.checks, "_meta.acpd.checks", e);
	if (r == 0)
		r = approval_terms_parse(a->approvals, &a->approval_terms, e);
	if (r == 0)
		r = retry_check(a->setup.retry, "_meta.acpd.retry", e);
	if (r == 0)
		r = request_parse(&a->provision, "_meta.acpd.", &a->request, e);
	if (r < 0)
		return r;
	/* p borrows from a, and is only valid as long as a is. */
	p->request = &a->request;
	a->setup.system_prompt = a->system_text;
	p->setup = a->setup;
	p->setup.level = a->level_wish.named ? &a->level_wish : NULL;
	p->setup.budgets = a->budgets.n ? &a->budget_limits : NULL;
	p->setup.draft_after = a->draft_after.n ? &a->draft_terms : NULL;
	p->setup.approvals = a->approvals.n ? &a->approval_terms : NULL;
	return 0;
}
