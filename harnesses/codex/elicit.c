/*
 * elicit.c - questions with a text as the answer: an MCP server's elicitation, and the model's own
 * (item/tool/requestUserInput). Both become a form; without a client that fills forms they are declined at once.
 */
#include "harnesses/codex/internal.h"

static bool can_ask_form(const struct harness *h)
{
	return h->elicitation && h->turn != TURN_NONE && !h->cancelled;
}

static void ask_form(struct harness *h, const struct codex_ask *a, const struct buf *params)
{
	struct harness_ask out = { .id = a->id, .elicitation = true, .params = buf_slice(params) };

	h->host.ops->ask(h->host.ctx, &out);
}

void codex_elicitation(struct harness *h, const struct rpc_msg *m)
{
	struct jval schema = jobj_get(m->params, "requestedSchema");
	struct jval message = jobj_get(m->params, "message");
	JW_BUF(w, b);

	/* a page to open (url) and Codex's own kinds of form are not what clients can do */
	if (!can_ask_form(h) || !jstr_is(jobj_get(m->params, "mode"), "form") ||
	    schema.type != J_OBJECT || message.type != J_STRING) {
		codex_respond(h, m->id,
			      SLICE("{\"action\":\"decline\",\"content\":null,\"_meta\":null}"));
		return;
	}
	jw_object(&w, NULL, JW_STR("mode", "form"), JW_RAW("message", message.raw),
		  JW_RAW("requestedSchema", schema.raw));
	ask_form(h, codex_ask_new(h, m->id), &b);
}

/* --- the model's questions ---------------------------------------------------------------------------------- */

static void put_question_choices(struct jw *w, struct jval options)
{
	jw_arr(w, "oneOf");
	jarr_each(v, options) {
		struct jval label = jobj_get(v.raw, "label");

		if (label.type != J_STRING)
			continue;
		jw_object(w, NULL, JW_RAW("const", label.raw), JW_RAW("title", label.raw),
			  JW_RAW("description", jobj_get(v.raw, "description").raw));
	}
	jw_end_arr(w);
}

/* If another answer is allowed, the choices are only listed. */
static void put_model_question(struct jw *w, struct slice q)
{
	struct jval options = jobj_get(q, "options");
	bool other = jobj_get(q, "isOther").type == J_TRUE;
	_cleanup_(freep) char *id = codex_str(q, "id"), *text = codex_str(q, "question");
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!id)
		return;
	buf_puts(&b, text ? text : "");
	if (other)
		jarr_each(v, options) {
			_cleanup_(freep) char *label = codex_str(v.raw, "label");

			buf_puts(&b, "\n- ");
			buf_puts(&b, label ? label : "");
		}
	jw_lead_key(w, id);
	jw_obj(w, NULL);
	jw_str(w, "type", "string");
	jw_raw(w, "title", jobj_get(q, "header").raw);
	jw_slice(w, "description", b.data ? buf_slice(&b) : SLICE(""));
	if (!other && options.type == J_ARRAY)
		put_question_choices(w, options);
	jw_end_obj(w);
}

void codex_user_input(struct harness *h, const struct rpc_msg *m)
{
	struct jval questions = jobj_get(m->params, "questions");
	JW_BUF(w, b);
	struct codex_ask *a;

	/* At once and without answers, because Codex waits for ever. */
	if (!can_ask_form(h) || questions.type != J_ARRAY) {
		codex_respond(h, m->id, SLICE("{\"answers\":{}}"));
		return;
	}
	jw_obj(&w, NULL);
	jw_str(&w, "mode", "form");
	jw_str(&w, "message", "Codex asks");
	jw_obj(&w, "requestedSchema");
	jw_str(&w, "type", "object");
	jw_obj(&w, "properties");
	jarr_each(v, questions)
		if (v.type == J_OBJECT)
			put_model_question(&w, v.raw);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	a = codex_ask_new(h, m->id);
	/* A copy: the line is gone when the answer is built. */
	a->questions = xstrndup(questions.raw.p, questions.raw.n);
	ask_form(h, a, &b);
}

/* --- answers ------------------------------------------------------------------------------------------------ */

static void put_answers(struct jw *w, const char *questions, struct slice content)
{
	jw_obj(w, "answers");
	jarr_each(v, slice_of(questions)) {
		_cleanup_(freep) char *id = codex_str(v.raw, "id");
		struct jval answer = id ? jobj_get(content, id) : (struct jval){ 0 };

		/* A question that the user left out has no answer; the others still count. */
		if (answer.type != J_STRING)
			continue;
		jw_lead_key(w, id);
		jw_obj(w, NULL);
		jw_arr(w, "answers");
		jw_raw(w, NULL, answer.raw);
		jw_end_arr(w);
		jw_end_obj(w);
	}
	jw_end_obj(w);
}

void codex_elicit_answer(struct harness *h, const struct codex_ask *a, struct slice result)
{
	struct jval action = jobj_get(result, "action"), content = jobj_get(result, "content");
	bool accept = jstr_is(action, "accept");
	struct slice given = accept && content.type == J_OBJECT ? content.raw : SLICE_NONE;
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	if (a->questions) {
		put_answers(&w, a->questions, given.n ? given : SLICE("{}"));
	} else {
		jw_str(&w, "action",
		       accept			  ? "accept" :
		       jstr_is(action, "decline") ? "decline" :
						    "cancel");
		jw_raw(&w, "content", given.n ? given : accept ? SLICE("{}") : SLICE("null"));
		jw_null(&w, "_meta");
	}
	jw_end_obj(&w);
	codex_respond(h, slice_of(a->rpc_id), buf_slice(&b));
}
