/*
 * call_request.c - the URL and the headers of a request, in the form in which libcurl takes them.
 *
 * libcurl parses the URL once, and both the address rules and the transfer use the result: two parsers could disagree on the
 * host. Headers can be secrets, so every line is wiped before it is freed.
 */
#include "fetch/fetch.h"

#include "base/format/digits.h"
#include "base/limits.h"
#include "base/util.h"
#include "fetcher/wire/fetch_frame.h"

#include <strings.h>

/* --- the URL -------------------------------------------------------------------------------------------------- */

/* A part of it, owned; NULL: it has none. */
static char *call_part(const struct call_url *u, CURLUPart what, unsigned flags)
{
	char *text = NULL, *copy;

	if (curl_url_get(u->parsed, what, &text, flags) != CURLUE_OK)
		return NULL;
	copy = xstrdup(text);
	curl_free(text);
	return copy;
}

static void call_take_host(struct call_url *u)
{
	_cleanup_(freep) char *host = call_part(u, CURLUPART_HOST, 0);
	size_t n = host ? strlen(host) : 0;

	if (n > 2 && host[0] == '[' && host[n - 1] == ']')
		u->host = xstrndup(host + 1, n - 2);
	else
		u->host = TAKE_PTR(host);
}

const char *call_url_parse(struct call_url *u, const char *text)
{
	_cleanup_(freep) char *scheme = NULL, *port = NULL, *zone = NULL;
	uint64_t number = 0;

	u->parsed = curl_url();
	if (!u->parsed || curl_url_set(u->parsed, CURLUPART_URL, text,
				       CURLU_PATH_AS_IS | CURLU_DISALLOW_USER) != CURLUE_OK)
		return "the url is none that can be called";
	scheme = call_part(u, CURLUPART_SCHEME, 0);
	port = call_part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT);
	zone = call_part(u, CURLUPART_ZONEID, 0);
	call_take_host(u);
	u->https = scheme && strcmp(scheme, "https") == 0;
	if (!u->https && (!scheme || strcmp(scheme, "http") != 0))
		return "the url is neither http nor https";
	if (!u->host || !*u->host || !slice_is_visible(slice_of(u->host), "%/\\@") || zone)
		return "the host of the url is no plain name or address";
	if (!port || !u64_parse(slice_of(port), &number) || number < 1 || number > 65535)
		return "the port of the url is none";
	u->port = (int)number;
	return NULL;
}

void call_url_done(struct call_url *u)
{
	curl_url_cleanup(u->parsed);
	free(u->host);
	*u = (struct call_url){ 0 };
}

/* --- headers -------------------------------------------------------------------------------------------------- */

/* What libcurl adds by itself, unless the order has it. Without a value a line keeps it from doing so. */
static const char *const unwanted[] = { "Accept", "Accept-Encoding", "Content-Type", "User-Agent",
					"Expect" };

static bool call_request_add(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (longer)
		*list = longer;
	return longer;
}

static bool add_pair(struct curl_slist **list, const char *name, const char *value)
{
	char *line = NULL;
	bool ok;

	/* a semicolon is how libcurl is told to send an empty value */
	if (asprintf(&line, *value ? "%s: %s" : "%s;%s", name, value) < 0)
		return false;
	ok = call_request_add(list, line);
	secret_text_wipe(line);
	free(line);
	return ok;
}

static void call_mark_header(bool *has, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(unwanted); i++)
		has[i] = has[i] || strcasecmp(unwanted[i], name) == 0;
}

struct curl_slist *call_headers(struct slice json, const char *key)
{
	bool has[ARRAY_SIZE(unwanted)] = { false }, ok = true;
	struct curl_slist *list = NULL;
	struct fetch_headers h;
	int r = 0;

	if (!fetch_headers_begin(&h, json))
		return NULL;
	while (ok && (r = fetch_headers_next(&h)) > 0) {
		call_mark_header(has, h.name);
		ok = add_pair(&list, h.name, h.value);
	}
	fetch_headers_done(&h);
	for (size_t i = 0; ok && i < ARRAY_SIZE(unwanted); i++)
		if (!has[i])
			ok = call_request_add(&list, SHORT_TEXT(32, "%s:", unwanted[i]));
	if (ok && key)
		ok = call_request_add(&list, key);
	if (ok && r == 0)
		return list;
	call_headers_free(list);
	return NULL;
}

void call_headers_free(struct curl_slist *list)
{
	for (struct curl_slist *l = list; l; l = l->next)
		secret_text_wipe(l->data);
	curl_slist_free_all(list);
}
