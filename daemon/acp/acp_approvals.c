/*
 * acp_approvals.c - _acpd/approvals/list and answer: questions of any session, for a client that does not drive it; and
 * _acpd/approvals/rules and forget: what the users of a session have decided from now on. A client that may answer a question
 * may also take an answer back.
 */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "json/jdec.h"
#include "session/parts/approval/approvals.h"

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

static int approvals_list(struct acp_request *q, struct err *e)
{
	const struct approvals_args *a = q->args;
	const struct approval_query query = { a->session_id, q->conn->transport.grant, a->cursor };
	int r = approvals_put(q->conn->srv->store, &query, request_answer(q), e);

	if (r == -ENOENT)
		not_found(e, a->session_id);
	return r < 0 ? r : REQUEST_ANSWER;
}

ACP_HANDLER(on_approvals_list, approvals_list, struct approvals_args, approvals_fields,
	    .unknown_ok = true);

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
static int check_session_of_id(const struct answer_args *a, struct err *e)
{
	size_t n = a->session_id ? strlen(a->session_id) : 0;

	/* An approval's id is SESSION:NUMBER (approvals.h). */
	if (!a->session_id || (strncmp(a->id, a->session_id, n) == 0 && a->id[n] == ':'))
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

static int approvals_answer(struct acp_request *q, struct err *e)
{
	const struct answer_args *a = q->args;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw *w;
	int r = check_session_of_id(a, e);

	if (r == 0)
		r = check_driver_of(q->conn, a->id, e);
	if (r == 0)
		r = approval_answer(q->conn->srv->store, a->id,
				    &(struct approval_reply){ a->option_id, a->outcome, a->action,
							      a->content, a->by },
				    "acp", &b, e);
	if (r == -EALREADY) { /* b: what it was answered with */
		conn_error(q->conn, NULL, q->msg->id, e, buf_slice(&b));
		return 0;
	}
	if (r < 0)
		return r;
	w = request_answer(q);
	jw_str(w, "id", a->id);
	jw_raw(w, "answer", buf_slice(&b));
	return REQUEST_ANSWER;
}

ACP_HANDLER(on_approvals_answer, approvals_answer, struct answer_args, answer_fields);

/* --- rules that answers have made ------------------------------------------------------------------------ */

struct own_rules_args {
	char *session_id, *id;
	struct slice meta;
};

static const struct jfield forget_fields[] = {
	JF_STR(struct own_rules_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct own_rules_args, id, "id", JF_REQUIRED, RULE_ID_MAX),
	JF_OBJ(struct own_rules_args, meta, "_meta", 0),
	JF_END,
};

/* The rules as they are after. */
static int answer_rules(struct acp_request *q, struct err *e _unused_)
{
	struct jw *w = request_answer(q);

	jw_arr(w, "rules");
	session_rules_put(q->session, w);
	jw_end_arr(w);
	return REQUEST_ANSWER;
}

static int approvals_forget(struct acp_request *q, struct err *e)
{
	const struct own_rules_args *a = q->args;
	int r = session_rules_forget(q->session, a->id, e);

	return r < 0 ? r : answer_rules(q, e);
}

ACP_HANDLER(on_approvals_rules, answer_rules, struct named_session, session_fields);
ACP_HANDLER(on_approvals_forget, approvals_forget, struct own_rules_args, forget_fields);
