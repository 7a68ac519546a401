/* acp_fork.c - session/fork (unstable ACP): a new session with the context of another. */
#include "acp/params.h"

#include <errno.h>

static int fork_from(struct acp_request *q, struct session_args *a, struct err *e)
{
	struct session *from = q->session, *s;
	struct acp_conn *c = q->conn;
	struct session_params p = opener_params(c);
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
	k = call_new(c, q->msg->id);
	s = session_fork(from, &p, on_session_created, k, e);
	if (!s) {
		call_free(k);
		session_refused(q, from, &p, e);
		return 0;
	}
	conn_serve(c, s);
	return 0;
}

static int fork_session(struct acp_request *q, struct err *e)
{
	struct session_args a;
	int r = session_args_decode(q->msg->params, CALL_FORK, &a, e);

	if (r < 0)
		return r;
	r = fork_from(q, &a, e);
	session_args_free(&a);
	return r;
}

const struct acp_handler on_session_fork = { .run = fork_session };
