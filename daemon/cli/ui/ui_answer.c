/*
 * ui_answer.c - what `acpd ui` answers itself: who may ask, the viewer's files, and refusals.
 *
 * The order of the checks is that of ui_admit: Host, Origin, secret. The first two keep out pages of other origins,
 * also those that reach us by a name of their own; the third keeps out other users of the machine. A refusal is JSON
 * as the daemon's are, so that the viewer shows both alike.
 */
#include "cli/ui/ui.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "http/viewer.h"
#include "json/jenc.h"

const struct ui_refusal ui_bad_request = { 400, "REQUEST_INVALID",
					   "this is no request of HTTP/1.1" };
const struct ui_refusal ui_crowded = {
	503, "VIEWER_BUSY", "too many connections are open to the viewer; close some of its tabs"
};
const struct ui_refusal ui_daemon_away = { 502, "DAEMON_UNREACHABLE", "the daemon is not reached" };
const struct ui_refusal ui_daemon_lost = {
	502, "DAEMON_LOST", "the connection to the daemon ended before it had answered"
};
const struct ui_refusal ui_daemon_silent = { 504, "DAEMON_SILENT", "the daemon does not answer" };
const struct ui_refusal ui_daemon_strange = { 502, "DAEMON_STRANGE",
					      "what answers there does not speak HTTP/1.1" };

static const struct ui_refusal wrong_host = { 403, "HOST_NOT_ALLOWED",
					      "the viewer is served as 127.0.0.1 or localhost" };
static const struct ui_refusal wrong_origin = { 403, "ORIGIN_NOT_ALLOWED",
						"another page may not ask the viewer" };
static const struct ui_refusal wrong_secret = { 404, "VIEWER_ADDRESS",
						"open the whole address that acpd ui has printed" };
static const struct ui_refusal no_file = { 404, "NOT_FOUND", "the viewer has no such file" };
static const struct ui_refusal wrong_method = { 405, "METHOD_NOT_ALLOWED",
						"the viewer's files are only read" };

/* --- who may ask ------------------------------------------------------------------------------------------------ */

static bool is_host(const struct ui_server *s, struct slice host)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->hosts); i++)
		if (http_word_is(host, s->hosts[i]))
			return true;
	return false;
}

/* The page's own origin is what Host says, with http. */
static bool is_own_origin(const struct http_request_head *h, struct slice host)
{
	struct slice origin;

	if (!http_field_find(h->fields, "origin", &origin))
		return true;
	return slice_skip(&origin, "http://") && http_words_same(origin, host);
}

/* "/SECRET" and what follows; without telling by the time it takes how much of it is right. */
static bool take_path_secret(const struct ui_server *s, struct slice *path)
{
	size_t n = strlen(s->secret);
	unsigned char wrong = 0;

	/* Its length is no secret; its characters are. */
	if (path->n < n + 1 || path->p[0] != '/' || (path->n > n + 1 && path->p[n + 1] != '/'))
		return false;
	for (size_t i = 0; i < n; i++)
		wrong |= (unsigned char)(path->p[1 + i] ^ s->secret[i]);
	*path = (struct slice){ path->p + n + 1, path->n - n - 1 };
	return !wrong;
}

const struct ui_refusal *ui_admit(const struct ui_server *s, const struct http_request_head *h,
				  struct slice *path)
{
	struct slice host;

	*path = h->target;
	if (!http_field_find(h->fields, "host", &host) || !is_host(s, host))
		return &wrong_host;
	if (!is_own_origin(h, host))
		return &wrong_origin;
	return take_path_secret(s, path) ? NULL : &wrong_secret;
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static void put_status_lines(struct ui_visit *v, int status)
{
	buf_printf(&v->out, "HTTP/1.1 %d \r\nConnection: close\r\n", status);
	for (const struct http_header *h = viewer_headers; h->name; h++)
		buf_printf(&v->out, "%s %s\r\n", h->name, h->value);
}

static void put_body_lines(struct ui_visit *v, const char *type, uint64_t size)
{
	buf_printf(&v->out, "Content-Type: %s\r\nContent-Length: %llu\r\n\r\n", type,
		   (unsigned long long)size);
}

static void ui_put_refusal(const struct ui_refusal *why, const char *detail, struct buf *ret)
{
	_cleanup_(buf_done) struct buf message = { 0 };
	struct jw w = JW(ret);

	buf_printf(&message, "%s%s%s", why->message, detail ? ": " : "", detail ? detail : "");
	jw_object(&w, NULL,
		  JW_OBJ("error", JW_STR("reason", why->reason),
			 JW_SLICE("message", buf_slice(&message))));
}

void ui_refuse(struct ui_visit *v, const struct ui_refusal *why, const char *detail)
{
	_cleanup_(buf_done) struct buf body = { 0 };

	ui_put_refusal(why, detail, &body);
	put_status_lines(v, why->status);
	put_body_lines(v, "application/json", buf_len(&body));
	if (!v->is_head)
		buf_add_slice(&v->out, buf_slice(&body));
	ui_visit_finish(v);
}

static void redirect(struct ui_visit *v)
{
	put_status_lines(v, 308);
	buf_printf(&v->out, "Location: /%s/ui/\r\nContent-Length: 0\r\n\r\n", v->server->secret);
	ui_visit_finish(v);
}

/* The files are those of our own installation, and so small that a few of them fit. */
static void send_file(struct ui_visit *v, const struct viewer_file *f, bool gzip)
{
	_cleanup_(buf_done) struct buf body = { 0 };
	struct viewer_open o;
	int r;

	if (!viewer_open(v->server->dir, f, gzip, &o)) {
		ui_refuse(v, &no_file, NULL);
		return;
	}
	r = file_read_fd(o.fd, VIEWER_FILE_MAX, &body);
	close(o.fd);
	if (r < 0) {
		ui_refuse(v, &no_file, NULL);
		return;
	}
	put_status_lines(v, 200);
	buf_puts(&v->out, o.packed ? "Content-Encoding: gzip\r\n" : "");
	put_body_lines(v, f->type, buf_len(&body));
	if (!v->is_head)
		buf_add_slice(&v->out, buf_slice(&body));
	ui_visit_finish(v);
}

static struct slice ui_path_of(struct slice path)
{
	struct slice plain;

	return slice_cut(&path, '?', &plain) ? plain : path;
}

bool ui_is_own(struct slice path)
{
	path = ui_path_of(path);
	return path.n < 2 || slice_is(path, "/ui") || slice_starts(path, "/ui/");
}

static bool takes_gzip(const struct http_request_head *h)
{
	struct slice v;

	return http_field_find(h->fields, "accept-encoding", &v) && v.n &&
	       memmem(v.p, v.n, "gzip", 4);
}

void ui_answer_own(struct ui_visit *v, const struct http_request_head *h, struct slice path)
{
	struct slice plain = ui_path_of(path);
	_cleanup_(freep) char *name = xstrndup(plain.p, plain.n);
	const struct viewer_file *f = viewer_find(name);

	if (!v->is_head && !slice_is(h->method, "GET"))
		ui_refuse(v, &wrong_method, NULL);
	else if (f)
		send_file(v, f, takes_gzip(h));
	else if (slice_starts(plain, "/ui/"))
		ui_refuse(v, &no_file, NULL);
	else
		redirect(v);
}
