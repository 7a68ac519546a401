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

struct setup;

/* Of a session with this setup. */
const struct draft_terms *draft_terms_of(const struct setup *s);

extern const struct session_parameter draft_after_parameter;
