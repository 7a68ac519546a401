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

static void answer(struct acp_conn *c, const struct rpc_msg *m, const struct session *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_obj(&w, "_meta");
	jw_obj(&w, "acpd");
	session_put_provider(&w, s);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	conn_result(c, NULL, m->id, buf_slice(&b));
}

int on_provider_set(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	struct provider_args a = { 0 };
	struct session *s;
	int r = own_params(m->params, set_fields, &a, e);

	if (r < 0)
		return r;
	s = view_find(c, a.session_id)->w.session; /* its driver calls */
	r = check_given(c, a.provider, e);
	if (r == 0)
		r = session_set_provider(s, a.provider, false, e);
	if (r == 0)
		answer(c, m, s);
	jdec_free(set_fields, &a);
	return r;
}
