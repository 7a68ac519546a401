/*
 * settings.c - approval before the session is ready; modes, models and options while it lives.
 *
 * The session is reported ready only after its approval has been set, by mode or option: no prompt can run before. An agent
 * that refuses that is ready all the same, as it then asks more than it would have to, and asks.c answers.
 */
#include "harnesses/acp/internal.h"

#include "harnesses/adapter.h"
#include "json/json.h"

/* --- ready ------------------------------------------------------------------------------------------- */

static void report_ready(struct harness *h)
{
	_cleanup_(buf_done) struct buf options = { 0 };
	struct harness_ready ready = { .native_id = h->native_id,
				       .version = h->version,
				       .caps = h->caps,
				       .modes = slice_of(h->modes),
				       .restored = h->restoring };

	/* Directories that were passed at the start need no capability of the protocol. */
	ready.caps.additional_dirs |= h->quirks->dirs_by_plan;
	acp_options_put(h, &options);
	ready.config_options = buf_slice(&options);
	h->phase = PHASE_READY;
	h->host.ops->ready(h->host.ctx, &ready);
}

/* The answer to session/set_mode has no mode in it, so the stored modes are changed here. */
static void set_current_mode(struct harness *h, const char *mode)
{
	JW_BUF(w, b);

	if (!h->modes)
		return;
	jw_obj(&w, NULL);
	jw_str(&w, "currentModeId", mode);
	jw_members(&w, slice_of(h->modes), "currentModeId");
	jw_end_obj(&w);
	jraw_set(&h->modes, (struct jval){ J_OBJECT, buf_slice(&b) }, J_OBJECT);
}

/* Refused: the agent asks more than its settings say, and asks.c answers if nothing is to be asked. */
static void on_approval(void *ctx, uint64_t by_mode, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (!m)
		return;
	if (!m->error.n && by_mode)
		set_current_mode(h, h->quirks->approval_modes[h->approval]);
	else if (!m->error.n)
		acp_options_note(h, m->result);
	report_ready(h);
}

/* Where there are rules it has to ask, and asks.c says what its approval allows. */
void acp_opened(struct harness *h, struct slice result)
{
	const char *mode = acp_rules(h) ? NULL : h->quirks->approval_modes[h->approval];
	const char *value = acp_rules(h) ? NULL : h->quirks->approval_values[h->approval];
	int r = -ENOENT;

	acp_options_note(h, result);
	if (mode)
		r = acp_call(h, "session/set_mode", on_approval, true, JW_STR("modeId", mode));
	else if (value)
		r = acp_call(h, "session/set_config_option", on_approval, false,
			     JW_STR("configId", h->quirks->approval_option),
			     JW_STR("value", value));
	/* -ENOENT: there is nothing to set. Any other failure is treated like a refusal. */
	if (r < 0)
		report_ready(h);
}

/* --- calls of the core ------------------------------------------------------------------------------ */

static void reply_agent_error(struct harness *h, uint64_t token, struct slice error)
{
	struct turn_error te;

	acp_error_classify(error, &te);
	harness_refused(&h->host, token, acp_error_code(error), te.message);
}

static void on_agent_reply(void *ctx, uint64_t token, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (m && m->error.n)
		reply_agent_error(h, token, m->error);
	else if (m)
		h->host.ops->reply(h->host.ctx, token, m->result, NULL);
}

static void reply_options(struct harness *h, uint64_t token)
{
	_cleanup_(buf_done) struct buf options = { 0 }, b = { 0 };
	struct jw w = JW(&b);

	acp_options_put(h, &options);
	jw_object(&w, NULL, JW_RAW("configOptions", buf_slice(&options)));
	h->host.ops->reply(h->host.ctx, token, buf_slice(&b), NULL);
}

static void on_agent_config(void *ctx, uint64_t token, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (m && m->error.n) {
		reply_agent_error(h, token, m->error);
	} else if (m) {
		acp_options_note(h, m->result);
		if (acp_options_are_ours(h))
			reply_options(h, token);
		else
			h->host.ops->reply(h->host.ctx, token, m->result, NULL);
	}
}

int acp_call_for(struct harness *h, const char *method, const struct jw_member *members,
		 uint64_t token, struct err *e)
{
	return harness_gone(acp_call_of(h, method, members, on_agent_reply, token), "the harness",
			    e);
}

int harness_acp_set_mode(struct harness *h, uint64_t token, const char *mode, struct err *e)
{
	return acp_call_for(h, "session/set_mode", JW_MEMBERS(JW_STR("modeId", mode)), token, e);
}

static void on_model(void *ctx, uint64_t token, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (m && m->error.n) {
		reply_agent_error(h, token, m->error);
	} else if (m) {
		if (h->wanted) {
			/* The answer has no state, so the model that was requested is now the current
			 * one. */
			free(h->chosen);
			h->chosen = TAKE_PTR(h->wanted);
		}
		reply_options(h, token);
	}
}

static int set_legacy_model(struct harness *h, uint64_t token, struct jval model, struct err *e)
{
	if (!jstr_set(&h->wanted, model, 4096))
		xstrset(&h->wanted, NULL);
	return harness_gone(acp_call(h, "session/set_model", on_model, token,
				     JW_RAW("modelId", model.raw)),
			    "the harness", e);
}

/* The value as the agent knows it. */
static void put_prefixed(struct jw *w, const char *prefix, struct jval value)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *text = NULL;

	if (jstr_decode(value, 4096, &text) < 0) {
		jw_raw(w, "value", value.raw);
		return;
	}
	buf_puts(&b, prefix);
	buf_puts(&b, text);
	jw_slice(w, "value", buf_slice(&b));
}

/* The model came with the environment and is the only one: to set it again is no change. */
static bool model_is_fixed(const struct harness *h)
{
	return h->quirks->model_from_start && !acp_model_is_legacy(h);
}

int harness_acp_set_config(struct harness *h, uint64_t token, struct slice params, struct err *e)
{
	_cleanup_(buf_done) struct buf whole = { 0 }, b = { 0 };
	struct jslot s[] = { { .key = "configId" }, { .key = "value" } };
	struct jw w = JW(&b);

	buf_printf(&whole, "{%.*s}", (int)params.n, params.p);
	jscan_object(buf_slice(&whole), s, ARRAY_SIZE(s));
	if (!acp_is_model_option(h, s[0].v)) {
		buf_add_slice(&b, params);
	} else if (acp_model_is_legacy(h)) {
		return set_legacy_model(h, token, s[1].v, e);
	} else if (model_is_fixed(h)) {
		reply_options(h, token);
		return 0;
	} else if (acp_model_prefix(h)) {
		jw_members(&w, buf_slice(&whole), "value");
		put_prefixed(&w, acp_model_prefix(h), s[1].v);
	} else {
		buf_add_slice(&b, params);
	}
	return harness_gone(acp_call(h, "session/set_config_option", on_agent_config, token,
				     JW_RAW(NULL, buf_slice(&b))),
			    "the harness", e);
}
