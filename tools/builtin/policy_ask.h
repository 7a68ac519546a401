/*
 * policy_ask.h - a question of the policy to a human, in MCP's words: the call is answered with "input_required", which holds one
 * elicitation/create with a boolean "approve"; the same call then comes again with the answer.
 *
 * The question's params._meta.acpd.permission says to a machine what is asked: {tool, category, title, paths?, command?}. The gate of a
 * session makes a permission request of it; other clients show the form. A client that can neither is refused with APPROVAL_REQUIRED.
 *
 * Nothing is kept between the two calls: requestState is an HMAC over the tool, its arguments, what was asked and a time, under a key of
 * this process, so that an approval is good for the very call that was asked about and for POLICY_ASK_MS.
 */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "tools/builtin/tool.h"

struct policy_ask {
	const char *tool;
	enum tool_category category;
	const char *title;    /* one sentence for a human */
	struct slice args;    /* raw object of the call */
	struct slice paths;   /* raw array of strings, or empty */
	struct slice command; /* raw string or array, or empty */
};

enum policy_answer {
	POLICY_NOT_ASKED, /* this call carries no answer, or none that is good for it: put the question */
	POLICY_APPROVED,
	POLICY_REJECTED,
};

/* params: of tools/call, raw. */
enum policy_answer policy_ask_answer(const struct policy_ask *a, struct slice params);
/* Whether the caller understands the question: elicitation among its capabilities, or _meta.acpd.permission true (a gate). */
bool policy_ask_possible(struct slice params);
/* The whole result object ("resultType":"input_required"). 0 or -E2BIG, -ENOMEM, -EIO. */
int policy_ask_put(const struct policy_ask *a, struct buf *out);
