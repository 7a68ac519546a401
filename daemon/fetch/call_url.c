#include "fetch/call_url.h"

#include "base/digits.h"
#include "base/util.h"

/* A part of it, owned; NULL: it has none. */
static char *part(const struct call_url *u, CURLUPart what, unsigned flags)
{
	char *text = NULL, *copy;

	if (curl_url_get(u->parsed, what, &text, flags) != CURLUE_OK)
		return NULL;
	copy = xstrdup(text);
	curl_free(text);
	return copy;
}

/* What a name of the internet, or an address, is made of. */
static bool host_ok(const char *host)
{
	for (const char *p = host; *p; p++)
		if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f || strchr("%/\\@", *p))
			return false;
	return *host;
}

static void take_host(struct call_url *u)
{
	_cleanup_(freep) char *host = part(u, CURLUPART_HOST, 0);
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
	scheme = part(u, CURLUPART_SCHEME, 0);
	port = part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT);
	zone = part(u, CURLUPART_ZONEID, 0);
	take_host(u);
	u->https = scheme && strcmp(scheme, "https") == 0;
	if (!u->https && (!scheme || strcmp(scheme, "http") != 0))
		return "the url is neither http nor https";
	if (!u->host || !host_ok(u->host) || zone)
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
