/* harness_settings.c - modes, models and options of a running harness, and steering: the calls that wait for its
 * reply. */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "json/json.h"
#include "session/core/harness/config_options.h"
#include "session/core/turn/prompt_content.h"
#include "session/core/redact/redact_internal.h"

/* --- what the harness has ---------------------------------------------------------------------------- */

static void settings_set_raw(char **slot, struct slice s)
{
	free(*slot);
	*slot = xstrndup(s.p, s.n);
}

/* The model in force is asked for by every usage record, and changes seldom. */
static void set_config_raw(struct session *s, struct slice given)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice config = session_mask_json(s, given, false, event_fields_options, &b);
	struct slice current = option_current(option_of_category(config, "model"));

	settings_set_raw(&s->harness.config, config);
	free(s->harness.model);
	s->harness.model = NULL;
	if (current.n)
		jstr_decode((struct jval){ J_STRING, current }, 4096, &s->harness.model);
}

/* A harness that has its modes as an option only gets ACP's older form of them derived. True if the mode is another
 * now. */
static bool derive_modes(struct session *s)
{
	JW_BUF(w, b);
	struct slice was = jobj_get(slice_of(s->harness.modes), "currentModeId").raw;
	bool changed;

	/* A harness with modes of its own reports them itself. Derived ones could contradict them. */
	if (s->harness.own_modes || !options_put_modes(slice_of(s->harness.config), &w))
		return false;
	changed = s->harness.modes && !slice_eq(was, jobj_get(buf_slice(&b), "currentModeId").raw);
	settings_set_raw(&s->harness.modes, buf_slice(&b));
	return changed;
}

/* What fits of it, in buf if that is not all; empty: nothing does. */
static struct slice fitting(enum harness_check (*check)(struct slice raw, struct buf *mended),
			    struct slice raw, struct buf *mended)
{
	enum harness_check r = raw.n ? check(raw, mended) : CHECK_REFUSED;

	return r == CHECK_FITS ? raw : r == CHECK_MENDED ? buf_slice(mended) : SLICE_NONE;
}

void settings_store_options(struct session *s, struct slice modes, struct slice config)
{
	_cleanup_(buf_done) struct buf b = { 0 }, m = { 0 }, c = { 0 };

	/* Checked first: clients may drop a whole answer in which one value does not fit. */
	modes = fitting(harness_modes_check, modes, &m);
	config = fitting(harness_options_check, config, &c);
	if (modes.n)
		settings_set_raw(&s->harness.modes,
				 session_mask_json(s, modes, false, event_fields_options, &b));
	s->harness.own_modes |= modes.n != 0;
	if (config.n)
		set_config_raw(s, config);
	derive_modes(s);
}

void settings_store_mode(struct session *s, struct slice mode)
{
	JW_BUF(w, b);

	if (!s->harness.modes)
		return;
	jw_obj(&w, NULL);
	jw_raw(&w, "currentModeId", mode);
	jw_members(&w, slice_of(s->harness.modes), "currentModeId");
	jw_end_obj(&w);
	settings_set_raw(&s->harness.modes, buf_slice(&b));
}

void settings_config_changed(struct session *s, struct slice config)
{
	JW_BUF(w, b);

	set_config_raw(s, config);
	if (!derive_modes(s))
		return;
	/* For clients that use ACP's modes and not its config options. */
	jw_object(&w, NULL, JW_STR("sessionUpdate", "current_mode_update"),
		  JW_RAW("currentModeId",
			 jobj_get(slice_of(s->harness.modes), "currentModeId").raw));
	event_emit(s, UPDATE_MODE, buf_slice(&b));
}

void session_known_values(const struct session *s, const char *category, struct jw *w,
			  const char *key)
{
	option_put_values(option_of_category(slice_of(s->harness.config), category), w, key);
}

/* --- calls that wait for the harness ---------------------------------------------------------------------- */

static void setting_end(struct setting *t, struct slice result, const struct err *e)
{
	/* Unlinked first: done may add or fail other calls. */
	list_del(&t->link);
	if (t->done)
		t->done(t->ctx, result, e);
	free_each(t->mode, t->chosen, t);
}

void settings_fail(struct session *s, const struct err *e)
{
	struct err gone;

	if (!e) {
		err_set(&gone, -ECHILD, RPC_INTERNAL_ERROR, "HARNESS_EXITED",
			"the harness is gone");
		e = &gone;
	}
	list_drain(t, &s->harness.settings, struct setting, link)
		setting_end(t, SLICE_NONE, e);
	loop_timer_cancel(&s->harness.setting_timer);
}

static void mode_was_set(struct session *s, const char *mode)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	jstr_encode(&b, slice_of(mode));
	settings_store_mode(s, buf_slice(&b));
	xstrset(&s->setup.mode, mode); /* also for the next start */
	session_note_head(s);
}

