/* host.c - the core's half of the adapter contract, and the calls that wait for a harness's reply. */
#include "session/internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/jenc.h"
#include "json/jstr.h"

#include <errno.h>

static int host_send(void *ctx, struct slice line)
{
	struct session *s = ctx;

	return s->proc ? proc_send(s->proc, line) : -EPIPE;
}

static void set_raw(char **slot, struct slice s)
{
	if (!s.n)
		return;
	free(*slot);
	*slot = xstrndup(s.p, s.n);
}

/* What a restarted daemon will need to take the session up again. */
static void note_native(struct session *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "nativeId", s->native_id);
	jw_end_obj(&w);
	evlog_note(&s->log, "native", buf_slice(&b));
}

static void host_ready(void *ctx, const struct harness_ready *r)
{
	struct session *s = ctx;

	if (s->hstate != H_STARTING)
		return;
	s->hstate = H_READY;
	s->restored = !s->native_id || r->restored;
	s->caps = r->caps;
	xstrset(&s->native_id, r->native_id);
	set_raw(&s->modes, r->modes);
	set_raw(&s->config, r->config_options);
	note_native(s);
	session_opened(s, NULL);
}

static void host_failed(void *ctx, const struct err *e)
{
	struct session *s = ctx;

	if (s->hstate != H_STARTING)
		return;
	s->hstate = H_STOPPING;
	session_opened(s, e);
	proc_stop(s->proc);
}

static void host_event(void *ctx, const struct harness_event *ev)
{
	session_harness_event(ctx, ev);
}

static void host_ask(void *ctx, const struct harness_ask *a)
{
	session_ask(ctx, a);
}

static void host_unask(void *ctx, uint64_t id)
{
	session_unask(ctx, id);
}

static void host_usage(void *ctx, const struct harness_usage *u)
{
	struct session *s = ctx;

	if (s->current && s->current->state != TURN_QUEUED)
		account_usage(&s->current->account, u);
}

static void host_turn_end(void *ctx, const struct harness_turn_end *end)
{
	struct session *s = ctx;

	if (s->current && s->current->state != TURN_QUEUED)
		turn_finish(s, end);
}

/* --- settings -------------------------------------------------------------------------------------- */

static void setting_end(struct setting *t, struct slice result, const struct err *e)
{
	list_del(&t->link);
	if (t->done)
		t->done(t->ctx, result, e);
	free(t->mode);
	free(t);
}

void session_settings_fail(struct session *s, const struct err *e)
{
	struct err gone;

	if (!e) {
		err_set(&gone, -ECHILD, RPC_INTERNAL_ERROR, "HARNESS_EXITED",
			"the harness is gone");
		e = &gone;
	}
	while (!list_empty(&s->settings)) {
		struct setting *t = list_first(&s->settings, struct setting, link);

		setting_end(t, SLICE_NONE, e);
	}
	loop_timer_cancel(&s->setting_timer);
}

static void mode_was_set(struct session *s, const char *mode)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	jstr_encode(&b, slice_of(mode));
	session_store_mode(s, buf_slice(&b));
}

static void host_reply(void *ctx, uint64_t token, struct slice result, const struct err *e)
{
	struct session *s = ctx;
	struct jval options = jobj_get(result, "configOptions");

	list_each(t, &s->settings, struct setting, link) {
		if (t->token != token)
			continue;
		if (!e && t->mode)
			mode_was_set(s, t->mode);
		if (!e && options.type == J_ARRAY)
			set_raw(&s->config, options.raw);
		setting_end(t, result, e);
		return;
	}
}

static void on_adapter_timer(void *ctx)
{
	struct session *s = ctx;

	if (s->harness && s->def->ops->on_timer)
		s->def->ops->on_timer(s->harness);
}

static void host_timer(void *ctx, unsigned ms)
{
	struct session *s = ctx;

	if (ms)
		loop_timer_set(s->store->loop, &s->adapter_timer, ms, on_adapter_timer, s);
	else
		loop_timer_cancel(&s->adapter_timer);
}

const struct harness_host_ops session_host_ops = {
	host_send,  host_ready, host_failed,   host_event, host_ask,
	host_unask, host_usage, host_turn_end, host_reply, host_timer,
};

static void on_setting_timeout(void *ctx)
{
	struct session *s = ctx;
	struct err e;

	err_set(&e, -ETIMEDOUT, RPC_INTERNAL_ERROR, "HARNESS_TIMEOUT",
		"the harness did not answer in time");
	session_settings_fail(s, &e);
}

