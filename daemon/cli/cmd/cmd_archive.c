/* cmd_archive.c - `acpd archive put|have|get|list|rm`: a client of /v1/archives. put hashes first, asks, and sends only
 * what is missing. */
#include "cli/cmd/cmd_archive.h"
#include "cli/cmd/cmd.h"
#include "cli/reach_daemon.h"

#include "archive/archive_store.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "net/client/http_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define TRIES 10
#define ANSWER_MAX (64 * MIB)

struct archive_client {
	const struct config *cfg;
	struct http_client *http;
	char digest[ARCHIVE_DIGEST_SIZE], path[32 + SHA256_HEX];
	struct http_answer answer;
};

/* --- common ------------------------------------------------------------------------------------------------- */

/* EXIT_DONE, or what to exit with. */
static int client_open(struct archive_client *cl, const struct config *c)
{
	_cleanup_(buf_done) struct buf token = { 0 };
	struct err e;
	int r = EXIT_DONE;

	cl->cfg = c;
	if (!c->url) {
		cl->http = http_client_new_socket(c->socket);
		return EXIT_DONE;
	}
	if (c->token_file && read_token(c->token_file, &token, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	cl->http = http_client_new(c->url, buf_slice(&token), &e);
	if (!cl->http)
		r = fail(EXIT_USAGE, "%s", e.msg);
	if (token.data)
		secret_wipe(token.data, token.cap);
	return r;
}

static void client_name(struct archive_client *cl, const struct sha256 *d)
{
	archive_digest_text(d, cl->digest);
	snprintf(cl->path, sizeof(cl->path), "/v1/archives/%s", cl->digest);
}

static int code_of(int r)
{
	return r == -ECONNREFUSED || r == -ECONNRESET ? EXIT_UNREACHABLE : EXIT_FAILED;
}

static int code_of_status(int status)
{
	if (status == 401 || status == 403 || status == 503)
		return EXIT_UNREACHABLE;
	return status >= 400 && status < 500 && status != 409 ? EXIT_REFUSED : EXIT_FAILED;
}

static void read_answer(struct archive_client *cl, struct buf *text)
{
	ssize_t n = 1;

	while (n > 0 && buf_len(text) < ANSWER_MAX && buf_reserve(text, 4096) == 0) {
		n = http_client_read(cl->http, text->data + text->len, 4096);
		text->len += n > 0 ? (size_t)n : 0;
	}
}

/* For an answer without a body of ours, such as every one to HEAD. */
static int unexplained(const struct archive_client *cl)
{
	return fail(code_of_status(cl->answer.status), "%s answered %d: %s",
		    cl->cfg->url ? cl->cfg->url : cl->cfg->socket, cl->answer.status,
		    daemon_link_status_text((unsigned)cl->answer.status));
}

/* {"error":{"reason","message"}} as one line. */
static int refused(struct archive_client *cl)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	_cleanup_(freep) char *reason = NULL, *message = NULL;
	struct jval v, error = { 0 };

	read_answer(cl, &text);
	if (jscan_value(buf_slice(&text), &v) == JSCAN_OK && v.type == J_OBJECT)
		error = jobj_get(v.raw, "error");
	jstr_decode(jobj_get(error.raw, "reason"), 64, &reason);
	jstr_decode(jobj_get(error.raw, "message"), 4096, &message);
	if (message)
		err_flatten(message);
	if (reason && message)
		return fail(code_of_status(cl->answer.status), "%s: %s", reason, message);
	return unexplained(cl);
}

static int ask(struct archive_client *cl, const char *method, struct err *e)
{
	struct http_ask rq = { .method = method, .path = cl->path };

	return http_client_ask(cl->http, &rq, &cl->answer, e);
}

static int hash_fd(int fd, struct sha256 *ret, uint64_t *size)
{
	_cleanup_(freep) char *buf = xalloc(BODY_READ_BYTES);
	struct sha256_stream h;
	ssize_t n;

	*size = 0;
	sha256_begin(&h);
	while ((n = pread(fd, buf, BODY_READ_BYTES, (off_t)*size)) > 0) {
		sha256_add(&h, buf, (size_t)n);
		*size += (uint64_t)n;
	}
	if (n < 0)
		return -errno;
	sha256_end(&h, ret);
	return 0;
}

static int print_done(const struct archive_client *cl, uint64_t size, const char *what,
		      uint64_t bytes)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (!cl->cfg->json) {
		printf("%s\n", cl->digest);
	} else {
		jw_obj(&w, NULL);
		jw_str(&w, "digest", cl->digest);
		jw_uint(&w, "size", size);
		jw_uint(&w, what, bytes);
		jw_end_obj(&w);
		printf("%.*s\n", (int)buf_len(&b), b.data);
	}
	return fflush(stdout) == 0 ? EXIT_DONE :
				     fail(EXIT_FAILED, "standard output: %s", strerror(errno));
}

