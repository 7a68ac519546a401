/*
 * harness_configure.c - what a session asks of its harness: put in force, taken back, noted in the journal, forgotten.
 *
 * When a harness has been opened, model, mode and options of the session are set before anybody may use it. A load
 * changes the setup at once; session_open_kept and session_open_undone end it when the harness has come up or has not.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "json/json.h"
#include "session/core/harness/config_options.h"
#include "session/core/redact/redact_internal.h"
#include "session/core/session_part.h"
#include "session/core/session_states.h"

void harness_open_failed(struct session *s, const struct err *e)
{
	harness_set_state(s, H_STOPPING);
	harness_opened(s, e);
	proc_stop(s->harness.proc);
}

static void on_configured(void *ctx, struct slice result _unused_, const struct err *e)
{
	struct session *s = ctx;

	if (s->harness.state != H_CONFIGURING)
		return;
	if (e)
		harness_open_failed(s, e);
	else
		harness_configure(s);
}

static bool in_force(struct slice current, const char *value)
{
	return current.n && jstr_is((struct jval){ J_STRING, current }, value);
}

/* 0: in force; 1: being set; <0: cannot be had, e says why. */
static int configure_model(struct session *s, struct err *e)
{
	const char *want = s->setup.model ? s->setup.model : s->setup.gateway.model;
	struct slice option = option_of_category(slice_of(s->harness.config), "model");
	_cleanup_(freep) char *value = NULL;
	int r;

	if (!want || s->harness.model_tried)
		return 0;
	/* a model named with the provider has reached a harness without such an option by its configuration */
	if (!option.n && !s->setup.model)
		return 0;
	if (!option.n && !s->setup.provider)
		return err_field(e, "_meta.acpd.model", "CONFIG_UNSUPPORTED",
				 "this harness lets no model be chosen");
	if (!option.n)
		return 0;
	value = option_find_value(option, want);
	if (!value)
		return err_field(e,
				 s->setup.model ? "_meta.acpd.model" : "_meta.acpd.provider.model",
				 "MODEL_UNKNOWN", "the harness has no such model");
	if (in_force(option_current(option), value))
		return 0;
	/* Once per start: a harness that does not apply the model would otherwise be asked for ever. */
	s->harness.model_tried = true;
	r = settings_choose(s, "model", want, on_configured, s, e);
	return r < 0 ? r : 1;
}

static int configure_mode(struct session *s, struct err *e)
{
	const char *want = s->setup.mode;
	int r;

	if (!want || s->harness.mode_tried ||
	    in_force(jobj_get(slice_of(s->harness.modes), "currentModeId").raw, want))
		return 0;
	if (!settings_has_mode(s, want))
		return err_field(e, "_meta.acpd.mode", "MODE_UNKNOWN",
				 "the harness has no such mode");
	/* Once per start, as for the model. */
	s->harness.mode_tried = true;
	r = settings_set_mode(s, want, on_configured, s, e);
	return r < 0 ? r : 1;
}

/* The members of one call, from an entry of setup.chosen. */
static void put_choice(struct buf *b, struct slice key, struct slice value)
{
	struct jw w = JW(b);

	buf_puts(b, "\"configId\":\"");
	buf_add(b, key.p, key.n);
	buf_putc(b, '"');
	w.comma = true;
	jw_raw(&w, "value", value);
}

static bool is_still_wanted(const struct session *s, struct slice members, struct slice value)
{
	JW_BUF(w, b);
	struct slice option = SLICE_NONE;

	jw_obj(&w, NULL);
	jw_raw(&w, NULL, members);
	jw_end_obj(&w);
	return options_check(slice_of(s->harness.config), buf_slice(&b), &option, NULL) == 0 &&
	       !slice_eq(jobj_get(option, "currentValue").raw, value);
}

/* What clients chose before the harness was started anew; what it no longer has is passed over. */
static int configure_choices(struct session *s, struct err *e)
{
	unsigned n = 0;

	if (!s->setup.chosen)
		return 0;
	jobj_each(key, v, slice_of(s->setup.chosen)) {
		_cleanup_(buf_done) struct buf b = { 0 };
		int r;

		if (n++ < s->harness.choices_tried)
			continue;
		/* Set before the call: a choice that has no effect is not repeated. */
		s->harness.choices_tried = n;
		put_choice(&b, key, v.raw);
		if (!is_still_wanted(s, buf_slice(&b), v.raw))
			continue;
		r = settings_set_config(s, buf_slice(&b), on_configured, s, e);
		return r < 0 ? r : 1;
	}
	return 0;
}

