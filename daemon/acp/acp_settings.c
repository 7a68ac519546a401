/* acp_settings.c - session/set_mode, session/set_model and session/set_config_option. */
#include "acp/params.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "session/core/harness/config_options.h"

#include <errno.h>
#include <stdio.h>

struct choice_args {
	char *session_id, *value;
};

static const struct jfield mode_fields[] = {
	JF_STR(struct choice_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct choice_args, value, "modeId", JF_REQUIRED, 256),
	JF_END,
};

static const struct jfield model_fields[] = {
	JF_STR(struct choice_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct choice_args, value, "modelId", JF_REQUIRED, 256),
	JF_END,
};

struct choice_row {
	const struct jfield *fields;
	const char *category, *unknown; /* the reason that comes with the known values */
	int (*set)(struct session *s, const char *value, session_set_fn done, void *ctx,
		   struct err *e);
};

static const struct choice_row mode_row = { mode_fields, "mode", "MODE_UNKNOWN", session_set_mode };
static const struct choice_row model_row = { model_fields, "model", "MODEL_UNKNOWN",
					     session_set_model };

static void on_choice_set(void *ctx, struct slice result _unused_, const struct err *e)
{
	struct method_call *k = ctx;

	if (e)
		call_error(k, e, SLICE_NONE);
	else
		call_result(k, SLICE("{}"));
}

#define KNOWN_VALUE_MAX 256 /* bytes of one in a message */

void put_known(struct jw *w, const struct session *s, const char *category, struct err *e)
{
	_cleanup_(buf_done) struct buf known = { 0 };
	struct jw own = JW(&known);
	struct jiter it;
	struct jval v;
	size_t n = strlen(e->msg);

	session_known_values(s, category, &own, NULL);
	jw_raw(w, "known", buf_slice(&known));
	if (!jiter_init(&it, (struct jval){ J_ARRAY, buf_slice(&known) }))
		return;
	for (const char *before = "; known: "; jiter_next(&it, NULL, &v) && n < sizeof(e->msg);
	     before = ", ") {
		_cleanup_(freep) char *value = NULL;

		if (jstr_decode(v, KNOWN_VALUE_MAX, &value) == 0)
			n += (size_t)snprintf(e->msg + n, sizeof(e->msg) - n, "%s%s", before,
					      value);
	}
	err_flatten(e->msg);
}

/* 0: answered here, with what could have been chosen. */
static int answer_unknown(struct acp_conn *c, const struct rpc_msg *m, struct session *s,
			  const char *category, const struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err said = *e;
	struct jw w = JW(&b);

	put_known(&w, s, category, &said);
	conn_error(c, NULL, m->id, &said, buf_slice(&b));
	return 0;
}

static int set_choice(struct acp_conn *c, const struct rpc_msg *m, const struct choice_row *row,
		      struct err *e)
{
	struct choice_args a = { 0 };
	struct view *v = NULL;
	struct method_call *k;
	int r = jdec_object(m->params, row->fields, NULL, &a, e);

	if (r == 0 && !(v = view_need(c, a.session_id, e)))
		r = -ENOENT;
	if (r == 0) {
		k = call_new(c, m->id);
		k->view = v;
		r = row->set(v->w.session, a.value, on_choice_set, k, e);
		if (r < 0)
			call_free(k);
		if (r < 0 && strcmp(e->reason, row->unknown) == 0)
			r = answer_unknown(c, m, v->w.session, row->category, e);
	}
	jdec_free(row->fields, &a);
	return r;
}

int on_set_mode(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return set_choice(c, m, &mode_row, e);
}

int on_set_model(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return set_choice(c, m, &model_row, e);
}

static void on_config_set(void *ctx, struct slice result, const struct err *given)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct method_call *k = ctx;
	struct jval options = jobj_get(result, "configOptions");
	struct jw w = JW(&b);
	struct err e;

	if (!given && options.type != J_ARRAY) {
		err_set(&e, -EPROTO, RPC_INTERNAL_ERROR, "HARNESS_PROTOCOL",
			"the harness returned no options");
		given = &e;
	}
	if (given || !k->conn) {
		if (given)
			call_error(k, given, SLICE_NONE);
		else
			call_free(k);
		return;
	}
	if (k->view && k->view->w.session && session_config(k->view->w.session).n)
		options.raw = session_config(k->view->w.session); /* as it was checked */
	jw_obj(&w, NULL);
	config_put(&w, options.raw, k->conn->client);
	jw_end_obj(&w);
	call_result(k, buf_slice(&b));
}

int on_set_config(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	_cleanup_(freep) char *id = NULL;
	struct view *v;
	struct method_call *k;
	int r;

	if (jstr_decode(jobj_get(m->params, "sessionId"), RPC_ID_MAX, &id) < 0)
		return err_field(e, "sessionId", "FIELD_INVALID", "sessionId must be a string");
	v = view_need(c, id, e);
	if (!v)
		return -ENOENT;
	k = call_new(c, m->id);
	k->view = v;
	r = session_set_config(v->w.session, m->params, on_config_set, k, e);
	if (r < 0)
		call_free(k);
	return r;
}
