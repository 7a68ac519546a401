/*
 * draft_terms.c - decodes _meta.acpd.draftAfter, and stores it in the journal's "session" record.
 *
 * A client's value out of range is refused; one in a record is reduced to the limit of this daemon.
 */
#include "session/parts/draft/draft_terms.h"

#include "base/limits.h"
#include "base/util.h"
#include "json/jdec.h"
#include "session/core/harness/setup.h"

static const struct jfield after_fields[] = {
	JF_INT(struct draft_terms, checks, "checks", 0, 0, DRAFT_AFTER_MAX),
	JF_INT(struct draft_terms, tools, "tools", 0, 0, DRAFT_AFTER_MAX),
	JF_END,
};

static int parse_draft_terms(struct jval v, const char *field _unused_, void *ret, struct err *e)
{
	return jdec_strict(v.raw, after_fields, "_meta.acpd.draftAfter.",
			   "draftAfter has no such member", ret, e);
}

static void put_draft_terms(const void *value, struct jw *w, const char *key)
{
	const struct draft_terms *t = value;

	if (t->checks || t->tools)
		jw_object(w, key, JW_INT("checks", t->checks), JW_INT("tools", t->tools));
}

static void load_draft_terms(struct jval v, void *ret)
{
	struct draft_terms *t = ret;

	t->checks = (int64_t)MIN(jobj_uint(v.raw, "checks"), (uint64_t)DRAFT_AFTER_MAX);
	t->tools = (int64_t)MIN(jobj_uint(v.raw, "tools"), (uint64_t)DRAFT_AFTER_MAX);
}

const struct session_parameter draft_after_parameter = {
	PARAMETER("draftAfter", OBJ, "when a draft begins by itself"),
	.order = { .checked = 130, .stored = 270 },
	.size = sizeof(struct draft_terms),
	.parse = parse_draft_terms,
	.put = put_draft_terms,
	.load = load_draft_terms,
};

const struct draft_terms *draft_terms_of(const struct setup *s)
{
	return setup_value(s, &draft_after_parameter);
}
