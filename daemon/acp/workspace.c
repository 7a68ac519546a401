/* workspace.c - _acpd/workspace/materialize and diff, _acpd/skills/install, remove, validate and list: more for
 * the workspace and the private home of an open session, and what has changed in it. */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <errno.h>

struct provision_args {
	char *session_id;
	struct slice meta;
	struct request_args request;
};

static const struct jfield materialize_fields[] = {
	JF_STR(struct provision_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_OBJ(struct provision_args, request.workspace, "workspace", 0),
	JF_RAW(struct provision_args, request.instructions, "instructions", 0),
	JF_ARR(struct provision_args, request.harness_files, "harnessFiles", 0),
	JF_OBJ(struct provision_args, meta, "_meta", 0),
	JF_END,
};

static const struct jfield install_fields[] = {
	JF_STR(struct provision_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_ARR(struct provision_args, request.skills, "skills", JF_REQUIRED),
	JF_OBJ(struct provision_args, meta, "_meta", 0),
	JF_END,
};

static const struct jfield remove_fields[] = {
	JF_STR(struct provision_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_ARR(struct provision_args, request.remove_skills, "names", JF_REQUIRED),
	JF_OBJ(struct provision_args, meta, "_meta", 0),
	JF_END,
};

static void on_provisioned(void *ctx, struct slice result, const struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (!e) {
		call_result(ctx, result);
		return;
	}
	jw_raw(&w, "refused", result);
	call_error(ctx, e, buf_slice(&b));
}

static int check_live(const struct request *r, struct err *e)
{
	int ret = request_check_live(r, "", e);

	if (ret == 0 && !request_writes(r))
		ret = err_field(e, "workspace", "FIELD_MISSING", "there is nothing to write");
	return ret;
}

static int provision(const struct acp_request *q, bool dry_run, struct err *e)
{
	const struct provision_args *a = q->args;
	struct request request;
	struct method_call *k;
	int r = request_parse(&a->request, "", &request, e);

	if (r < 0)
		return r;
	request.dry_run = dry_run;
	r = check_live(&request, e);
	if (r == 0) {
		k = request_work(q);
		r = call_started(k,
				 session_provision(q->session, &request, "", on_provisioned, k, e));
	}
	request_done(&request);
	return r;
}

static int materialize(struct acp_request *q, struct err *e)
{
	return provision(q, false, e);
}

/* An installation that stops before it does anything. */
static int validate_skills(struct acp_request *q, struct err *e)
{
	return provision(q, true, e);
}

const struct acp_handler on_materialize =
	ACP_HANDLER(materialize, struct provision_args, materialize_fields, .finds_session = true);
const struct acp_handler on_skills_install =
	ACP_HANDLER(materialize, struct provision_args, install_fields, .finds_session = true);
const struct acp_handler on_skills_remove =
	ACP_HANDLER(materialize, struct provision_args, remove_fields, .finds_session = true);
const struct acp_handler on_skills_validate =
	ACP_HANDLER(validate_skills, struct provision_args, install_fields, .finds_session = true);

/* What comes with an error is of no use to who only looks. */
static void on_diffed(void *ctx, struct slice result, const struct err *e)
{
	call_done(ctx, e ? SLICE_NONE : result, e);
}

static const struct jfield skills_fields[] = {
	JF_STR(struct provision_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_OBJ(struct provision_args, meta, "_meta", 0),
	JF_END,
};

static int list_skills(struct acp_request *q, struct err *e)
{
	struct method_call *k = call_new(q->conn, q->msg->id);

	return call_started(k, session_skills(q->session, call_done, k, e));
}

const struct acp_handler on_skills_list =
	ACP_HANDLER(list_skills, struct provision_args, skills_fields, .finds_session = true);

/* --- diff ------------------------------------------------------------------------------------------------ */

struct diff_args {
	char *session_id;
	struct jval since;
	struct slice meta;
};

static const struct jfield diff_fields[] = {
	JF_STR(struct diff_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_RAW(struct diff_args, since, "since", 0),
	JF_OBJ(struct diff_args, meta, "_meta", 0),
	JF_END,
};

/* "baseline", or the number of a turn. */
static int take_since(struct jval v, uint64_t *ret, struct err *e)
{
	int64_t n = 0;

	*ret = 0;
	if (v.type == J_NONE || v.type == J_NULL || jstr_is(v, "baseline"))
		return 0;
	if (jdec_int(v, &n) < 0 || n < 1)
		return err_field(e, "since", "FIELD_INVALID",
				 "since must be \"baseline\" or the number of a turn");
	*ret = (uint64_t)n;
	return 0;
}

/* Of a draft, unless a time is named: what it changes in the real tree. */
static bool is_of_draft(const struct session *s, struct jval since)
{
	return session_draft_on(s) && (since.type == J_NONE || since.type == J_NULL);
}

static int diff(struct acp_request *q, struct err *e)
{
	const struct diff_args *a = q->args;
	struct session *s = q->session;
	struct method_call *k;
	uint64_t since;
	int r = take_since(a->since, &since, e);

	if (r < 0)
		return r;
	if (!s)
		return not_found(e, a->session_id);
	k = request_work(q);
	r = is_of_draft(s, a->since) ? session_diff_draft(s, on_diffed, k, e) :
				       session_diff(s, since, on_diffed, k, e);
	return call_started(k, r);
}

const struct acp_handler on_diff = ACP_HANDLER(diff, struct diff_args, diff_fields);
