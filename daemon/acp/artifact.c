/* artifact.c - _acpd/artifact/put, list and get: files that belong to a session besides its history. */
#include "acp/acp_internal.h"

#include "digest/base64.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/utf8.h"
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

typedef int (*artifact_fn)(struct session *s, const struct artifact_args *a, struct jw *w,
			   struct err *e);

/* Decodes, finds the session, and answers with what fn writes. */
static int handle(struct acp_conn *c, const struct rpc_msg *m, const struct jfield *fields,
		  artifact_fn fn, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct artifact_args a = { 0 };
	struct jw w = JW(&b);
	struct session *s;
	int r = own_params(m->params, fields, &a, e);

	if (r < 0)
		return r;
	s = store_find(c->srv->store, a.session_id);
	jw_obj(&w, NULL);
	r = s ? fn(s, &a, &w, e) : not_found(e, a.session_id);
	jw_end_obj(&w);
	if (r == 0)
		conn_result(c, NULL, m->id, buf_slice(&b));
	jdec_free(fields, &a);
	return r;
}

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

static int put(struct session *s, const struct artifact_args *a, struct jw *w, struct err *e)
{
	_cleanup_(buf_done) struct buf bytes = { 0 };
	const struct artifact_spec spec = { a->name, a->type, "client", 0 };
	const struct artifact *made;
	int r = content_of(a, &bytes, e);

	if (r == 0)
		r = artifact_put(s, &spec, buf_slice(&bytes), &made, e);
	if (r == 0)
		artifact_describe(w, "artifact", made);
	return r;
}

int on_artifact_put(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return handle(c, m, put_fields, put, e);
}

/* --- list and get ------------------------------------------------------------------------------------------- */

static bool list_one(void *ctx, const struct artifact *a)
{
	artifact_describe(ctx, NULL, a);
	return true;
}

static int list(struct session *s, const struct artifact_args *a _unused_, struct jw *w,
		struct err *e _unused_)
{
	jw_arr(w, "artifacts");
	artifact_each(s, list_one, w);
	jw_end_arr(w);
	return 0;
}

int on_artifact_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return handle(c, m, list_fields, list, e);
}

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

static int get(struct session *s, const struct artifact_args *a, struct jw *w, struct err *e)
{
	const struct artifact *found = artifact_find(s, a->id);

	if (!found)
		return err_set(e, -ENOENT, RPC_NOT_FOUND, "ARTIFACT_NOT_FOUND",
			       "the session has no such artifact");
	if (found->size > ARTIFACT_INLINE_MAX)
		return err_field(e, "id", "ARTIFACT_TOO_LARGE",
				 "more than %lu bytes: GET /v1/sessions/{id}/artifacts/%.40s",
				 ARTIFACT_INLINE_MAX, a->id);
	artifact_describe(w, "artifact", found);
	return put_content(s, found, w, e);
}

int on_artifact_get(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return handle(c, m, get_fields, get, e);
}
