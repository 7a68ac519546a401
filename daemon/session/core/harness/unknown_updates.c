/*
 * unknown_updates.c - reports harness updates of unknown kinds as lifecycle events, bounded per
 * turn.
 *
 * A harness can send any number of updates of any size and depth. The event nests the update deeper
 * than the message did (LEVELS_ABOVE), so its depth is compared with JSON_DEPTH_MAX before it is
 * embedded. An update that does not fit is described by its name and size.
 */
#include "session/core/harness/unknown_updates.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "session/core/session_internal.h"

/* An event holds an update one level deeper than the harness's message did. */
#define LEVELS_ABOVE 3

static struct jw begin_event(struct buf *b)
{
	struct jw w = JW(b);

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "update_unknown");
	return w;
}

/* The deepest nesting of valid JSON. */
static unsigned depth_of(struct slice json)
{
	unsigned depth = 0, most = 0;
	bool text = false;

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

static bool fits(struct slice update)
{
	return update.n <= UNKNOWN_UPDATE_MAX && depth_of(update) + LEVELS_ABOVE <= JSON_DEPTH_MAX;
}

static void describe(struct jw *w, struct slice update)
{
	_cleanup_(freep) char *name = NULL;

	if (jstr_decode(jobj_get(update, "sessionUpdate"), METHOD_NAME_MAX, &name) == 0)
		jw_str(w, "sessionUpdate", name);
	jw_uint(w, "bytes", update.n);
}

static void tell(struct session *s, struct slice update)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = begin_event(&b);

	if (fits(update))
		jw_raw(&w, "update", update);
	else
		describe(&w, update);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

void unknown_updates_take(struct session *s, struct slice update)
{
	struct unknown_updates *u = &s->harness.unknown;

	s->store->totals.unknown++;
	harness_log_odd(s, "harness update unknown", update);
	if (u->told == UNKNOWN_UPDATES_MAX) {
		u->more++;
		return;
	}
	u->told++;
	tell(s, update);
}

void unknown_updates_tell_more(struct session *s)
{
	struct unknown_updates *u = &s->harness.unknown;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = begin_event(&b);

	if (u->more) {
		jw_uint(&w, "more", u->more);
		event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
	}
	*u = (struct unknown_updates){ 0 };
}
