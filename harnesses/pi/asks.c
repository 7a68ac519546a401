/*
 * asks.c - dialogs of extensions. The bridge's permission questions become permission requests, every other dialog an
 * elicitation if the client answers those, else it is dismissed at once. Dialogs without an answer are notes: what
 * the bridge reports about itself, and notices.
 */
#include "harnesses/pi/internal.h"

#include "json/jstr.h"

static void send_response(struct harness *h, struct slice native_id, const char *key,
			  struct slice value)
{
	JW_BUF(w, b);

	jw_object(&w, NULL, JW_STR("type", "extension_ui_response"), JW_RAW("id", native_id),
		  JW_RAW(key, value));
	if (!b.failed)
		h->host.ops->send(h->host.ctx, buf_slice(&b));
}

/* Pi waits for an answer to each dialog, so every path must end in one. */
static void dismiss(struct harness *h, struct slice native_id)
{
	send_response(h, native_id, "cancelled", SLICE("true"));
}

static void pi_ask_free(struct harness *h, struct pi_ask *a)
{
	h->nasks--;
	list_del(&a->link);
	free_each(a->native_id, a);
}

/* Each question is freed before the host is called, which must not find it again. */
void pi_asks_drop(struct harness *h, bool withdraw)
{
	list_drain(a, &h->asks, struct pi_ask, link) {
		uint64_t id = a->id;

		pi_ask_free(h, a);
		if (withdraw)
			h->host.ops->unask(h->host.ctx, id);
	}
}

static void ask_core(struct harness *h, struct slice native_id, enum pi_dialog dialog,
		     bool approved, const struct buf *params)
{
	struct harness_ask out = { .elicitation = dialog != PI_PERMISSION,
				   .approved = approved,
				   .params = buf_slice(params) };
	struct pi_ask *a;

	/* Limited, because an extension can open any number of dialogs. */
	if (params->failed || h->nasks >= PI_CALLS_MAX) {
		dismiss(h, native_id);
		return;
	}
	a = new0(struct pi_ask);
	a->id = out.id = ++h->last_ask;
	a->dialog = dialog;
	a->native_id = xstrndup(native_id.p, native_id.n);
	h->nasks++;
	list_add_tail(&h->asks, &a->link);
	/* Last: a rule of the session can answer before this returns. */
	h->host.ops->ask(h->host.ctx, &out);
}

/* --- permissions ------------------------------------------------------------------------------------------ */

static void put_permission_option(struct jw *w, const char *id, struct slice name)
{
	jw_object(w, NULL, JW_STR("optionId", id), JW_RAW("name", name), JW_STR("kind", id));
}

static void put_permission_options(struct jw *w, struct jval always)
{
	jw_arr(w, "options");
	put_permission_option(w, "allow_once", SLICE("\"Allow once\""));
	put_permission_option(w, "allow_always",
			      always.type == J_STRING ? always.raw : SLICE("\"Always allow\""));
	put_permission_option(w, "reject_once", SLICE("\"Reject\""));
	jw_end_arr(w);
}

static void ask_permission(struct harness *h, struct slice native_id, struct slice title)
{
	JW_BUF(w, b);
	struct jval diff = jobj_get(title, "diff");

	jw_obj(&w, NULL);
	jw_obj(&w, "toolCall");
	jw_raw(&w, "toolCallId", jobj_get(title, "toolCallId").raw);
	jw_str(&w, "status", "pending");
	pi_tool_describe(h, &w, jobj_get(title, "toolName"), jobj_get(title, "input"));
	if (diff.type == J_OBJECT) {
		jw_arr(&w, "content");
		pi_put_diff(&w, diff.raw);
		jw_end_arr(&w);
	}
	jw_end_obj(&w);
	put_permission_options(&w, jobj_get(title, "always"));
	jw_end_obj(&w);
	ask_core(h, native_id, PI_PERMISSION, jobj_get(title, "approved").type == J_TRUE, &b);
}

/* --- elicitations ----------------------------------------------------------------------------------------- */

static void put_answer_field(struct jw *w, struct slice line, enum pi_dialog dialog)
{
	struct jval options = jobj_get(line, "options"), prefill = jobj_get(line, "prefill");

	jw_obj(w, "answer");
	jw_str(w, "type", dialog == PI_CONFIRM ? "boolean" : "string");
	jw_str(w, "title", "Answer");
	if (options.type == J_ARRAY)
		jw_raw(w, "enum", options.raw);
	if (prefill.type == J_STRING)
		jw_raw(w, "default", prefill.raw);
	jw_end_obj(w);
}

/* text: the question, raw; call: toolCallId, or nothing. */
static void elicit(struct harness *h, const struct pi_record *r, enum pi_dialog dialog,
		   struct jval text, struct jval call)
{
	JW_BUF(w, b);
	struct slice native_id = r->m[M_ID].v.raw;

	if (!h->elicitation || !h->turn.running) {
		dismiss(h, native_id);
		return;
	}
	jw_obj(&w, NULL);
	jw_str(&w, "mode", "form");
	jw_raw(&w, "message", text.type == J_STRING ? text.raw : SLICE("\"\""));
	if (call.type == J_STRING)
		jw_raw(&w, "toolCallId", call.raw);
	jw_obj(&w, "requestedSchema");
	jw_str(&w, "type", "object");
	jw_obj(&w, "properties");
	put_answer_field(&w, r->line, dialog);
	jw_end_obj(&w);
	jw_raw(&w, "required", SLICE("[\"answer\"]"));
	jw_end_obj(&w);
	jw_end_obj(&w);
	ask_core(h, native_id, dialog, false, &b);
}

