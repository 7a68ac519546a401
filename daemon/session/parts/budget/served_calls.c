/*
 * served_calls.c - tool calls that pass the daemon, compared with the budgets before they run.
 *
 * The harness announces most of these calls as well, before or after they arrive here, and each counts once. Only the text
 * of an announcement tells which call it is about: the name of the tool, or, without a name, that it could be any tool.
 *
 * If the announcement is first, it counts, and the call that arrives meets it (met). If the call is first, it counts and
 * waits for its announcement (awaited), also after it has ended, until the turn ends. A served_call is freed when it is over
 * and awaits nothing.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "session/parts/budget/turn_budget.h"
#include "session/parts/mcp/mcp_servers.h"
#include "session/parts/budget/served_calls.h"

#define SAID_MAX 4096

struct served_call {
	struct list link;
	struct session *session;
	uint64_t turn; /* 0: between turns, or counted by nobody */
	char *awaited; /* "server/tool", while its announcement may follow; or NULL */
	bool over, beyond;
};

/* --- what has passed ---------------------------------------------------------------------------------------- */

static struct served_call *served_new(struct session *s, const struct session_turn *t)
{
	struct served_call *c = new0(struct served_call);

	c->session = s;
	c->turn = t ? t->no : 0;
	list_add_tail(&budget_of(s)->served, &c->link);
	budget_of(s)->nserved++;
	return c;
}

/* What is over stays as long as its announcement may follow. */
static void served_let_go(struct served_call *c)
{
	if (!c->over || c->awaited)
		return;
	budget_of(c->session)->nserved--;
	list_del(&c->link);
	free(c);
}

/* Above the limit a call is not matched any more: it then counts twice, rather than using memory without limit. */
static void served_await(struct served_call *c, const char *name)
{
	if (budget_of(c->session)->nserved <= SESSION_CALLS_MAX)
		c->awaited = xstrdup(name);
}

void served_calls_leave_turn(struct session *s)
{
	list_each(c, &budget_of(s)->served, struct served_call, link) {
		xstrset(&c->awaited, NULL);
		c->turn = 0;
		served_let_go(c);
	}
}

/* --- which announcement is about which call ----------------------------------------------------------------------- */

/* Kinds that say what the harness's own tools do. */
static bool is_any_kind(struct slice update)
{
	struct jval kind = jobj_get(update, "kind");

	return kind.type != J_STRING || jstr_is(kind, "other");
}

static void note_words(const struct session *s, struct turn_tool_call *c, struct slice update)
{
	struct jval name = jobj_get(update, "name");
	_cleanup_(freep) char *said = NULL;

	if (jstr_decode(name.type == J_STRING ? name : jobj_get(update, "title"), SAID_MAX,
			&said) == 0)
		c->served = mcp_servers_named(s, said);
	c->unnamed = !c->served && name.type != J_STRING && is_any_kind(update);
}

/* The call that this announcement is about, if it came here first. */
static struct served_call *find_passed(const struct session *s, const struct turn_tool_call *of)
{
	list_each(c, (struct list *)&budget_of(s)->served, struct served_call, link)
		if (c->awaited && (of->served ? strcmp(c->awaited, of->served) == 0 : of->unnamed))
			return c;
	return NULL;
}

/* The announcement of a call that arrives here: one that names the tool, or else the first that could be any. */
static struct turn_tool_call *find_announced(const struct session *s, const char *name)
{
	struct turn_tool_call *any = NULL;

	list_each(c, (struct list *)&s->turn.calls, struct turn_tool_call, link) {
		if (!c->open || c->met || c->budget == BUDGET_NONE)
			continue;
		if (c->served && strcmp(c->served, name) == 0)
			return c;
		if (c->unnamed && !any)
			any = c;
	}
	return any;
}

/* One that no turn has is the session's, at once. Of those beyond a budget, which do not run, one counts: the turn ends
 * by it. */
static void count_tool_call(struct session *s, struct session_turn *t)
{
	if (!turn_budget_keeps_calls(s))
		return;
	if (t) {
		t->account.tool_calls++;
	} else {
		s->turn.totals.spent.used[BUDGET_TOOL_CALLS]++;
		turn_totals_note(s, s->turn.last_counted);
	}
}

