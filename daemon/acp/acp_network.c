/* acp_network.c - _acpd/network/set: other rules for where a session may go. */
#include "acp/params.h"

#include "base/limits.h"

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

/* Here it is a parameter itself. */
static int change_network(const struct acp_conn *c, struct session *s, struct slice network,
			  struct err *e)
{
	int r = check_ceiling(c, s, &(struct setup_params){ .network = network }, e);

	if (r == 0)
		r = session_set_network(s, network, e);
	if (r < 0)
		err_unprefix(e, "_meta.acpd.");
	return r;
}

static int network_set(struct acp_request *q, struct err *e)
{
	const struct network_args *a = q->args;
	int r = change_network(q->conn, q->session, a->network, e);
	struct jw *w;

	if (r < 0)
		return r;
	w = answer_acpd(q);
	session_put_network(w, q->session);
	session_put_pending(q->session, w);
	return end_acpd(w);
}

const struct acp_handler on_network_set =
	ACP_HANDLER(network_set, struct network_args, network_fields);
