/*
 * unknown_updates.c - updates of a harness whose kind is not in ACP as acpd knows it.
 *
 * Such an update becomes an event
 *
 *	{kind: "lifecycle", event: "update_unknown", update}
 *
 * and not a session/update, because clients may validate these by their own schema. A harness can send
 * any number of them, of any size and depth. One above UNKNOWN_UPDATE_MAX is described instead: {...,
 * sessionUpdate?, bytes}. Above UNKNOWN_UPDATES_MAX in a turn, or between two turns, they are counted, and
 * the last event of this kind is {..., more}.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "json/json.h"

/* The event nests the update deeper than the harness's message did. */
#define LEVELS_ABOVE 3

static struct jw unknown_begin_event(struct buf *b)
{
	struct jw w = JW(b);

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "update_unknown");
	return w;
}

/* The deepest nesting of valid JSON. */
static unsigned unknown_depth(struct slice json)
{
	unsigned depth = 0, most = 0;
	bool text = false;

	/* A loop, not recursion: the depth is chosen by the harness. */
	for (size_t i = 0; i < json.n; i++) {
		char c = json.p[i];

		if (text && c == '\\')
			i++;
		else if (c == '"')
			text = !text;
		else if (!text && (c == '{' || c == '['))
			depth++;
		else if (!text && (c == '}' || c == ']'))
			depth--;
		most = MAX(most, depth);
	}
	return most;
}

static bool unknown_fits(struct slice update)
{
	return update.n <= UNKNOWN_UPDATE_MAX &&
	       unknown_depth(update) + LEVELS_ABOVE <= JSON_DEPTH_MAX;
}

static void unknown_describe(struct jw *w, struct slice update)
{
	_cleanup_(freep) char *name = NULL;

	if (jstr_decode(jobj_get(update, "sessionUpdate"), METHOD_NAME_MAX, &name) == 0)
		jw_str(w, "sessionUpdate", name);
	jw_uint(w, "bytes", update.n);
}

static void unknown_tell(struct session *s, struct slice update)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = unknown_begin_event(&b);

	if (unknown_fits(update))
		jw_raw(&w, "update", update);
	else
		unknown_describe(&w, update);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

void unknown_update_tell(struct session *s, struct slice update)
{
	struct unknown_updates *u = &s->turn.unknown;

	s->store->totals.unknown++;
	if (u->told == UNKNOWN_UPDATES_MAX) {
		u->more++;
		return;
	}
	u->told++;
	unknown_tell(s, update);
}

void unknown_updates_tell_more(struct session *s)
{
	struct unknown_updates *u = &s->turn.unknown;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = unknown_begin_event(&b);

	if (u->more) {
		jw_uint(&w, "more", u->more);
		event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
	}
	*u = (struct unknown_updates){ 0 };
}
