/*
 * workspace.c - the files of an open session: _acpd/workspace/materialize and _acpd/skills/... put more into its workspace and
 * home, _acpd/workspace/diff reports what has changed, _acpd/session/draft and _acpd/workspace/apply work on a draft of it, and
 * _acpd/artifact/... on files that belong to the session besides its history.
 */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "base/format/utf8.h"
#include "digest/base64.h"
#include "json/jstr.h"
#include "session/parts/workspace/artifact_store.h"

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
	JW_BUF(w, b);

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

/* A check is an installation that stops before it does anything. */
enum { PROVISION_WRITE, PROVISION_CHECK };

static int provision(struct acp_request *q, struct err *e)
{
	const struct provision_args *a = q->args;
	struct request request;
	struct method_call *k;
	int r = request_parse(&a->request, "", &request, e);

	if (r < 0)
		return r;
	request.dry_run = q->variant == PROVISION_CHECK;
	r = check_live(&request, e);
	if (r == 0) {
		k = request_work(q);
		r = call_started(k,
				 session_provision(q->session, &request, "", on_provisioned, k, e));
	}
	request_done(&request);
	return r;
}

ACP_HANDLER(on_materialize, provision, struct provision_args, materialize_fields);
ACP_HANDLER(on_skills_install, provision, struct provision_args, install_fields);
ACP_HANDLER(on_skills_remove, provision, struct provision_args, remove_fields);
ACP_HANDLER(on_skills_validate, provision, struct provision_args, install_fields,
	    .variant = PROVISION_CHECK);

/* What comes with an error is of no use to who only looks. */
static void on_diffed(void *ctx, struct slice result, const struct err *e)
{
	call_done(ctx, e ? SLICE_NONE : result, e);
}

static int list_skills(struct acp_request *q, struct err *e)
{
	struct method_call *k = call_new(q->conn, q->msg->id);

	return call_started(k, session_skills(q->session, call_done, k, e));
}

ACP_HANDLER(on_skills_list, list_skills, struct named_session, session_fields);

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
static int parse_since(struct jval v, uint64_t *ret, struct err *e)
{
	int64_t n = 0;

	*ret = 0;
	if (v.type == J_NONE || v.type == J_NULL || jstr_is(v, "baseline"))
		return 0;
	/* Turns are numbered from 1: 0 means the baseline. */
	if (jdec_int(v, &n) < 0 || n < 1)
		return err_field(e, "since", "FIELD_INVALID",
				 "since must be \"baseline\" or the number of a turn");
	*ret = (uint64_t)n;
	return 0;
}

/* Of a draft, unless a time is named: what it changes in the real tree. */
static bool is_of_draft(const struct session *s, struct jval since)
{
	return session_has_draft(s) && (since.type == J_NONE || since.type == J_NULL);
}

static int diff_workspace(struct acp_request *q, struct err *e)
{
	const struct diff_args *a = q->args;
	struct session *s = q->session;
	struct method_call *k;
	uint64_t since;
	int r = parse_since(a->since, &since, e);

	if (r < 0)
		return r;
	if (!s)
		return not_found(e, a->session_id);
	k = request_work(q);
	r = is_of_draft(s, a->since) ? session_diff_draft(s, on_diffed, k, e) :
				       session_diff(s, since, on_diffed, k, e);
	return call_started(k, r);
}

ACP_HANDLER(on_diff, diff_workspace, struct diff_args, diff_fields, .unknown_ok = true);

/* --- drafts ---------------------------------------------------------------------------------------------- */

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
	JW_BUF(w, b);

	if (!e) {
		call_result(ctx, result);
		return;
	}
	jw_members(&w, result, NULL);
	call_error(ctx, e, buf_slice(&b));
}