/* Select, input, editor: the bridge's have a title that is JSON. */
static void on_question(struct harness *h, const struct pi_record *r)
{
	struct jval title = jobj_get(r->line, "title");
	_cleanup_(freep) char *text = NULL;
	struct slice json = SLICE_NONE;
	struct jval v;

	if (jstr_decode(title, PI_TEXT_MAX, &text) == 0 && *text == '{' &&
	    jscan_value(slice_of(text), &v) == JSCAN_OK && v.type == J_OBJECT)
		json = v.raw;
	/* Another extension can choose any title, also JSON: only the bridge's types are recognized. */
	if (jstr_is(jobj_get(json, "type"), "question"))
		elicit(h, r, PI_QUESTION, jobj_get(json, "question"), jobj_get(json, "toolCallId"));
	else if (!jstr_is(jobj_get(json, "type"), "permission"))
		elicit(h, r, PI_QUESTION, title, (struct jval){ 0 });
	else if (h->turn.running && jobj_get(json, "toolCallId").type == J_STRING)
		ask_permission(h, r->m[M_ID].v.raw, json);
	else
		dismiss(h, r->m[M_ID].v.raw);
}

static void on_confirm(struct harness *h, const struct pi_record *r)
{
	elicit(h, r, PI_CONFIRM, jobj_get(r->line, "title"), (struct jval){ 0 });
}

/* --- what wants no answer ----------------------------------------------------------------------------------- */

static void on_bridge(struct harness *h, struct slice told)
{
	struct jval type = jobj_get(told, "type");

	if (jstr_is(type, "diff")) {
		pi_tool_diff(h, told);
		return;
	}
	/* hello and each later report have the state in force, so there is one reader for both. */
	jstr_set(&h->version, jobj_get(told, "version"), 256);
	jstr_set(&h->now_mode, jobj_get(told, "mode"), 256);
	jstr_set(&h->now_approval, jobj_get(told, "approval"), 256);
	if (jstr_is(type, "hello"))
		h->lost = jobj_get(told, "prompted").type == J_TRUE;
}

static void on_status(struct harness *h, const struct pi_record *r)
{
	_cleanup_(freep) char *text = NULL;
	struct jval v;

	/* The status line is the bridge's channel to the adapter; other keys are decoration for a
	 * terminal. */
	if (!jstr_is(jobj_get(r->line, "statusKey"), "acpd") ||
	    jstr_decode(jobj_get(r->line, "statusText"), PI_TEXT_MAX, &text) < 0)
		return;
	if (jscan_value(slice_of(text), &v) == JSCAN_OK && v.type == J_OBJECT)
		on_bridge(h, v.raw);
}

static void on_extension_notify(struct harness *h, const struct pi_record *r)
{
	struct jval type = jobj_get(r->line, "notifyType");

	pi_notice(h,
		  jstr_is(type, "error")   ? "error" :
		  jstr_is(type, "warning") ? "warning" :
					     "info",
		  "Pi", r->m[M_MESSAGE].v);
}

static const struct {
	const char *method;
	void (*fn)(struct harness *h, const struct pi_record *r);
} methods[] = {
	{ "select", on_question }, { "input", on_question },   { "editor", on_question },
	{ "confirm", on_confirm }, { "setStatus", on_status }, { "notify", on_extension_notify },
};

void pi_on_dialog(struct harness *h, const struct pi_record *r)
{
	struct jval method = jobj_get(r->line, "method");

	if (r->m[M_ID].v.type != J_STRING)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (jstr_is(method, methods[i].method))
			methods[i].fn(h, r);
}

/* --- answers -------------------------------------------------------------------------------------------------- */

static struct jval chosen(const struct pi_ask *a, struct slice result)
{
	struct slice outcome = jobj_get(result, "outcome").raw;

	if (a->dialog == PI_PERMISSION)
		return jobj_get(outcome, "optionId");
	/* J_NONE makes respond() dismiss the dialog. */
	if (!jstr_is(jobj_get(result, "action"), "accept"))
		return (struct jval){ 0 };
	return jobj_get(jobj_get(result, "content").raw, "answer");
}

static void respond(struct harness *h, const struct pi_ask *a, struct jval answer)
{
	struct slice id = slice_of(a->native_id);

	if (a->dialog == PI_CONFIRM && (answer.type == J_TRUE || answer.type == J_FALSE))
		send_response(h, id, "confirmed", answer.raw);
	else if (a->dialog != PI_CONFIRM && answer.type == J_STRING)
		send_response(h, id, "value", answer.raw);
	else
		dismiss(h, id);
}

void pi_answer(struct harness *h, uint64_t ask_id, struct slice result)
{
	list_each(a, &h->asks, struct pi_ask, link) {
		if (a->id != ask_id)
			continue;
		respond(h, a, chosen(a, result));
		pi_ask_free(h, a);
		return;
	}
}
