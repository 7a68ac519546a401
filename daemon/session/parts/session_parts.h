/*
 * session_parts.h - the list of the parts of a session. A new part is one row here, and a folder.
 *
 * The order of the rows is the order of every hook:
 *
 *	put_*	the order of members in answers, which recorded pages and tests of clients compare
 *	shut	MCP servers stop before the network namespace that they listen in is released; the session's namespaces
 *		are released before a draft is unmounted, because its mount is bound into them
 *	drop	checks end before questions: a check that ends may withdraw one
 *	check_*	the error that is answered where several would be: a draft before the workspace, budgets last; of a
 *		ceiling the level, the network, the limits
 *	place	the user of a session is chosen before its directory, which is made as that user
 *	open_bounds	the namespaces are made last: they hold the network
 *	connect	MCP servers and model calls before the wall of the network, which has to know where they are
 *	put_end	the budget before the checks, as in put_*
 *	turn_ended	the span of a turn ends before another attempt follows
 *
 * For the other hooks the order does not matter.
 */
#pragma once

#include "session/core/session_internal.h"
#include "session/core/session_part.h"

#define SESSION_PARTS(X)                                                                           \
	X(TRACE, trace)                                                                            \
	X(SECRETS, secrets)                                                                        \
	X(MCP, mcp)                                                                                \
	X(MODEL, model)                                                                            \
	X(USER, user)                                                                              \
	X(LEVEL, level)                                                                            \
	X(NETWORK, network)                                                                        \
	X(RULES, rules)                                                                            \
	X(LIMITS, limits)                                                                          \
	X(BUDGET, budget)                                                                          \
	X(REFUSALS, refusals)                                                                      \
	X(SPACES, spaces)                                                                          \
	X(CHECK, check)                                                                            \
	X(APPROVAL, approval)                                                                      \
	X(DRAFT, draft)                                                                            \
	X(WORKSPACE, workspace)                                                                    \
	X(BUNDLE, bundle)                                                                          \
	X(PROGRAMS, programs)                                                                      \
	X(USAGE, usage)

#define SESSION_PART_ID(id, name) PART_##id,
enum session_part_id { SESSION_PARTS(SESSION_PART_ID) PART_MAX };

#define SESSION_PART_ROW(id, name) extern const struct session_part name##_part;
SESSION_PARTS(SESSION_PART_ROW)
