/* talk_held.c - calls that may be to tools of the front end: held back until such a call comes, or cannot any more. */
#include "agui/agui_talk_internal.h"

#include "base/limits.h"

void agui_call_release(struct agui_talk *t, struct agui_call *c)
{
	_cleanup_(freep) char *args = t->history ? NULL : TAKE_PTR(c->args);

	if (!c->held)
		return;
	c->held = false;
	agui_said_done(&c->said);
	if (!t->history)
		agui_call_show(t, c, slice_of(args));
}

void agui_call_note(struct agui_talk *t, struct agui_call *c, struct slice args)
{
	if (!args.n)
		return;
	c->said.args = agui_args_digest(args);
	free(c->args);
	c->args = xstrndup(args.p, args.n);
	if (args.n > AGUI_HELD_ARGS_MAX)
		agui_call_release(t, c);
}

bool agui_calls_may_hold(const struct agui_talk *t)
{
	unsigned held = 0;

	list_each(c, (struct list *)&t->calls.list, struct agui_call, link)
		held += c->held;
	return held < AGUI_HELD_MAX;
}

void agui_talk_release(struct agui_talk *t)
{
	list_each(c, &t->calls.list, struct agui_call, link)
		agui_call_release(t, c);
}

static struct agui_call *find_fit(const struct agui_talk *t, const char *tool, uint64_t args)
{
	struct agui_call *named = NULL;

	list_each(c, (struct list *)&t->calls.list, struct agui_call, link) {
		enum agui_fit fit = c->held ? agui_said_fits(&c->said, tool, args) : FIT_NONE;

		if (fit == FIT_WHOLE)
			return c;
		if (fit == FIT_NAME && !named)
			named = c;
	}
	return named;
}

char *agui_talk_claim(struct agui_talk *t, const char *tool, uint64_t args)
{
	struct agui_call *c = find_fit(t, tool, args);

	if (!c)
		return NULL;
	c->held = false;
	c->hidden = true;
	agui_said_done(&c->said);
	return xstrdup(c->harness_id);
}
