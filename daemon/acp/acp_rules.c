/* acp_rules.c - _acpd/approvals/rules and forget: what people of a session have decided from now on. Like answers, for
 * any connection: who may answer a question may take an answer back. */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "json/jdec.h"

#include <errno.h>

struct own_rules_args {
	char *session_id, *id;
	struct slice meta;
};

static const struct jfield rules_fields[] = {
	JF_STR(struct own_rules_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_OBJ(struct own_rules_args, meta, "_meta", 0),
	JF_END,
};

static const struct jfield forget_fields[] = {
	JF_STR(struct own_rules_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct own_rules_args, id, "id", JF_REQUIRED, RULE_ID_MAX),
	JF_OBJ(struct own_rules_args, meta, "_meta", 0),
	JF_END,
};

/* NULL with e, or decoded; then jdec_free. */
static struct session *session_named(struct acp_conn *c, const struct rpc_msg *m,
				     const struct jfield *fields, struct own_rules_args *a,
				     struct err *e)
{
	struct session *s = NULL;

	if (own_params(m->params, fields, a, e) < 0)
		return NULL;
	s = store_find(c->srv->store, a->session_id);
	if (!s)
		not_found(e, a->session_id);
	return s;
}

/* The rules as they are after. */
static void answer_rules(struct acp_conn *c, const struct rpc_msg *m, const struct session *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_arr(&w, "rules");
	session_rules_put(s, &w);
	jw_end_arr(&w);
	jw_end_obj(&w);
	conn_result(c, NULL, m->id, buf_slice(&b));
}

int on_approvals_rules(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	struct own_rules_args a = { 0 };
	struct session *s = session_named(c, m, rules_fields, &a, e);

	if (s)
		answer_rules(c, m, s);
	jdec_free(rules_fields, &a);
	return s ? 0 : -ENOENT;
}

int on_approvals_forget(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	struct own_rules_args a = { 0 };
	struct session *s = session_named(c, m, forget_fields, &a, e);
	int r = s ? session_rules_forget(s, a.id, e) : -ENOENT;

	if (r == 0)
		answer_rules(c, m, s);
	jdec_free(forget_fields, &a);
	return r;
}
