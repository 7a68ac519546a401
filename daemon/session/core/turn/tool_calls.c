/* tool_calls.c - the tool calls of a turn: which are open, how long they took; every one is announced and every one
 * ends. */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"
#include "session/core/session_part.h"

struct turn_tool_call *tool_call_find(const struct session *s, struct slice id)
{
	/* the newest are the likeliest */
	for (const struct list *at = s->turn.calls.prev; at != &s->turn.calls; at = at->prev) {
		struct turn_tool_call *c = list_entry(at, struct turn_tool_call, link);

		if (slice_is(id, c->id))
			return c;
	}
	return NULL;
}

static void tool_call_free(struct session *s, struct turn_tool_call *c)
{
	list_del(&c->link);
	s->turn.ncalls--;
	free_each(c->id, c->ours, c->name, c->kind, c->locations, c->input, c->served, c);
}

/* now: monotonic, or of the journal that is read. */
static struct turn_tool_call *call_add(struct session *s, struct slice id, uint64_t now)
{
	struct turn_tool_call *c;

	/* The limit is on memory that a harness controls. The oldest call is forgotten even if it is open. */
	if (s->turn.ncalls >= SESSION_CALLS_MAX)
		tool_call_free(s, list_first(&s->turn.calls, struct turn_tool_call, link));
	c = new0(struct turn_tool_call);
	c->id = xstrndup(id.p, id.n);
	c->open = true;
	c->since = now;
	PARTS_CALL(tool_call_begin, s, c);
	list_add_tail(&s->turn.calls, &c->link);
	s->turn.ncalls++;
	return c;
}

static void call_ended(struct session *s, struct turn_tool_call *c, bool ok, uint64_t now)
{
	uint64_t ms = now > c->since ? now - c->since : 0;

	c->open = false;
	PARTS_CALL(tool_call_end, s, c, ok, ms);
	if (s->turn.current)
		account_tool(&s->turn.current->account, c->name ? c->name : "other", ok, ms);
}

static void emit_call_failed(struct session *s, const struct turn_tool_call *c)
{
	JW_BUF(w, b);

	jw_object(&w, NULL, JW_STR("sessionUpdate", "tool_call_update"),
		  JW_RAW("toolCallId", slice_of(c->ours ? c->ours : c->id)),
		  JW_STR("status", "failed"));
	event_emit(s, UPDATE_TOOL_CALL_UPDATE, buf_slice(&b));
}

static void message_free(struct session *s, struct turn_message *m)
{
	list_del(&m->link);
	s->turn.nmessages--;
	free_each(m->id, m->ours, m);
}

struct slice turn_message_id(struct session *s, struct slice id)
{
	struct turn_message *m;

	/* almost always the newest */
	for (struct list *at = s->turn.messages.prev; at != &s->turn.messages; at = at->prev) {
		m = list_entry(at, struct turn_message, link);
		if (slice_is(id, m->id))
			return slice_of(m->ours);
	}
	if (s->turn.nmessages >= SESSION_CALLS_MAX)
		message_free(s, list_first(&s->turn.messages, struct turn_message, link));
	m = new0(struct turn_message);
	m->id = xstrndup(id.p, id.n);
	/* NULL if the id is new: then clients get it unchanged. */
	m->ours = client_ids_unique(&s->turn.ids, ID_MESSAGE, id, session_running(s));
	list_add_tail(&s->turn.messages, &m->link);
	s->turn.nmessages++;
	return slice_of(m->ours);
}

void tool_calls_close(struct session *s, uint64_t now)
{
	list_drain(c, &s->turn.calls, struct turn_tool_call, link) {
		/* ACP clients show a call as running until it gets a final status. */
		if (c->open && s->turn.current) {
			call_ended(s, c, false, now);
			emit_call_failed(s, c);
		}
		tool_call_free(s, c);
	}
	while (!list_empty(&s->turn.messages))
		message_free(s, list_first(&s->turn.messages, struct turn_message, link));
	PARTS_CALL(tool_calls_left, s);
}

void tool_calls_forget(struct session *s)
{
	while (!list_empty(&s->turn.calls))
		tool_call_free(s, list_first(&s->turn.calls, struct turn_tool_call, link));
	PARTS_CALL(tool_calls_left, s);
}

/* What an update of a call has, found in one pass: an update may be as long as a line of the harness. */
enum { CALL_STATUS, CALL_NAME, CALL_KIND, CALL_TITLE, CALL_LOCATIONS, CALL_INPUT, CALL_MEMBERS };

struct call_update {
	struct jslot m[CALL_MEMBERS];
};

static struct call_update read_update(struct slice update)
{
	struct call_update u = { .m = { [CALL_STATUS] = { JSLOT("status") },
					[CALL_NAME] = { JSLOT("name") },
					[CALL_KIND] = { JSLOT("kind") },
					[CALL_TITLE] = { JSLOT("title") },
					[CALL_LOCATIONS] = { JSLOT("locations") },
					[CALL_INPUT] = { JSLOT("rawInput") } } };

	jscan_object(update, u.m, CALL_MEMBERS);
	return u;
}

/* Some agents' first word on a call is an update or a permission request: make the missing announcement. */
static void emit_announcement(struct session *s, const struct call_update *u, struct slice id)
{
	struct jval title = u->m[CALL_TITLE].v, kind = u->m[CALL_KIND].v;
	JW_BUF(w, b);

	jw_object(&w, NULL, JW_STR("sessionUpdate", "tool_call"), JW_RAW("toolCallId", id),
		  JW_RAW("title", title.type == J_STRING ? title.raw : id),
		  JW_RAW("kind", kind.type == J_STRING ? kind.raw : SLICE_NONE),
		  JW_STR("status", "pending"));
	event_emit(s, UPDATE_TOOL_CALL, buf_slice(&b));
}

