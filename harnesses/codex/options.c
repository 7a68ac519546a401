/*
 * options.c - model, reasoning effort, mode and approval as config options. One thread/settings/update sets all of
 * them: in Codex the collaboration mode carries model and effort too, and takes precedence over the members beside it.
 */
#include "harnesses/adapter.h"

#include "base/util.h"
#include "harnesses/codex/internal.h"

#define DEFAULT_EFFORT "default"

static const char *const modes[] = { [MODE_BUILD] = "build", [MODE_PLAN] = "plan" };
static const char *const native_modes[] = { [MODE_BUILD] = "default", [MODE_PLAN] = "plan" };
/* For models that Codex does not know: what the Responses API has. */
static const char common_efforts[] =
	"[{\"reasoningEffort\":\"minimal\"},{\"reasoningEffort\":\"low\"},"
	"{\"reasoningEffort\":\"medium\"},{\"reasoningEffort\":\"high\"}]";

void codex_settings_done(struct settings *s)
{
	free_each(s->model, s->effort);
	*s = (struct settings){ 0 };
}

static void settings_copy(struct settings *to, const struct settings *from)
{
	codex_settings_done(to);
	*to = *from;
	to->model = xstrdup(from->model);
	to->effort = xstrdup(from->effort);
}

/* --- models ------------------------------------------------------------------------------------------ */

static struct model *find_model(const struct harness *h, const char *id)
{
	for (size_t i = 0; id && i < h->nmodels; i++)
		if (strcmp(h->models[i].id, id) == 0)
			return &h->models[i];
	return NULL;
}

static struct model *add_model(struct harness *h, const char *id)
{
	struct model *m = find_model(h, id);

	if (m)
		return m;
	m = GROW(h->models, h->nmodels);
	m->id = xstrdup(id);
	return m;
}

static bool add_provider_model(void *ctx, const char *id)
{
	add_model(ctx, id);
	return true;
}

void codex_models_from_provider(struct harness *h, const struct harness_provider *p)
{
	harness_provider_each_model(p, add_provider_model, h);
}

/* model/list is Codex's own catalogue with any provider, so it only adds details to the provider's models. */
static void load_model(struct harness *h, struct slice entry)
{
	_cleanup_(freep) char *id = codex_str(entry, "model");
	struct model *m;

	if (!id || (!h->has_provider && jobj_get(entry, "hidden").type == J_TRUE))
		return;
	m = h->has_provider ? find_model(h, id) : add_model(h, id);
	/* The first entry wins: a second one would leak its strings. */
	if (!m || m->efforts)
		return;
	m->name = codex_str(entry, "displayName");
	m->description = codex_str(entry, "description");
	jraw_set(&m->efforts, jobj_get(entry, "supportedReasoningEfforts"), J_ARRAY);
}

void codex_models_load(struct harness *h, struct slice result)
{
	jarr_each(v, jobj_get(result, "data"))
		if (v.type == J_OBJECT)
			load_model(h, v.raw);
}

void codex_models_free(struct harness *h)
{
	for (size_t i = 0; i < h->nmodels; i++) {
		free_each(h->models[i].id, h->models[i].name, h->models[i].description,
			  h->models[i].efforts);
	}
	free(h->models);
}

/* --- out --------------------------------------------------------------------------------------------- */

static void put_model_choices(const struct harness *h, struct jw *w)
{
	option_begin(w, "model", "Model", "model", h->now.model);
	/* The current model is always a choice, even if no list has it. */
	if (!find_model(h, h->now.model))
		option_value(w, h->now.model, NULL, NULL);
	for (size_t i = 0; i < h->nmodels; i++)
		option_value(w, h->models[i].id, h->models[i].name, h->models[i].description);
	option_end(w);
}

static struct slice efforts_of(const struct harness *h)
{
	const struct model *m = find_model(h, h->now.model);

	return slice_of(m && m->efforts ? m->efforts : common_efforts);
}

