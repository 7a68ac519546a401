/* options.c - what can be chosen: model, thinking level, mode and approval as config options, and the slash
 * commands. */
#include "harnesses/adapter.h"
#include "harnesses/pi/internal.h"

#include "json/jstr.h"

#define NAME_MAX_LEN 512

struct option_choice {
	const char *value, *name;
};

static const struct option_choice modes[] = { { "build", "Build" }, { "plan", "Plan" } };
static const struct option_choice approvals[] = { { "ask", "Ask" },
						  { "accept-edits", "Accept edits" },
						  { "never", "Never ask" } };

/* --- the list ---------------------------------------------------------------------------------------- */

static void put_option_choices(struct jw *w, const struct option_choice *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		option_value(w, c[i].value, c[i].name, NULL);
}

/* With a provider of ours the model's id alone, as the client named it; else Pi's "provider/id". */
static char *model_value(const struct harness *h, const char *provider, const char *id)
{
	char *value;

	if (h->own_provider && strcmp(provider, PI_PROVIDER) == 0)
		return xstrdup(id);
	value = xprintf("%s/%s", provider, id);
	return value;
}

static void put_model_option_of(const struct harness *h, struct jw *w, struct slice model)
{
	_cleanup_(freep) char *id = NULL, *provider = NULL, *name = NULL, *value = NULL;

	if (jstr_decode(jobj_get(model, "id"), NAME_MAX_LEN, &id) < 0 ||
	    jstr_decode(jobj_get(model, "provider"), NAME_MAX_LEN, &provider) < 0)
		return;
	/* With a provider of the session only its models can be chosen. */
	if (h->own_provider && strcmp(provider, PI_PROVIDER) != 0)
		return;
	if (jstr_decode(jobj_get(model, "name"), NAME_MAX_LEN, &name) < 0)
		xstrset(&name, id);
	value = model_value(h, provider, id);
	option_value(w, value, name, NULL);
}

static void put_model_options(const struct harness *h, struct jw *w)
{
	_cleanup_(freep) char *current = NULL;

	if (!h->now_model || !h->now_provider || !h->models)
		return;
	current = model_value(h, h->now_provider, h->now_model);
	option_begin(w, "model", "Model", "model", current);
	jarr_each(v, slice_of(h->models))
		if (v.type == J_OBJECT)
			put_model_option_of(h, w, v.raw);
	option_end(w);
}

static void put_levels(const struct harness *h, struct jw *w)
{
	if (!h->now_level || !h->levels)
		return;
	option_begin(w, "thought_level", "Thinking", "thought_level", h->now_level);
	jarr_each(v, slice_of(h->levels)) {
		_cleanup_(freep) char *level = NULL;

		if (jstr_decode(v, 64, &level) == 0)
			option_value(w, level, NULL, NULL);
	}
	option_end(w);
}

void pi_options_put(struct harness *h, struct jw *w, const char *key)
{
	jw_arr(w, key);
	put_model_options(h, w);
	put_levels(h, w);
	option_begin(w, "mode", "Mode", "mode", h->now_mode ? h->now_mode : modes[0].value);
	put_option_choices(w, modes, ARRAY_SIZE(modes));
	option_end(w);
	option_begin(w, "approval", "Approval", "_approval",
		     h->now_approval ? h->now_approval : approvals[0].value);
	put_option_choices(w, approvals, ARRAY_SIZE(approvals));
	option_end(w);
	jw_end_arr(w);
}

/* The answer to the core's call, or an update if there is no call. */
static void pi_options_done(struct harness *h, uint64_t token)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	if (!token)
		jw_str(&w, "sessionUpdate", "config_option_update");
	pi_options_put(h, &w, "configOptions");
	jw_end_obj(&w);
	if (token)
		h->host.ops->reply(h->host.ctx, token, buf_slice(&b), NULL);
	else
		harness_send_update(&h->host, UPDATE_CONFIG, &b);
}

/* --- what Pi says of itself --------------------------------------------------------------------------- */

void pi_on_state(struct harness *h, struct slice data)
{
	struct slice model = jobj_get(data, "model").raw;

	jstr_set(&h->now_level, jobj_get(data, "thinkingLevel"), NAME_MAX_LEN);
	/* it has one of that name when it has none */
	if (!model.n || jstr_is(jobj_get(model, "provider"), "unknown")) {
		xstrset(&h->now_model, NULL);
		return;
	}
	jstr_set(&h->now_model, jobj_get(model, "id"), NAME_MAX_LEN);
	jstr_set(&h->now_provider, jobj_get(model, "provider"), NAME_MAX_LEN);
}

static void setting_failed(struct harness *h, uint64_t token, const struct rpc_msg *m)
{
	char text[200];

	if (!token) {
		/* token 0: the refresh belongs to the opening and not to a call of the core. */
		pi_open_failed(h, "Pi did not tell its state");
		return;
	}
	h->settings--;
	pi_reply_error(m, text, sizeof(text));
	harness_refused(&h->host, token, RPC_INTERNAL_ERROR, text);
}

static void setting_done(struct harness *h, uint64_t token)
{
	if (token)
		h->settings--;
	if (!token && h->phase == PI_OPENING)
		pi_opened(h);
	else
		pi_options_done(h, token);
}

/* False: nothing is to be done, or a refusal has been passed on. */
static bool setting_answered(struct harness *h, uint64_t token, const struct rpc_msg *m)
{
	if (m && m->error.n)
		setting_failed(h, token, m);
	return m && !m->error.n;
}

