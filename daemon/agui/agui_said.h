/*
 * agui_said.h - what a harness says of a tool call that names no server, held against calls to tools of the front end.
 *
 * An agent that names server and tool is understood by mcp_servers_named. Others name the tool alone, or describe the
 * call in a sentence. Such a call, if its kind is "other" or absent, fits one to a tool of the front end
 *
 *	- if its name, or a title of one word, is that tool, and its arguments are equal or not known yet (FIT_NAME),
 *	- if it names no tool, and its arguments are equal and not empty.
 *
 * Arguments are equal as values of JSON: order of members and white space do not count. Knows no sessions.
 */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum agui_fit { FIT_NONE, FIT_NAME, FIT_WHOLE };

struct agui_said {
	char *tool;    /* NULL: it names none */
	uint64_t args; /* agui_args_digest; 0: none are known */
};

/* Equal for equal arguments; 0: there are none. args: raw, or empty. */
uint64_t agui_args_digest(struct slice args);
/* update: raw tool_call. False: its kind says that the harness itself carries it out. */
bool agui_said_read(struct slice update, struct agui_said *ret);
void agui_said_done(struct agui_said *s);
enum agui_fit agui_said_fits(const struct agui_said *s, const char *tool, uint64_t args);
/* Whether a call that fits can come. args: raw, as said; tools: raw array. */
bool agui_said_may_fit(const struct agui_said *s, struct slice args, struct slice tools);
