/*
 * cmd_archive.c - `acpd archive put|have|get|list|rm`: a client of /v1/archives.
 *
 * The name of an archive is the SHA-256 of its bytes, so put hashes first, asks whether the daemon has that
 * name, and sends only the missing bytes. It reads its source twice and at offsets; standard input is
 * therefore copied to a file first. The daemon hashes what it gets: a source that changes between both reads
 * is refused there. get compares the hash of what it received before the file gets its name.
 */
#include "cli/archive/archive.h"
#include "cli/cmd.h"
#include "cli/control/reach_daemon.h"

#include "archive/archive_store.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "json/json.h"

/* Attempts of one put: each goes on where the daemon is, after a second. */
#define TRIES 10

struct archive_client {
	struct daemon_asker ask;
	char digest[SHA256_TEXT];
};

static void client_name(struct archive_client *cl, const struct sha256 *d)
{
	sha256_text(d, cl->digest);
	snprintf(cl->ask.path, sizeof(cl->ask.path), "/v1/archives/%s", cl->digest);
}

static int hash_source(int fd, struct sha256 *ret, uint64_t *size)
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
	JW_BUF(w, b);

	if (!cl->ask.cfg->json) {
		printf("%s\n", cl->digest);
		return flushed(EXIT_DONE);
	}
	jw_object(&w, NULL, JW_STR("digest", cl->digest), JW_UINT("size", size),
		  JW_UINT(what, bytes));
	print_json(buf_slice(&b));
	return flushed(EXIT_DONE);
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

