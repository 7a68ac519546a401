/*
 * draft_terms.c - decodes _meta.acpd.draftAfter, and stores it in the journal's "session" record.
 *
 * A client's value out of range is refused; one in a record is reduced to the limit of this daemon.
 */
#include "session/parts/draft/draft_terms.h"

#include "base/limits.h"
#include "base/util.h"
#include "json/jdec.h"

static const struct jfield after_fields[] = {
	JF_INT(struct draft_terms, checks, "checks", 0, 0, DRAFT_AFTER_MAX),
	JF_INT(struct draft_terms, tools, "tools", 0, 0, DRAFT_AFTER_MAX),
	JF_END,
};

int draft_terms_parse(struct slice raw, struct draft_terms *ret, struct err *e)
{
	*ret = (struct draft_terms){ 0 };
	return raw.n ? jdec_strict(raw, after_fields, "_meta.acpd.draftAfter.",
				   "draftAfter has no such member", ret, e) :
		       0;
}

void draft_terms_put(const struct draft_terms *t, struct jw *w, const char *key)
{
	if (!t->checks && !t->tools)
		return;
	jw_object(w, key, JW_INT("checks", t->checks), JW_INT("tools", t->tools));
}

void draft_terms_load(struct slice object, struct draft_terms *ret)
{
	*ret = (struct draft_terms){ 0 };
	if (!object.n)
		return;
	ret->checks = (int64_t)MIN(jobj_uint(object, "checks"), (uint64_t)DRAFT_AFTER_MAX);
	ret->tools = (int64_t)MIN(jobj_uint(object, "tools"), (uint64_t)DRAFT_AFTER_MAX);
}

bool draft_terms_replace(struct draft_terms *have, const struct draft_terms *want)
{
	bool changed = want && (have->checks != want->checks || have->tools != want->tools);

	if (changed)
		*have = *want;
	return changed;
}