/* params: configId and value, as the client gave them. */
static void remember_choice(struct session *s, const char *params)
{
	struct jslot p[] = { { .key = "configId" }, { .key = "value" } };
	struct slice option = SLICE_NONE;

	if (jscan_object(slice_of(params), p, ARRAY_SIZE(p)) != JSCAN_OK)
		return;
	/* For the category of the option. The choice itself has been checked before the call. */
	options_check(slice_of(s->harness.config), slice_of(params), &option, NULL);
	setup_choose(&s->setup, jobj_get(option, "category").raw, p[0].v.raw, p[1].v.raw);
	setup_keep_choice(&s->setup);
	session_note_head(s);
}

void settings_host_reply(void *ctx, uint64_t token, struct slice result, const struct err *given)
{
	struct session *s = ctx;
	struct jval options = jobj_get(result, "configOptions");
	struct err own = given ? session_mask_err(s, given) : (struct err){ 0 };
	const struct err *e = given ? &own : NULL;

	/* A reply without its call is ignored: it has timed out. */
	list_each(t, &s->harness.settings, struct setting, link) {
		if (t->token != token)
			continue;
		if (!e && t->mode)
			mode_was_set(s, t->mode);
		if (!e && options.type == J_ARRAY)
			settings_store_options(s, SLICE_NONE, options.raw);
		if (!e && t->chosen)
			remember_choice(s, t->chosen);
		/* Last: the callback may start another call, and it must find the new values. */
		setting_end(t, result, e);
		return;
	}
}

static void on_setting_timeout(void *ctx)
{
	struct session *s = ctx;
	struct err e;

	err_set(&e, -ETIMEDOUT, RPC_INTERNAL_ERROR, "HARNESS_TIMEOUT",
		"the harness did not answer in time");
	/* All of them: the timer starts again with each call, so the newest has waited long enough, too. */
	settings_fail(s, &e);
}

static struct setting *setting_add(struct session *s, const char *mode, session_set_fn done,
				   void *ctx)
{
	struct setting *t = new0(struct setting);

	t->token = ++s->harness.last_token;
	t->mode = xstrdup(mode);
	t->done = done;
	t->ctx = ctx;
	list_add_tail(&s->harness.settings, &t->link);
	loop_timer_set(s->store->loop, &s->harness.setting_timer, HARNESS_CALL_MS,
		       on_setting_timeout, s);
	return t;
}

/* What began a call has failed at once: the caller hears of it by the return value. */
static int setting_begun(struct setting *t, int r, const struct err *e)
{
	if (r < 0) {
		t->done = NULL;
		setting_end(t, SLICE_NONE, e);
	}
	return r;
}

typedef int (*setting_fn)(struct session *s, const char *arg, session_set_fn done, void *ctx,
			  struct err *e);

/* A call to a harness that was stopped because nobody needed it: made when it has been started again. */
struct delayed_setting {
	setting_fn fn;
	char *arg;
	session_set_fn done;
	void *ctx;
};

static void on_awake(void *ctx, struct session *s, const struct err *e)
{
	struct delayed_setting *l = ctx;
	struct err own = { 0 };

	if (e)
		own = *e;
	/* l->fn calls done itself, unless it fails at once. */
	if (e || l->fn(s, l->arg, l->done, l->ctx, &own) < 0)
		l->done(l->ctx, SLICE_NONE, &own);
	free_each(l->arg, l);
}

static int set_later(struct session *s, setting_fn fn, const char *arg, session_set_fn done,
		     void *ctx)
{
	struct delayed_setting *l = new0(struct delayed_setting);

	*l = (struct delayed_setting){ fn, xstrdup(arg), done, ctx };
	/* The call counts as a waiter, so that the pool starts the harness for it. */
	session_wait(&s->harness.open_waiters, on_awake, l);
	session_advance(s);
	return 0;
}

static int need_ready(const struct session *s, struct err *e)
{
	if (s->harness.state == H_READY)
		return 0;
	return err_set(e, -ENOTCONN, RPC_INTERNAL_ERROR, "HARNESS_NOT_RUNNING",
		       "the harness is not running; load the session again");
}

int settings_set_config(struct session *s, struct slice params, session_set_fn done, void *ctx,
			struct err *e)
{
	struct setting *t = setting_add(s, NULL, done, ctx);

	if (s->harness.state == H_READY) { /* the choice of a client, not of ours */
		JW_BUF(w, b);

		jw_obj(&w, NULL);
		jw_raw(&w, NULL, params);
		jw_end_obj(&w);
		t->chosen = xstrndup(b.data, b.len);
	}
	return setting_begun(t, s->def->ops->set_config(s->harness.adapter, t->token, params, e),
			     e);
}

static int set_config_later(struct session *s, const char *arg, session_set_fn done, void *ctx,
			    struct err *e)
{
	return session_set_config(s, slice_of(arg), done, ctx, e);
}

int session_set_config(struct session *s, struct slice params, session_set_fn done, void *ctx,
		       struct err *e)
{
	JW_BUF(w, b);
	int r;

	if (harness_is_idle(s)) {
		_cleanup_(freep) char *arg = xstrndup(params.p, params.n);

		return set_later(s, set_config_later, arg, done, ctx);
	}
	r = need_ready(s, e);

