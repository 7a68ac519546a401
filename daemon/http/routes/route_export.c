/* route_export.c - GET /v1/sessions/{id}/workspace: the workspace or another of the session's directories, as an
 * archive, made by acpd-unpack while it is sent. The reply waits for the first bytes, so that a refusal is an error and
 * not a short archive. */
#include "http/routes/handlers.h"

#include "base/limits.h"
#include "json/jenc.h"
#include "workspace/helper_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

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

/* One export: first a sink that waits for its beginning, then a stream. */
struct export
{
	struct http_sink sink;
	struct http_stream stream;
	struct loop *loop;
	struct helper_job *helper; /* NULL: it has ended */
	struct loop_io data;	   /* fd -1: at its end */
	enum export_type format;
	bool ready, begun, orphan, failed; /* ready: there are bytes */
	struct err error;
};

static void end_data(struct export *x)
{
	if (x->data.fd < 0)
		return;
	loop_io_set(x->loop, &x->data, 0);
	close(x->data.fd);
	x->data.fd = -1;
}

static void wake(struct export *x)
{
	if (x->begun)
		http_stream_wake(&x->stream);
	else
		http_sink_wake(&x->sink);
}

static void on_data(void *ctx, uint32_t events _unused_)
{
	struct export *x = ctx;
	int waiting = 0;

	loop_io_set(x->loop, &x->data, 0);
	if (ioctl(x->data.fd, FIONREAD, &waiting) < 0 || waiting > 0)
		x->ready = true;
	else if (!x->ready)
		end_data(x); /* nothing came: the program reports why at its end */
	wake(x);
}

/* Its client is gone, and its program has ended. */
static void free_if_over(struct export *x)
{
	if (!x->orphan || x->helper)
		return;
	end_data(x);
	free(x);
}

static void on_done(void *ctx, struct slice report _unused_, const struct err *e)
{
	struct export *x = ctx;

	x->helper = helper_job_free(x->helper);
	x->failed = e != NULL;
	if (e)
		x->error = *e;
	if (x->orphan)
		free_if_over(x);
	else
		wake(x);
}

static const struct helper_job_events events = { NULL, on_done };

static void let_go(struct export *x)
{
	x->orphan = true;
	end_data(x); /* the program's next write ends it */
	if (x->helper)
		helper_job_abort(x->helper);
	free_if_over(x);
}

/* --- the archive ------------------------------------------------------------------------------------------ */

static enum http_fill wait_for_data(struct export *x)
{
	loop_io_set(x->loop, &x->data, EPOLLIN);
	return HTTP_FILL_WAIT;
}

static enum http_fill fill(struct http_stream *base, struct buf *out, size_t room)
{
	struct export *x = container_of(base, struct export, stream);
	ssize_t n;

	if (x->data.fd < 0)
		return x->helper ? HTTP_FILL_WAIT : x->failed ? HTTP_FILL_ERROR : HTTP_FILL_END;
	if (buf_reserve(out, room) < 0)
		return HTTP_FILL_ERROR;
	n = read(x->data.fd, out->data + out->len, room);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? wait_for_data(x) : HTTP_FILL_ERROR;
	out->len += (size_t)n;
	if (n > 0)
		return HTTP_FILL_MORE;
	end_data(x);
	return fill(base, out, room);
}

static void stream_free(struct http_stream *base)
{
	let_go(container_of(base, struct export, stream));
}

static const struct http_stream_ops stream_ops = { fill, stream_free };

/* --- its beginning ------------------------------------------------------------------------------------------ */

static enum http_take check(struct http_sink *base)
{
	struct export *x = container_of(base, struct export, sink);

	return !x->helper || x->ready ? HTTP_TAKE_ANSWER : HTTP_TAKE_WAIT;
}

static enum http_take take(struct http_sink *base, struct slice piece _unused_)
{
	return check(base); /* a body is ignored */
}

static void reply_failed(const struct export *x, struct http_reply *ret)
{
	static const struct {
		const char *reason;
		int status;
	} rows[] = { { "PATH_NOT_FOUND", 404 }, { "ACCESS_DENIED", 403 }, { "NO_SPACE", 507 } };
	int status = x->error.rpc == RPC_INVALID_PARAMS ? 400 : 500;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].reason, x->error.reason) == 0)
			status = rows[i].status;
	http_reply_error(ret, status, x->error.reason, x->error.msg);
}