static int open_archive_source(const char *name, struct err *e)
{
	struct stat st;
	int fd;

	if (strcmp(name, "-") == 0)
		return spool_stdin(e);
	/* O_NONBLOCK: a FIFO without a writer would block here, and is refused below. */
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_set(e, -errno, 0, "FILE_UNREADABLE", "%s: %s", name, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return err_set(e, -EINVAL, 0, "FILE_UNREADABLE", "%s: is no regular file", name);
}

/* Sends the rest, from where the daemon is, or asks it to check what it has. */
static int archive_send_rest(struct archive_client *cl, int fd, uint64_t size, uint64_t offset,
			     struct err *e)
{
	char range[128];
	struct http_ask rq = { .method = "PUT",
			       .path = cl->ask.path,
			       .headers = range,
			       .body_fd = fd,
			       .at = offset,
			       .count = size - offset,
			       .has_body = true };

	/* The range of a resumed upload; "*" instead of it asks for a check of bytes that are all there. */
	if (!offset)
		range[0] = '\0';
	else if (offset == size)
		snprintf(range, sizeof(range), "Content-Range: bytes */%llu\r\n",
			 (unsigned long long)size);
	else
		snprintf(range, sizeof(range), "Content-Range: bytes %llu-%llu/%llu\r\n",
			 (unsigned long long)offset, (unsigned long long)size - 1,
			 (unsigned long long)size);
	return http_client_ask(cl->ask.http, &rq, &cl->ask.answer, e);
}

/* >0: try again; else an exit code, negated, -EXIT_DONE if it is there. */
static int archive_put_once(struct archive_client *cl, int fd, uint64_t size, uint64_t *sent,
			    struct err *e)
{
	int r = asker_ask(&cl->ask, "HEAD", e);

	if (r == 0 && cl->ask.answer.status == 200)
		return -EXIT_DONE;
	if (r == 0 && cl->ask.answer.status == 404) {
		r = archive_send_rest(cl, fd, size,
				      cl->ask.answer.has_offset && cl->ask.answer.offset <= size ?
					      cl->ask.answer.offset :
					      0,
				      e);
		*sent += cl->ask.answer.sent;
	}
	/* What was sent so far stays in the daemon; the next attempt goes on there. */
	if (r == -ECONNRESET)
		return 1;
	if (r < 0)
		return -fail(asker_code(r), "%s", e->msg);
	if (cl->ask.answer.status == 409)
		return 1; /* another client sends it, or sent while we asked */
	return cl->ask.answer.status < 300 ? -EXIT_DONE : -asker_refused(&cl->ask);
}

static int archive_put_all(struct archive_client *cl, int fd, uint64_t size, uint64_t *sent)
{
	struct err e = { 0 };
	int r = 1;

	for (int i = 0; r > 0 && i < TRIES; i++) {
		if (i)
			sleep(1);
		r = archive_put_once(cl, fd, size, sent, &e);
	}
	if (r <= 0)
		return -r;
	/* All attempts are used up: the last error, or the last answer of the daemon. */
	return *e.msg ? fail(EXIT_UNREACHABLE, "%s", e.msg) : asker_refused(&cl->ask);
}

static int archive_put_file(struct archive_client *cl, const char *file, uint64_t *size,
			    uint64_t *sent)
{
	struct sha256 d;
	struct err e;
	_cleanup_(closep) int fd = open_archive_source(file, &e);

	if (fd < 0)
		return fail(EXIT_FAILED, "%s", e.msg);
	if (hash_source(fd, &d, size) < 0)
		return fail(EXIT_FAILED, "%s: cannot be read", file);
	client_name(cl, &d);
	return archive_put_all(cl, fd, *size, sent);
}

static int upload_file(struct archive_client *cl, const struct config *c, const char *file,
		       uint64_t *size, uint64_t *sent)
{
	int r = asker_open(&cl->ask, c);

	if (r == EXIT_DONE)
		r = archive_put_file(cl, file, size, sent);
	asker_done(&cl->ask);
	return r;
}

int cmd_archive_put(const struct config *c)
{
	struct archive_client cl = { 0 };
	uint64_t size, sent = 0;
	int r = upload_file(&cl, c, c->args[0], &size, &sent);

	return r == EXIT_DONE ? print_done(&cl, size, "sent", sent) : r;
}

int archive_upload(const struct config *c, const char *file, char digest[SHA256_TEXT])
{
	struct archive_client cl = { 0 };
	uint64_t size, sent = 0;
	int r = upload_file(&cl, c, file, &size, &sent);

	/* Of no use after an error, when it may be empty. */
	memcpy(digest, cl.digest, SHA256_TEXT);
	return r;
}

/* --- have and get ------------------------------------------------------------------------------------------- */

static int ask_named(struct archive_client *cl, const struct config *c, const char *method,
		     struct sha256 *d)
{
	if (sha256_parse(slice_of(c->args[0]), d) < 0)
		return fail(EXIT_USAGE, "'%s' is not sha256: and 64 hex digits", c->args[0]);
	client_name(cl, d);
	return asker_request(&cl->ask, c, method);
}

int cmd_archive_have(const struct config *c)
{
	struct archive_client cl = { 0 };
	struct sha256 d;
	int r = ask_named(&cl, c, "HEAD", &d);

	if (r == EXIT_DONE && cl.ask.answer.status == 200)
		r = print_done(&cl, cl.ask.answer.length, "have", cl.ask.answer.length);
	else if (r == EXIT_DONE)
		r = cl.ask.answer.status == 404 ? EXIT_FAILED : asker_unexplained(&cl.ask);
	asker_done(&cl.ask);
	return r;
}

int cmd_archive_get(const struct config *c)
{
	struct archive_client cl = { 0 };
	uint64_t bytes = 0;
	struct sha256 d;
	int r = ask_named(&cl, c, "GET", &d);

	if (r == EXIT_DONE && cl.ask.answer.status == 404)
		r = fail(EXIT_FAILED, "there is no such archive");
	else if (r == EXIT_DONE && cl.ask.answer.status != 200)
		r = asker_refused(&cl.ask);
	else if (r == EXIT_DONE)
		r = asker_save(&cl.ask, &d, "the connection was cut off", &bytes);
	asker_done(&cl.ask);
	return r;
}

/* --- list and rm -------------------------------------------------------------------------------------------- */

/* One line: digest, size (of a partial upload its bytes so far), last use, and marks. */
static void print_archive(struct slice a)
{
	_cleanup_(freep) char *digest = jobj_str(a, "digest", SHA256_TEXT),
			      *used = jobj_str(a, "lastUsed", 64);
	struct slice size = jobj_get(a, "size").raw, part = jobj_get(a, "partial").raw;
	bool pinned = jobj_get(a, "pinned").type == J_TRUE,
	     baked = jobj_get(a, "baked").type == J_TRUE;

	printf("%s %12.*s  %-24s%s%s%s\n", digest ? digest : "", (int)(size.n ? size.n : part.n),
	       size.n ? size.p : part.p, used ? used : "", baked ? "  of the image" : "",
	       pinned ? "  in use" : "", size.n ? "" : "  not whole");
}

static int print_list(const struct archive_client *cl, struct slice list)
{
	struct slice used = jobj_get(list, "used").raw, limit = jobj_get(list, "limit").raw;
	struct jval archives = jobj_get(list, "archives");

	if (archives.type != J_ARRAY)
		return fail(EXIT_FAILED, "the daemon gave no list of archives");
	if (cl->ask.cfg->json) {
		print_json(list);
		return EXIT_DONE;
	}
	jarr_each(v, archives)
		print_archive(v.raw);
	printf("%.*s of %.*s bytes used\n", (int)used.n, used.p, (int)limit.n, limit.p);
	return EXIT_DONE;
}

int cmd_archive_list(const struct config *c)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct archive_client cl = { .ask.path = "/v1/archives" };
	int r = asker_request(&cl.ask, c, "GET");

	if (r == EXIT_DONE && cl.ask.answer.status != 200)
		r = asker_refused(&cl.ask);
	if (r == EXIT_DONE) {
		asker_read(&cl.ask, &text);
		r = print_list(&cl, buf_slice(&text));
	}
	asker_done(&cl.ask);
	return r;
}

int cmd_archive_rm(const struct config *c)
{
	struct archive_client cl = { 0 };
	struct sha256 d;
	int r = ask_named(&cl, c, "DELETE", &d);

	if (r == EXIT_DONE && cl.ask.answer.status == 404)
		r = fail(EXIT_FAILED,
			 "there is no archive %s; acpd archive list says which there are",
			 cl.digest);
	else if (r == EXIT_DONE && cl.ask.answer.status >= 300)
		r = asker_refused(&cl.ask);
	else if (r == EXIT_DONE && c->json)
		printf("{\"digest\":\"%s\",\"removed\":true}\n", cl.digest);
	asker_done(&cl.ask);
	return r;
}
