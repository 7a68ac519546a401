/* acp_rules.c - _acpd/approvals/rules and forget: what people of a session have decided from now on. Like answers, for
 * any connection: who may answer a question may take an answer back. */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "json/jdec.h"

#include <errno.h>

struct own_rules_args {
	char *session_id, *id;
	struct slice meta;
};

static const struct jfield rules_fields[] = {
	JF_STR(struct own_rules_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_OBJ(struct own_rules_args, meta, "_meta", 0),
	JF_END,
};

static const struct jfield forget_fields[] = {
	JF_STR(struct own_rules_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct own_rules_args, id, "id", JF_REQUIRED, RULE_ID_MAX),
	JF_OBJ(struct own_rules_args, meta, "_meta", 0),
	JF_END,
};

/* The rules as they are after. */
static int answer_rules(struct acp_request *q)
{
	struct jw *w = request_answer(q);

	jw_arr(w, "rules");
	session_rules_put(q->session, w);
	jw_end_arr(w);
	return REQUEST_ANSWER;
}

static int approvals_rules(struct acp_request *q, struct err *e _unused_)
{
	return answer_rules(q);
}

static int approvals_forget(struct acp_request *q, struct err *e)
{
	const struct own_rules_args *a = q->args;
	int r = session_rules_forget(q->session, a->id, e);

	return r < 0 ? r : answer_rules(q);
}

const struct acp_handler on_approvals_rules =
	ACP_HANDLER(approvals_rules, struct own_rules_args, rules_fields, .finds_session = true);
const struct acp_handler on_approvals_forget =
	ACP_HANDLER(approvals_forget, struct own_rules_args, forget_fields, .finds_session = true);