static int check_force(struct slice force, struct err *e)
{
	char field[32];

	if (!force.n)
		return 0;
	jarr_each_at(i, v, force) {
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

static int check_draft_args(const struct draft_args *a, struct err *e)
{
	struct sha256 digest;

	if (a->discard && a->on)
		return err_field(e, "discard", "FIELD_INVALID", "discard is for on: false");
	if (a->digest && sha256_parse(slice_of(a->digest), &digest) < 0)
		return err_field(e, "patchDigest", "DIGEST_INVALID",
				 "patchDigest must be sha256: and 64 hex digits");
	return check_force(a->force, e);
}

static int start_draft(struct acp_request *q, struct err *e)
{
	const struct draft_args *a = q->args;
	struct session *s = q->session;
	struct method_call *k;
	int r = check_draft_args(a, e);

	if (r < 0)
		return r;
	k = request_work(q);
	/* Only _acpd/workspace/apply has a digest, and requires it. */
	r = a->digest ? session_apply_draft(s, a->digest, a->force, on_drafted, k, e) :
			session_switch_draft(s, a->on, a->discard, on_drafted, k, e);
	return call_started(k, r);
}

ACP_HANDLER(on_session_draft, start_draft, struct draft_args, draft_fields);
ACP_HANDLER(on_workspace_apply, start_draft, struct draft_args, apply_fields);

/* --- artifacts ------------------------------------------------------------------------------------------- */

struct artifact_args {
	char *session_id, *id, *name, *type;
	struct jval text, base64;
	struct slice meta;
};

static const struct jfield put_fields[] = {
	JF_STR(struct artifact_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct artifact_args, name, "name", JF_REQUIRED, ARTIFACT_NAME_MAX),
	JF_STR(struct artifact_args, type, "type", 0, ARTIFACT_NAME_MAX),
	JF_TEXT(struct artifact_args, text, "text", 0),
	JF_TEXT(struct artifact_args, base64, "base64", 0),
	JF_OBJ(struct artifact_args, meta, "_meta", 0),
	JF_END,
};

static const struct jfield get_fields[] = {
	JF_STR(struct artifact_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct artifact_args, id, "id", JF_REQUIRED, 64),
	JF_OBJ(struct artifact_args, meta, "_meta", 0),
	JF_END,
};

/* --- put --------------------------------------------------------------------------------------------------- */

static int artifact_content(const struct artifact_args *a, struct buf *ret, struct err *e)
{
	bool text = a->text.type == J_STRING, coded = a->base64.type == J_STRING;
	_cleanup_(freep) char *s = NULL;
	int r;

	if (text == coded)
		return err_field(e, "text", "FIELD_INVALID",
				 "an artifact has either text or base64, a string");
	r = jstr_decode(text ? a->text : a->base64, MESSAGE_MAX, &s);
	if (r == 0)
		r = text ? buf_puts(ret, s) : base64_decode(slice_of(s), ret);
	if (r < 0)
		return err_field(e, text ? "text" : "base64", "FIELD_INVALID",
				 text ? "text must hold no NUL and no lone surrogate: use base64" :
					"base64 is not valid");
	return 0;
}

static int artifact_add(struct acp_request *q, struct err *e)
{
	const struct artifact_args *a = q->args;
	const struct artifact_spec spec = { a->name, a->type, "client", 0 };
	_cleanup_(buf_done) struct buf bytes = { 0 };
	const struct artifact *made;
	int r = artifact_content(a, &bytes, e);

	if (r == 0)
		r = artifact_put(q->session, &spec, buf_slice(&bytes), &made, e);
	if (r < 0)
		return r;
	artifact_describe(request_answer(q), "artifact", made);
	return REQUEST_ANSWER;
}

ACP_HANDLER(on_artifact_put, artifact_add, struct artifact_args, put_fields);

/* --- list and get ------------------------------------------------------------------------------------------- */

static int list_artifacts(struct acp_request *q, struct err *e _unused_)
{
	artifacts_put(q->session, request_answer(q));
	return REQUEST_ANSWER;
}

ACP_HANDLER(on_artifact_list, list_artifacts, struct named_session, session_fields);

static int put_artifact_content(struct session *s, const struct artifact *a, struct jw *w,
				struct err *e)
{
	_cleanup_(buf_done) struct buf bytes = { .max = ARTIFACT_INLINE_MAX + 8192 }, text = { 0 };
	_cleanup_(freep) char *path = artifact_path(s, a);
	struct slice have;
	int r = file_read(path, ARTIFACT_INLINE_MAX, &bytes);

	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			       "the artifact cannot be read: %s", strerror(-r));
	have = buf_slice(&bytes);
	/* Text must be acceptable to _acpd/artifact/put, which refuses NUL. */
	if (utf8_valid(have) && !(have.n && memchr(have.p, 0, have.n))) {
		jw_slice(w, "text", have.n ? have : SLICE(""));
		return 0;
	}
	base64_encode(have, &text);
	jw_slice(w, "base64", buf_slice(&text));
	return 0;
}

static int get_artifact(struct acp_request *q, struct err *e)
{
	const struct artifact_args *a = q->args;
	const struct artifact *found = artifact_find(q->session, a->id);
	struct jw *w;
	int r;

	if (!found)
		return err_set(e, -ENOENT, RPC_NOT_FOUND, "ARTIFACT_NOT_FOUND",
			       "the session has no such artifact");
	if (found->size > ARTIFACT_INLINE_MAX)
		return err_field(e, "id", "ARTIFACT_TOO_LARGE",
				 "more than %lu bytes: GET /v1/sessions/{id}/artifacts/%.40s",
				 ARTIFACT_INLINE_MAX, a->id);
	w = request_answer(q);
	artifact_describe(w, "artifact", found);
	r = put_artifact_content(q->session, found, w, e);
	return r < 0 ? r : REQUEST_ANSWER;
}

ACP_HANDLER(on_artifact_get, get_artifact, struct artifact_args, get_fields);