static void put_efforts(const struct harness *h, struct jw *w)
{
	const char *current = h->now.effort ? h->now.effort : DEFAULT_EFFORT;
	bool listed = !h->now.effort;

	option_begin(w, "thought_level", "Reasoning effort", "thought_level", current);
	option_value(w, DEFAULT_EFFORT, "Default", "What the model does by itself");
	jarr_each(v, efforts_of(h)) {
		_cleanup_(freep) char *effort = codex_str(v.raw, "reasoningEffort");
		_cleanup_(freep) char *description = codex_str(v.raw, "description");

		if (!effort || strcmp(effort, DEFAULT_EFFORT) == 0)
			continue;
		option_value(w, effort, NULL, description);
		listed |= strcmp(effort, current) == 0;
	}
	if (!listed)
		option_value(w, current, NULL, NULL);
	option_end(w);
}

void codex_options_put(const struct harness *h, struct jw *w, const char *key)
{
	jw_arr(w, key);
	put_model_choices(h, w);
	put_efforts(h, w);
	option_begin(w, "mode", "Mode", "mode", modes[h->now.mode]);
	option_value(w, "build", "Build", "Works on the task");
	option_value(w, "plan", "Plan", "Makes a plan first and asks about it");
	option_end(w);
	option_begin(w, "approval", "Approval", "_approval", harness_approvals[h->now.approval]);
	option_value(w, "ask", "Ask", "Every command, edit and tool call is asked");
	option_value(w, "accept-edits", "Accept edits", "Edits in the workspace are not asked");
	option_value(w, "never", "Never ask", "Everything is allowed");
	option_end(w);
	jw_end_arr(w);
}

static void codex_options_changed(struct harness *h)
{
	JW_BUF(w, b);

	if (h->phase != PHASE_READY)
		return;
	harness_update_open(&w, UPDATE_CONFIG);
	codex_options_put(h, &w, "configOptions");
	jw_end_obj(&w);
	codex_event(h, &b);
}

/* --- Codex's own sandbox, which holds the commands and patches of the model ------------------------- */

/* Codex keeps .git of what it lets be written read-only, unless that is named by itself. */
static void put_writable_root(struct jw *w, struct slice dir)
{
	_cleanup_(buf_done) struct buf git = { 0 };

	buf_printf(&git, "%.*s/.git", (int)dir.n, dir.p);
	jw_slice(w, NULL, dir);
	jw_slice(w, NULL, buf_slice(&git));
}

static void put_writable(const struct harness *h, struct jw *w)
{
	jw_arr(w, "writableRoots");
	put_writable_root(w, slice_of(h->cwd));
	jarr_each(v, slice_of(h->additional_dirs)) {
		_cleanup_(freep) char *dir = NULL;

		if (jstr_decode(v, PATH_LEN_MAX, &dir) == 0)
			put_writable_root(w, slice_of(dir));
	}
	jw_end_arr(w);
}

/* In plan mode nothing is to be written. */
static const char *sandbox_type(const struct harness *h, const struct settings *s)
{
	if (!h->inner_sandbox)
		return "dangerFullAccess";
	return s->mode == MODE_PLAN ? "readOnly" : "workspaceWrite";
}

static void codex_sandbox_put(const struct harness *h, const struct settings *s, struct jw *w)
{
	jw_obj(w, "sandboxPolicy");
	jw_str(w, "type", sandbox_type(h, s));
	if (h->inner_sandbox && s->mode != MODE_PLAN)
		put_writable(h, w);
	if (h->inner_sandbox)
		jw_bool(w, "networkAccess", h->inner_network);
	jw_end_obj(w);
}

/* "untrusted" asks for every command and edit; this adapter then answers what the client is not asked. In
 * plan mode edits are to be refused, so they must be asked; so must calls whose number is limited, or of which rules
 * speak. But Codex runs what was allowed outside of its own sandbox: there nothing is asked where the client is not, besides calls of MCP servers, which
 * that policy makes fail else. */
void codex_approval_put(const struct harness *h, const struct settings *s, struct jw *w)
{
	bool unasked = s->approval == APPROVAL_NEVER;

	if (unasked && h->inner_sandbox)
		jw_raw(w, "approvalPolicy",
		       SLICE("{\"granular\":{\"sandbox_approval\":false,\"rules\":false,"
			     "\"mcp_elicitations\":true}}"));
	else
		jw_str(w, "approvalPolicy",
		       unasked && s->mode != MODE_PLAN && !h->limited && !h->ruled ? "never" :
										     "untrusted");
}

