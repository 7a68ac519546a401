/*
 * ask_daemon.c - one HTTP request of a subcommand to the daemon, and the exit code for its outcome.
 *
 * 401, 403 and 503 map to EXIT_UNREACHABLE: the daemon does not serve this caller. Other 4xx except
 * 409 are refusals. The text of a refusal is flattened to one line, because it is printed on a
 * terminal. An output file gets its name by rename when it is complete, so a download that breaks
 * off replaces nothing.
 */
#include "cli/control/reach_daemon.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/jstr.h"

#define ANSWER_MAX (64 * MIB)

int asker_open(struct daemon_asker *a, const struct config *c)
{
	_cleanup_(secret_buf_done) struct buf token = { 0 };
	struct err e;

	a->cfg = c;
	/* No token on the local socket: its mode is the access control. */
	if (!c->url) {
		a->http = http_client_new_socket(c->socket);
		return EXIT_DONE;
	}
	if (c->token_file && read_token(c->token_file, &token, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	a->http = http_client_new(c->url, buf_slice(&token), &e);
	return a->http ? EXIT_DONE : fail(EXIT_USAGE, "%s", e.msg);
}

int asker_code(int r)
{
	return r == -ECONNREFUSED || r == -ECONNRESET ? EXIT_UNREACHABLE : EXIT_FAILED;
}

static int code_of_status(int status)
{
	if (status == 401 || status == 403 || status == 503)
		return EXIT_UNREACHABLE;
	return status >= 400 && status < 500 && status != 409 ? EXIT_REFUSED : EXIT_FAILED;
}

void asker_read(struct daemon_asker *a, struct buf *text)
{
	ssize_t n = 1;

	/* A longer answer is cut off, and then not valid JSON, which the caller reports. */
	while (n > 0 && buf_len(text) < ANSWER_MAX && buf_reserve(text, 4096) == 0) {
		n = http_client_read(a->http, text->data + text->len, 4096);
		text->len += n > 0 ? (size_t)n : 0;
	}
}

int asker_unexplained(const struct daemon_asker *a)
{
	return fail(code_of_status(a->answer.status), "%s answered %d: %s",
		    a->cfg->url ? a->cfg->url : a->cfg->socket, a->answer.status,
		    daemon_status_text((unsigned)a->answer.status));
}

int asker_refused(struct daemon_asker *a)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	_cleanup_(freep) char *reason = NULL, *message = NULL;
	struct jval v, error = { 0 };

	asker_read(a, &text);
	if (jscan_value(buf_slice(&text), &v) == JSCAN_OK && v.type == J_OBJECT)
		error = jobj_get(v.raw, "error");
	jstr_decode(jobj_get(error.raw, "reason"), 64, &reason);
	jstr_decode(jobj_get(error.raw, "message"), 4096, &message);
	if (message)
		err_flatten(message);
	if (reason && message)
		return fail(code_of_status(a->answer.status), "%s: %s", reason, message);
	return asker_unexplained(a);
}

int asker_ask(struct daemon_asker *a, const char *method, struct err *e)
{
	struct http_ask rq = { .method = method, .path = a->path };

	return http_client_ask(a->http, &rq, &a->answer, e);
}

int asker_request(struct daemon_asker *a, const struct config *c, const char *method)
{
	struct err e;
	int code = asker_open(a, c), r;

	if (code != EXIT_DONE)
		return code;
	r = asker_ask(a, method, &e);
	return r < 0 ? fail(asker_code(r), "%s", e.msg) : EXIT_DONE;
}

/* --- the body into a file ------------------------------------------------------------------------------------------- */

/* Written beside its final name, and renamed once it is whole. */
struct output_file {
	const char *path; /* NULL: standard output */
	char *temp;
	int fd;
};

static int output_file_open(struct output_file *t, const char *path)
{
	t->path = path;
	t->fd = STDOUT_FILENO;
	if (!path)
		return 0;
	t->temp = xprintf("%s.XXXXXX", path);
	/* In the directory of the final name: rename does not cross file systems. */
	t->fd = mkostemp(t->temp, O_CLOEXEC);
	return t->fd < 0 ? -errno : 0;
}

static int output_file_done(struct output_file *t, bool good)
{
	int r = 0;

	if (t->path && t->fd >= 0) {
		if (good && rename(t->temp, t->path) < 0)
			r = -errno;
		/* A partial file is removed; the previous one under its name is unchanged. */
		if (!good || r < 0)
			unlink(t->temp);
		close(t->fd);
	}
	free(t->temp);
	return r;
}

int asker_copy(struct daemon_asker *a, int fd, struct sha256_stream *hash, uint64_t *bytes,
	       bool *cut)
{
	_cleanup_(freep) char *piece = xalloc(BODY_READ_BYTES);
	ssize_t n = 0;
	int r = 0;

	while (r == 0 && (n = http_client_read(a->http, piece, BODY_READ_BYTES)) > 0) {
		if (hash)
			sha256_add(hash, piece, (size_t)n);
		*bytes += (uint64_t)n;
		r = file_write_all(fd, piece, (size_t)n);
	}
	*cut = r == 0 && n < 0;
	return *cut ? (int)n : r;
}

static int receive_body(struct daemon_asker *a, const struct output_file *t,
			const struct sha256 *digest, const char *cut_text, uint64_t *bytes,
			struct err *e)
{
	struct sha256_stream hash;
	struct sha256 got;
	bool cut;
	int r;

	sha256_begin(&hash);
	r = asker_copy(a, t->fd, digest ? &hash : NULL, bytes, &cut);
	sha256_end(&hash, &got);
	if (cut)
		return err_set(e, r, 0, "CONNECTION_LOST", "%s", cut_text);
	if (r < 0)
		return err_set(e, r, 0, "FILE_NOT_WRITTEN", "%s: %s",
			       t->path ? t->path : "standard output", strerror(-r));
	if (digest && !sha256_equal(&got, digest))
		return err_set(e, -EBADMSG, 0, "DIGEST_MISMATCH", "what came has another SHA-256");
	return 0;
}

int asker_save(struct daemon_asker *a, const struct sha256 *digest, const char *cut,
	       uint64_t *bytes)
{
	struct output_file t = { .fd = -1 };
	struct err e;
	int done, r = output_file_open(&t, a->cfg->output);

	if (r < 0)
		return fail(EXIT_FAILED, "%s: %s", t.path, strerror(-r));
	r = receive_body(a, &t, digest, cut, bytes, &e);
	done = output_file_done(&t, r == 0);
	if (r < 0)
		return fail(asker_code(r), "%s", e.msg);
	return done < 0 ? fail(EXIT_FAILED, "%s: %s", t.path, strerror(-done)) : EXIT_DONE;
}

void asker_done(struct daemon_asker *a)
{
	http_client_free(a->http);
}
