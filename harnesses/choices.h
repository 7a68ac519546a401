/*
 * choices.h - config options as adapters lay them out (ACP SessionConfigOption, type select), and the words for
 * approval, which are the same in a session's policy, in every adapter's option, and in the journal.
 */
#pragma once

#include "harnesses/harness.h"
#include "json/jenc.h"

extern const char *const harness_approvals[APPROVAL_MAX];
/* enum harness_approval, or -1. */
int harness_approval_find(const char *word);

void option_begin(struct jw *w, const char *id, const char *name, const char *category,
		  const char *current);
/* name NULL: the value; description NULL: none. */
void option_value(struct jw *w, const char *value, const char *name, const char *description);
void option_end(struct jw *w);
