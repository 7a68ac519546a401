/*
 * session_parts.c - the list of the parts of a session, and the calls of their hooks.
 *
 * The order of the rows is the order of every hook:
 *
 *	put_*	the order of members in answers, which recorded pages and tests of clients compare
 *	shut	MCP servers stop before the network namespace that they listen in is released; the session's namespaces
 *		are released before a draft is unmounted, because its mount is bound into them
 *	drop	checks end before questions: a check that ends may withdraw one
 *
 * For the other hooks the order does not matter.
 */
#include "session/core/session_part.h"

#include "session/parts/confinement/session_level.h"
#include "session/parts/confinement/session_limits.h"
#include "session/core/session_internal.h"
#include "session/parts/users/session_user.h"

static const struct session_part *const parts[] = {
	&trace_part, &secrets_part,  &mcp_part,	      &model_part,  &user_part,
	&level_part, &network_part,  &rules_part,     &limits_part, &refusals_part,
	&check_part, &approval_part, &workspace_part, &draft_part,
};

/* Calls a hook of all parts that have it, with these arguments. */
#define CALL_PARTS(hook, ...)                                                                      \
	do {                                                                                       \
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)                                     \
			if (parts[i]->hook)                                                        \
				parts[i]->hook(__VA_ARGS__);                                       \
	} while (0)

void session_parts_create(struct session *s)
{
	CALL_PARTS(create, s);
}

void session_parts_inherit(struct session *s, const struct session *from)
{
	CALL_PARTS(inherit, s, from);
}

void session_parts_setup_changed(struct session *s)
{
	CALL_PARTS(setup_changed, s);
}

void session_parts_forget_keys(struct session *s)
{
	CALL_PARTS(forget_keys, s);
}

void session_parts_put_status(struct jw *w, const struct session *s)
{
	CALL_PARTS(put_status, w, s);
}

/* Part after part, because that is the order of the members in the answer. */
void session_parts_put_opened(struct jw *w, const struct session *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (parts[i]->put_opened)
			parts[i]->put_opened(w, s);
		if (parts[i]->put_status)
			parts[i]->put_status(w, s);
	}
}

void session_parts_shut(struct session *s)
{
	CALL_PARTS(shut, s);
}

void session_parts_drop(struct session *s)
{
	CALL_PARTS(drop, s);
}

void session_parts_free(struct session *s)
{
	CALL_PARTS(free, s);
}
