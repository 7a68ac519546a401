/* run_calls.c - which tool calls of the harness are calls to tools of the front end, which are told when they come there. */
#include "agui/agui_run.h"

#include "json/jstr.h"
#include "session/parts/mcp/mcp_servers.h"

/* The tool of the front end that these words of a harness are about; the caller frees. */
static char *served_tool(const struct session *s, const char *said)
{
	_cleanup_(freep) char *named = mcp_servers_named(s, said);
	struct slice tool = slice_of(named);

	if (!named || !slice_skip(&tool, AGUI_SERVER "/"))
		return NULL;
	return xstrdup(tool.p);
}

/* Its name, or what it calls itself, has server and tool in it. */
static bool is_named(const struct session *s, struct slice update, char **tool)
{
	struct jval name = jobj_get(update, "name");
	_cleanup_(freep) char *said = NULL;

	if (jstr_decode(name.type == J_STRING ? name : jobj_get(update, "title"), RPC_ID_MAX,
			&said) < 0)
		return false;
	*tool = served_tool(s, said);
	return *tool != NULL;
}

/* A history has no calls that may still come: its own are found by what is known of them. */
static enum agui_whose by_words(struct agui_run *r, struct slice update, const char *call_id,
				struct agui_whose_call *ret)
{
	struct slice args = jobj_get(update, "rawInput").raw;
	const char *tool = NULL;

	if (!agui_said_read(update, &ret->said))
		return WHOSE_HARNESS;
	if (!r->talk.history)
		tool = agui_link_match(r->link, call_id, &ret->said);
	if (!tool && args.n <= AGUI_HELD_ARGS_MAX &&
	    agui_said_may_fit(&ret->said, args, buf_slice(&r->link->tools)))
		return WHOSE_UNKNOWN;
	agui_said_done(&ret->said);
	ret->tool = xstrdup(tool);
	return tool ? WHOSE_FRONT_END : WHOSE_HARNESS;
}

enum agui_whose agui_run_whose(void *ctx, struct slice update, const char *call_id,
			       struct agui_whose_call *ret)
{
	struct agui_run *r = ctx;
	struct session *s = store_find(r->owner->store, r->thread->session_id);
	struct agui_over *o = agui_thread_named(r->thread, call_id);

	if (!s || !r->thread->front_end)
		return WHOSE_HARNESS;
	if (is_named(s, update, &ret->tool)) {
		if (!o && !r->talk.history)
			agui_link_announce(r->link, call_id, ret->tool);
	} else if (o && o->tool) {
		ret->tool = xstrdup(o->tool);
	} else {
		return by_words(r, update, call_id, ret);
	}
	ret->id = o ? xstrdup(o->id) : NULL;
	return WHOSE_FRONT_END;
}
