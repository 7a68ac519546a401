/* acp_hold.c - requests that need a uid which nobody has now: a new session while all are taken, and whatever needs the files of
 * a closed session whose uid was given to others. They wait and are read again (session/parts/users/uid_lending.h). */
#include "acp/acp_internal.h"

#include "json/jstr.h"
#include "session/parts/users/session_uids.h"

#include <stdio.h>

struct held_request {
	struct method_call *call;
	char *method, *params;
};

static void held_free(struct held_request *h)
{
	explicit_bzero(h->params, strlen(h->params)); /* there may be keys */
	free(h->params);
	free(h->method);
	free(h);
}

static void read_again(struct held_request *h)
{
	struct acp_conn *c = h->call->conn;
	_cleanup_(freep) char *id = xstrdup(h->call->id);
	struct rpc_msg m = { .kind = RPC_REQUEST,
			     .id = slice_of(id),
			     .params = slice_of(h->params) };

	snprintf(m.method, sizeof(m.method), "%s", h->method);
	call_free(h->call);
	if (!c || c->phase == CONN_CLOSING)
		return;
	c->repaired = 0;
	conn_dispatch(c, &m);
}

static void on_ready(void *ctx, const struct err *e)
{
	struct held_request *h = ctx;

	if (e)
		call_error(h->call, e, SLICE_NONE);
	else
		read_again(h);
	held_free(h);
}

/* An observer changes nothing, and reads what is the daemon's. */
static bool observes(const struct acp_conn *c, struct slice acpd)
{
	return jobj_get(acpd, "observe").type == J_TRUE ||
	       !need_met(NEED_DRIVE, grant_scope(c->transport.grant));
}

/* False: it needs nothing, or its handler says what is wrong with it. */
static bool find_need(const struct acp_request *q, enum uid_hold hold, struct uid_need *ret,
		      char **cwd)
{
	struct slice params = q->msg->params;
	struct slice acpd = jobj_get(jobj_get(params, "_meta").raw, "acpd").raw;

	*ret = (struct uid_need){ .fresh = hold == HOLD_NEW };
	if (hold == HOLD_REOPEN && observes(q->conn, acpd))
		return false;
	if (hold != HOLD_NEW) {
		ret->session = q->session;
		return ret->session != NULL;
	}
	if (jobj_get(jobj_get(acpd, "workspace").raw, "ephemeral").type == J_TRUE)
		return true;
	if (jstr_decode(jobj_get(params, "cwd"), PATH_BYTES_MAX, cwd) < 0 || **cwd != '/')
		return false;
	ret->cwd = *cwd;
	return true;
}

int conn_hold(const struct acp_request *q, enum uid_hold hold, struct err *e)
{
	_cleanup_(freep) char *cwd = NULL;
	const struct rpc_msg *m = q->msg;
	struct held_request *h;
	struct uid_need need;
	int r;

	if (hold == HOLD_NONE || !find_need(q, hold, &need, &cwd))
		return 0;
	h = new0(struct held_request);
	h->method = xstrdup(m->method);
	h->params = xstrndup(m->params.p, m->params.n);
	r = store_uid_need(q->conn->srv->store, &need, on_ready, h, e);
	if (r > 0)
		h->call = call_new(q->conn, m->id);
	else
		held_free(h);
	return r;
}
