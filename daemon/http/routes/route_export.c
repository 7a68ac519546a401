/*
 * route_export.c - GET /v1/sessions/{id}/workspace: the workspace or another of the session's directories, as an archive,
 * made by acpd-unpack while it is sent.
 *
 * The daemon does not touch the tree: acpd-unpack reads it as the user of the session, in the session's cgroup. ?root must be the
 * session's cwd or one of its additional directories, or below; of a draft its tree is sent. The session can be deleted
 * while the archive is made, so it is found again by its id.
 */
#include "http/routes/handlers.h"

#include "json/jenc.h"
#include "session/parts/confinement/session_limits.h"
#include "session/parts/users/session_uids.h"

enum export_type { EXPORT_DEFAULT, EXPORT_TAR, EXPORT_TAR_GZ, EXPORT_TAR_ZST, EXPORT_ZIP };

struct export_args {
	unsigned format, ignore;
	struct slice paths, root;
};

static const char *const formats[] = { "tar", "tar.gz", "tar.zst", "zip", NULL };
static const char *const ignores[] = { "none", "gitignore", NULL };

static const struct {
	const char *type, *disposition;
} forms[] = {
	[EXPORT_TAR] = { "application/x-tar", "attachment; filename=\"workspace.tar\"" },
	[EXPORT_TAR_GZ] = { "application/gzip", "attachment; filename=\"workspace.tar.gz\"" },
	[EXPORT_TAR_ZST] = { "application/zstd", "attachment; filename=\"workspace.tar.zst\"" },
	[EXPORT_ZIP] = { "application/zip", "attachment; filename=\"workspace.zip\"" },
};

static const struct query_field fields[] = {
	{ "format", QUERY_WORD, offsetof(struct export_args, format), formats },
	{ "ignore", QUERY_WORD, offsetof(struct export_args, ignore), ignores },
	{ "paths", QUERY_NAME, offsetof(struct export_args, paths), NULL },
	{ "root", QUERY_NAME, offsetof(struct export_args, root), NULL },
	{ 0 },
};

struct workspace_export {
	struct helper_body body;
	struct session_store *store;
	char *session_id; /* which may be deleted meanwhile */
};

static void export_free(struct workspace_export *x)
{
	free_each(x->session_id, x);
}

static void on_export_over(struct helper_body *b)
{
	export_free(container_of(b, struct workspace_export, body));
}

/* The archive has no place for what it lacks. */
static void on_reported(struct helper_body *b, struct slice report)
{
	struct workspace_export *x = container_of(b, struct workspace_export, body);
	struct session *s = store_find(x->store, x->session_id);

	if (s)
		session_note_export(s, report);
}

/* --- the request ---------------------------------------------------------------------------------------------- */

/* acpd-unpack refuses an empty path, also if it is the last. */
static void export_put_paths(struct jw *w, struct slice paths)
{
	struct slice path;

	if (!paths.n)
		return;
	jw_arr(w, "paths");
	while (slice_item(&paths, ',', &path))
		jw_slice(w, NULL, path);
	jw_end_arr(w);
}

static bool is_plain_path(struct slice path)
{
	struct slice part;

	if (*path.p != '/')
		return false;
	while (slice_item(&path, '/', &part))
		if (slice_is(part, ".") || slice_is(part, ".."))
			return false;
	return true;
}

/* Finds the session's directory, and the path below it; false: it is refused. */
static bool choose_root(const struct session *s, const struct export_args *a, char **root,
			struct slice *below, struct http_reply *ret)
{
	*below = SLICE_NONE;
	if (!a->root.n) {
		*root = xstrdup(session_cwd(s));
		return true;
	}
	if (!is_plain_path(a->root))
		http_reply_error(
			ret, 400, "QUERY_INVALID",
			"query parameter 'root' must be an absolute path without . and ..");
	else if (!session_root_of(s, a->root, root, below))
		http_reply_error(
			ret, 404, "ROOT_UNKNOWN",
			"query parameter 'root' is neither in the session's cwd nor in one of "
			"its additionalDirectories");
	return *root != NULL;
}

/* The tree that the session's own programs see there; false: it cannot be had now. */
static bool enter_draft(struct session *s, char **root, struct http_reply *ret)
{
	struct err e = { 0 };

	if (!session_has_draft(s) || strcmp(*root, session_cwd(s)) != 0)
		return true;
	if (session_tree_open(s, &e) < 0) {
		http_reply_error(ret, 409, e.reason, e.msg);
		return false;
	}
	xstrset(root, session_tree(s));
	return true;
}

static void export_put_job(struct buf *b, const struct session *s, const struct export_args *a,
			   const char *root, struct slice below)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "root", root);
	if (below.n)
		jw_slice(&w, "below", below);
	session_put_owner(&w, s);
	jw_str(&w, "format", formats[a->format - 1]);
	jw_str(&w, "ignore", ignores[a->ignore ? a->ignore - 1 : 0]);
	export_put_paths(&w, a->paths);
	jw_end_obj(&w);
}

static struct workspace_export *export_new(const struct http_call *c, const struct session *s,
					   unsigned format)
{
	struct workspace_export *x = new0(struct workspace_export);

	x->store = c->ctx->store;
	x->session_id = xstrdup(session_id(s));
	x->body.type = forms[format].type;
	x->body.disposition = forms[format].disposition;
	x->body.over = on_export_over;
	x->body.reported = on_reported;
	helper_body_init(&x->body, c->ctx->loop);
	return x;
}

void http_get_workspace(const struct http_call *c, struct http_reply *ret)
{
	_cleanup_(buf_done) struct buf job = { 0 };
	_cleanup_(freep) char *root = NULL;
	struct slice below;
	struct export_args a = { .format = EXPORT_TAR_GZ };
	struct session *s;
	struct workspace_export *x;
	struct err e = { 0 };

	if (!http_query(c, fields, &a, ret))
		return;
	s = http_session(c, ret);
	if (!s)
		return;
	if (!session_has_head(s)) {
		http_reply_error(ret, 409, "SESSION_DAMAGED",
				 "damage on disk has taken where the session's directories are");
		return;
	}
	if (session_refuse_imported(s, &e) < 0) {
		http_reply_error(ret, 409, e.reason, e.msg); /* what is there now is not its own */
		return;
	}
	if (session_files_need(s, &e) < 0) {
		http_reply_error(ret, 503, e.reason, e.msg);
		return;
	}
	if (!choose_root(s, &a, &root, &below, ret) || !enter_draft(s, &root, ret))
		return;
	export_put_job(&job, s, &a, root, below);
	x = export_new(c, s, a.format);
	if (helper_body_start(&x->body, c->ctx,
			      &(struct helper_job_spec){ .verb = "pack",
							 .job = buf_slice(&job),
							 .group = session_limits_group(s) },
			      &e) == 0) {
		ret->sink = &x->body.sink;
		return;
	}
	http_reply_error(ret, 500, e.reason, e.msg);
	export_free(x);
}
