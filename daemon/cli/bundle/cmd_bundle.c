/*
 * cmd_bundle.c - `acpd bundle export` and `import`: a session of a daemon as a file, and a session made of one.
 *
 * An import is two requests: the file goes into the daemon's archive store, where an interrupted upload can be
 * resumed, and then the daemon makes a session of that archive.
 */
#include "cli/control/reach_daemon.h"
#include "cli/cmd.h"
#include "cli/archive/archive.h"

#include "base/limits.h"
#include "json/json.h"

/* Ids are put into a path as they are. */
static bool plain_id(const char *id)
{
	return *id && strlen(id) <= 128 &&
	       id[strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")] ==
		       '\0';
}

static int print_exported(const struct config *c, uint64_t bytes)
{
	JW_BUF(w, b);

	if (!c->json || !c->output)
		return EXIT_DONE;
	jw_object(&w, NULL, JW_STR("sessionId", c->args[0]), JW_STR("file", c->output),
		  JW_UINT("bytes", bytes));
	print_json(buf_slice(&b));
	return EXIT_DONE;
}

int cmd_bundle_export(const struct config *c)
{
	struct daemon_asker a = { 0 };
	uint64_t bytes = 0;
	int r;

	if (!plain_id(c->args[0]))
		return fail(EXIT_USAGE, "'%s' is no id of a session", c->args[0]);
	snprintf(a.path, sizeof(a.path), "/v1/sessions/%s/bundle", c->args[0]);
	r = asker_request(&a, c, "GET");
	if (r == EXIT_DONE)
		r = a.answer.status == 200 ?
			    asker_save(&a, NULL,
				       "the connection was cut off: the bundle is not whole",
				       &bytes) :
			    asker_refused(&a);
	if (r == EXIT_DONE)
		r = print_exported(c, bytes);
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
		print_json(v.raw);
	else
		printf("%s\n", id);
	return EXIT_DONE;
}

int cmd_bundle_import(const struct config *c)
{
	struct daemon_asker a = { 0 };
	char digest[SHA256_TEXT];
	int r = archive_upload(c, c->args[0], digest);

	if (r != EXIT_DONE)
		return r;
	snprintf(a.path, sizeof(a.path), "/v1/bundles?archive=%s", digest);
	r = asker_request(&a, c, "POST");
	if (r == EXIT_DONE)
		r = print_imported(&a);
	asker_done(&a);
	return r;
}
