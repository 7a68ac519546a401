/* route_ui.c - GET /ui/: the files of the run viewer. They are open like /health, because there is no state in them: the
 * page asks for the token, and everything it shows comes by the other routes. */
#include "http/routes/handlers.h"
#include "http/viewer.h"

void http_get_ui(const struct http_call *c, struct http_reply *ret)
{
	const struct viewer_file *f = viewer_find(c->rq->path);
	struct viewer_open o;

	if (!f ||
	    !viewer_open(c->ctx->ui_dir, f, route_accepts(c->rq->accept_encoding, "gzip"), &o)) {
		http_reply_error(ret, 404, "VIEWER_NOT_INSTALLED",
				 "there is no run viewer beside this daemon: make ui before make "
				 "install puts it there, and --ui-dir names another folder");
		return;
	}
	ret->always = viewer_headers;
	http_reply_header(ret, "ETag:", o.etag);
	if (route_accepts(c->rq->if_none_match, o.etag)) {
		close(o.fd);
		ret->status = 304;
		ret->content_type = NULL;
		return;
	}
	if (o.packed)
		http_reply_header(ret, "Content-Encoding:", "gzip");
	http_reply_file(c, ret, o.fd, o.size, f->type);
}

/* The names in the page are relative to it; and so is this, for who stands behind a proxy with a path of its own. */
void http_get_ui_top(const struct http_call *c _unused_, struct http_reply *ret)
{
	ret->status = 308;
	ret->content_type = NULL;
	http_reply_header(ret, "Location:", "ui/");
}
