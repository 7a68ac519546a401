/* harness_event.c - what a harness reports of a turn: checked, named with our ids, put into the log, held against the
 * budgets. */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/format/utf8.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "session/core/session_states.h"
#include "session/core/turn/absolute_paths.h"
#include "session/core/redact/redact_internal.h"
#include "session/core/session_part.h"

#include <string.h>

/* It is cut after its secrets are hidden: of half of one nothing would be found. */
static void set_title(struct session *s, struct jval v)
{
	char *title = NULL;

	if (jstr_decode_shown(v, v.raw.n, &title) < 0)
		return;
	session_mask_string(s, &title);
	title[utf8_fitting(slice_of(title), SESSION_TITLE_MAX)] = '\0';
	free(s->title);
	s->title = title;
}

static void put_with_id(struct buf *b, struct slice update, const char *key, struct slice id)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_members(&w, update, key);
	jw_raw(&w, key, id);
	jw_end_obj(&w);
}

static void emit_tool_call(struct session *s, const struct harness_event *ev, struct slice id)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice ours = tool_call_track(s, ev, id);
	struct harness_event absolute = *ev;

	if (absolute_paths_put(ev->update, session_workdir(s), &b))
		absolute.update = buf_slice(&b);
	event_emit_named(s, &absolute, "toolCallId", ours);
}

/* id: of the message, if it has one. */
static void emit_chunk(struct session *s, const struct harness_event *ev, struct jval id)
{
	struct slice ours = id.type == J_STRING ? turn_message_id(s, id.raw) : SLICE_NONE;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct harness_event named = *ev;

	if (!masked_stream_wants(s, ev)) {
		event_emit_named(s, ev, "messageId", ours);
		return;
	}
	if (ours.n) {
		put_with_id(&b, ev->update, "messageId", ours);
		named.update = buf_slice(&b);
	}
	masked_stream_add(s, &named);
}

/* Updates that change what a later load reports. */
static void note_state(struct session *s, const struct harness_event *ev)
{
	struct jval v;

	if (ev->kind == UPDATE_CONFIG) {
		settings_config_changed(s, jobj_get(ev->update, "configOptions").raw);
	} else if (ev->kind == UPDATE_MODE) {
		settings_store_mode(s, jobj_get(ev->update, "currentModeId").raw);
	} else if (ev->kind == UPDATE_INFO) {
		v = jobj_get(ev->update, "title");
		if (v.type == J_NULL)
			xstrset(&s->title, NULL);
		else if (v.type == J_STRING)
			set_title(s, v);
	}
}

/* What comes of it goes to clients, who may drop all of a message in which one value does not fit. */
static bool check_update(struct session *s, struct harness_event *ev, struct buf *mended,
			 struct jval *id)
{
	enum harness_check r = CHECK_FITS;

	if (ev->fits)
		*id = ev->id;
	else
		r = harness_update_check(ev->kind, ev->update, mended, id);
	if (r == CHECK_FITS)
		return true;
	s->store->totals.mended += r == CHECK_MENDED;
	s->store->totals.refused += r == CHECK_REFUSED;
	log_debug("session",
		  r == CHECK_MENDED ? "update of the harness mended" :
				      "update of the harness refused",
		  "session", s->id, "kind", harness_update_name(ev->kind));
	ev->update = buf_slice(mended);
	return r == CHECK_MENDED;
}

static void emit_update(struct session *s, const struct harness_event *ev, struct jval id)
{
	if (ev->kind == UPDATE_TOOL_CALL || ev->kind == UPDATE_TOOL_CALL_UPDATE)
		emit_tool_call(s, ev, id.raw);
	else
		emit_chunk(s, ev, id);
}

/* A turn of which something cannot be kept fails, and its harness is stopped. */
static void check_journal(struct session *s)
{
	if (s->log.events.error && s->turn.current && s->turn.current->state == TURN_RUNNING) {
		turn_fail(s, "resource", true, "the session's journal cannot be written: %s",
			  strerror(-s->log.events.error));
		if (s->harness.proc && s->harness.state == H_READY) {
			harness_set_state(s, H_STOPPING);
			proc_kill(s->harness.proc);
		}
	}
}

/* A list that is sent whole each time, and again to each client that comes: a long one is refused as it enters. */
static bool refuse_beyond(struct session *s, const struct harness_event *ev)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	const char *name = harness_update_name(ev->kind);
	struct jw w = JW(&b);

	if (!harness_update_is_beyond(ev->kind, ev->update.n))
		return false;
	s->store->totals.refused++;
	log_warn("session", "update too large", "session", s->id, "kind", name);
	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "update_refused");
	jw_str(&w, "update", name);
	jw_uint(&w, "bytes", ev->update.n);
	jw_uint(&w, "limitBytes", UPDATE_LIST_MAX);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
	return true;
}

void harness_event_take(struct session *s, const struct harness_event *given)
{
	const struct event_kind_row *row = event_kind_row(given->kind);
	struct session_turn *t = turn_in_harness(s);
	_cleanup_(buf_done) struct buf mended = { 0 };
	struct harness_event checked = *given, *ev = &checked;
	struct jval id;

	if ((row->flags & EVENT_F_NEVER) || ((row->flags & EVENT_F_TURN) && !t)) {
		s->store->totals.dropped++;
		return;
	}
	if (refuse_beyond(s, ev)) {
		if (t && (row->flags & EVENT_F_TURN)) /* the harness has answered, if too much */
			turn_output(t);
		return;
	}
	if (!check_update(s, ev, &mended, &id))
		return;
	if (t && (row->flags & EVENT_F_TURN)) {
		turn_output(t);
		PARTS_CALL(output, t, ev->kind, ev->update);
	}
	note_state(s, ev);
	emit_update(s, ev, id);
	if (t && (row->flags & EVENT_F_TURN))
		PARTS_CALL(output_told, s);
	check_journal(s);
}

void harness_journal_settled(void *ctx)
{
	struct session *s = ctx;

	session_wake(s);
	check_journal(s);
	if (s->harness.proc)
		proc_line_done(s->harness.proc);
}