static struct setting *setting_add(struct session *s, const char *mode, session_set_fn done,
				   void *ctx)
{
	struct setting *t = new0(struct setting);

	t->token = ++s->last_token;
	t->mode = xstrdup(mode);
	t->done = done;
	t->ctx = ctx;
	list_add_tail(&s->settings, &t->link);
	loop_timer_set(s->store->loop, &s->setting_timer, HARNESS_CALL_MS, on_setting_timeout, s);
	return t;
}

static int need_ready(const struct session *s, struct err *e)
{
	if (s->hstate == H_READY)
		return 0;
	return err_set(e, -ENOTCONN, RPC_INTERNAL_ERROR, "HARNESS_NOT_RUNNING",
		       "the harness is not running; load the session again");
}

static bool array_has(struct jval array, const char *key, const char *value, struct jval *ret)
{
	struct jiter it;
	struct jval v;

	if (!jiter_init(&it, array))
		return false;
	while (jiter_next(&it, NULL, &v)) {
		if (v.type != J_OBJECT || !jstr_is(jobj_get(v.raw, key), value))
			continue;
		if (ret)
			*ret = v;
		return true;
	}
	return false;
}

int session_set_mode(struct session *s, const char *mode, session_set_fn done, void *ctx,
		     struct err *e)
{
	struct setting *t;
	int r = need_ready(s, e);

	if (r < 0)
		return r;
	if (!s->modes)
		return err_set(e, -ENOSYS, RPC_METHOD_NOT_FOUND, "MODES_UNSUPPORTED",
			       "the harness of this session has no modes");
	if (!array_has(jobj_get(slice_of(s->modes), "availableModes"), "id", mode, NULL))
		return err_field(e, "modeId", "MODE_UNKNOWN", "the session has no such mode");
	t = setting_add(s, mode, done, ctx);
	r = s->def->ops->set_mode(s->harness, t->token, mode, e);
	if (r < 0) {
		t->done = NULL;
		setting_end(t, SLICE_NONE, e);
	}
	return r;
}

/* A value of a select option, at the top or in one of its groups. */
static bool select_has(struct slice option, const char *value)
{
	struct jval options = jobj_get(option, "options"), v;
	struct jiter it;

	if (array_has(options, "value", value, NULL))
		return true;
	if (!jiter_init(&it, options))
		return false;
	while (jiter_next(&it, NULL, &v))
		if (v.type == J_OBJECT &&
		    array_has(jobj_get(v.raw, "options"), "value", value, NULL))
			return true;
	return false;
}

static int check_value(struct slice option, struct jval value, struct err *e)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_is(jobj_get(option, "type"), "boolean")) {
		if (value.type == J_TRUE || value.type == J_FALSE)
			return 0;
	} else if (jstr_decode(value, 4096, &text) == 0 && select_has(option, text)) {
		return 0;
	}
	return err_field(e, "value", "CONFIG_VALUE_UNKNOWN", "the option has no such value");
}

static int check_config(const struct session *s, struct slice params, struct err *e)
{
	struct jslot p[] = { { .key = "configId" }, { .key = "value" } };
	_cleanup_(freep) char *id = NULL;
	struct jval option;

	if (jscan_object(params, p, ARRAY_SIZE(p)) != JSCAN_OK || jstr_decode(p[0].v, 256, &id) < 0)
		return err_field(e, "configId", "FIELD_INVALID", "configId must be a string");
	if (!array_has((struct jval){ J_ARRAY, slice_of(s->config) }, "id", id, &option))
		return err_field(e, "configId", "CONFIG_UNKNOWN", "the session has no such option");
	return check_value(option.raw, p[1].v, e);
}

int session_set_config(struct session *s, struct slice params, session_set_fn done, void *ctx,
		       struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	struct setting *t;
	int r = need_ready(s, e);

	if (r < 0)
		return r;
	if (!s->config)
		return err_set(e, -ENOSYS, RPC_METHOD_NOT_FOUND, "CONFIG_UNSUPPORTED",
			       "the harness of this session has no options");
	r = check_config(s, params, e);
	if (r < 0)
		return r;
	t = setting_add(s, NULL, done, ctx);
	jw_members(&w, params, "sessionId");
	r = s->def->ops->set_config(s->harness, t->token, buf_slice(&b), e);
	if (r < 0) {
		t->done = NULL;
		setting_end(t, SLICE_NONE, e);
	}
	return r;
}