	if (r == 0 && !s->harness.config)
		r = err_set(e, -ENOSYS, RPC_METHOD_NOT_FOUND, "CONFIG_UNSUPPORTED",
			    "the harness of this session has no options");
	if (r == 0)
		r = options_check(slice_of(s->harness.config), params, NULL, e);
	if (r < 0)
		return r;
	/* sessionId is acpd's. The adapter adds the id that the harness knows. */
	jw_members(&w, params, "sessionId");
	return settings_set_config(s, buf_slice(&b), done, ctx, e);
}

/* The option of that category gets the value that name means. */
int settings_choose(struct session *s, const char *category, const char *name, session_set_fn done,
		    void *ctx, struct err *e)
{
	struct slice option = option_of_category(slice_of(s->harness.config), category);
	_cleanup_(freep) char *value = option_find_value(option, name);
	JW_BUF(w, b);

	if (!value)
		return -ENOENT;
	jw_raw(&w, "configId", jobj_get(option, "id").raw);
	jw_str(&w, "value", value);
	return settings_set_config(s, buf_slice(&b), done, ctx, e);
}

bool settings_has_mode(const struct session *s, const char *mode)
{
	jarr_each(v, jobj_get(slice_of(s->harness.modes), "availableModes"))
		if (v.type == J_OBJECT && jstr_is(jobj_get(v.raw, "id"), mode))
			return true;
	return false;
}

int settings_set_mode(struct session *s, const char *mode, session_set_fn done, void *ctx,
		      struct err *e)
{
	struct setting *t;
	int r;

	if (!s->harness.own_modes || !s->def->ops->set_mode) {
		r = settings_choose(s, "mode", mode, done, ctx, e);
		return r != -ENOENT ? r :
				      err_set(e, -ENOSYS, RPC_METHOD_NOT_FOUND, "MODES_UNSUPPORTED",
					      "the harness of this session lets no mode be chosen");
	}
	t = setting_add(s, mode, done, ctx);
	return setting_begun(t, s->def->ops->set_mode(s->harness.adapter, t->token, mode, e), e);
}

int session_set_mode(struct session *s, const char *mode, session_set_fn done, void *ctx,
		     struct err *e)
{
	int r;

	if (harness_is_idle(s))
		return set_later(s, session_set_mode, mode, done, ctx);
	r = need_ready(s, e);

	if (r == 0 && !s->harness.modes)
		r = err_set(e, -ENOSYS, RPC_METHOD_NOT_FOUND, "MODES_UNSUPPORTED",
			    "the harness of this session has no modes");
	if (r == 0 && !settings_has_mode(s, mode))
		r = err_field(e, "modeId", "MODE_UNKNOWN", "the session has no such mode");
	return r < 0 ? r : settings_set_mode(s, mode, done, ctx, e);
}

int session_set_model(struct session *s, const char *model, session_set_fn done, void *ctx,
		      struct err *e)
{
	int r;

	if (harness_is_idle(s))
		return set_later(s, session_set_model, model, done, ctx);
	r = need_ready(s, e);

	if (r == 0 && !option_of_category(slice_of(s->harness.config), "model").n)
		r = err_set(e, -ENOSYS, RPC_METHOD_NOT_FOUND, "CONFIG_UNSUPPORTED",
			    "the harness of this session lets no model be chosen");
	if (r == 0)
		r = settings_choose(s, "model", model, done, ctx, e);
	if (r == -ENOENT)
		r = err_field(e, "modelId", "MODEL_UNKNOWN", "the session has no such model");
	return r;
}

/* --- steering ---------------------------------------------------------------------------------------- */

static int steer_by_prompt(struct session *s, struct slice content, uint64_t origin,
			   session_set_fn done, void *ctx, struct err *e)
{
	struct prompt_params p = { .content = content, .origin = origin };
	int r = session_prompt(s, &p, NULL, NULL, e);

	if (r == 0)
		done(ctx, SLICE("{\"outcome\":\"startedNewTurn\"}"), NULL);
	return r;
}

int session_steer(struct session *s, struct slice content, uint64_t origin, session_set_fn done,
		  void *ctx, struct err *e)
{
	_cleanup_(buf_done) struct buf given = { 0 };
	struct setting *t;
	int r;

	if (!s->harness.caps.steer || !s->def->ops->steer)
		return err_set(e, -ENOSYS, RPC_METHOD_NOT_FOUND, "STEERING_UNSUPPORTED",
			       "the harness of this session takes no input while a turn runs");
	/* Between two turns there is nothing to steer: the text becomes a prompt of its own. */
	if (!s->turn.current || s->turn.current->state != TURN_RUNNING)
		return steer_by_prompt(s, content, origin, done, ctx, e);
	t = setting_add(s, NULL, done, ctx);
	r = setting_begun(t,
			  s->def->ops->steer(s->harness.adapter, t->token,
					     prompt_content_for(content, &s->harness.caps, &given),
					     e),
			  e);
	/* Only what the harness has accepted becomes part of the history. */
	if (r == 0)
		turn_emit_prompt(s, content, origin, false);
	return r;
}