void codex_settings_put(const struct harness *h, const struct settings *s, struct jw *w)
{
	jw_obj(w, NULL);
	jw_str(w, "threadId", h->thread_id);
	codex_approval_put(h, s, w);
	codex_sandbox_put(h, s, w);
	jw_obj(w, "collaborationMode");
	jw_str(w, "mode", native_modes[s->mode]);
	jw_obj(w, "settings");
	jw_str(w, "model", s->model);
	if (s->effort)
		jw_str(w, "reasoning_effort", s->effort);
	else
		jw_null(w, "reasoning_effort");
	jw_null(w, "developer_instructions");
	jw_end_obj(w);
	jw_end_obj(w);
	jw_end_obj(w);
}

/* --- in ---------------------------------------------------------------------------------------------- */

static int index_of(const char *const *list, size_t n, const char *value)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], value) == 0)
			return (int)i;
	return -1;
}

static int apply_setting(struct settings *s, const char *id, const char *value)
{
	int found = 0;

	if (strcmp(id, "model") == 0) {
		xstrset(&s->model, value);
	} else if (strcmp(id, "thought_level") == 0) {
		xstrset(&s->effort, strcmp(value, DEFAULT_EFFORT) == 0 ? NULL : value);
	} else if (strcmp(id, "mode") == 0) {
		found = index_of(modes, ARRAY_SIZE(modes), value);
		s->mode = found < 0 ? s->mode : (enum mode)found;
	} else if (strcmp(id, "approval") == 0) {
		found = harness_approval_find(value);
		s->approval = found < 0 ? s->approval : (enum harness_approval)found;
	} else {
		found = -1;
	}
	return found < 0 ? -EINVAL : 0;
}

static void on_settings_set(void *ctx, uint64_t token, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	JW_BUF(w, b);
	char text[ERR_MSG_SIZE];

	h->setting--;
	if (!m)
		return;
	if (m->error.n) {
		/* A refused change has no notice. */
		h->echoes -= h->echoes > 0;
		settings_copy(&h->wanted, &h->now);
		codex_error_text(m->error, text, sizeof(text));
		harness_refused(&h->host, token, RPC_INTERNAL_ERROR, text);
		return;
	}
	settings_copy(&h->now, &h->wanted);
	jw_obj(&w, NULL);
	codex_options_put(h, &w, "configOptions");
	jw_end_obj(&w);
	h->host.ops->reply(h->host.ctx, token, buf_slice(&b), NULL);
}

/* params: members without braces. */
int codex_set_config(struct harness *h, uint64_t token, struct slice params, struct err *e)
{
	_cleanup_(buf_done) struct buf p = { 0 }, b = { 0 };
	_cleanup_(freep) char *id = NULL, *value = NULL;
	struct jw w = JW(&b);
	int r;

	buf_printf(&p, "{%.*s}", (int)params.n, params.p);
	id = codex_str(buf_slice(&p), "configId");
	value = codex_str(buf_slice(&p), "value");
	/* builds on changes that are still open */
	if (!h->setting)
		settings_copy(&h->wanted, &h->now);
	if (!id || !value || apply_setting(&h->wanted, id, value) < 0)
		return err_field(e, "value", "CONFIG_VALUE_UNKNOWN",
				 "the option has no such value");
	codex_settings_put(h, &h->wanted, &w);
	r = codex_call(h, "thread/settings/update", buf_slice(&b), on_settings_set, token);
	if (r < 0)
		return harness_gone(r, "Codex", e);
	h->setting++;
	/* thread/settings/updated will repeat this change. */
	h->echoes++;
	return 0;
}

/* Also comes after our own change, and may then be behind the next one: taken for news it would undo that. */
void codex_on_settings(struct harness *h, struct slice params)
{
	struct slice s = jobj_get(params, "threadSettings").raw;
	_cleanup_(freep) char *model = codex_str(s, "model"), *effort = codex_str(s, "effort");
	bool plan = jstr_is(jobj_get(jobj_get(s, "collaborationMode").raw, "mode"), "plan");
	enum mode mode = plan ? MODE_PLAN : MODE_BUILD;

	if (h->phase != PHASE_READY || !model)
		return;
	if (h->echoes) {
		h->echoes--;
		return;
	}
	if (str_equal(model, h->now.model) && str_equal(effort, h->now.effort) &&
	    mode == h->now.mode)
		return;
	xstrset(&h->now.model, model);
	xstrset(&h->now.effort, effort);
	h->now.mode = mode;
	codex_options_changed(h);
}
