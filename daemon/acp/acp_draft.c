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

static void on_drafted(void *ctx, struct slice result, const struct err *e)
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

static int check_draft(const struct draft_args *a, struct err *e)
{
	struct sha256 digest;

	if (a->discard && a->on)
		return err_field(e, "discard", "FIELD_INVALID", "discard is for on: false");
	if (a->digest && archive_digest_parse(slice_of(a->digest), &digest) < 0)
		return err_field(e, "patchDigest", "DIGEST_INVALID",
				 "patchDigest must be sha256: and 64 hex digits");
	return check_force(a->force, e);
}

static int start_draft(struct acp_request *q, struct err *e)
{
	const struct draft_args *a = q->args;
	struct session *s = q->session;
	struct method_call *k;
	int r = check_draft(a, e);

	if (r < 0)
		return r;
	k = request_work(q);
	r = a->digest ? session_apply_draft(s, a->digest, a->force, on_drafted, k, e) :
			session_switch_draft(s, a->on, a->discard, on_drafted, k, e);
	return call_started(k, r);
}

const struct acp_handler on_session_draft =
	ACP_HANDLER(start_draft, struct draft_args, draft_fields);
const struct acp_handler on_workspace_apply =
	ACP_HANDLER(start_draft, struct draft_args, apply_fields);
