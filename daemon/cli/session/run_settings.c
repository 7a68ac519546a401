/*
 * run_settings.c - the settings of the session of `acpd run`, out of its options.
 *
 * Only input that cannot be encoded is refused here; the daemon checks names and values. The provider is read from a file,
 * so its key is in no argument list. Its line breaks are removed, because a message on acp.sock is one line. Numbers of
 * budgets are copied as text, without rounding.
 */
#include "cli/session/run_settings.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "cli/archive/archive.h"
#include "json/json.h"

/* Reads it from a file, so that a key is in no argument list. */
static int settings_put_provider(struct jw *w, const char *path)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	char why[JSCAN_TEXT_SIZE];
	enum jscan_error scan;
	struct jval v;
	int r = file_read(path, MESSAGE_MAX, &b);

	if (r < 0)
		return fail(EXIT_USAGE, "--provider %s: %s", path, strerror(-r));
	scan = jscan_object(buf_slice(&b), NULL, 0);
	if (scan != JSCAN_OK || jscan_value(buf_slice(&b), &v) != JSCAN_OK)
		return fail(EXIT_USAGE, "--provider %s: %s", path,
			    jscan_explain(buf_slice(&b), scan, why));
	jscan_join_lines(&b); /* messages on a UNIX socket are lines */
	jw_raw(w, "provider", v.raw);
	return EXIT_DONE;
}

/* Takes the next part up to the separator; false: there is none. */
static bool next_list_part(const char **at, char separator, char **ret)
{
	const char *end;

	if (!*at || !**at)
		return false;
	end = strchrnul(*at, separator);
	*ret = xstrndup(*at, (size_t)(end - *at));
	*at = *end ? end + 1 : end;
	return true;
}

static int settings_put_env(struct jw *w, const char *list)
{
	char *part;
	int r = EXIT_DONE;

	jw_obj(w, "env");
	while (r == EXIT_DONE && next_list_part(&list, '\n', &part)) {
		char *value = strchr(part, '=');

		if (value)
			*value++ = '\0';
		else
			value = getenv(part);
		if (value) {
			jw_lead_key(w, part);
			jw_str(w, NULL, value);
		} else
			r = fail(EXIT_USAGE,
				 "--env %s: there is no such variable here; use %s=VALUE", part,
				 part);
		free(part);
	}
	jw_end_obj(w);
	return r;
}

/* A number stays the text that was given. */
static int settings_put_budget(struct jw *w, const char *list)
{
	char *part;
	int r = EXIT_DONE;

	jw_obj(w, "budgets");
	jw_obj(w, "turn");
	while (r == EXIT_DONE && next_list_part(&list, ',', &part)) {
		char *value = strchr(part, '=');
		struct jval v = { J_NONE, SLICE_NONE };

		if (value)
			*value++ = '\0';
		if (value && jscan_value(slice_of(value), &v) == JSCAN_OK && v.type == J_NUMBER) {
			jw_lead_key(w, part);
			jw_raw(w, NULL, v.raw);
		} else
			r = fail(EXIT_USAGE,
				 "--budget %s: NAME=NUMBER is needed, for example steps=40", part);
		free(part);
	}
	jw_end_obj(w);
	jw_end_obj(w);
	return r;
}

static bool refuses_links(const struct config *c)
{
	return strcmp(c->links, "refuse") == 0;
}

static int settings_put_archive(struct jw *w, const struct config *c)
{
	char digest[SHA256_TEXT];
	const char *name = c->archive;
	struct sha256 d;
	int r = EXIT_DONE;

	if (sha256_parse(slice_of(name), &d) < 0) {
		r = archive_upload(c, name, digest);
		name = digest;
	}
	jw_obj(w, "workspace");
	jw_str(w, "archive", name);
	if (c->strip == STRIP_AUTO)
		jw_str(w, "strip", "auto");
	else if (c->strip)
		jw_int(w, "strip", c->strip);
	if (!refuses_links(c))
		jw_str(w, "links", c->links);
	jw_end_obj(w);
	return r;
}

int run_settings(const struct config *c, struct buf *ret)
{
	struct jw w = JW(ret);
	int r = EXIT_DONE;

	if (c->strip && !c->archive)
		return fail(EXIT_USAGE, "--strip: what of? it goes with --archive");
	if (!refuses_links(c) && !c->archive)
		return fail(EXIT_USAGE, "--links: what of? it goes with --archive");
	jw_obj(&w, NULL);
	jw_str(&w, "harness", c->harness);
	jw_str(&w, "model", c->model);
	if (c->provider)
		r = settings_put_provider(&w, c->provider);
	if (r == EXIT_DONE && c->env)
		r = settings_put_env(&w, c->env);
	if (r == EXIT_DONE && c->budget)
		r = settings_put_budget(&w, c->budget);
	if (r == EXIT_DONE && c->archive)
		r = settings_put_archive(&w, c);
	jw_end_obj(&w);
	return r;
}
