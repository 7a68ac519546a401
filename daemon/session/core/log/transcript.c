/*
 * transcript.c - converts one entry of the event log into the public event format. Pure.
 *
 * The frames were written by emit.c or checked by bundle_events.c, but their data is a harness's. A
 * data member with the name of an envelope member is renamed, so a harness cannot forge seq,
 * sessionId or final. Each entry yields exactly one event, even an unreadable one: a missing number
 * would mean a lost event.
 */
#include "session/core/log/transcript.h"

#include "base/clock.h"
#include "json/json.h"
#include "session/core/log/event_table.h"
#include "session/core/harness/session_labels.h"

/* The parts of a frame, as session/core/log/emit.c wrote it. */
enum { P_UPDATE, P_EVENT, P_TURN, P_META, P_COUNT };

/* Members of _meta.acpd that an event has, if its frame has them. */
enum { A_TURN, A_STOP_DETAIL, A_CHECKS, A_ATTEMPT, A_REQUEST, A_UNMEASURED, A_LABELS };
/* What emit.c writes at the end of a turn, and into tool_called. */
#define LABEL_NAME(id, name, ...) name,
static const char *const labels[] = { SESSION_LABELS(LABEL_NAME) "sandboxId" };

struct frame_parts {
	struct slice params, update, event, turn, traceparent, stop_detail, checks, attempt,
		request, unmeasured, label[ARRAY_SIZE(labels)];
};

static struct slice json_object_or_none(struct jval v)
{
	return v.type == J_OBJECT ? v.raw : SLICE_NONE;
}

static bool take_parts(struct slice frame, struct frame_parts *p)
{
	struct jslot acpd[A_LABELS + ARRAY_SIZE(labels)] = {
		[A_TURN] = { .key = "turn" },
		[A_STOP_DETAIL] = { .key = "stopDetail" },
		[A_CHECKS] = { .key = "checks" },
		[A_ATTEMPT] = { .key = "attempt" },
		[A_REQUEST] = { .key = "clientRequestId" },
		[A_UNMEASURED] = { .key = "unmeasured" },
	};
	struct jslot meta[] = { { .key = "acpd", .sub = acpd, .nsub = ARRAY_SIZE(acpd) },
				{ .key = "traceparent" } };
	struct jslot params[P_COUNT] = {
		[P_UPDATE] = { .key = "update" },
		[P_EVENT] = { .key = "event" },
		[P_TURN] = { .key = "turn" },
		[P_META] = { .key = "_meta", .sub = meta, .nsub = ARRAY_SIZE(meta) }
	};
	struct jslot top[] = { { .key = "params", .sub = params, .nsub = P_COUNT } };

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		acpd[A_LABELS + i].key = labels[i];
	*p = (struct frame_parts){ 0 };
	if (jscan_object(frame, top, ARRAY_SIZE(top)) != JSCAN_OK || top[0].v.type != J_OBJECT)
		return false;
	p->params = top[0].v.raw;
	p->update = json_object_or_none(params[P_UPDATE].v);
	p->event = json_object_or_none(params[P_EVENT].v);
	/* The end of a turn has its number in params; other events have it in _meta.acpd. */
	p->turn = params[P_TURN].v.type == J_NUMBER ? params[P_TURN].v.raw : acpd[A_TURN].v.raw;
	p->stop_detail = acpd[A_STOP_DETAIL].v.raw;
	p->checks = acpd[A_CHECKS].v.raw;
	p->attempt = acpd[A_ATTEMPT].v.raw;
	p->request = acpd[A_REQUEST].v.raw;
	p->unmeasured = acpd[A_UNMEASURED].v.raw;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		p->label[i] = acpd[A_LABELS + i].v.raw;
	if (meta[1].v.type == J_STRING)
		p->traceparent = meta[1].v.raw;
	return true;
}

/* --- which kind ------------------------------------------------------------------------------------ */

struct event_form {
	const char *kind; /* NULL: lifecycle */
	bool event;	  /* the kind covers several updates: say which */
};

static const struct event_form forms[UPDATE_MAX] = {
	[UPDATE_USER_CHUNK] = { "prompt", false },
	[UPDATE_AGENT_CHUNK] = { "message", false },
	[UPDATE_THOUGHT_CHUNK] = { "thought", false },
	[UPDATE_TOOL_CALL] = { "tool_call", true },
	[UPDATE_TOOL_CALL_UPDATE] = { "tool_call", true },
	[UPDATE_PLAN] = { "plan", true },
	[UPDATE_PLAN_UPDATE] = { "plan", true },
	[UPDATE_PLAN_REMOVED] = { "plan", true },
	[UPDATE_USAGE] = { "usage", true },
	[UPDATE_SESSION_MESSAGE] = { "message", true },
	[UPDATE_SESSION_MESSAGE_CHUNK] = { "message", true },
	[UPDATE_COMMANDS] = { NULL, true },
	[UPDATE_MODE] = { NULL, true },
	[UPDATE_CONFIG] = { NULL, true },
	[UPDATE_INFO] = { NULL, true },
	[UPDATE_NOTICE] = { NULL, true },
	[UPDATE_COMPACTION] = { NULL, true },
	[UPDATE_COMPACTION_CHUNK] = { NULL, true },
	[UPDATE_SUBAGENT] = { NULL, true },
};

static const char *transcript_kind(unsigned kind, struct slice update)
{
	struct jval v;

	if (kind == UPDATE_TOOL_CALL || kind == UPDATE_TOOL_CALL_UPDATE) {
		v = jobj_get(update, "status");
		if (jstr_is(v, "completed") || jstr_is(v, "failed"))
			return "result";
	}
	if (kind == UPDATE_NOTICE && jstr_is(jobj_get(update, "severity"), "error"))
		return "error";
	return kind < UPDATE_MAX && forms[kind].kind ? forms[kind].kind : "lifecycle";
}