void harness_configure(struct session *s)
{
	struct err e = { 0 };
	int r = configure_model(s, &e);

	/* Each step that sends a call returns 1. Its reply calls this function again, which continues from there. */
	if (r == 0)
		r = configure_mode(s, &e);
	if (r == 0)
		r = configure_choices(s, &e);
	if (r < 0) {
		setup_forget_choice(&s->setup); /* else no later start could succeed */
		session_note_head(s);
		harness_open_failed(s, &e);
	} else if (r == 0) {
		harness_set_state(s, H_READY);
		setup_keep_choice(&s->setup);
		/* for what came meanwhile: nobody is answered before it is in force */
		if (s->harness.restart || s->harness.reconfigure) {
			/* The start has succeeded: its time limit must not end what follows. */
			loop_timer_cancel(&s->harness.start_timer);
			session_advance(s);
		} else {
			harness_opened(s, NULL);
		}
	}
}

void harness_reconfigure(struct session *s)
{
	/* mode_tried too: the new mode has not been tried in this start. */
	s->harness.reconfigure = s->harness.mode_tried = false;
	s->load.pending &= ~(unsigned)SETUP_MODE;
	harness_set_state(s, H_CONFIGURING);
	harness_configure(s);
}

/* --- a load ------------------------------------------------------------------------------------------------ */

void session_open_kept(struct session *s)
{
	s->load.before = setup_free(s->load.before);
	s->load.reopening = false;
}

void session_open_undone(struct session *s)
{
	if (!s->load.before)
		return;
	setup_restore(&s->setup, TAKE_PTR(s->load.before));
	s->load.pending = 0;
	s->harness.reconfigure = false;
	s->harness.restart = s->load.restarting;
	PARTS_CALL(setup_changed, s);
	/* A later record replaces the one that open_apply wrote. */
	session_note_head(s);
	/* A session that was open before the load stays open, with its old setup. */
	if (!s->load.reopening || s->state != SESSION_OPEN)
		return;
	session_set_state(s, SESSION_CLOSING);
	turns_cancel_all(s);
}

/* --- keys of clients ------------------------------------------------------------------------------------------ */

/* A load that was under way has nobody who waits for it. */
static void keys_forget(struct session *s)
{
	s->harness.forget = false;
	session_open_kept(s);
	setup_forget_keys(&s->setup);
	PARTS_CALL(forget_keys, s);
	PARTS_CALL(setup_changed, s);
}

void harness_keys_gone(struct session *s)
{
	if (s->harness.forget)
		keys_forget(s);
}

void harness_forget_keys(struct session *s)
{
	PARTS_CALL(stop_helpers, s);
	if (!s->harness.proc) {
		keys_forget(s);
		return;
	}
	s->harness.forget = true;
	/* The exit is expected: it must not become an event. */
	if (s->harness.state != H_STOPPING)
		harness_set_state(s, H_STOPPING);
	/* proc_kill, not proc_stop: the process has the keys, and must not get time to use them. */
	proc_kill(s->harness.proc);
}

/* --- the head of the journal ---------------------------------------------------------------------------------- */

void session_put_head(struct session *s, struct buf *ret)
{
	_cleanup_(buf_done) struct buf b = { 0 }, hidden = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", s->id);
	jw_str(&w, "incarnation", s->store->incarnation);
	jw_str(&w, "harness", s->def->id);
	jw_str(&w, "cwd", s->cwd);
	jw_str(&w, "created", CLOCK_ISO(s->updated_ms));
	/* The order of members is fixed: an unchanged session writes the same bytes. */
	PARTS_CALL(put_record, &w, s, RECORD_HEAD);
	setup_put(&s->setup, &w);
	PARTS_CALL(put_record, &w, s, RECORD_STATE);
	PARTS_CALL(put_record, &w, s, RECORD_END);
	jw_end_obj(&w);
	buf_add_slice(ret, session_mask_json(s, buf_slice(&b), false, event_fields_head, &hidden));
}

void session_note_head(struct session *s)
{
	_cleanup_(buf_done) struct buf head = { 0 };

	session_put_head(s, &head);
	for (int i = 0; i < 2; i++) /* one may be damaged: without it there would be no session */
		evlog_note(&s->log.events, "session", buf_slice(&head));
}
