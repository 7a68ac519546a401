/*
 * provider_upstream.c - where calls to a provider go: address, headers, how its key is sent; and its fallbacks.
 *
 * What is checked here ends up in request lines and header lines of the daemon's own calls, so it may hold nothing that ends
 * a line. A fallback is another place for the same call: API, model and body stay the provider's.
 */
#include "harnesses/provider.h"

#include "base/http/authority.h"
#include "base/http/http_fields.h"
#include "base/limits.h"
#include "json/json.h"

#define HEADERS_MAX 64
#define HEADER_VALUE_MAX (64 * KIB)
#define AUTH_TEXT_MAX 128

/* --- members ---------------------------------------------------------------------------------------------- */

static bool provider_header_ok(struct slice key, struct jval v)
{
	_cleanup_(freep) char *value = NULL;

	return header_name_ok(key) && jstr_decode(v, HEADER_VALUE_MAX, &value) == 0 &&
	       header_value_ok(value);
}

/* They end up in header lines of requests. */
int provider_check_headers(struct slice headers, const char *path, struct err *e)
{
	char field[128];
	size_t n = 0;

	jobj_each(key, v, headers) {
		snprintf(field, sizeof(field), "%s.%.*s", path, (int)MIN(key.n, 40u), key.p);
		if (n++ >= HEADERS_MAX)
			return err_field(e, field, "TOO_MANY", "more than %d headers", HEADERS_MAX);
		if (!provider_header_ok(key, v))
			return err_field(e, field, "FIELD_INVALID",
					 "a header is a name and a string that is one line");
	}
	return 0;
}

struct auth_args {
	char *header, *prefix;
};

static const struct jfield auth_fields[] = {
	JF_STR(struct auth_args, header, "header", JF_FILLED, AUTH_TEXT_MAX),
	JF_STR(struct auth_args, prefix, "prefix", 0, AUTH_TEXT_MAX),
	JF_END,
};

#define AUTH_ADVICE                                                                                      \
	"auth is {header, prefix}: a key in one header. Requests that are signed, or that need a token " \
	"of OAuth (Bedrock, Vertex), are the client's to make: via tunnel"

/* Both become part of a header line. */
static int check_auth_texts(const struct auth_args *a, const char *path, struct err *e)
{
	char field[96];

	snprintf(field, sizeof(field), "%s.%s", path,
		 a->header && !header_name_ok(slice_of(a->header)) ? "header" : "prefix");
	if ((a->header && !header_name_ok(slice_of(a->header))) ||
	    (a->prefix && !header_value_ok(a->prefix)))
		return err_field(e, field, "FIELD_INVALID", "%s: %s", field, AUTH_ADVICE);
	return 0;
}

int provider_check_auth(struct slice auth, const char *path, struct err *e)
{
	struct auth_args a = { 0 };
	int r;

	if (!auth.n)
		return 0;
	r = jdec_strict(auth, auth_fields, SHORT_TEXT(96, "%s.", path), AUTH_ADVICE, &a, e);
	if (r == 0)
		r = check_auth_texts(&a, path, e);
	jdec_free(auth_fields, &a);
	return r;
}

/* http or https, a host, a path, and a query that every call gets (?api-version=): what stands around the API's own paths. */
static bool url_ok(const char *url)
{
	struct slice rest = slice_of(url), host;
	struct authority a;

	if (!slice_skip(&rest, "https://") && !slice_skip(&rest, "http://"))
		return false;
	/* No user (@) and no fragment (#); parsers disagree about backslashes; a space would end the
	 * request target. */
	if (!slice_is_visible(rest, "#@\\"))
		return false;
	host = (struct slice){ rest.p, strcspn(rest.p, "/?") };
	return authority_parse(host, 1, &a);
}

int provider_check_url(const char *url, const char *path, struct err *e)
{
	if (!url || url_ok(url))
		return 0;
	return err_field(e, path, "URL_INVALID",
			 "%s must be http:// or https:// with a host, without user and fragment",
			 path);
}

/* --- fallbacks -------------------------------------------------------------------------------------------- */

struct fallback_args {
	char *base_url, *key;
	struct slice auth, headers;
};