/* --- announced ------------------------------------------------------------------------------------------------------ */

static bool is_held(const struct session *s, const struct turn_tool_call *c, enum call_source word)
{
	return c->served || word == CALL_FROM_PERMISSION ||
	       (s->def->ops->limit_holds && !s->turn.current->outside);
}

void served_calls_announced(struct session *s, struct turn_tool_call *c, struct slice update,
			    enum call_source word)
{
	struct session_turn *t = s->turn.current;
	struct served_call *passed;

	if (!t || word == CALL_COUNTED)
		return;
	if (turn_budget_calls_left(s, NULL) < 0) { /* there is no limit */
		t->account.tool_calls++;
		return;
	}
	note_words(s, c, update);
	passed = find_passed(s, c);
	/* It was counted, and held back if it had to be, when it passed. */
	if (passed) {
		c->met = true;
		c->budget = passed->beyond ? BUDGET_OVER : BUDGET_WITHIN;
		xstrset(&passed->awaited, NULL);
		served_let_go(passed);
		return;
	}
	count_tool_call(s, t);
	c->budget = turn_budget_keeps_calls(s) ? BUDGET_WITHIN : BUDGET_OVER;
	/* Nothing holds it back: then the turn is stopped at once, without waiting for calls within the budget. */
	turn_budget_of(t)->unheld |= c->budget == BUDGET_OVER && !is_held(s, c, word);
}

bool has_served_calls(const struct session *s)
{
	list_each(c, (struct list *)&s->turn.calls, struct turn_tool_call, link)
		if (c->open && c->budget == BUDGET_WITHIN)
			return true;
	list_each(c, (struct list *)&budget_of(s)->served, struct served_call, link)
		if (c->turn && !c->over)
			return true;
	return false;
}

/* --- passing ---------------------------------------------------------------------------------------------------------- */

/* A call too many of the harness counts as one that was announced does; its announcement may follow. */
static void served_refuse(struct session *s, struct session_turn *t, const char *name)
{
	struct served_call *c;

	if (!t)
		return;
	c = served_new(s, t);
	c->over = c->beyond = true;
	served_await(c, name);
	served_let_go(c);
	count_tool_call(s, t);
	turn_budget_refused(s);
}

/* A client's call over /mcp: the harness does not know of it, so no announcement follows. */
static struct served_call *begin_outside(struct session *s, struct session_turn *t)
{
	count_tool_call(s, t);
	turn_budget_warn(s);
	if (t)
		t->outside = true;
	return served_new(s, NULL);
}

static struct served_call *begin_own(struct session *s, struct session_turn *t, const char *name)
{
	struct served_call *c = served_new(s, t);

	count_tool_call(s, t);
	turn_budget_warn(s);
	if (t)
		served_await(c, name);
	return c;
}

/* One that has been announced was counted then. NULL: it is one too many. */
static struct served_call *begin_announced(struct session *s, struct turn_tool_call *c)
{
	c->met = true;
	if (c->budget == BUDGET_OVER)
		turn_budget_refused(s);
	return c->budget == BUDGET_OVER ? NULL : served_new(s, s->turn.current);
}

struct served_call *served_call_begin(struct session *s, const char *server, const char *tool,
				      bool outside, uint64_t *limit)
{
	struct session_turn *t = s->turn.current;
	_cleanup_(freep) char *name = NULL;
	struct turn_tool_call *announced;
	struct budget_stop least;
	int64_t left = turn_budget_calls_left(s, &least);

	if (left < 0)
		return served_new(s, NULL);
	/* least is set only if some budget limits tool calls. */
	*limit = least.limit;
	if (outside)
		return left > 0 ? begin_outside(s, t) : NULL;
	name = xprintf("%s/%s", server, tool);
	announced = t ? find_announced(s, name) : NULL;
	if (announced)
		return begin_announced(s, announced);
	if (left > 0)
		return begin_own(s, t, name);
	served_refuse(s, t, name);
	return NULL;
}

void served_call_end(struct served_call *c)
{
	struct session *s = c->session;

	c->over = true;
	served_let_go(c);
	turn_budget_call_ended(s);
}
