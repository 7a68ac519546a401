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
struct setup;

/* What holds for a session with this setup. */
const struct approval_terms *approval_terms_of(const struct setup *s);

extern const struct session_parameter approvals_parameter;
