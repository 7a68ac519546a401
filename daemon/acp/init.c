/*
 * init.c - initialize and authenticate: what the daemon and the connection's harness can do, and what the client announced.
 *
 * The answer is given before any harness runs. So the capabilities are those of the harness's row or of its manifest entry,
 * and the answer to session/new has them as the running program reports them. A client that announced that it makes model
 * calls and nothing else is in a phase of its own (CONN_MODELS), in which few methods exist for it.
 */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "base/os/sandbox.h"
#include "base/version.h"
#include "json/json.h"
#include "session/core/session.h"

struct init_args {
	int64_t version;
	struct slice capabilities;
};

static const struct jfield init_fields[] = {
	JF_INT(struct init_args, version, "protocolVersion", JF_REQUIRED, 0, 65535),
	JF_OBJ(struct init_args, capabilities, "clientCapabilities", JF_LENIENT),
	JF_END,
};

static bool has_object(struct slice object, const char *key)
{
	return jobj_get(object, key).type == J_OBJECT;
}

unsigned acp_client_caps(struct slice caps)
{
	struct slice own = jobj_get(jobj_get(caps, "_meta").raw, "acpd").raw;
	struct slice session = jobj_get(caps, "session").raw;
	const struct {
		bool on;
		unsigned bit;
	} bits[] = {
		{ has_object(jobj_get(caps, "_meta").raw, "acpd"), CLIENT_ACPD },
		{ has_object(session, "notices"), CLIENT_NOTICES },
		{ has_object(session, "compaction"), CLIENT_COMPACTION },
		{ has_object(caps, "plan"), CLIENT_PLAN },
		{ has_object(caps, "subagents"), CLIENT_SUBAGENTS },
		{ has_object(jobj_get(session, "configOptions").raw, "boolean"), CLIENT_BOOLEAN },
		{ has_object(jobj_get(caps, "elicitation").raw, "form"), CLIENT_ELICITATION },
		{ has_object(jobj_get(caps, "elicitation").raw, "url"), CLIENT_ELICIT_URL },
		{ jobj_get(own, "deduplicatesToolCalls").type == J_TRUE, CLIENT_DEDUPS },
	};
	unsigned r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
		r |= bits[i].on ? bits[i].bit : 0;
	return r;
}

static void put_flag_object(struct jw *w, const char *key, bool on)
{
	if (on)
		jw_raw(w, key, SLICE("{}"));
}

void caps_put(struct jw *w, const struct harness_caps *caps)
{
	jw_object(w, "promptCapabilities", JW_BOOL("image", caps->image),
		  JW_BOOL("audio", caps->audio),
		  JW_BOOL("embeddedContext", caps->embedded_context));
	jw_obj(w, "mcpCapabilities");
	jw_bool(w, "http", caps->http);
	jw_bool(w, "sse", caps->sse);
	jw_bool(w, "acp", true); /* we pass such servers on to the harness */
	jw_end_obj(w);
	jw_obj(w, "sessionCapabilities");
	/* Sessions are the daemon's: these hold for every harness. */
	put_flag_object(w, "list", true);
	put_flag_object(w, "resume", true);
	put_flag_object(w, "close", true);
	put_flag_object(w, "delete", true);
	put_flag_object(w, "additionalDirectories", caps->additional_dirs);
	put_flag_object(w, "fork", caps->restore);
	if (caps->system_override)
		jw_raw(w, "systemPrompt", SLICE("{\"mode\":{\"override\":{}}}"));
	else
		put_flag_object(w, "systemPrompt", caps->system_append);
	if (caps->inner_sandbox)
		jw_raw(w, "_meta", SLICE("{\"acpd\":{\"innerSandbox\":true}}"));
	jw_end_obj(w);
}

static void put_harness_ids(struct jw *w, const char *key, const struct harness_table *t,
			    bool installed)
{
	jw_arr(w, key);
	for (size_t i = 0; i < t->n; i++)
		if (harness_installed(&t->defs[i]) == installed)
			jw_str(w, NULL, t->defs[i].id);
	jw_end_arr(w);
}

