/* acp_harness.c - _acpd/harness/list: which harnesses are installed, and which version each says it has; and what a client
 * is told of one that wants a login. */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "json/jdec.h"
#include "session/parts/programs/programs.h"

#include <errno.h>

#define KNOWN_SHOWN 150 /* bytes of the names in the message */

void harness_unknown(const struct acp_request *q, const char *field)
{
	_cleanup_(buf_done) struct buf b = { 0 }, names = { 0 };
	const struct harness_table *t = q->conn->srv->harnesses;
	struct jw w = JW(&b);
	struct err e;

	jw_arr(&w, "known");
	for (size_t i = 0; i < t->n; i++) {
		const struct harness_def *def = &t->defs[i];

		if (!harness_installed(def))
			continue;
		jw_str(&w, NULL, def->id);
		buf_printf(&names, "%s%s", buf_len(&names) ? ", " : "", def->id);
	}
	jw_end_arr(&w);
	if (!buf_len(&names))
		buf_puts(&names, "none");
	err_field(&e, field, "HARNESS_UNKNOWN",
		  "%s: no such harness; installed: %.*s; acpd harness list shows all", field,
		  (int)MIN(buf_len(&names), (size_t)KNOWN_SHOWN), names.data);
	conn_error(q->conn, NULL, q->msg->id, &e, buf_slice(&b));
}

struct harness_list_params {
	char *session_id;
	struct slice meta;
};

static const struct jfield harness_list_fields[] = {
	JF_STR(struct harness_list_params, session_id, "sessionId", 0, RPC_ID_MAX),
	JF_OBJ(struct harness_list_params, meta, "_meta", 0),
	JF_END,
};

/* A request that waits until the programs have said their versions. */
struct harness_list {
	struct programs_ask ask;
	struct programs *programs;
	struct method_call *call;
	char *only; /* the harness of a session; NULL: all */
};

static void on_facts(void *ctx)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct harness_list *l = ctx;
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_arr(&w, "harnesses");
	for (size_t i = 0; i < programs_count(l->programs); i++) {
		const struct program_fact *f = programs_at(l->programs, i);

		if (!l->only || strcmp(l->only, f->def->id) == 0)
			program_put(&w, f);
	}
	jw_end_arr(&w);
	jw_end_obj(&w);
	call_result(l->call, buf_slice(&b));
	free(l->only);
	free(l);
}

static int harness_list(struct acp_request *q, struct err *e _unused_)
{
	struct harness_list *l = new0(struct harness_list);

	l->programs = store_programs(q->conn->srv->store);
	l->call = call_new(q->conn, q->msg->id);
	l->only = q->session ? xstrdup(session_harness(q->session)->id) : NULL;
	programs_ask(l->programs, &l->ask, on_facts, l);
	return 0;
}

const struct acp_handler on_harness_list = ACP_HANDLER(harness_list, struct harness_list_params,
						       harness_list_fields, .finds_session = true);

struct err login_error(const struct acp_conn *c, const struct session *s, const struct err *e)
{
	const struct harness_def *def = s ? session_harness(s) : NULL;
	char hint[160];
	struct err own;

	if (e->rpc != RPC_AUTH_REQUIRED || !c || !def || (def == c->harness && def->auth_methods))
		return *e;
	harness_login_hint(def, hint, sizeof(hint));
	err_set(&own, -EACCES, RPC_INTERNAL_ERROR, "HARNESS_AUTH_REQUIRED", "%.*s; %s",
		(int)(sizeof(own.msg) - sizeof(hint)), e->msg, hint);
	return own;
}