static const struct jfield fallback_fields[] = {
	JF_STR(struct fallback_args, base_url, "baseUrl", JF_REQUIRED | JF_FILLED, 4096),
	JF_STR(struct fallback_args, key, "key", 0, PROVIDER_KEY_MAX),
	JF_OBJ(struct fallback_args, auth, "auth", 0),
	JF_OBJ(struct fallback_args, headers, "headers", 0),
	JF_END,
};

/* The decoder has copied the key, so the copy is wiped; the JSON text is the caller's. */
static void fallback_free(struct fallback_args *a)
{
	secret_text_wipe(a->key);
	jdec_free(fallback_fields, a);
}

static int check_fallback_members(const struct fallback_args *a, const char *path, struct err *e)
{
	char field[96];
	int r;

	snprintf(field, sizeof(field), "%s.baseUrl", path);
	r = provider_check_url(a->base_url, field, e);
	snprintf(field, sizeof(field), "%s.key", path);
	if (r == 0 && a->key && !header_value_ok(a->key))
		r = err_field(e, field, "FIELD_INVALID", "%s must be one line", field);
	snprintf(field, sizeof(field), "%s.auth", path);
	if (r == 0)
		r = provider_check_auth(a->auth, field, e);
	snprintf(field, sizeof(field), "%s.headers", path);
	return r == 0 ? provider_check_headers(a->headers, field, e) : r;
}

static int check_fallback(struct jval v, const char *path, struct err *e)
{
	struct fallback_args a = { 0 };
	int r;

	if (v.type != J_OBJECT)
		return err_field(e, path, "FIELD_INVALID", "%s must be an object", path);
	r = jdec_strict(v.raw, fallback_fields, SHORT_TEXT(96, "%s.", path),
			"a fallback has no such member: API, model and body are the provider's", &a,
			e);
	if (r == 0)
		r = check_fallback_members(&a, path, e);
	fallback_free(&a);
	return r;
}

int provider_check_fallbacks(struct slice fallbacks, const char *path, struct err *e)
{
	char field[80];

	jarr_each_at(i, v, fallbacks) {
		snprintf(field, sizeof(field), "%s[%zu]", path, i);
		if (i >= PROVIDER_FALLBACKS_MAX)
			return err_field(e, field, "TOO_MANY", "more than %d fallbacks",
					 PROVIDER_FALLBACKS_MAX);
		if (check_fallback(v, field, e) < 0)
			return -EINVAL;
	}
	return 0;
}

/* J_NONE: there are not so many. */
static struct jval fallback_at(struct slice fallbacks, unsigned i)
{
	jarr_each(v, fallbacks)
		if (!i--)
			return v;
	return (struct jval){ 0 };
}

struct jval provider_fallback_key(struct slice provider, unsigned i)
{
	return jobj_get(fallback_at(jobj_get(provider, "fallbacks").raw, i).raw, "key");
}

/* --- as one ------------------------------------------------------------------------------------------------- */

static void take_auth(struct provider_upstream *u, struct slice auth)
{
	struct auth_args a = { 0 };

	if (!auth.n || jdec_object(auth, auth_fields, NULL, &a, NULL) < 0)
		return;
	u->auth_header = a.header;
	u->auth_prefix = a.prefix;
}

bool provider_upstream(const struct harness_provider *p, unsigned i, struct provider_upstream *ret)
{
	struct fallback_args a = { 0 };

	*ret = (struct provider_upstream){ 0 };
	/* 0 is the provider itself, 1 its first fallback. */
	if (i == 0) {
		ret->base_url = xstrdup(p->base_url);
		ret->headers = p->headers;
		take_auth(ret, p->auth);
		return true;
	}
	if (jdec_object(fallback_at(p->fallbacks, i - 1).raw, fallback_fields, NULL, &a, NULL) < 0)
		return false;
	ret->base_url = TAKE_PTR(a.base_url);
	/* A slice of the provider's text, which must outlive ret. */
	ret->headers = a.headers;
	take_auth(ret, a.auth);
	fallback_free(&a);
	return true;
}

void provider_upstream_done(struct provider_upstream *u)
{
	free_each(u->base_url, u->auth_header, u->auth_prefix);
	*u = (struct provider_upstream){ 0 };
}
