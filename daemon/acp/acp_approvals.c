/* acp_approvals.c - _acpd/approvals/list and its kin: questions of any session, for who does not drive it. */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "json/jdec.h"
#include "session/parts/approval/approvals.h"

#include <errno.h>

struct approvals_args {
	char *session_id, *cursor;
	struct slice meta;
};

static const struct jfield approvals_fields[] = {
	JF_STR(struct approvals_args, session_id, "sessionId", 0, RPC_ID_MAX),
	JF_STR(struct approvals_args, cursor, "cursor", 0, 64),
	JF_OBJ(struct approvals_args, meta, "_meta", 0),
	JF_END,
};

int on_approvals_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct approvals_args a = { 0 };
	struct jw w = JW(&b);
	int r = own_params(m->params, approvals_fields, &a, e);

	if (r < 0)
		return r;
	jw_obj(&w, NULL);
	r = approvals_put(c->srv->store,
			  &(struct approval_query){ a.session_id, c->transport.grant, a.cursor },
			  &w, e);
	jw_end_obj(&w);
	if (r == -ENOENT)
		not_found(e, a.session_id);
	if (r == 0)
		conn_result(c, NULL, m->id, buf_slice(&b));
	jdec_free(approvals_fields, &a);
	return r;
}

struct answer_args {
	char *session_id, *id, *option_id, *action, *by;
	struct slice outcome, content, meta;
};

static const struct jfield answer_fields[] = {
	JF_STR(struct answer_args, session_id, "sessionId", 0, RPC_ID_MAX),
	JF_STR(struct answer_args, id, "id", JF_REQUIRED, APPROVAL_ID_SIZE),
	JF_STR(struct answer_args, option_id, "optionId", 0, APPROVAL_OPTION_MAX),
	JF_OBJ(struct answer_args, outcome, "outcome", 0),
	JF_STR(struct answer_args, action, "action", 0, 16),
	JF_OBJ(struct answer_args, content, "content", 0),
	JF_STR(struct answer_args, by, "by", 0, 16),
	JF_OBJ(struct answer_args, meta, "_meta", 0),
	JF_END,
};

/* The session that is named beside is the one that the id names. */
static int check_session(struct acp_conn *c, const struct answer_args *a, struct err *e)
{
	size_t n = a->session_id ? strlen(a->session_id) : 0;

	if (!a->session_id)
		return 0;
	if (!store_find(c->srv->store, a->session_id))
		return not_found(e, a->session_id);
	if (strncmp(a->id, a->session_id, n) == 0 && a->id[n] == ':')
		return 0;
	return err_field(e, "sessionId", "FIELD_INVALID",
			 "sessionId: the id is of another session");
}

/* The id says whose question it is. One of a session that the token does not see is none for it. */
static int check_driver_of(struct acp_conn *c, const char *id, struct err *e)
{
	_cleanup_(freep) char *session = approval_session(id);
	const struct view *v = view_find(c, session);

	if (!grant_sees(c->transport.grant, session))
		return approval_unknown(e);
	return v && v->w.observes ? grant_missing(NEED_DRIVE, e) : 0;
}

static void answered(struct acp_conn *c, const struct rpc_msg *m, const char *id,
		     struct slice answer)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "id", id);
	jw_raw(&w, "answer", answer);
	jw_end_obj(&w);
	conn_result(c, NULL, m->id, buf_slice(&b));
}

int on_approvals_answer(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct answer_args a = { 0 };
	int r = own_params(m->params, answer_fields, &a, e);

	if (r < 0)
		return r;
	r = check_session(c, &a, e);
	if (r == 0)
		r = check_driver_of(c, a.id, e);
	if (r == 0)
		r = approval_answer(c->srv->store, a.id,
				    &(struct approval_reply){ a.option_id, a.outcome, a.action,
							      a.content, a.by },
				    "acp", &b, e);
	if (r == 0)
		answered(c, m, a.id, buf_slice(&b));
	else if (r == -EALREADY)
		conn_error(c, NULL, m->id, e, buf_slice(&b));
	jdec_free(answer_fields, &a);
	return r == -EALREADY ? 0 : r;
}
