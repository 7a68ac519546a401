/*
 * approval_terms.h - what a session's client has said about its questions (_meta.acpd.approvals): how long one waits for
 * an answer, and what the answer is when nobody has given one. Pure; part of the session's setup.
 */
#pragma once

#include "base/err.h"
#include "json/jenc.h"

/* What an answer stands for, whatever the options of a question are called. */
enum answer_kind { ANSWER_REJECT, ANSWER_ALLOW, ANSWER_CANCEL };

struct approval_terms {
	uint64_t timeout_ms; /* from when it is asked; 0: only what the daemon has for questions that nobody sees */
	enum answer_kind fallback;
};

const char *answer_kind_word(enum answer_kind kind);
/* raw: an object; empty: what holds where nobody has said. FIELD_INVALID and the like, at _meta.acpd.approvals. */
int approval_terms_parse(struct slice raw, struct approval_terms *ret, struct err *e);
/* A member of a record; nothing where nobody has said. */
void approval_terms_put(const struct approval_terms *t, struct jw *w, const char *key);
/* From there. A default that is not known here is a rejection. */
void approval_terms_load(struct slice object, struct approval_terms *ret);
/* want NULL: nobody says. True: it has changed. */
bool approval_terms_replace(struct approval_terms *have, const struct approval_terms *want);
