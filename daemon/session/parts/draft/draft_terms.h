/*
 * draft_terms.h - when a session is to begin a draft by itself (_meta.acpd.draftAfter): after so many failures in a row. Pure;
 * part of the session's setup.
 */
#pragma once

#include "base/err.h"
#include "json/jenc.h"

struct draft_terms {
	int64_t checks, tools; /* turns whose checks failed, tool calls that failed; 0: never */
};

/* raw: an object; empty: nobody says. FIELD_OUT_OF_RANGE and the like, at _meta.acpd.draftAfter. */
int draft_terms_parse(struct slice raw, struct draft_terms *ret, struct err *e);
/* A member of a record; nothing where it is never. */
void draft_terms_put(const struct draft_terms *t, struct jw *w, const char *key);
void draft_terms_load(struct slice object, struct draft_terms *ret);
/* want NULL: nobody says. True: it has changed. */
bool draft_terms_replace(struct draft_terms *have, const struct draft_terms *want);
