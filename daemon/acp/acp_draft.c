/* acp_draft.c - _acpd/session/draft and _acpd/workspace/apply: a draft of a session's workspace, and what becomes of it. */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

struct draft_args {
	char *session_id, *digest;
	bool on, discard;
	struct slice meta, force;
};

static const struct jfield draft_fields[] = {
	JF_STR(struct draft_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_BOOL(struct draft_args, on, "on", JF_REQUIRED),
	JF_BOOL(struct draft_args, discard, "discard", 0),
	JF_OBJ(struct draft_args, meta, "_meta", 0),
	JF_END,
};

static const struct jfield apply_fields[] = {
	JF_STR(struct draft_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct draft_args, digest, "patchDigest", JF_REQUIRED, 80),
	JF_ARR(struct draft_args, force, "force", 0),
	JF_OBJ(struct draft_args, meta, "_meta", 0),
	JF_END,
};

static void on_result(void *ctx, struct slice result, const struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (!e) {
		call_result(ctx, result);
		return;
	}
	jw_members(&w, result, NULL);
	call_error(ctx, e, buf_slice(&b));
}

static int start(struct acp_conn *c, const struct rpc_msg *m, const struct draft_args *a,
		 struct err *e)
{
	struct session *s = view_find(c, a->session_id)->w.session; /* its driver calls */
	struct method_call *k = call_new(c, m->id);
	int r;

	k->session_id = xstrdup(a->session_id);
	r = a->digest ? session_apply_draft(s, a->digest, a->force, on_result, k, e) :
			session_switch_draft(s, a->on, a->discard, on_result, k, e);
	if (r < 0)
		call_free(k);
	return r;
}

static int check_force(struct slice force, struct err *e)
{
	struct jiter it;
	struct jval v;
	char field[32];

	if (!force.n)
		return 0;
	jiter_init(&it, (struct jval){ J_ARRAY, force });
	for (size_t i = 0; jiter_next(&it, NULL, &v); i++) {
		_cleanup_(freep) char *path = NULL;

		if (i == DRAFT_FORCE_MAX)
			return err_field(e, "force", "TOO_MANY", "force has more than %d paths",
					 DRAFT_FORCE_MAX);
		snprintf(field, sizeof(field), "force[%zu]", i);
		if (jstr_decode(v, PATH_BYTES_MAX, &path) < 0 || !*path)
			return err_field(e, field, "FIELD_INVALID",
					 "%s must be a path of conflicts", field);
	}
	return 0;
}

static int decode_and_start(struct acp_conn *c, const struct rpc_msg *m,
			    const struct jfield *fields, struct err *e)
{
	struct draft_args a = { 0 };
	struct sha256 digest;
	int r = own_params(m->params, fields, &a, e);

	if (r < 0)
		return r;
	if (a.discard && a.on)
		r = err_field(e, "discard", "FIELD_INVALID", "discard is for on: false");
	if (r == 0 && a.digest && archive_digest_parse(slice_of(a.digest), &digest) < 0)
		r = err_field(e, "patchDigest", "DIGEST_INVALID",
			      "patchDigest must be sha256: and 64 hex digits");
	if (r == 0)
		r = check_force(a.force, e);
	if (r == 0)
		r = start(c, m, &a, e);
	jdec_free(fields, &a);
	return r;
}

int on_session_draft(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return decode_and_start(c, m, draft_fields, e);
}

int on_workspace_apply(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return decode_and_start(c, m, apply_fields, e);
}
