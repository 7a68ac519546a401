/*
 * setup_rows.c - the parameters of a session that the core itself reads: the provider, model and mode of its harness, the
 * system prompt, the harness's own sandbox, labels, and what happens while no client is connected. And the members of the
 * record that no client gives by themselves.
 *
 * Those of the environment are in session_env.c, all others in the files of their parts.
 */
#include "session/core/harness/setup.h"

#include "base/limits.h"
#include "harnesses/adapter.h"
#include "json/jstr.h"
#include "model/model_api.h"

#define CHOSEN_ID_MAX 256
#define LABEL_LEN_MAX 256
#define KEPT(member) .kept = offsetof(struct setup, member)

/* --- the provider ---------------------------------------------------------------------------------------- */

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

static int check_provider(struct jval v, const struct parameter_check *c, struct err *e)
{
	return provider_check(v.raw, c->model_apis, e);
}

static unsigned apply_provider(struct setup *s, const struct setup_params *p)
{
	return setup_change_provider(s, setup_given_text(p, &provider_parameter),
				     p->provider_follows);
}

/* A provider without a secret is written down. */
static bool keeps_provider(const struct setup *s)
{
	static const struct provider_keys none;

	return s->provider && !s->gateway.headers.n && !s->gateway.fallbacks.n &&
	       provider_keys_equal(&s->keys, &none);
}

static void put_provider(const struct setup *s, struct jw *w)
{
	/* A provider with secrets becomes `true`: a later daemon asks the client for it (PROVIDER_REQUIRED). */
	if (keeps_provider(s))
		jw_raw(w, "provider", slice_of(s->provider));
	else
		jw_bool(w, "provider", s->provider || s->needs_provider);
	if (s->provider_follows)
		jw_bool(w, "providerFollows", true);
}

static void load_provider(struct setup *s, struct slice record)
{
	struct jval v = jobj_get(record, "provider");

	s->needs_provider = v.type == J_TRUE;
	s->provider_follows = jobj_is_true(record, "providerFollows");
	free(s->provider);
	s->provider = v.type == J_OBJECT ? xstrndup(v.raw.p, v.raw.n) : NULL;
}

static void inherit_provider(struct setup *s, const struct setup *from)
{
	if (s->provider)
		return;
	xstrset(&s->provider, from->provider);
	provider_keys_copy(&s->keys, &from->keys);
	s->provider_follows = from->provider_follows;
}

const struct session_parameter provider_parameter = {
	PARAMETER("provider", OBJ, "the model provider"),
	.order = { .checked = 50, .stored = 120 },
	.change = SETUP_PROVIDER,
	.check = check_provider,
	.apply = apply_provider,
	.put_record = put_provider,
	.load_record = load_provider,
	.inherit = inherit_provider,
};

/* --- the system prompt ----------------------------------------------------------------------------------- */

