/* workspace.c - _acpd/workspace/materialize and _acpd/skills/install: more for the workspace and the private home of an open session. */
#include "acp/internal.h"

#include "base/limits.h"
#include "json/jdec.h"

#include <errno.h>

struct furnish_args {
	char *session_id;
	struct request_args request;
};

static const struct jfield materialize_fields[] = {
	JF_STR(struct furnish_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_OBJ(struct furnish_args, request.workspace, "workspace", 0),
	JF_RAW(struct furnish_args, request.instructions, "instructions", 0),
	JF_RAW(struct furnish_args, request.harness_files, "harnessFiles", 0),
	JF_END,
};

static const struct jfield install_fields[] = {
	JF_STR(struct furnish_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_RAW(struct furnish_args, request.skills, "skills", JF_REQUIRED),
	JF_END,
};

static void on_furnished(void *ctx, struct slice result, const struct err *e)
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

/* What only a session that is being made can have. */
static int check_live(const struct request *r, struct err *e)
{
	if (r->ephemeral || r->chown || r->baseline >= 0)
		return err_field(e, "workspace", "FIELD_INVALID",
				 "ephemeral, chown and baseline belong to session/new");
	if (!request_writes(r))
		return err_field(e, "workspace", "FIELD_MISSING", "there is nothing to write");
	return 0;
}

static int furnish(struct acp_conn *c, const struct rpc_msg *m, const struct furnish_args *a,
		   struct err *e)
{
	struct session *s = store_find(c->srv->store, a->session_id);
	struct request request;
	struct call *k;
	int r;

	if (!s)
		return not_found(e, a->session_id);
	r = request_parse(&a->request, "", &request, e);
	if (r < 0)
		return r;
	r = check_live(&request, e);
	if (r == 0) {
		k = call_new(c, m->id);
		r = session_furnish(s, &request, "", on_furnished, k, e);
		if (r < 0)
			call_free(k);
	}
	request_done(&request);
	return r;
}

static int decode_and_furnish(struct acp_conn *c, const struct rpc_msg *m,
			      const struct jfield *fields, struct err *e)
{
	struct furnish_args a = { 0 };
	int r = jdec_object(m->params, fields, NULL, &a, e);

	if (r < 0)
		return r;
	r = furnish(c, m, &a, e);
	jdec_free(fields, &a);
	return r;
}

int on_materialize(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return decode_and_furnish(c, m, materialize_fields, e);
}

int on_skills_install(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return decode_and_furnish(c, m, install_fields, e);
}
