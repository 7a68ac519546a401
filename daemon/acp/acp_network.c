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

static void answer(struct acp_conn *c, const struct rpc_msg *m, const struct session *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_obj(&w, "_meta");
	jw_obj(&w, "acpd");
	session_put_network(&w, s);
	session_put_pending(s, &w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	conn_result(c, NULL, m->id, buf_slice(&b));
}

/* Here it is a parameter itself. */
static int set(const struct acp_conn *c, struct session *s, struct slice network, struct err *e)
{
	int r = check_ceiling(c, s, &(struct setup_params){ .network = network }, e);

	if (r == 0)
		r = session_set_network(s, network, e);
	if (r < 0)
		err_unprefix(e, "_meta.acpd.");
	return r;
}

int on_network_set(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	struct network_args a = { 0 };
	struct session *s;
	int r = own_params(m->params, network_fields, &a, e);

	if (r < 0)
		return r;
	s = view_find(c, a.session_id)->w.session; /* its driver calls */
	r = set(c, s, a.network, e);
	if (r == 0)
		answer(c, m, s);
	jdec_free(network_fields, &a);
	return r;
}
