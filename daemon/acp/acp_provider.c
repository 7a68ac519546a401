/* acp_provider.c - _acpd/provider/set: another provider for a session, whose harness goes on. */
#include "acp/params.h"

#include "base/limits.h"

struct provider_args {
	char *session_id;
	struct slice provider, meta;
};

static const struct jfield set_fields[] = {
	JF_STR(struct provider_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_OBJ(struct provider_args, provider, "provider", JF_REQUIRED),
	JF_OBJ(struct provider_args, meta, "_meta", 0),
	JF_END,
};

/* Here it is a parameter itself. */
static int check_given(struct acp_conn *c, struct slice provider, struct err *e)
{
	int r = provider_check(provider, c->model_apis, e);

	if (r < 0)
		err_unprefix(e, "_meta.acpd.");
	return r;
}

static int provider_set(struct acp_request *q, struct err *e)
{
	const struct provider_args *a = q->args;
	int r = check_given(q->conn, a->provider, e);
	struct jw *w;

	if (r == 0)
		r = session_set_provider(q->session, a->provider, false, e);
	if (r < 0)
		return r;
	w = answer_acpd(q);
	session_put_provider(w, q->session);
	return end_acpd(w);
}

const struct acp_handler on_provider_set =
	ACP_HANDLER(provider_set, struct provider_args, set_fields);
