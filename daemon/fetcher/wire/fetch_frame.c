/*
 * fetch_frame.c - encodes and decodes the payloads between the daemon and acpd-fetch.
 *
 * Settings and orders are JSON, decoded strictly: a missing or unknown member is -EPROTO and ends
 * the run. Keys are texts with NUL between them. The daemon trusts no answer: it checks the status,
 * that header names are in lower case, and that a verdict is flat text. Headers stay raw JSON and
 * are passed on without a copy.
 */
#include "fetcher/wire/fetch_frame.h"

#include "base/http/http_fields.h"
#include "base/util.h"
#include "json/json.h"

/* Each object is one of ours: a member that is missing, or one too many, is a mistake of the other side. */
static int fetch_frame_parse(struct slice payload, const struct jfield *fields, void *ret)
{
	struct jval v;

	if (jscan_value(payload, &v) != JSCAN_OK || v.type != J_OBJECT)
		return -EPROTO;
	return jdec_strict(payload, fields, NULL, "no such member", ret, NULL) < 0 ? -EPROTO : 0;
}

/* --- headers -------------------------------------------------------------------------------------------------- */

bool fetch_headers_begin(struct fetch_headers *h, struct slice text)
{
	struct jval v;

	*h = (struct fetch_headers){ .it = { NULL, NULL, true } };
	if (!text.n)
		return true;
	return jscan_value(text, &v) == JSCAN_OK && v.type == J_OBJECT && jiter_init(&h->it, v);
}

int fetch_headers_next(struct fetch_headers *h)
{
	struct slice key;
	struct jval v;

	fetch_headers_done(h);
	if (!h->it.p || !jiter_next(&h->it, &key, &v))
		return 0;
	/* the key's text lies between its quotes */
	if (jstr_decode((struct jval){ J_STRING, { key.p - 1, key.n + 2 } }, FETCH_HEAD_MAX,
			&h->name) < 0 ||
	    jstr_decode(v, FETCH_HEAD_MAX, &h->value) < 0)
		return -EINVAL;
	return header_name_ok(slice_of(h->name)) && header_value_ok(h->value) ? 1 : -EINVAL;
}

void fetch_headers_done(struct fetch_headers *h)
{
	free(TAKE_PTR(h->name));
	secret_text_wipe(h->value);
	free(TAKE_PTR(h->value));
}

/* --- to acpd-fetch -------------------------------------------------------------------------------------------- */

#define SETTING_MAX (64 * KIB)

static const struct jfield settings_fields[] = {
	JF_STR(struct fetch_settings, http_proxy, "httpProxy", 0, SETTING_MAX),
	JF_STR(struct fetch_settings, https_proxy, "httpsProxy", 0, SETTING_MAX),
	JF_STR(struct fetch_settings, no_proxy, "noProxy", 0, SETTING_MAX),
	JF_STR(struct fetch_settings, allow, "allow", 0, SETTING_MAX),
	JF_BOOL(struct fetch_settings, unlocked, "unlocked", 0),
	JF_END,
};

void fetch_settings_put(struct buf *b, const struct fetch_settings *s)
{
	struct jw w = JW(b);

	jw_object(&w, NULL, JW_STR("httpProxy", s->http_proxy),
		  JW_STR("httpsProxy", s->https_proxy), JW_STR("noProxy", s->no_proxy),
		  JW_STR("allow", s->allow), JW_BOOL("unlocked", s->unlocked));
}

int fetch_settings_parse(struct slice payload, struct fetch_settings *ret)
{
	*ret = (struct fetch_settings){ 0 };
	return fetch_frame_parse(payload, settings_fields, ret);
}

void fetch_settings_done(struct fetch_settings *s)
{
	jdec_free(settings_fields, s);
}

#define METHOD_MAX 32

