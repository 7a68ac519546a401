/*
 * question_answer.c - checks an answer against its question, and builds default answers. Pure.
 *
 * An option is identified by the raw JSON text of its optionId, which is returned to the harness
 * byte for byte. A default answer allows once only, and rejects always only if rejecting once is
 * not offered. If the question has no suitable option, the default answer is "cancelled".
 */
#include "session/core/session_internal.h"

#include "json/json.h"
#include "session/parts/approval/approval_internal.h"

#define WORD_MAX 32

static const struct {
	const char *word, *detail;
} rows[ANSWERED_BY_MAX] = {
	[BY_CLIENT] = { "client", "via" },	[BY_HUMAN] = { "human", "via" },
	[BY_RULE] = { "rule", "rule" },		[BY_TIMEOUT] = { "timeout", NULL },
	[BY_DEFAULT] = { "default", "reason" }, [BY_CANCELLED] = { "cancelled", NULL },
	[BY_WITHDRAWN] = { "withdrawn", NULL },
};

const char *answered_by_word(enum answered_by by)
{
	return rows[by].word;
}

bool answered_by_find(struct jval word, enum answered_by *ret)
{
	for (int i = 0; i < ANSWERED_BY_MAX; i++)
		if (jstr_is(word, rows[i].word)) {
			*ret = (enum answered_by)i;
			return true;
		}
	return false;
}

const char *answered_by_detail(enum answered_by by)
{
	return rows[by].detail;
}

/* The first option whose member has that raw value, or that text; J_NONE: there is none. */
static struct jval find_option(const struct session_question *a, const char *member,
			       struct slice raw, const char *text)
{
	struct jval options = jobj_get(slice_of(a->params), "options");

	jarr_each(v, options) {
		struct jval m = { J_NONE, SLICE_NONE };

		if (v.type == J_OBJECT)
			m = jobj_get(v.raw, member);
		if (text ? jstr_is(m, text) : m.raw.n && slice_eq(m.raw, raw))
			return v;
	}
	return (struct jval){ J_NONE, SLICE_NONE };
}

bool answer_fits(const struct session_question *a, struct slice answer)
{
	struct slice outcome = jobj_get(answer, "outcome").raw;
	struct jval kind = jobj_get(outcome, "outcome"), action;

	if (a->elicitation) {
		action = jobj_get(answer, "action");
		return jstr_is(action, "accept") || jstr_is(action, "decline") ||
		       jstr_is(action, "cancel");
	}
	if (jstr_is(kind, "cancelled"))
		return true;
	return jstr_is(kind, "selected") &&
	       find_option(a, "optionId", jobj_get(outcome, "optionId").raw, NULL).type != J_NONE;
}

/* The option of the first of these kinds that is offered; empty if there is none. */
static struct slice option_of_kind(const struct session_question *a, const char *kind,
				   const char *else_kind)
{
	struct jval v = find_option(a, "kind", SLICE_NONE, kind);

	if (v.type == J_NONE && else_kind)
		v = find_option(a, "kind", SLICE_NONE, else_kind);
	return jobj_get(v.raw, "optionId").raw;
}

struct slice option_named(const struct session_question *a, const char *id)
{
	return jobj_get(find_option(a, "optionId", SLICE_NONE, id).raw, "optionId").raw;
}

void answer_put_option(struct slice id, struct buf *b)
{
	struct jw w = JW(b);

	jw_object(&w, NULL,
		  JW_OBJ("outcome", JW_STR("outcome", "selected"), JW_RAW("optionId", id)));
}

bool question_has_option(const struct session_question *a, const char *kind)
{
	return option_of_kind(a, kind, NULL).n > 0;
}

struct slice answer_of_kind(const struct session_question *a, enum answer_kind kind, struct buf *b)
{
	struct slice id = SLICE_NONE;

	if (a->elicitation)
		return SLICE("{\"action\":\"cancel\"}");
	if (kind == ANSWER_ALLOW)
		id = option_of_kind(a, "allow_once", NULL);
	/* Also if nothing allows just once: a default never allows for longer. */
	if (!id.n && kind != ANSWER_CANCEL)
		id = option_of_kind(a, "reject_once", "reject_always");
	if (!id.n)
		return SLICE("{\"outcome\":{\"outcome\":\"cancelled\"}}");
	answer_put_option(id, b);
	return buf_slice(b);
}

/* The kind of the chosen option says more than "selected". */
char *answer_word(const struct session_question *a, struct slice answer)
{
	struct slice outcome = jobj_get(answer, "outcome").raw;
	struct jval chosen = jobj_get(outcome, "optionId"), option;
	struct jval said = a->elicitation ? jobj_get(answer, "action") :
					    jobj_get(outcome, "outcome");
	char *word = NULL;

	if (chosen.raw.n) {
		option = find_option(a, "optionId", chosen.raw, NULL);
		said = option.type == J_NONE ? said : jobj_get(option.raw, "kind");
	}
	jstr_decode(said, WORD_MAX, &word);
	return word;
}