/* --- put ---------------------------------------------------------------------------------------------------- */

/* Reads standard input to its end: its name is its hash. */
static int spool_stdin(struct err *e)
{
	_cleanup_(freep) char *buf = xalloc(BODY_READ_BYTES);
	const char *dir = getenv("TMPDIR");
	_cleanup_(closep) int fd =
		open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	ssize_t n;
	int r = fd < 0 ? -errno : 0;

	while (r == 0 && (n = read(STDIN_FILENO, buf, BODY_READ_BYTES)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		r = n < 0 ? -errno : file_write_all(fd, buf, (size_t)n);
	}
	return r < 0 ? err_set(e, r, 0, "FILE_UNREADABLE", "standard input: %s", strerror(-r)) :
		       TAKE_FD(fd);
}

static int open_source(const char *name, struct err *e)
{
	struct stat st;
	int fd;

	if (strcmp(name, "-") == 0)
		return spool_stdin(e);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_set(e, -errno, 0, "FILE_UNREADABLE", "%s: %s", name, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return err_set(e, -EINVAL, 0, "FILE_UNREADABLE", "%s: is no regular file", name);
}

/* Sends the rest, from where the daemon is, or asks it to check what it has. */
static int send_rest(struct archive_client *cl, int fd, uint64_t size, uint64_t offset,
		     struct err *e)
{
	char range[128];
	struct http_ask rq = { .method = "PUT",
			       .path = cl->path,
			       .headers = range,
			       .body_fd = fd,
			       .at = offset,
			       .count = size - offset,
			       .has_body = true };

	if (!offset)
		range[0] = '\0';
	else if (offset == size)
		snprintf(range, sizeof(range), "Content-Range: bytes */%llu\r\n",
			 (unsigned long long)size);
	else
		snprintf(range, sizeof(range), "Content-Range: bytes %llu-%llu/%llu\r\n",
			 (unsigned long long)offset, (unsigned long long)size - 1,
			 (unsigned long long)size);
	return http_client_ask(cl->http, &rq, &cl->answer, e);
}

/* >0: try again; else an exit code, negated, -EXIT_DONE if it is there. */
static int put_once(struct archive_client *cl, int fd, uint64_t size, uint64_t *sent, struct err *e)
{
	int r = ask(cl, "HEAD", e);

	if (r == 0 && cl->answer.status == 200)
		return -EXIT_DONE;
	if (r == 0 && cl->answer.status == 404) {
		r = send_rest(
			cl, fd, size,
			cl->answer.has_offset && cl->answer.offset <= size ? cl->answer.offset : 0,
			e);
		*sent += cl->answer.sent;
	}
	if (r == -ECONNRESET)
		return 1;
	if (r < 0)
		return -fail(code_of(r), "%s", e->msg);
	if (cl->answer.status == 409)
		return 1; /* another client sends it, or sent while we asked */
	return cl->answer.status < 300 ? -EXIT_DONE : -refused(cl);
}

static int put_all(struct archive_client *cl, int fd, uint64_t size, uint64_t *sent)
{
	struct err e = { 0 };
	int r = 1;

	for (int i = 0; r > 0 && i < TRIES; i++) {
		if (i)
			sleep(1);
		r = put_once(cl, fd, size, sent, &e);
	}
	if (r <= 0)
		return -r;
	return *e.msg ? fail(EXIT_UNREACHABLE, "%s", e.msg) : refused(cl);
}

static int put_file(struct archive_client *cl, const char *file, uint64_t *size, uint64_t *sent)
{
	struct sha256 d;
	struct err e;
	_cleanup_(closep) int fd = open_source(file, &e);

	if (fd < 0)
		return fail(EXIT_FAILED, "%s", e.msg);
	if (hash_fd(fd, &d, size) < 0)
		return fail(EXIT_FAILED, "%s: cannot be read", file);
	client_name(cl, &d);
	return put_all(cl, fd, *size, sent);
}

int cmd_archive_put(const struct config *c)
{
	struct archive_client cl = { 0 };
	uint64_t size, sent = 0;
	int r = client_open(&cl, c);

	if (r == EXIT_DONE)
		r = put_file(&cl, c->args[0], &size, &sent);
	if (r == EXIT_DONE)
		r = print_done(&cl, size, "sent", sent);
	http_client_free(cl.http);
	return r;
}

int archive_upload(const struct config *c, const char *file, char digest[ARCHIVE_DIGEST_SIZE])
{
	struct archive_client cl = { 0 };
	uint64_t size, sent = 0;
	int r = client_open(&cl, c);

	if (r == EXIT_DONE)
		r = put_file(&cl, file, &size, &sent);
	memcpy(digest, cl.digest, ARCHIVE_DIGEST_SIZE);
	http_client_free(cl.http);
	return r;
}

/* --- have and get ------------------------------------------------------------------------------------------- */

static int open_named(struct archive_client *cl, const struct config *c, struct sha256 *d)
{
	if (archive_digest_parse(slice_of(c->args[0]), d) < 0)
		return fail(EXIT_USAGE, "'%s' is not sha256: and 64 hex digits", c->args[0]);
	client_name(cl, d);
	return client_open(cl, c);
}

int cmd_archive_have(const struct config *c)
{
	struct archive_client cl = { 0 };
	struct sha256 d;
	struct err e;
	int r = open_named(&cl, c, &d), asked;

	if (r == EXIT_DONE) {
		asked = ask(&cl, "HEAD", &e);
		if (asked < 0)
			r = fail(code_of(asked), "%s", e.msg);
		else if (cl.answer.status == 200)
			r = print_done(&cl, cl.answer.length, "have", cl.answer.length);
		else if (cl.answer.status == 404)
			r = EXIT_FAILED;
		else
			r = unexplained(&cl);
	}
	http_client_free(cl.http);
	return r;
}

/* Written beside its final name, and renamed once its hash is right. */
struct archive_target {
	const char *path; /* NULL: standard output */
	char *temp;
	int fd;
};

static int target_open(struct archive_target *t, const char *path)
{
	t->path = path;
	t->fd = STDOUT_FILENO;
	if (!path)
		return 0;
	if (asprintf(&t->temp, "%s.XXXXXX", path) < 0)
		abort();
	t->fd = mkostemp(t->temp, O_CLOEXEC);
	return t->fd < 0 ? -errno : 0;
}

static int target_done(struct archive_target *t, bool good)
{
	int r = 0;

	if (t->path && t->fd >= 0) {
		if (good && rename(t->temp, t->path) < 0)
			r = -errno;
		if (!good || r < 0)
			unlink(t->temp);
		close(t->fd);
	}
	free(t->temp);
	return r;
}

static int receive(struct archive_client *cl, const struct archive_target *t,
		   const struct sha256 *want, struct err *e)
{
	_cleanup_(freep) char *buf = xalloc(BODY_READ_BYTES);
	struct sha256_stream h;
	struct sha256 got;
	ssize_t n = 0;
	int r = 0;

	sha256_begin(&h);
	while (r == 0 && (n = http_client_read(cl->http, buf, BODY_READ_BYTES)) > 0) {
		sha256_add(&h, buf, (size_t)n);
		r = file_write_all(t->fd, buf, (size_t)n);
	}
	sha256_end(&h, &got);
	if (r < 0)
		return err_set(e, r, 0, "FILE_NOT_WRITTEN", "%s: %s",
			       t->path ? t->path : "standard output", strerror(-r));
	if (n < 0)
		return err_set(e, (int)n, 0, "CONNECTION_LOST", "the connection was cut off");
	if (!sha256_equal(&got, want))
		return err_set(e, -EBADMSG, 0, "DIGEST_MISMATCH", "what came has another SHA-256");
	return 0;
}

static int get_to(struct archive_client *cl, const struct sha256 *d)
{
	struct archive_target t = { .fd = -1 };
	struct err e;
	int done, r = ask(cl, "GET", &e);

	if (r < 0)
		return fail(code_of(r), "%s", e.msg);
	if (cl->answer.status != 200)
		return cl->answer.status == 404 ? fail(EXIT_FAILED, "there is no such archive") :
						  refused(cl);
	r = target_open(&t, cl->cfg->output);
	if (r < 0)
		return fail(EXIT_FAILED, "%s: %s", t.path, strerror(-r));
	r = receive(cl, &t, d, &e);
	done = target_done(&t, r == 0);
	if (r < 0)
		return fail(code_of(r), "%s", e.msg);
	return done < 0 ? fail(EXIT_FAILED, "%s: %s", t.path, strerror(-done)) : EXIT_DONE;
}

int cmd_archive_get(const struct config *c)
{
	struct archive_client cl = { 0 };
	struct sha256 d;
	int r = open_named(&cl, c, &d);

	if (r == EXIT_DONE)
		r = get_to(&cl, &d);
	http_client_free(cl.http);
	return r;
}

/* --- list and rm -------------------------------------------------------------------------------------------- */

static void print_archive(struct slice a)
{
	_cleanup_(freep) char *digest = NULL, *used = NULL;
	struct slice size = jobj_get(a, "size").raw, part = jobj_get(a, "partial").raw;
	bool pinned = jobj_get(a, "pinned").type == J_TRUE,
	     baked = jobj_get(a, "baked").type == J_TRUE;

	jstr_decode(jobj_get(a, "digest"), sizeof(((struct archive_client *)0)->digest), &digest);
	jstr_decode(jobj_get(a, "lastUsed"), 64, &used);
	printf("%s %12.*s  %-24s%s%s%s\n", digest ? digest : "", (int)(size.n ? size.n : part.n),
	       size.n ? size.p : part.p, used ? used : "", baked ? "  of the image" : "",
	       pinned ? "  in use" : "", size.n ? "" : "  not whole");
}

static int print_list(const struct archive_client *cl, struct slice list)
{
	struct slice used = jobj_get(list, "used").raw, limit = jobj_get(list, "limit").raw;
	struct jiter it;
	struct jval v;

	if (!jiter_init(&it, jobj_get(list, "archives")))
		return fail(EXIT_FAILED, "the daemon gave no list of archives");
	if (cl->cfg->json) {
		printf("%.*s\n", (int)list.n, list.p);
		return EXIT_DONE;
	}
	while (jiter_next(&it, NULL, &v))
		print_archive(v.raw);
	printf("%.*s of %.*s bytes used\n", (int)used.n, used.p, (int)limit.n, limit.p);
	return EXIT_DONE;
}

int cmd_archive_list(const struct config *c)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct archive_client cl = { .path = "/v1/archives" };
	struct err e;
	int r = client_open(&cl, c), asked = r == EXIT_DONE ? ask(&cl, "GET", &e) : 0;

	if (asked < 0)
		r = fail(code_of(asked), "%s", e.msg);
	else if (r == EXIT_DONE && cl.answer.status != 200)
		r = refused(&cl);
	if (r == EXIT_DONE) {
		read_answer(&cl, &text);
		r = print_list(&cl, buf_slice(&text));
	}
	http_client_free(cl.http);
	return r;
}

int cmd_archive_rm(const struct config *c)
{
	struct archive_client cl = { 0 };
	struct sha256 d;
	struct err e;
	int r = open_named(&cl, c, &d), asked = r == EXIT_DONE ? ask(&cl, "DELETE", &e) : 0;

	if (asked < 0)
		r = fail(code_of(asked), "%s", e.msg);
	else if (r == EXIT_DONE && cl.answer.status == 404)
		r = fail(EXIT_FAILED,
			 "there is no archive %s; acpd archive list says which there are",
			 cl.digest);
	else if (r == EXIT_DONE && cl.answer.status >= 300)
		r = refused(&cl);
	else if (r == EXIT_DONE && c->json)
		printf("{\"digest\":\"%s\",\"removed\":true}\n", cl.digest);
	http_client_free(cl.http);
	return r;
}