/* ACP has an array of text blocks; they are paragraphs of one prompt. */
static int join_blocks(struct slice array, const char *field, struct buf *ret, struct err *e)
{
	jarr_each(v, array) {
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
static int read_prompt(struct jval v, const char *field, char **text, bool *override, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jval mode = jobj_get(v.raw, "mode"), content = jobj_get(v.raw, "content");
	int r;

	*text = NULL;
	*override = false;
	if (jstr_decode(v, SYSTEM_PROMPT_MAX, text) == 0)
		return 0;
	*override = jstr_is(mode, "override");
	if (v.type != J_OBJECT || content.type != J_ARRAY ||
	    (!*override && !jstr_is(mode, "append")))
		return err_field(e, field, "FIELD_INVALID",
				 "%s must be {mode: append or override, content: [text blocks]}",
				 field);
	r = join_blocks(content.raw, field, &b, e);
	if (r == 0)
		*text = xstrndup(b.data ? b.data : "", b.len);
	return r;
}

static int check_prompt(struct jval v, const struct parameter_check *c, struct err *e)
{
	_cleanup_(freep) char *text = NULL;
	bool override;
	int r = read_prompt(v, c->field, &text, &override, e);

	if (r == 0 && !(override ? c->caps->system_override : c->caps->system_append))
		r = err_field(e, c->field, "CAPABILITY_MISSING",
			      "this harness cannot have its system prompt %s",
			      override ? "replaced" : "added to");
	return r;
}

static unsigned apply_prompt(struct setup *s, const struct setup_params *p)
{
	const struct parameter_given *g = setup_given(p, &system_prompt_parameter);
	_cleanup_(freep) char *text = NULL;
	bool override, changed;

	if (!g || read_prompt(g->v, "", &text, &override, NULL) < 0)
		return 0;
	/* system_override belongs to the prompt that was given with it. */
	changed = s->system_override != override;
	s->system_override = override;
	if (*text && (!s->system_prompt || strcmp(s->system_prompt, text) != 0)) {
		changed = true;
		xstrset(&s->system_prompt, text);
	}
	return changed ? SETUP_PROMPT | SETUP_CHANGED : 0;
}

static void put_system_prompt(const struct setup *s, struct jw *w)
{
	jw_str(w, "systemPrompt", s->system_prompt);
}

static void load_system_prompt(struct setup *s, struct slice record)
{
	xstrset(&s->system_prompt, NULL);
	jstr_decode(jobj_get(record, "systemPrompt"), 2 * MIB, &s->system_prompt);
	s->system_override = jobj_is_true(record, "systemOverride");
}

static void inherit_prompt(struct setup *s, const struct setup *from)
{
	if (s->system_prompt || !from->system_prompt)
		return;
	xstrset(&s->system_prompt, from->system_prompt);
	s->system_override = from->system_override;
}

const struct session_parameter system_prompt_parameter = {
	PARAMETER("systemPrompt", RAW, "as in ACP, or a string to append"),
	.order = { .checked = 140, .stored = 40 },
	.change = SETUP_PROMPT,
	.check = check_prompt,
	.apply = apply_prompt,
	.put_record = put_system_prompt,
	.load_record = load_system_prompt,
	.inherit = inherit_prompt,
};

/* --- small ones ------------------------------------------------------------------------------------------ */

const struct session_parameter model_parameter = {
	PARAMETER("model", STR, "the exact id of a model"),
	.flags = JF_FILLED,
	.max = CHOSEN_ID_MAX,
	.order = { .stored = 10 },
	.change = SETUP_MODEL,
	KEPT(model),
};

const struct session_parameter mode_parameter = {
	PARAMETER("mode", STR, "a mode of the harness to begin in"),
	.flags = JF_FILLED,
	.max = CHOSEN_ID_MAX,
	.order = { .stored = 20 },
	.change = SETUP_MODE,
	KEPT(mode),
};

static int check_inner(struct jval v, const struct parameter_check *c, struct err *e)
{
	if (v.type == J_FALSE || c->caps->inner_sandbox)
		return 0;
	return err_field(e, c->field, "CAPABILITY_MISSING",
			 "this harness has no sandbox of its own that could be asked for");
}

static int parse_inner(struct jval v, const char *field, void *ret, struct err *e)
{
	int on = parameter_switch(v, field, e);

	*(enum inner_choice *)ret = on == 1 ? INNER_ON : INNER_OFF;
	return MIN(on, 0);
}

static void put_inner(const void *value, struct jw *w, const char *key)
{
	if (*(const enum inner_choice *)value != INNER_UNSAID)
		jw_bool(w, key, *(const enum inner_choice *)value == INNER_ON);
}

/* Off and never said start the harness the same way. */
static unsigned inner_effect(const struct setup *s _unused_, const void *before, const void *after)
{
	return *(const enum inner_choice *)before == INNER_ON ||
			       *(const enum inner_choice *)after == INNER_ON ?
		       SETUP_INNER :
		       0;
}

const struct session_parameter inner_sandbox_parameter = {
	PARAMETER("innerSandbox", RAW, "use the sandbox of the harness, too"),
	.order = { .checked = 110, .stored = 220 },
	.change = SETUP_INNER,
	.check = check_inner,
	.size = sizeof(enum inner_choice),
	.parse = parse_inner,
	.put = put_inner,
	.effect = inner_effect,
};

static const char *const detached_words[] = {
	[DETACHED_CONTINUE] = "continue",
	[DETACHED_HOLD] = "hold",
	[DETACHED_CANCEL] = "cancel",
};

static bool find_detached(struct slice word, enum when_detached *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(detached_words); i++)
		if (slice_is(word, detached_words[i])) {
			*ret = (enum when_detached)i;
			return true;
		}
	return false;
}

static int check_when_detached(struct jval v, const struct parameter_check *c, struct err *e)
{
	enum when_detached when;

	return find_detached(v.raw, &when) ?
		       0 :
		       err_field(e, c->field, "FIELD_INVALID",
				 "whenDetached must be continue, hold or cancel");
}

enum when_detached setup_when_detached(const struct setup_params *p)
{
	enum when_detached when = DETACHED_CONTINUE;

	find_detached(setup_given_text(p, &when_detached_parameter), &when);
	return when;
}

const struct session_parameter when_detached_parameter = {
	PARAMETER("whenDetached", STR, "what happens while no client is connected"),
	.max = 16,
	.calls = PARAMETER_NEW | PARAMETER_FORK,
	.order = { .checked = 40 },
	.check = check_when_detached,
};

#define LABEL_ROW(id, name, attribute, instead, sentence)                                          \
	[LABEL_##id] = { PARAMETER(name, STR, sentence), .max = LABEL_LEN_MAX,                     \
			 .order = { .stored = 100 }, KEPT(labels[LABEL_##id]) },
static const struct session_parameter label_rows[] = { SESSION_LABELS(LABEL_ROW) };

/* --- members of the record alone ------------------------------------------------------------------------- */

static void put_approval_mode(const struct setup *s, struct jw *w)
{
	jw_str(w, "approval", harness_approvals[s->approval]);
}

static void load_approval(struct setup *s, struct slice record)
{
	for (int i = 0; i < APPROVAL_MAX; i++)
		if (jstr_is(jobj_get(record, "approval"), harness_approvals[i]))
			s->approval = (enum harness_approval)i;
}

static void put_flags(const struct setup *s, struct jw *w)
{
	if (s->ephemeral)
		jw_bool(w, "ephemeral", true);
	if (s->remove_on_close)
		jw_bool(w, "removeOnClose", true);
	if (s->baseline)
		jw_bool(w, "baseline", true);
	if (s->system_prompt)
		jw_bool(w, "systemOverride", s->system_override);
}

static void load_flags(struct setup *s, struct slice record)
{
	s->ephemeral = jobj_is_true(record, "ephemeral");
	s->baseline = jobj_is_true(record, "baseline");
	s->remove_on_close = jobj_is_true(record, "removeOnClose");
}

static const struct session_parameter record_rows[] = {
	{ .order.stored = 30, .put_record = put_approval_mode, .load_record = load_approval },
	{ .order.stored = 50, .put_record = put_flags, .load_record = load_flags },
	{ .name = "authMethod", .order.stored = 90, .type = JF_T_STR, KEPT(auth_method) },
	{ .name = "chosen", .order.stored = 130, .type = JF_T_OBJ, KEPT(chosen) },
	{ .name = "source", .order.stored = 180, .type = JF_T_OBJ, KEPT(source), .own = true },
	{ .name = "additionalDirectories",
	  .order.stored = 190,
	  .type = JF_T_ARR,
	  .own = true,
	  KEPT(additional_dirs),
	  .change = SETUP_DIRS },
	/* not stored, since a load names them again; here for its name */
	{ .name = "mcpServers", .change = SETUP_SERVERS },
};

/* clang-format off */
#define LABEL_POINTER(id, ...) &label_rows[LABEL_##id],
const struct session_parameter *const core_parameters[] = {
	&env_parameter, &secrets_parameter, &env_keep_parameter, &when_detached_parameter, &provider_parameter,
	&inner_sandbox_parameter, &system_prompt_parameter, &model_parameter, &mode_parameter,
	SESSION_LABELS(LABEL_POINTER)
	&record_rows[0], &record_rows[1], &record_rows[2], &record_rows[3], &record_rows[4], &record_rows[5],
	&record_rows[6],
	NULL,
};
/* clang-format on */
