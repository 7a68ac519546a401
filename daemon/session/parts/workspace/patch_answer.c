/*
 * patch_answer.c - turns a patch that acpd-unpack wrote into an answer for a client.
 *
 * acpd-unpack does not know the session's secrets, so the file holds them. Nothing of it leaves the daemon before
 * session_mask_file or session_mask_bytes has redacted it.
 */
#include "session/parts/workspace/artifact_store.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/json.h"
#include "session/core/session_internal.h"
#include "session/core/redact/redact_internal.h"

static const struct jfield patch_fields[] = {
	JF_INT(struct patch_info, bytes, "bytes", JF_REQUIRED, 0, INT64_MAX),
	JF_INT(struct patch_info, files, "files", 0, 0, INT64_MAX),
	JF_INT(struct patch_info, insertions, "insertions", 0, 0, INT64_MAX),
	JF_INT(struct patch_info, deletions, "deletions", 0, 0, INT64_MAX),
	JF_END,
};

bool patch_info_read(struct slice report, struct patch_info *ret)
{
	*ret = (struct patch_info){ 0 };
	return jdec_object(jobj_get(report, "patch").raw, patch_fields, NULL, ret, NULL) == 0;
}

/* Redacts the file itself: an artifact is served as it is stored. */
const struct artifact *patch_adopt(struct session *s, const char *file, const char *name,
				   uint64_t turn, struct err *e)
{
	const struct artifact *a = NULL;
	struct artifact_spec spec = { name, "text/x-diff; charset=utf-8", "diff", turn };
	int r = session_mask_file(s, file);

	if (r < 0) { /* as it is it must not be seen */
		err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			"the patch cannot be copied without its secrets: %s", strerror(-r));
		return NULL;
	}
	return artifact_adopt(s, &spec, file, &a, e) < 0 ? NULL : a;
}

/* The text if it fits an answer, else an artifact that holds it. */
static int patch_put_text(struct jw *w, struct session *s, const char *file,
			  const struct patch_info *info, struct err *e)
{
	_cleanup_(buf_done) struct buf text = { .max = ARTIFACT_INLINE_MAX + 8192 };
	const struct artifact *a;

	if (info->bytes <= (int64_t)ARTIFACT_INLINE_MAX) {
		int r = info->bytes ? file_read(file, ARTIFACT_INLINE_MAX, &text) : 0;

		if (r < 0)
			return err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
				       "the patch cannot be read: %s", strerror(-r));
		session_mask_bytes(s, &text);
		jw_slice(w, "patch", (struct slice){ text.data ? text.data : "", text.len });
		return 0;
	}
	a = patch_adopt(s, file, "workspace.diff", 0, e);
	if (a)
		artifact_describe(w, "artifact", a);
	return a ? 0 : -EIO;
}

static void patch_put_items(struct jw *w, struct jval list)
{
	jarr_each(v, list)
		jw_raw(w, NULL, v.raw);
}

void patch_put_omitted(struct jw *w, struct slice report)
{
	jw_arr(w, "omitted");
	patch_put_items(w, jobj_get(report, "omitted"));
	patch_put_items(w, jobj_get(report, "ignored"));
	jw_end_arr(w);
	jw_uint(w, "omittedTotal",
		jobj_uint(report, "omittedTotal") + jobj_uint(report, "ignoredTotal"));
}

int patch_answer_put(struct jw *w, struct session *s, const char *file, struct slice report,
		     struct err *e)
{
	struct patch_info info;
	int r;

	if (!patch_info_read(report, &info))
		return err_set(e, -EPROTO, RPC_INTERNAL_ERROR, "HELPER_FAILED",
			       "acpd-unpack reported no patch");
	r = patch_put_text(w, s, file, &info, e);
	if (r < 0)
		return r;
	jw_int(w, "files", info.files);
	jw_int(w, "insertions", info.insertions);
	jw_int(w, "deletions", info.deletions);
	return 0;
}