struct slice tool_call_id(struct session *s, struct slice id)
{
	const struct turn_tool_call *c = tool_call_find(s, id);

	return c ? slice_of(c->ours) : SLICE_NONE;
}

static struct turn_tool_call *call_begin(struct session *s, struct slice call, struct slice id,
					 enum call_source word)
{
	struct turn_tool_call *c = call_add(s, id, clock_mono_ms());

	/* Providers may use an id again in a later turn. Clients see each id once in a session. */
	c->ours = client_ids_unique(&s->turn.ids, ID_CALL, id, session_running(s));
	PARTS_CALL(tool_call_announced, s, c, call, word);
	return c;
}

static struct turn_tool_call *call_announced(struct session *s, struct slice call, struct slice id,
					     const struct call_update *u, enum call_source word)
{
	struct turn_tool_call *c = tool_call_find(s, id);

	if (c)
		return c;
	c = call_begin(s, call, id, word);
	emit_announcement(s, u, slice_of(c->ours ? c->ours : c->id));
	return c;
}

struct slice tool_call_announce(struct session *s, struct slice call, enum call_source word)
{
	struct call_update u = read_update(call);

	return slice_of(call_announced(s, call, jobj_get(call, "toolCallId").raw, &u, word)->ours);
}

static void keep_raw(char **slot, struct jval v)
{
	if (v.type == J_NONE)
		return;
	free(*slot);
	*slot = v.raw.n <= CALL_KEPT_MAX ? xstrndup(v.raw.p, v.raw.n) : NULL;
}

/* For rules: a request need not say again what it is about. */
static void note_input(struct turn_tool_call *c, const struct call_update *u)
{
	struct jval kind = u->m[CALL_KIND].v, locations = u->m[CALL_LOCATIONS].v;

	if (kind.type == J_STRING) {
		free(c->kind);
		c->kind = NULL;
		jstr_decode(kind, 64, &c->kind);
	}
	if (locations.type == J_ARRAY)
		keep_raw(&c->locations, locations);
	keep_raw(&c->input, u->m[CALL_INPUT].v);
}

bool tool_call_is_beyond(const struct session *s, struct slice id)
{
	list_each(c, (struct list *)&s->turn.calls, struct turn_tool_call, link)
		if (slice_is(id, c->ours ? c->ours : c->id))
			return c->budget == BUDGET_OVER;
	return false;
}

/* The tool's name where the harness gives it, else the kind of tool. */
static void note_name(struct turn_tool_call *c, const struct call_update *u)
{
	struct jval name = u->m[CALL_NAME].v, kind = u->m[CALL_KIND].v;

	c->named = c->named || name.type == J_STRING;
	if (name.type != J_STRING && (c->name || kind.type != J_STRING))
		return;
	free(c->name);
	c->name = NULL;
	jstr_decode(name.type == J_STRING ? name : kind, 4096, &c->name);
}

static bool is_end(struct jval status)
{
	return jstr_is(status, "completed") || jstr_is(status, "failed");
}

static void note_status(struct session *s, struct turn_tool_call *c, struct jval status,
			uint64_t now)
{
	bool ended = is_end(status);

	if (status.type != J_STRING)
		return;
	if (ended && c->open) {
		call_ended(s, c, jstr_is(status, "completed"), now);
		PARTS_CALL(watch, s);
	}
	c->open = !ended;
	/* Only the rules for a request need them, and a call that has ended requests nothing. */
	if (ended) {
		xstrset(&c->locations, NULL);
		xstrset(&c->input, NULL);
	}
}

struct slice tool_call_track(struct session *s, const struct harness_event *ev, struct slice id)
{
	struct call_update u = read_update(ev->update);
	struct jval status = u.m[CALL_STATUS].v;
	struct turn_tool_call *c;

	uint64_t now = clock_mono_ms();

	if (ev->kind == UPDATE_TOOL_CALL_UPDATE)
		call_announced(s, ev->update, id, &u, CALL_FROM_UPDATE);
	c = tool_call_find(s, id);
	/* one that is over does not begin again: another call, whose provider counts anew */
	if (!c || (ev->kind == UPDATE_TOOL_CALL && !c->open && !is_end(status)))
		c = call_begin(s, ev->update, id, CALL_FROM_UPDATE);
	note_name(c, &u);
	if (!is_end(status))
		note_input(c, &u);
	/* Before note_status, which closes the call: a part counts each reported end once. */
	if (c->open && is_end(status))
		PARTS_CALL(tool_call_reported, s, jstr_is(status, "completed"));
	note_status(s, c, status, now);
	return slice_of(c->ours);
}

/* Its id there is the client's already. */
void tool_call_recall(struct session *s, struct slice update, uint64_t time_ms)
{
	struct jslot f[] = { { .key = "toolCallId" } };
	struct call_update u = read_update(update);
	struct turn_tool_call *c;

	if (jscan_object(update, f, ARRAY_SIZE(f)) != JSCAN_OK || f[0].v.type != J_STRING)
		return;
	c = tool_call_find(s, f[0].v.raw);
	if (!c) {
		c = call_add(s, f[0].v.raw, time_ms);
		if (s->turn.current)
			s->turn.current->account.tool_calls++;
	}
	note_name(c, &u);
	note_status(s, c, u.m[CALL_STATUS].v, time_ms);
}
