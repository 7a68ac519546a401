/* cmd_bundle.c - `acpd bundle export` and `import`: a session of a daemon as a file, and a session made of one. */
#include "cli/control/ask_daemon.h"
#include "cli/cmd.h"
#include "cli/archive/cmd_archive.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/jenc.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

/* Ids are put into a path as they are. */
static bool plain_id(const char *id)
{
	return *id && strlen(id) <= 128 &&
	       id[strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")] ==
		       '\0';
}

static int receive(struct daemon_asker *a, const struct output_file *t, uint64_t *bytes,
		   struct err *e)
{
	_cleanup_(freep) char *piece = xalloc(BODY_READ_BYTES);
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = http_client_read(a->http, piece, BODY_READ_BYTES)) != 0) {
		if (n < 0)
			return err_set(e, (int)n, 0, "CONNECTION_LOST",
				       "the connection was cut off: the bundle is not whole");
		*bytes += (uint64_t)n;
		r = file_write_all(t->fd, piece, (size_t)n);
	}
	return r < 0 ? err_set(e, r, 0, "FILE_NOT_WRITTEN", "%s: %s",
			       t->path ? t->path : "standard output", strerror(-r)) :
		       0;
}

static int print_exported(const struct config *c, uint64_t bytes)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (!c->json || !c->output)
		return EXIT_DONE;
	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", c->args[0]);
	jw_str(&w, "file", c->output);
	jw_uint(&w, "bytes", bytes);
	jw_end_obj(&w);
	printf("%.*s\n", (int)buf_len(&b), b.data);
	return EXIT_DONE;
}

static int export_to(struct daemon_asker *a)
{
	struct output_file t = { .fd = -1 };
	uint64_t bytes = 0;
	struct err e;
	int done, r = asker_ask(a, "GET", &e);

	if (r < 0)
		return fail(asker_code(r), "%s", e.msg);
	if (a->answer.status != 200)
		return asker_refused(a);
	r = output_file_open(&t, a->cfg->output);
	if (r < 0)
		return fail(EXIT_FAILED, "%s: %s", t.path, strerror(-r));
	r = receive(a, &t, &bytes, &e);
	done = output_file_done(&t, r == 0);
	if (r < 0)
		return fail(asker_code(r), "%s", e.msg);
	return done < 0 ? fail(EXIT_FAILED, "%s: %s", t.path, strerror(-done)) :
			  print_exported(a->cfg, bytes);
}

int cmd_bundle_export(const struct config *c)
{
	struct daemon_asker a = { 0 };
	int r;

	if (!plain_id(c->args[0]))
		return fail(EXIT_USAGE, "'%s' is no id of a session", c->args[0]);
	snprintf(a.path, sizeof(a.path), "/v1/sessions/%s/bundle", c->args[0]);
	r = asker_open(&a, c);
	if (r == EXIT_DONE)
		r = export_to(&a);
	asker_done(&a);
	return r;
}

static int print_imported(struct daemon_asker *a)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	_cleanup_(freep) char *id = NULL;
	struct jval v;

	if (a->answer.status != 201)
		return asker_refused(a);
	asker_read(a, &text);
	if (jscan_value(buf_slice(&text), &v) != JSCAN_OK || v.type != J_OBJECT ||
	    jstr_decode(jobj_get(v.raw, "sessionId"), RPC_ID_MAX, &id) < 0)
		return fail(EXIT_FAILED, "the daemon did not say which session it made");
	if (a->cfg->json)
		printf("%.*s\n", (int)v.raw.n, v.raw.p);
	else
		printf("%s\n", id);
	return EXIT_DONE;
}

int cmd_bundle_import(const struct config *c)
{
	struct daemon_asker a = { 0 };
	char digest[ARCHIVE_DIGEST_SIZE];
	struct err e;
	int asked, r = archive_upload(c, c->args[0], digest);

	if (r != EXIT_DONE)
		return r;
	snprintf(a.path, sizeof(a.path), "/v1/bundles?archive=%s", digest);
	r = asker_open(&a, c);
	if (r == EXIT_DONE) {
		asked = asker_ask(&a, "POST", &e);
		r = asked < 0 ? fail(asker_code(asked), "%s", e.msg) : print_imported(&a);
	}
	asker_done(&a);
	return r;
}