static void put_conn_token(struct jw *w, const struct acp_conn *c)
{
	if (grant_minted(c->transport.grant))
		grant_put(c->transport.grant, w, "token");
}

static void put_agent_acpd(struct jw *w, const struct acp_conn *c)
{
	const struct harness_table *t = c->srv->harnesses;

	jw_obj(w, "_meta");
	jw_obj(w, "acpd");
	jw_str(w, "version", acpd_version);
	jw_str(w, "incarnation", store_incarnation(c->srv->store));
	jw_str(w, "sandboxId", sandbox_id());
	jw_str(w, "harness", c->harness->id);
	jw_str(w, "workspaces", c->srv->workspaces);
	put_harness_ids(w, "harnesses", t, true);
	put_harness_ids(w, "harnessesNotInstalled", t, false);
	put_conn_token(w, c);
	offer_put_features(w);
	offer_put_limits(w, c->srv->store, c->srv->backlog_max);
	jw_end_obj(w);
	jw_end_obj(w);
}

static int conn_initialize(struct acp_request *q, struct err *e _unused_)
{
	const struct init_args *a = q->args;
	struct acp_conn *c = q->conn;
	struct jw *w;

	/* The URL names an unknown harness. The phase stays CONN_NEW: no session can be opened. */
	if (!c->harness) {
		harness_unknown(q, "harness");
		return 0;
	}
	c->client = a->capabilities.n ? acp_client_caps(a->capabilities) : 0;
	conn_model_caps(c, jobj_get(jobj_get(a->capabilities, "_meta").raw, "acpd").raw);
	w = request_answer(q);
	jw_int(w, "protocolVersion", 1); /* the only one we speak, whatever was asked for */
	jw_obj(w, "agentCapabilities");
	jw_bool(w, "loadSession", true);
	caps_put(w, &c->harness->caps);
	conn_put_providers(w);
	put_agent_acpd(w, c);
	jw_end_obj(w);
	jw_raw(w, "authMethods",
	       c->harness->auth_methods ? slice_of(c->harness->auth_methods) : SLICE("[]"));
	jw_self(w, "agentInfo", "acpd", "acpd");
	if (c->harness->caps.steer) /* where its inventors put it */
		jw_raw(w, "_meta", SLICE("{\"steering\":{\"supported\":true}}"));
	jw_end_obj(w);
	c->phase = c->model_only ? CONN_MODELS : CONN_READY;
	/* not by the dispatcher: what tells of a resume stands behind the answer */
	conn_result(c, NULL, q->msg->id, buf_slice(&q->out));
	conn_tell_resumed(c);
	return 0;
}

ACP_HANDLER(on_initialize, conn_initialize, struct init_args, init_fields);

static int conn_authenticate(struct acp_request *q, struct err *e)
{
	struct acp_conn *c = q->conn;
	_cleanup_(freep) char *id = NULL;

	if (!c->harness->auth_methods) {
		char hint[160];

		harness_login_hint(c->harness, hint, sizeof(hint));
		return err_set(e, -ENOSYS, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND",
			       "acpd knows no login of the harness '%s': %s", c->harness->id, hint);
	}
	if (jstr_decode(jobj_get(q->msg->params, "methodId"), RPC_ID_MAX, &id) < 0)
		return err_field(e, "methodId", "FIELD_INVALID", "methodId must be a string");
	jarr_each(v, slice_of(c->harness->auth_methods)) {
		if (v.type != J_OBJECT || !jstr_is(jobj_get(v.raw, "id"), id))
			continue;
		/* Only recorded: create_session passes it on. */
		xstrset(&c->auth_method, id);
		return REQUEST_ANSWER;
	}
	return err_field(e, "methodId", "AUTH_METHOD_UNKNOWN", "no such authentication method");
}

const struct acp_handler on_authenticate = { .run = conn_authenticate };
