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

int own_params(struct slice params, const struct jfield *fields, void *ret, struct err *e)
{
	return jdec_strict(params, fields, NULL, "this method has no such parameter", ret, e);
}

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

static int provision(struct acp_conn *c, const struct rpc_msg *m, const struct provision_args *a,
		     bool dry_run, struct err *e)
{
	struct session *s = store_find(c->srv->store, a->session_id);
	struct request request;
	struct method_call *k;
	int r;

	if (!s)
		return not_found(e, a->session_id);
	r = request_parse(&a->request, "", &request, e);
	if (r < 0)
		return r;
	request.dry_run = dry_run;
	r = check_live(&request, e);
	if (r == 0) {
		k = call_new(c, m->id);
		k->session_id = xstrdup(a->session_id);
		r = session_provision(s, &request, "", on_provisioned, k, e);
		if (r < 0)
			call_free(k);
	}
	request_done(&request);
	return r;
}

static int decode_and_provision(struct acp_conn *c, const struct rpc_msg *m,
				const struct jfield *fields, bool dry_run, struct err *e)
{
	struct provision_args a = { 0 };
	int r = own_params(m->params, fields, &a, e);

	if (r < 0)
		return r;
	r = provision(c, m, &a, dry_run, e);
	jdec_free(fields, &a);
	return r;
}

int on_materialize(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return decode_and_provision(c, m, materialize_fields, false, e);
}

int on_skills_install(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return decode_and_provision(c, m, install_fields, false, e);
}

int on_skills_remove(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return decode_and_provision(c, m, remove_fields, false, e);
}

/* An installation that stops before it does anything. */
int on_skills_validate(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return decode_and_provision(c, m, install_fields, true, e);
}

static void on_result(void *ctx, struct slice result, const struct err *e)
{
	if (e)
		call_error(ctx, e, SLICE_NONE);
	else
		call_result(ctx, result);
}

/* What comes with an error is of no use to who only looks. */
static void on_diffed(void *ctx, struct slice result, const struct err *e)
{
	on_result(ctx, e ? SLICE_NONE : result, e);
}

static const struct jfield skills_fields[] = {
	JF_STR(struct provision_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_OBJ(struct provision_args, meta, "_meta", 0),
	JF_END,
};

static int skills_list(struct acp_conn *c, const struct rpc_msg *m, const char *id, struct err *e)
{
	struct session *s = store_find(c->srv->store, id);
	struct method_call *k;
	int r;

	if (!s)
		return not_found(e, id);
	k = call_new(c, m->id);
	r = session_skills(s, on_result, k, e);
	if (r < 0)
		call_free(k);
	return r;
}

int on_skills_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	struct provision_args a = { 0 };
	int r = own_params(m->params, skills_fields, &a, e);

	if (r < 0)
		return r;
	r = skills_list(c, m, a.session_id, e);
	jdec_free(skills_fields, &a);
	return r;
}

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

static int diff(struct acp_conn *c, const struct rpc_msg *m, const struct diff_args *a,
		struct err *e)
{
	struct session *s = store_find(c->srv->store, a->session_id);
	struct method_call *k;
	uint64_t since;
	int r = take_since(a->since, &since, e);

	if (r < 0)
		return r;
	if (!s)
		return not_found(e, a->session_id);
	k = call_new(c, m->id);
	k->session_id = xstrdup(a->session_id);
	r = is_of_draft(s, a->since) ? session_diff_draft(s, on_diffed, k, e) :
				       session_diff(s, since, on_diffed, k, e);
	if (r < 0)
		call_free(k);
	return r;
}

int on_diff(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	struct diff_args a = { 0 };
	int r = own_params(m->params, diff_fields, &a, e);

	if (r < 0)
		return r;
	r = diff(c, m, &a, e);
	jdec_free(diff_fields, &a);
	return r;
}
