/*
 * acp_settings.c - what the driver of a session changes while it is open: mode, model and config options (ACP's methods), its
 * network (_acpd/network/set) and its provider (_acpd/provider/set); and config options as a given client may see them.
 */
#include "acp/params.h"

#include "acp/acp_internal.h"
#include "base/limits.h"
#include "json/jstr.h"
#include "session/parts/network/session_network.h"

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
	const char *category, *unknown; /* the reason that comes with the known values */
	int (*set)(struct session *s, const char *value, session_set_fn done, void *ctx,
		   struct err *e);
};

enum { CHOICE_MODE, CHOICE_MODEL };

static const struct choice_row choice_rows[] = {
	[CHOICE_MODE] = { "mode", "MODE_UNKNOWN", session_set_mode },
	[CHOICE_MODEL] = { "model", "MODEL_UNKNOWN", session_set_model },
};

#define KNOWN_VALUE_MAX 256 /* bytes of one in a message */

void put_known(struct jw *w, const struct session *s, const char *category, struct err *e)
{
	JW_BUF(own, known);
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

		/* snprintf returns the length without the cut: above the size the loop ends. */
		if (jstr_decode(v, KNOWN_VALUE_MAX, &value) == 0)
			n += (size_t)snprintf(e->msg + n, sizeof(e->msg) - n, "%s%s", before,
					      value);
	}
	err_flatten(e->msg);
}

/* 0: answered here, with what could have been chosen. */
static int answer_unknown(const struct acp_request *q, const char *category, const struct err *e)
{
	JW_BUF(w, b);
	struct err said = *e;

	put_known(&w, q->session, category, &said);
	conn_error(q->conn, NULL, q->msg->id, &said, buf_slice(&b));
	return 0;
}

static int set_choice(struct acp_request *q, struct err *e)
{
	const struct choice_row *row = &choice_rows[q->variant];
	const struct choice_args *a = q->args;
	struct method_call *k = request_call(q);
	int r = call_started(k, row->set(q->session, a->value, call_done_empty, k, e));

	/* call_started has freed k, so the answer is to the request itself. */
	return r < 0 && strcmp(e->reason, row->unknown) == 0 ? answer_unknown(q, row->category, e) :
							       r;
}

ACP_HANDLER(on_set_mode, set_choice, struct choice_args, mode_fields, .variant = CHOICE_MODE);
ACP_HANDLER(on_set_model, set_choice, struct choice_args, model_fields, .variant = CHOICE_MODEL);

static void on_config_set(void *ctx, struct slice result, const struct err *given)
{
	JW_BUF(w, b);
	struct method_call *k = ctx;
	struct jval options = jobj_get(result, "configOptions");
	struct err e;

	/* The result of session/set_config_option must have configOptions (ACP). */
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

static int set_config(struct acp_request *q, struct err *e)
{
	struct method_call *k = request_call(q);

	return call_started(k, session_set_config(q->session, q->msg->params, on_config_set, k, e));
}

const struct acp_handler on_set_config = { .run = set_config };

/* --- network --------------------------------------------------------------------------------------------- */

/* Opens the answer down to _meta.acpd; end_acpd closes what was written there. */
static struct jw *answer_acpd(struct acp_request *q)
{
	struct jw *w = request_answer(q);

	jw_obj(w, "_meta");
	jw_obj(w, "acpd");
	return w;
}

static int end_acpd(struct jw *w)
{
	jw_end_obj(w);
	jw_end_obj(w);
	return REQUEST_ANSWER;
}

struct network_args {
	char *session_id;
	struct slice network, meta;
};

static const struct jfield network_fields[] = {
	JF_STR(struct network_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_OBJ(struct network_args, network, "network", JF_REQUIRED),
	JF_OBJ(struct network_args, meta, "_meta", 0),
	JF_END,
};

/* Rules for where a session may go. Here they are a parameter itself, not below _meta.acpd. */
static int check_and_set_network(const struct acp_conn *c, struct session *s, struct slice network,
				 struct err *e)
{
	struct setup_params p = { 0 };
	int r;

	setup_give(&p, &network_parameter, (struct jval){ J_OBJECT, network });
	r = check_ceiling(c, s, &p, e);
	if (r == 0)
		r = session_set_network(s, network, e);
	if (r < 0)
		err_unprefix(e, "_meta.acpd.");
	return r;
}

static int network_set(struct acp_request *q, struct err *e)
{
	const struct network_args *a = q->args;
	int r = check_and_set_network(q->conn, q->session, a->network, e);
	struct jw *w;

	if (r < 0)
		return r;
	w = answer_acpd(q);
	session_put_network(w, q->session);
	session_put_pending(q->session, w);
	return end_acpd(w);
}

ACP_HANDLER(on_network_set, network_set, struct network_args, network_fields);

/* --- provider -------------------------------------------------------------------------------------------- */

struct provider_args {
	char *session_id;
	struct slice provider, meta;
};

static const struct jfield provider_fields[] = {
	JF_STR(struct provider_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_OBJ(struct provider_args, provider, "provider", JF_REQUIRED),
	JF_OBJ(struct provider_args, meta, "_meta", 0),
	JF_END,
};

/* The harness goes on: its next call uses the provider. */
static int check_provider_given(struct acp_conn *c, struct slice provider, struct err *e)
{
	int r = provider_check(provider, c->model_apis, e);

	if (r < 0)
		err_unprefix(e, "_meta.acpd.");
	return r;
}

static int provider_set(struct acp_request *q, struct err *e)
{
	const struct provider_args *a = q->args;
	int r = check_provider_given(q->conn, a->provider, e);
	struct jw *w;

	/* false: the provider is named for this session, which does not follow its connection's. */
	if (r == 0)
		r = session_set_provider(q->session, a->provider, false, e);
	if (r < 0)
		return r;
	w = answer_acpd(q);
	session_put_provider(w, q->session);
	return end_acpd(w);
}

ACP_HANDLER(on_provider_set, provider_set, struct provider_args, provider_fields);

/* --- config options as a client sees them ---------------------------------------------------------------- */

static bool option_is_boolean(struct jval option)
{
	return option.type == J_OBJECT && jstr_is(jobj_get(option.raw, "type"), "boolean");
}

void config_put(struct jw *w, struct slice options, unsigned client)
{
	jw_arr(w, "configOptions");
	jarr_each(v, options)
		if ((client & CLIENT_BOOLEAN) || !option_is_boolean(v))
			jw_raw(w, NULL, v.raw);
	jw_end_arr(w);
}

void config_filter_frame(struct buf *b, struct slice frame)
{
	struct slice params = jobj_get(frame, "params").raw;
	struct slice update = jobj_get(params, "update").raw;
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_members(&w, frame, "params");
	jw_obj(&w, "params");
	jw_members(&w, params, "update");
	jw_obj(&w, "update");
	jw_members(&w, update, "configOptions");
	config_put(&w, jobj_get(update, "configOptions").raw, 0);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
}