static const struct jfield order_fields[] = {
	JF_STR(struct fetch_order, method, "method", JF_REQUIRED | JF_FILLED, METHOD_MAX),
	JF_STR(struct fetch_order, url, "url", JF_REQUIRED | JF_FILLED, FETCH_URL_MAX),
	JF_OBJ(struct fetch_order, headers, "headers", 0),
	JF_INT(struct fetch_order, key, "key", 0, 0, UINT32_MAX),
	JF_INT(struct fetch_order, body, "body", 0, 0, FETCH_BODY_MAX),
	JF_INT(struct fetch_order, idle_ms, "idleMs", JF_REQUIRED, 1, FETCH_IDLE_MAX_MS),
	JF_BOOL(struct fetch_order, named, "named", 0),
	JF_END,
};

void fetch_order_put(struct buf *b, const struct fetch_order *o)
{
	struct jw w = JW(b);

	jw_object(&w, NULL, JW_STR("method", o->method), JW_STR("url", o->url),
		  JW_RAW("headers", o->headers), JW_INT("key", o->key), JW_INT("body", o->body),
		  JW_INT("idleMs", o->idle_ms), JW_BOOL("named", o->named));
}

int fetch_order_parse(struct slice payload, struct fetch_order *ret)
{
	*ret = (struct fetch_order){ 0 };
	if (fetch_frame_parse(payload, order_fields, ret) < 0)
		return -EPROTO;
	if (header_name_ok(slice_of(ret->method)))
		return 0;
	fetch_order_done(ret);
	return -EPROTO;
}

void fetch_order_done(struct fetch_order *o)
{
	jdec_free(order_fields, o);
}

int fetch_key_parse(struct slice in, struct slice *name, struct slice *prefix, struct slice *value)
{
	if (!slice_cut(&in, '\0', name) || !slice_cut(&in, '\0', prefix) || !header_name_ok(*name))
		return -EPROTO;
	/* A NUL in the value would cut off a C string. */
	if (!in.n || in.n > FETCH_HEAD_MAX || memchr(in.p, 0, in.n))
		return -EPROTO;
	*value = in;
	return 0;
}

int fetch_taken_parse(struct slice payload, uint32_t *ret)
{
	if (payload.n != sizeof(*ret))
		return -EPROTO;
	memcpy(ret, payload.p, sizeof(*ret));
	return 0;
}

/* --- from acpd-fetch ------------------------------------------------------------------------------------------ */

/* The status is in the byte order of the machine, on which both ends run. */
void fetch_answer_put(struct buf *b, int status, struct slice headers)
{
	uint16_t n = (uint16_t)status;

	buf_add(b, &n, sizeof(n));
	buf_add_slice(b, headers);
}

static bool has_upper(const char *s)
{
	for (; *s; s++)
		if (*s >= 'A' && *s <= 'Z')
			return true;
	return false;
}

static bool headers_ok(struct slice text)
{
	struct fetch_headers h;
	bool upper = false;
	int r = 0;

	if (!fetch_headers_begin(&h, text))
		return false;
	while (!upper && (r = fetch_headers_next(&h)) > 0)
		upper = has_upper(h.name);
	fetch_headers_done(&h);
	return !upper && r == 0;
}

int fetch_answer_parse(struct slice payload, int *status, struct slice *headers)
{
	uint16_t n;

	if (payload.n <= sizeof(n))
		return -EPROTO;
	memcpy(&n, payload.p, sizeof(n));
	*status = n;
	*headers = (struct slice){ payload.p + sizeof(n), payload.n - sizeof(n) };
	/* acpd-fetch must not pass on interim answers (1xx). */
	return n >= 200 && n <= 999 && headers_ok(*headers) ? 0 : -EPROTO;
}

void fetch_verdict_put(struct buf *b, const struct fetch_verdict *v)
{
	buf_putc(b, (char)v->how);
	buf_puts(b, v->why);
}

int fetch_verdict_parse(struct slice payload, struct fetch_verdict *ret)
{
	if (!payload.n || payload.n > sizeof(ret->why) ||
	    (unsigned char)payload.p[0] >= FETCH_END_MAX || memchr(payload.p + 1, 0, payload.n - 1))
		return -EPROTO;
	ret->how = (unsigned char)payload.p[0];
	memcpy(ret->why, payload.p + 1, payload.n - 1);
	ret->why[payload.n - 1] = '\0';
	/* The text can end up in a log line or an error of the daemon. */
	err_flatten(ret->why);
	return 0;
}