static void on_levels(void *ctx, uint64_t token, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (!setting_answered(h, token, m))
		return;
	if (!jraw_set(&h->levels, jobj_get(m->result, "levels"), J_ARRAY))
		xstrset(&h->levels, NULL);
	setting_done(h, token);
}

static void on_state_refreshed(void *ctx, uint64_t token, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (!setting_answered(h, token, m))
		return;
	pi_on_state(h, m->result);
	if (pi_call_of(h, "get_available_thinking_levels", NULL, on_levels, token) < 0)
		setting_failed(h, token, m);
}

int pi_refresh(struct harness *h, uint64_t token)
{
	return pi_call_of(h, "get_state", NULL, on_state_refreshed, token);
}

void pi_on_level(struct harness *h, const struct pi_record *r)
{
	jstr_set(&h->now_level, jobj_get(r->line, "level"), NAME_MAX_LEN);
	/* While a change is open, its answer brings the whole list. */
	if (h->phase == PI_READY && !h->settings)
		pi_options_done(h, 0);
}

/* --- set_config ---------------------------------------------------------------------------------------- */

int pi_send_model(struct harness *h, const char *provider, const char *id, rpc_reply_fn fn,
		  uint64_t tag)
{
	return pi_call(h, "set_model", fn, tag, JW_STR("provider", provider),
		       JW_STR("modelId", id));
}

static void on_option_set(void *ctx, uint64_t token, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (setting_answered(h, token, m) && pi_refresh(h, token) < 0)
		setting_failed(h, token, m);
}

/* The bridge has reported what holds now before its command was answered. */
static void on_bridge_set(void *ctx, uint64_t token, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (setting_answered(h, token, m))
		setting_done(h, token);
}

static int set_model(struct harness *h, const char *id _unused_, const char *value, uint64_t token)
{
	_cleanup_(freep) char *provider = xstrdup(PI_PROVIDER);
	const char *slash = strchr(value, '/');

	if (!h->own_provider) {
		/* Only the first slash separates: the id of a model can contain more. */
		if (!slash)
			return -EINVAL;
		free(provider);
		provider = xstrndup(value, (size_t)(slash - value));
		value = slash + 1;
	}
	return pi_send_model(h, provider, value, on_option_set, token);
}

static int send_level(struct harness *h, const char *id _unused_, const char *value, uint64_t token)
{
	return pi_call(h, "set_thinking_level", on_option_set, token, JW_STR("level", value));
}

static int set_in_bridge(struct harness *h, const char *id, const char *value, uint64_t token)
{
	JW_BUF(c, command);

	buf_puts(&command, PI_BRIDGE_COMMANDS "set ");
	jw_object(&c, NULL, JW_STR(id, value));
	return pi_call(h, "prompt", on_bridge_set, token, JW_SLICE("message", buf_slice(&command)));
}

static const struct {
	const char *id;
	int (*set)(struct harness *h, const char *id, const char *value, uint64_t token);
} settable[] = {
	{ "model", set_model },
	{ "thought_level", send_level },
	{ "mode", set_in_bridge },
	{ "approval", set_in_bridge },
};

int pi_set_config(struct harness *h, uint64_t token, struct slice params, struct err *e)
{
	JW_BUF(w, b);
	_cleanup_(freep) char *value = NULL;
	struct jval id;
	int r = -EINVAL;

	jw_obj(&w, NULL);
	jw_raw(&w, NULL, params);
	jw_end_obj(&w);
	id = jobj_get(buf_slice(&b), "configId");
	if (jstr_decode(jobj_get(buf_slice(&b), "value"), NAME_MAX_LEN, &value) < 0)
		return err_field(e, "value", "FIELD_INVALID", "value must be a string");
	for (size_t i = 0; i < ARRAY_SIZE(settable); i++)
		if (jstr_is(id, settable[i].id))
			r = settable[i].set(h, settable[i].id, value, token);
	if (r == -EINVAL)
		return err_field(e, "configId", "CONFIG_UNKNOWN", "Pi has no such option or value");
	if (r < 0)
		return harness_gone(r, "Pi", e);
	h->settings++;
	return 0;
}

/* --- slash commands ------------------------------------------------------------------------------------- */

static void put_command(struct jw *w, struct slice command)
{
	struct jval name = jobj_get(command, "name"), text = jobj_get(command, "description");
	_cleanup_(freep) char *plain = NULL;

	if (jstr_decode(name, NAME_MAX_LEN, &plain) < 0 ||
	    /* + 1: Pi lists commands without the slash. */
	    slice_starts(slice_of(plain), PI_BRIDGE_COMMANDS + 1))
		return;
	jw_object(w, NULL, JW_RAW("name", name.raw),
		  JW_RAW("description", text.type == J_STRING ? text.raw : SLICE("\"\"")),
		  JW_RAW("input", SLICE("{\"hint\":\"arguments\"}")));
}

void pi_commands_emit(struct harness *h, struct slice commands)
{
	JW_BUF(w, b);

	harness_update_open(&w, UPDATE_COMMANDS);
	jw_arr(&w, "availableCommands");
	jarr_each(v, commands)
		if (v.type == J_OBJECT)
			put_command(&w, v.raw);
	jw_end_arr(&w);
	jw_end_obj(&w);
	harness_send_update(&h->host, UPDATE_COMMANDS, &b);
}
