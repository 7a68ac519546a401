/*
 * ui_target.c - parses --url, --token-file and --header of acpd ui into an address and header
 * lines.
 *
 * The URL can be the one of the ACP endpoint or the viewer: /acp or /ui at its end is removed.
 * Fields that belong to one connection or one request are refused, since a fixed value breaks the
 * framing. Values can be secrets: no message contains them, and the buffer is wiped. UI_HEADERS_MAX
 * and UI_HEADER_BYTES bound them.
 */
#include "cli/cmd.h"
#include "cli/ui/ui.h"

#include "base/http/authority.h"
#include "base/http/http_fields.h"
#include "base/limits.h"

static int refuse_url(const char *url, struct err *e)
{
	return err_field(e, "url", "OPTION_INVALID",
			 "--url: '%s' is not a ws://, wss://, http:// or https:// URL", url);
}

static bool take_scheme(struct ui_target *t, struct slice *rest)
{
	static const struct {
		const char *prefix;
		int port;
		bool tls;
	} rows[] = {
		{ "ws://", 80, false },
		{ "http://", 80, false },
		{ "wss://", 443, true },
		{ "https://", 443, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!slice_skip(rest, rows[i].prefix))
			continue;
		t->port = rows[i].port;
		t->tls = rows[i].tls;
		return true;
	}
	return false;
}

static bool target_take_authority(struct ui_target *t, struct slice text)
{
	struct authority a;

	if (!authority_parse(text, 1, &a))
		return false;
	t->host = xstrndup(a.host.p, a.host.n);
	t->authority = xstrndup(text.p, text.n);
	if (a.port > 0)
		t->port = a.port;
	return true;
}

static void trim_end(struct slice *path, const char *end)
{
	size_t n = strlen(end);

	if (path->n >= n && memcmp(path->p + path->n - n, end, n) == 0)
		path->n -= n;
}

/* What a request's line can hold as it is. */
static bool take_path(struct ui_target *t, struct slice path)
{
	if (!slice_is_visible(path, "?#"))
		return false;
	trim_end(&path, "/");
	trim_end(&path, "/acp");
	trim_end(&path, "/ui");
	t->base = xstrndup(path.p, path.n);
	return true;
}

static int target_read_url(struct ui_target *t, const char *url, struct err *e)
{
	struct slice rest = slice_of(url);
	size_t n;

	if (!take_scheme(t, &rest))
		return refuse_url(url, e);
	n = strcspn(rest.p, "/");
	if (!target_take_authority(t, (struct slice){ rest.p, n }) ||
	    !take_path(t, slice_after(rest, n)))
		return refuse_url(url, e);
	return 0;
}

/* --- what is added --------------------------------------------------------------------------------------------- */

/* Each connection makes these itself. */
static bool is_of_connection(struct slice name)
{
	return http_word_among(
		name,
		"host connection upgrade content-length transfer-encoding origin te trailer expect "
		"keep-alive sec-websocket-key sec-websocket-version sec-websocket-protocol "
		"sec-websocket-extensions proxy-connection content-type");
}

/* The value is not said: it may be a secret. */
static int refuse_header(struct slice name, const char *why, struct err *e)
{
	return err_field(e, "header", "OPTION_INVALID", "--header: %.*s %s",
			 (int)MIN(name.n, (size_t)64), name.p, why);
}

static bool target_has_field(const struct ui_target *t, struct slice name)
{
	_cleanup_(freep) char *word = xstrndup(name.p, name.n);
	struct slice value;

	return http_field_find(buf_slice(&t->fields), word, &value);
}

static int target_add_header(struct ui_target *t, struct slice line, struct err *e)
{
	struct slice name, value;

	if (!http_field_split(line, &name, &value) || !value.n)
		return refuse_header(SLICE("one"), "is not 'Name: value'", e);
	if (is_of_connection(name))
		return refuse_header(name, "is made for each connection", e);
	if (target_has_field(t, name))
		return refuse_header(name, "is there already (--token-file gives Authorization)",
				     e);
	if (buf_len(&t->fields) + line.n > UI_HEADER_BYTES)
		return refuse_header(name, "is too much, with the others", e);
	buf_printf(&t->fields, "%.*s: %.*s\r\n", (int)name.n, name.p, (int)value.n, value.p);
	return 0;
}

static int target_add_headers(struct ui_target *t, const char *lines, struct err *e)
{
	int r = 0;

	for (unsigned n = 0; r == 0 && lines && *lines; n++) {
		size_t len = strcspn(lines, "\n");

		if (n == UI_HEADERS_MAX)
			return err_field(e, "header", "OPTION_INVALID",
					 "--header: at most %d may be given", UI_HEADERS_MAX);
		r = target_add_header(t, (struct slice){ lines, len }, e);
		lines += len + (lines[len] == '\n');
	}
	return r;
}

static int add_token(struct ui_target *t, struct slice token, struct err *e)
{
	/* A line break in it would be a header of its own. */
	if (!http_text_ok(token))
		return err_field(e, "token-file", "OPTION_INVALID",
				 "--token-file: what is in it is no token");
	if (token.n)
		buf_printf(&t->fields, "Authorization: Bearer %.*s\r\n", (int)token.n, token.p);
	return 0;
}

int ui_target_read(struct ui_target *t, const char *url, struct slice token, const char *headers,
		   struct err *e)
{
	int r;

	*t = (struct ui_target){ 0 };
	r = target_read_url(t, url, e);
	if (r == 0)
		r = add_token(t, token, e);
	if (r == 0)
		r = target_add_headers(t, headers, e);
	if (r < 0)
		ui_target_done(t);
	return r;
}

void ui_target_done(struct ui_target *t)
{
	secret_buf_done(&t->fields);
	free_each(t->host, t->authority, t->base);
	*t = (struct ui_target){ 0 };
}
