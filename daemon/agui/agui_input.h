/*
 * agui_input.h - a RunAgentInput, decoded and checked in full before anything happens. An error names the member.
 *
 * Slices borrow from the text, which the caller keeps. What a run does with its messages is agui_history.h.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "json/jscan.h"

enum agui_role {
	ROLE_USER,
	ROLE_SYSTEM,
	ROLE_DEVELOPER,
	ROLE_ASSISTANT,
	ROLE_TOOL,
	ROLE_REASONING,
	ROLE_ACTIVITY,
};

struct agui_message {
	enum agui_role role;
	char *id;
	struct jval content;
	char *tool_call_id; /* ROLE_TOOL */
	struct slice error; /* raw, likewise; or empty */
	struct slice raw;
};

struct agui_input {
	char *thread_id, *run_id, *version, *parent;
	struct slice state, tools, context, resume; /* raw, or empty */
	struct slice settings;			    /* raw forwardedProps.acpd, or empty */
	struct jval given_messages, given_state, given_props;
	struct agui_message *messages;
	size_t nmessages;
};

/* Before anything else is freed; legal on one that is all zeros. */
void agui_input_done(struct agui_input *in);
/* -EINVAL with e; then nothing needs freeing. */
int agui_input_parse(struct slice text, struct agui_input *ret, struct err *e);
/* The client knows no more than 0.0.x of AG-UI: some members are not for it. */
bool agui_input_is_old(const struct agui_input *in);
/* The content of a user's message as blocks of ACP, each with the message's id in _meta.agui: elements of an array. at:
 * which message it is, for errors. */
struct jw;
int agui_content_put(const struct agui_message *m, size_t at, struct jw *w, struct err *e);