/* --- members ----------------------------------------------------------------------------------------- */

#define LABEL_TAKEN(id, name, attribute, instead, ...) { name, instead },
/* Names of ours, and what a member of the data is called instead. */
static const struct {
	const char *name, *instead;
} taken[] = {
	{ "kind", "toolKind" },
	{ "seq", "updateSeq" },
	{ "ts", "updateTs" },
	{ "sessionId", "updateSessionId" },
	{ "turnId", "updateTurnId" },
	{ "traceparent", "updateTraceparent" },
	{ "event", "updateEvent" },
	{ "final", "updateFinal" },
	{ "clientRequestId", "updateClientRequestId" },
	SESSION_LABELS(LABEL_TAKEN){ "sandboxId", "updateSandboxId" },
};

static void put_member(struct jw *w, struct slice key, struct slice value)
{
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		if (!jkey_is(key, taken[i].name))
			continue;
		jw_raw(w, taken[i].instead, value);
		return;
	}
	jw_member_raw(w, key, value);
}

static bool named(struct slice key, const char *const *names)
{
	for (; *names; names++)
		if (jkey_is(key, *names))
			return true;
	return false;
}

static void put_members(struct jw *w, struct slice object, const char *const *skip)
{
	jobj_each(key, v, object)
		if (!named(key, skip))
			put_member(w, key, v.raw);
}

static void put_update(struct jw *w, unsigned kind, struct slice update)
{
	static const char *const skip[] = { "sessionUpdate", NULL };

	jw_str(w, "kind", transcript_kind(kind, update));
	if (kind >= UPDATE_MAX || forms[kind].event)
		jw_raw(w, "event", jobj_get(update, "sessionUpdate").raw);
	/* `kind`, and `event` where a kind covers several updates, replace sessionUpdate. */
	put_members(w, update, skip);
}

static void put_turn_end(struct jw *w, const struct frame_parts *p)
{
	/* The envelope of the event has these, or they are taken from _meta below. */
	static const char *const skip[] = { "sessionId", "seq", "turn", "_meta", NULL };

	jw_str(w, "kind", jobj_get(p->params, "error").type == J_NONE ? "complete" : "error");
	jw_bool(w, "final", true);
	put_members(w, p->params, skip);
	jw_raw(w, "stopDetail", p->stop_detail);
	jw_raw(w, "unmeasured", p->unmeasured);
	jw_raw(w, "checks", p->checks);
}

/* An event of our own brings its kind along, and may name itself. */
static void put_own(struct jw *w, struct slice event)
{
	static const char *const skip[] = { "kind", "event", NULL };
	struct jval kind = jobj_get(event, "kind");

	if (kind.type == J_STRING)
		jw_raw(w, "kind", kind.raw);
	else
		jw_str(w, "kind", "lifecycle");
	jw_raw(w, "event", jobj_get(event, "event").raw);
	put_members(w, event, skip);
}

static void transcript_put_data(struct jw *w, unsigned kind, const struct frame_parts *p)
{
	if (kind == EVENT_TURN_END)
		put_turn_end(w, p);
	else if (p->event.n)
		put_own(w, p->event);
	else
		put_update(w, kind, p->update);
}

/* CR and LF can only be white space between tokens; as blanks they break no line. */
static void flatten(struct buf *b, size_t from)
{
	char *p = b->data + b->pos;

	for (size_t i = from; i < buf_len(b); i++)
		if (p[i] == '\n' || p[i] == '\r')
			p[i] = ' ';
}

static void transcript_begin(struct jw *w, uint64_t seq, uint64_t time_ms, const char *session_id)
{
	jw_obj(w, NULL);
	if (seq)
		jw_uint(w, "seq", seq);
	jw_str(w, "ts", CLOCK_ISO(time_ms));
	jw_str(w, "sessionId", session_id);
}

int transcript_put(struct buf *b, const char *session_id, const struct evlog_entry *e)
{
	size_t start = buf_len(b);
	struct jw w = JW(b);
	struct frame_parts p;
	bool readable = take_parts(e->frame, &p);

	transcript_begin(&w, e->seq, e->time_ms, session_id);
	jw_raw(&w, "turnId", p.turn);
	jw_raw(&w, "traceparent", p.traceparent);
	jw_raw(&w, "clientRequestId", p.request);
	jw_raw(&w, "attempt", p.attempt);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		jw_raw(&w, labels[i], p.label[i]);
	if (readable) {
		transcript_put_data(&w, e->kind, &p);
	} else { /* a number without an event would look like a loss */
		jw_str(&w, "kind", "lifecycle");
		jw_str(&w, "event", "unreadable");
	}
	jw_end_obj(&w);
	flatten(b, start);
	return b->failed ? -E2BIG : 0;
}

static struct jw begin_lifecycle(struct buf *b, const char *session_id, const char *event)
{
	struct jw w = JW(b);

	transcript_begin(&w, 0, clock_real_ms(), session_id);
	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", event);
	return w;
}

int transcript_put_gap(struct buf *b, const char *session_id, const struct evlog_gap *g)
{
	struct jw w = begin_lifecycle(b, session_id, "gap");

	jw_uint(&w, "from", g->from);
	jw_uint(&w, "to", g->to);
	jw_str(&w, "reason", g->reason);
	jw_end_obj(&w);
	return b->failed ? -E2BIG : 0;
}

int transcript_put_deleted(struct buf *b, const char *session_id)
{
	struct jw w = begin_lifecycle(b, session_id, "deleted");

	jw_end_obj(&w);
	return b->failed ? -E2BIG : 0;
}
