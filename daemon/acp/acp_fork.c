/* acp_fork.c - session/fork (unstable ACP): a new session with the context of another. */
#include "acp/params.h"

#include <errno.h>

static int fork_from(struct acp_conn *c, const struct rpc_msg *m, struct session_args *a,
		     struct err *e)
{
	struct session *from = store_find(c->srv->store, a->session_id);
	struct session_params p = opener_params(c);
	struct session *s;
	struct method_call *k;
	int r;

	p.setup.auth_method = c->auth_method;
	if (!from)
		return not_found(e, a->session_id);
	p.harness = session_harness(from);
	r = check_cwd(from, a->cwd, e);
	if (r == 0)
		r = session_args_check(a, session_caps(from), &p, e);
	if (r < 0)
		return r;
	k = call_new(c, m->id);
	s = session_fork(from, &p, on_session_created, k, e);
	if (!s) {
		call_free(k);
		session_refused(c, m, from, &p, e);
		return 0;
	}
	conn_serve(c, s);
	return 0;
}

int on_session_fork(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	struct session_args a;
	int r = session_args_decode(m->params, CALL_FORK, &a, e);

	if (r < 0)
		return r;
	r = fork_from(c, m, &a, e);
	session_args_free(&a);
	return r;
}