static void answer(struct http_sink *base, struct http_reply *ret)
{
	struct export *x = container_of(base, struct export, sink);

	if (!x->ready) {
		reply_failed(x, ret);
		return;
	}
	x->begun = true;
	ret->content_type = forms[x->format].type;
	http_reply_header(ret, "Content-Disposition:", forms[x->format].disposition);
	ret->stream = &x->stream;
}

/* Once it has begun, the stream owns it. */
static void sink_free(struct http_sink *base)
{
	struct export *x = container_of(base, struct export, sink);

	if (!x->begun)
		let_go(x);
}

static const struct http_sink_ops sink_ops = { take, check, check, answer, sink_free };

/* --- the request ---------------------------------------------------------------------------------------------- */

/* acpd-unpack refuses an empty path, also if it is the last. */
static void put_paths(struct jw *w, struct slice paths)
{
	const char *comma = paths.p;

	if (!paths.n)
		return;
	jw_arr(w, "paths");
	while (comma) {
		size_t n;

		comma = paths.n ? memchr(paths.p, ',', paths.n) : NULL;
		n = comma ? (size_t)(comma - paths.p) : paths.n;
		jw_slice(w, NULL, (struct slice){ paths.p, n });
		if (comma)
			paths = (struct slice){ comma + 1, paths.n - n - 1 };
	}
	jw_end_arr(w);
}

static bool is_plain_path(struct slice path)
{
	if (*path.p != '/')
		return false;
	for (size_t i = 0; i < path.n; i++) {
		const char *part = path.p + i + 1;
		size_t left = path.n - i - 1, n = 0;

		if (path.p[i] != '/')
			continue;
		while (n < left && part[n] != '/')
			n++;
		if ((n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
			return false;
	}
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
	_cleanup_(freep) char *tree = NULL;
	struct err e = { 0 };

	if (!session_draft_on(s) || strcmp(*root, session_cwd(s)) != 0)
		return true;
	if (session_tree_open(s, &tree, &e) < 0)
		http_reply_error(ret, 409, e.reason, e.msg);
	else
		xstrset(root, tree);
	return tree != NULL;
}

static void put_job(struct buf *b, const struct session *s, const struct export_args *a,
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
	put_paths(&w, a->paths);
	jw_end_obj(&w);
}

static int start(struct export *x, const struct http_call *c, struct slice job, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(e, -errno, 0, "OUT_OF_DESCRIPTORS", "cannot open a pipe");
	(void)fcntl(ends[1], F_SETFL, 0); /* the program's end blocks */
	(void)fcntl(ends[0], F_SETPIPE_SZ, (int)(4 * CHILD_READ_BYTES));
	x->data = (struct loop_io){ .fd = ends[0], .fn = on_data, .ctx = x };
	x->helper = helper_job_start(c->ctx->loop, c->ctx->procs,
				     &(struct helper_job_spec){ "pack", job, ends[1] }, &events, x,
				     e);
	close(ends[1]);
	if (!x->helper)
		return -EIO;
	loop_io_set(x->loop, &x->data, EPOLLIN);
	return 0;
}

void http_get_workspace(const struct http_call *c, struct http_reply *ret)
{
	_cleanup_(buf_done) struct buf job = { 0 };
	_cleanup_(freep) char *root = NULL;
	struct slice below;
	struct export_args a = { .format = EXPORT_TAR_GZ };
	struct session *s;
	struct export *x;
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
	if (!choose_root(s, &a, &root, &below, ret) || !enter_draft(s, &root, ret))
		return;
	put_job(&job, s, &a, root, below);
	x = new0(struct export);
	x->loop = c->ctx->loop;
	x->format = (enum export_type)a.format;
	x->sink.ops = &sink_ops;
	x->stream.ops = &stream_ops;
	x->data.fd = -1;
	if (start(x, c, buf_slice(&job), &e) == 0) {
		ret->sink = &x->sink;
		return;
	}
	http_reply_error(ret, 500, e.reason, e.msg);
	end_data(x);
	free(x);
}
