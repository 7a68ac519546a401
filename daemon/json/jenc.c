/*
 * jenc.c - writes JSON into a buf; the writer's state is one flag, whether the next value needs a
 * comma.
 *
 * Nesting is not tracked: the caller's calls must balance, and keys passed as C strings are
 * literals that need no escaping. Keys from input are written by jw_lead_key (escaped) or
 * jw_member_raw (as read). A full buffer sets its sticky flag, and later calls write nothing
 * useful; callers check once at the end.
 */
#include "json/jenc.h"

#include "base/format/digits.h"
#include "base/util.h"
#include "base/version.h"
#include "json/jstr.h"

#include <inttypes.h>

/* Writes what stands before a value, as one piece: it is the most frequent step of an encoder. */
static void jw_lead(struct jw *w, const char *key)
{
	size_t n = key ? strlen(key) : 0, more = (key ? n + 3 : 0) + w->comma;
	char *p;

	/* Nothing to write, or no memory: then the buffer is marked as failed. */
	if (!more || buf_reserve(w->b, more) < 0) {
		w->comma = true;
		return;
	}
	p = w->b->data + w->b->len;
	w->b->len += more;
	if (w->comma)
		*p++ = ',';
	w->comma = true;
	if (!key)
		return;
	*p++ = '"';
	memcpy(p, key, n);
	memcpy(p + n, "\":", 2);
}

void jw_obj(struct jw *w, const char *key)
{
	jw_lead(w, key);
	buf_putc(w->b, '{');
	w->comma = false;
}

void jw_end_obj(struct jw *w)
{
	buf_putc(w->b, '}');
	w->comma = true;
}

void jw_arr(struct jw *w, const char *key)
{
	jw_lead(w, key);
	buf_putc(w->b, '[');
	w->comma = false;
}

void jw_end_arr(struct jw *w)
{
	buf_putc(w->b, ']');
	w->comma = true;
}

void jw_str(struct jw *w, const char *key, const char *s)
{
	if (s)
		jw_slice(w, key, slice_of(s));
}

void jw_slice(struct jw *w, const char *key, struct slice s)
{
	jw_lead(w, key);
	jstr_encode(w->b, s);
}

void jw_uint(struct jw *w, const char *key, uint64_t v)
{
	jw_lead(w, key);
	u64_put(w->b, v);
}

void jw_int(struct jw *w, const char *key, int64_t v)
{
	jw_lead(w, key);
	if (v < 0)
		buf_putc(w->b, '-');
	/* Negated as unsigned: INT64_MIN has no positive counterpart. */
	u64_put(w->b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void jw_bool(struct jw *w, const char *key, bool v)
{
	jw_lead(w, key);
	buf_puts(w->b, v ? "true" : "false");
}

void jw_null(struct jw *w, const char *key)
{
	jw_lead(w, key);
	buf_puts(w->b, "null");
}

void jw_raw(struct jw *w, const char *key, struct slice json)
{
	/* An absent member: callers pass what jobj_get returns, as it is. */
	if (!json.n)
		return;
	jw_lead(w, key);
	buf_add_slice(w->b, json);
}

void jw_lead_key(struct jw *w, const char *key)
{
	if (w->comma)
		buf_putc(w->b, ',');
	jstr_encode(w->b, slice_of(key));
	buf_putc(w->b, ':');
	/* The value follows with the key NULL, and must not write a comma of its own. */
	w->comma = false;
}

void jw_member_raw(struct jw *w, struct slice raw_key, struct slice value)
{
	/* Without a key this is only the comma. */
	jw_lead(w, NULL);
	buf_putc(w->b, '"');
	buf_add_slice(w->b, raw_key);
	buf_add(w->b, "\":", 2);
	buf_add_slice(w->b, value);
}

void jw_members(struct jw *w, struct slice object, const char *skip)
{
	struct jval whole;

	/* Scanned first: half an object would be written if jiter_next found the error. */
	if (jscan_value(object, &whole) != JSCAN_OK)
		return;
	jobj_each(key, v, whole)
		if (!skip || !jkey_is(key, skip))
			jw_member_raw(w, key, v.raw);
}

void jw_put(struct jw *w, const struct jw_member *m)
{
	for (; m->kind != JW_M_END; m++) {
		switch (m->kind) {
		case JW_M_END:
			break;
		case JW_M_STR:
			jw_str(w, m->key, m->str);
			break;
		case JW_M_SLICE:
			jw_slice(w, m->key, m->slice);
			break;
		case JW_M_RAW:
			jw_raw(w, m->key, m->slice);
			break;
		case JW_M_INT:
			jw_int(w, m->key, m->i);
			break;
		case JW_M_UINT:
			jw_uint(w, m->key, m->u);
			break;
		case JW_M_BOOL:
			jw_bool(w, m->key, m->b);
			break;
		case JW_M_OBJ:
			jw_object_of(w, m->key, m->members);
			break;
		case JW_M_ARR:
			jw_arr(w, m->key);
			jw_object_of(w, NULL, m->members);
			jw_end_arr(w);
			break;
		}
	}
}

void jw_object_of(struct jw *w, const char *key, const struct jw_member *members)
{
	jw_obj(w, key);
	jw_put(w, members);
	jw_end_obj(w);
}

void jw_self(struct jw *w, const char *key, const char *name, const char *title)
{
	jw_object(w, key, JW_STR("name", name), JW_STR("title", title),
		  JW_STR("version", acpd_version));
}

void jw_user_agent(struct jw *w)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "acpd/%s", acpd_version);
	jw_slice(w, "user-agent", buf_slice(&b));
}
