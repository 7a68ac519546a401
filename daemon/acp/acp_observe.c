/* acp_observe.c - session/load and resume by who only looks: beside the driver, of sessions that are closed, too. Nothing of the
 * session is changed, its harness is not started, and it asks nothing. daemon/protocol/tokens.md */
#include "acp/params.h"

#include <errno.h>
#include <stdio.h>

bool is_observing(const struct acp_conn *c, const struct session_args *a)
{
	return a->observe.type == J_TRUE || !need_met(NEED_DRIVE, grant_scope(c->transport.grant));
}

static int refuse_observer(struct err *e, const char *prefix, struct slice name)
{
	grant_missing(NEED_DRIVE, e);
	snprintf(e->field, sizeof(e->field), "%s%.*s", prefix, (int)MIN(name.n, 64u), name.p);
	snprintf(e->msg, sizeof(e->msg), "%s: who observes changes nothing", e->field);
	return -EACCES;
}

static bool param_is_given(struct jval v)
{
	/* ACP requires mcpServers of a load, so an observer sends an empty list. */
	return v.type != J_NONE && v.type != J_NULL && !slice_is(v.raw, "[]");
}

/* All that would change the session is refused, not left out. */
static int check_looks(const struct session_args *a, struct err *e)
{
	static const char *const looks[] = { "incarnation", "fromSeq", "observe" };
	const struct {
		const char *name;
		struct jval v;
	} given[] = { { "mcpServers", a->mcp_servers },
		      { "additionalDirectories", a->additional_dirs },
		      { "systemPrompt", a->system_prompt } };
	struct jval acpd = jobj_get(a->meta, "acpd");

	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		if (param_is_given(given[i].v))
			return refuse_observer(e, "", slice_of(given[i].name));
	/* The client asks to drive, and only its token makes it an observer (is_observing). */
	if (a->observe.type == J_FALSE)
		return refuse_observer(e, "_meta.acpd.", SLICE("observe"));
	jobj_each(key, v, acpd) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
			known |= slice_is(key, looks[i]);
		if (!known)
			return refuse_observer(e, "_meta.acpd.", key);
	}
	return 0;
}

int observe(const struct acp_request *q, const struct session_args *a, bool load, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct session *s = q->session;
	struct method_call *k;
	struct view *v;
	int r = check_looks(a, e);

	if (r == 0)
		r = check_reopen(q, a, e);
	if (r < 0)
		return r;
	k = call_reopen(q, s, a, load);
	v = view_observe(q->conn, s, reopen_from(k, s));
	session_put_opened(&b, q->conn, s, false);
	if (load)
		k->view = v; /* the response waits behind the replay */
	call_result(k, buf_slice(&b));
	return 0;
}

void conn_put_token(struct jw *w, const struct acp_conn *c)
{
	if (grant_minted(c->transport.grant))
		grant_put(c->transport.grant, w, "token");
}
