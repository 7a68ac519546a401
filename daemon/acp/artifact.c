/* artifact.c - _acpd/artifact/put, list and get: files that belong to a session besides its history. */
#include "acp/acp_internal.h"

#include "digest/base64.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/format/utf8.h"
#include "json/jdec.h"
#include "json/jstr.h"
#include "session/parts/workspace/artifact_store.h"

#include <errno.h>

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

static const struct jfield list_fields[] = {
	JF_STR(struct artifact_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
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

static int content_of(const struct artifact_args *a, struct buf *ret, struct err *e)
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

static int put_artifact(struct acp_request *q, struct err *e)
{
	const struct artifact_args *a = q->args;
	const struct artifact_spec spec = { a->name, a->type, "client", 0 };
	_cleanup_(buf_done) struct buf bytes = { 0 };
	const struct artifact *made;
	int r = content_of(a, &bytes, e);

	if (r == 0)
		r = artifact_put(q->session, &spec, buf_slice(&bytes), &made, e);
	if (r < 0)
		return r;
	artifact_describe(request_answer(q), "artifact", made);
	return REQUEST_ANSWER;
}

const struct acp_handler on_artifact_put =
	ACP_HANDLER(put_artifact, struct artifact_args, put_fields, .finds_session = true);

/* --- list and get ------------------------------------------------------------------------------------------- */

static bool list_one(void *ctx, const struct artifact *a)
{
	artifact_describe(ctx, NULL, a);
	return true;
}

static int list_artifacts(struct acp_request *q, struct err *e _unused_)
{
	struct jw *w = request_answer(q);

	jw_arr(w, "artifacts");
	artifact_each(q->session, list_one, w);
	jw_end_arr(w);
	return REQUEST_ANSWER;
}

const struct acp_handler on_artifact_list =
	ACP_HANDLER(list_artifacts, struct artifact_args, list_fields, .finds_session = true);

static int put_content(struct session *s, const struct artifact *a, struct jw *w, struct err *e)
{
	_cleanup_(buf_done) struct buf bytes = { .max = ARTIFACT_INLINE_MAX + 8192 }, text = { 0 };
	_cleanup_(freep) char *path = artifact_path(s, a);
	struct slice have;
	int r = file_read(path, ARTIFACT_INLINE_MAX, &bytes);

	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			       "the artifact cannot be read: %s", strerror(-r));
	have = buf_slice(&bytes);
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
	r = put_content(q->session, found, w, e);
	return r < 0 ? r : REQUEST_ANSWER;
}

const struct acp_handler on_artifact_get =
	ACP_HANDLER(get_artifact, struct artifact_args, get_fields, .finds_session = true);
