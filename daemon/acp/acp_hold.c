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

static const struct held_method {
	const char *name;
	bool fresh, opens;
} held_methods[] = {
	{ "session/new", true, false },		  { "session/load", false, true },
	{ "session/resume", false, true },	  { "session/fork", false, false },
	{ "_acpd/workspace/diff", false, false }, { "_acpd/skills/list", false, false },
	{ "_acpd/artifact/put", false, false },
};

static const struct held_method *find(const struct rpc_msg *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(held_methods); i++)
		if (strcmp(held_methods[i].name, m->method) == 0)
			return &held_methods[i];
	return NULL;
}

/* False: it needs nothing, or its handler says what is wrong with it. */
static bool find_need(struct acp_conn *c, const struct rpc_msg *m, const struct held_method *row,
		      struct uid_need *ret, char **cwd)
{
	struct slice acpd = jobj_get(jobj_get(m->params, "_meta").raw, "acpd").raw;
	_cleanup_(freep) char *id = NULL;

	*ret = (struct uid_need){ .fresh = row->fresh };
	if (row->opens && observes(c, acpd))
		return false;
	if (!row->fresh) {
		if (jstr_decode(jobj_get(m->params, "sessionId"), RPC_ID_MAX, &id) == 0)
			ret->session = store_find(c->srv->store, id);
		return ret->session != NULL;
	}
	if (jobj_get(jobj_get(acpd, "workspace").raw, "ephemeral").type == J_TRUE)
		return true;
	if (jstr_decode(jobj_get(m->params, "cwd"), PATH_BYTES_MAX, cwd) < 0 || **cwd != '/')
		return false;
	ret->cwd = *cwd;
	return true;
}

int conn_hold(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	const struct held_method *row = find(m);
	_cleanup_(freep) char *cwd = NULL;
	struct held_request *h;
	struct uid_need need;
	int r;

	if (!row || !find_need(c, m, row, &need, &cwd))
		return 0;
	h = new0(struct held_request);
	h->method = xstrdup(m->method);
	h->params = xstrndup(m->params.p, m->params.n);
	r = store_uid_need(c->srv->store, &need, on_ready, h, e);
	if (r > 0)
		h->call = call_new(c, m->id);
	else
		held_free(h);
	return r;
}
