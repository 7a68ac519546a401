/* route_artifacts.c - GET /v1/sessions/{id}/artifacts and /v1/sessions/{id}/artifacts/{artifact}: the list, and
 * the bytes of one. */
#include "http/routes/handlers.h"

#include "session/parts/workspace/artifact_store.h"

#include <fcntl.h>

void http_get_artifacts(const struct http_call *c, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);
	struct session *s = http_session(c, ret);

	if (!s)
		return;
	jw_obj(&w, NULL);
	artifacts_put(s, &w);
	jw_end_obj(&w);
}

void http_get_artifact(const struct http_call *c, struct http_reply *ret)
{
	_cleanup_(freep) char *id = xstrndup(c->params[1].p, c->params[1].n), *path = NULL;
	const struct artifact *a;
	struct session *s = http_session(c, ret);
	int fd;

	if (!s)
		return;
	a = artifact_find(s, id);
	path = a ? artifact_path(s, a) : NULL;
	fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (fd < 0) {
		http_reply_error(ret, 404, "ARTIFACT_NOT_FOUND",
				 "the session has no such artifact");
		return;
	}
	/* its maker chose the type: no browser may run it from our origin */
	http_reply_header(ret, "X-Content-Type-Options:", "nosniff");
	http_reply_header(ret, "Content-Disposition:", "attachment");
	http_reply_file(c, ret, fd, a->size, a->type);
}
