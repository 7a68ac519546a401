/*
 * rule_request.h - what a permission request of a harness is about, in the words of rules: category, tool, commands,
 * paths.
 *
 * Read is what the harness says by structure: kind, name, rawInput, locations, diffs. A title is never read, because it
 * is written by the model or for people. What the structure does not say is not guessed: the request is `unread`, and
 * somebody is asked.
 *
 * Pure. All strings are its own; rule_request_done in any case.
 */
#pragma once

#include "base/buf.h"
#include "json/jenc.h"
#include "policy/policy.h"

struct rule_request {
	enum policy_category category;
	char *name, *kind;   /* of the tool, as the harness says; NULL: it does not */
	char *server, *tool; /* of a tool of an MCP server; else NULL */
	char **commands;     /* texts for a shell; or */
	size_t ncommands;
	char **argv; /* the words of one, NULL-terminated; else NULL */
	char **paths;
	size_t npaths;
	bool reads, writes; /* what is done with paths */
	bool below;	    /* and with all that is below them */
	bool unread;	    /* it may do what is not said here */
	char *input; /* raw; what else the call was made with, where neither command nor path says it */
};

/* What was said of a call before its request, which need not repeat it; each may be NULL. Raw: an array, a value. */
struct rule_call {
	const char *name, *kind;
	const char *locations, *input;
};

/* params: raw {toolCall, options}. servers: raw array of McpServer that the harness was given, or empty. */
void rule_request_read(struct slice params, const struct rule_call *before, struct slice servers,
		       struct rule_request *ret);
void rule_request_done(struct rule_request *r);
/* Members that show it: tool, kind, server, command, commands, argv, paths. */
void rule_request_put(const struct rule_request *r, struct jw *w);
