/*
 * msg.c - changes MCP messages as raw text: merges, strips and replaces members without decoding
 * values.
 *
 * A value keeps every byte, so numbers and order survive. json/jscan.h has validated the text
 * before, and jobj_each relies on it. Keys are compared decoded, because an escape could hide a
 * member. Slices of keys lie inside the text, with the quotes directly around them (jkey_string). The
 * method table decides which eras know a method.
 */
#include "tools/mcp/msg.h"

#include "base/limits.h"
#include "json/json.h"

const char *const mcp_result_marks[] = { "resultType", "ttlMs", "cacheScope", NULL };
const char *const mcp_result_type[] = { "resultType", NULL };

#define BOTH (MCP_IN_MODERN | MCP_IN_LEGACY)

/* Both schemas of MCP. A method that is in no row belongs to an extension, and passes in both
 * eras. */
static const struct mcp_method methods[] = {
	{ "tools/call", BOTH | MCP_MAY_ASK },
	{ "tools/list", BOTH | MCP_CACHEABLE },
	{ "resources/read", BOTH | MCP_MAY_ASK | MCP_CACHEABLE },
	{ "resources/list", BOTH | MCP_CACHEABLE },
	{ "resources/templates/list", BOTH | MCP_CACHEABLE },
	{ "prompts/get", BOTH | MCP_MAY_ASK },
	{ "prompts/list", BOTH | MCP_CACHEABLE },
	{ "completion/complete", BOTH },
	{ "server/discover", MCP_IN_MODERN | MCP_CACHEABLE },
	{ "subscriptions/listen", MCP_IN_MODERN | MCP_LASTS },
	{ "initialize", MCP_IN_LEGACY },
	{ "ping", MCP_IN_LEGACY },
	{ "logging/setLevel", MCP_IN_LEGACY },
	{ "resources/subscribe", MCP_IN_LEGACY },
	{ "resources/unsubscribe", MCP_IN_LEGACY },
};

const struct mcp_method *mcp_method_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

const char *const mcp_severity_names[SEVERITY_MAX + 1] = {
	"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
};

enum mcp_severity mcp_severity_of(struct jval v)
{
	for (int i = 0; i <= SEVERITY_MAX; i++)
		if (jstr_is(v, mcp_severity_names[i]))
			return (enum mcp_severity)i;
	return SEVERITY_NONE;
}

/* Per UTF-16 unit: harnesses do it with regular expressions, which work on these. */
static void fold_char(struct buf *out, unsigned char c)
{
	static const char kept[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	/* Bytes 0x80 to 0xbf continue a character, which its first byte has already replaced. */
	if (c < 0x80 || c >= 0xc0)
		buf_putc(out, c && strchr(kept, c) ? (char)c : '_');
	if (c >= 0xf0)
		buf_putc(out, '_');
}

void mcp_name_fold(struct buf *out, const char *name)
{
	for (; *name; name++)
		fold_char(out, (unsigned char)*name);
}

bool mcp_name_alike(const char *a, const char *b)
{
	_cleanup_(buf_done) struct buf x = { 0 }, y = { 0 };

	mcp_name_fold(&x, a);
	mcp_name_fold(&y, b);
	return slice_eq(buf_slice(&x), buf_slice(&y));
}

/* servers: an array of objects with a name. Only its first n elements count: those before the
 * one that is checked. */
bool mcp_server_named(struct jval servers, size_t n, const char *name)
{
	struct jiter it;
	struct jval v;

	if (!jiter_init(&it, servers))
		return false;
	for (size_t i = 0; i < n && jiter_next(&it, NULL, &v); i++) {
		_cleanup_(freep) char *other = NULL;

		if (jstr_decode(jobj_get(v.raw, "name"), BUF_MAX_DEFAULT, &other) == 0 &&
		    mcp_name_alike(other, name))
			return true;
	}
	return false;
}

void mcp_flatten(char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\n' || text[i] == '\r')
			text[i] = ' ';
}

/* Raw strings with their quotes. */
static bool same_string(struct slice a, struct slice b)
{
	_cleanup_(freep) char *plain = NULL;

	if (slice_eq(a, b))
		return true;
	/* Without escapes, equal strings have equal bytes. */
	if (!memchr(a.p, '\\', a.n) && !memchr(b.p, '\\', b.n))
		return false;
	if (jstr_decode((struct jval){ J_STRING, a }, a.n, &plain) < 0)
		return false;
	return jstr_is((struct jval){ J_STRING, b }, plain);
}

bool mcp_id_equal(struct slice a, struct slice b)
{
	if (a.n < 2 || b.n < 2 || a.p[0] != '"' || b.p[0] != '"')
		return slice_eq(a, b);
	return same_string(a, b);
}

struct jval mcp_meta_get(struct slice object, const char *key)
{
	struct jslot member = { .key = key };
	struct jslot meta = { .key = "_meta", .sub = &member, .nsub = 1 };

	if (jscan_object(object, &meta, 1) != JSCAN_OK)
		return (struct jval){ J_NONE, SLICE_NONE };
	return member.v;
}

static bool mcp_object_has(struct slice braced, struct slice key)
{
	jobj_each(other, v, braced)
		if (same_string(jkey_string(key).raw, jkey_string(other).raw))
			return true;
	return false;
}

void mcp_object_merge(struct buf *out, struct slice object, struct slice members)
{
	_cleanup_(buf_done) struct buf braced = { 0 };
	struct jw w = JW(out);

	buf_putc(&braced, '{');
	buf_add_slice(&braced, members);
	buf_putc(&braced, '}');
	out->failed |= braced.failed;
	buf_reserve(out, object.n + members.n + KIB);
	jw_obj(&w, NULL);
	jobj_each(key, v, object)
		if (!mcp_object_has(buf_slice(&braced), key))
			jw_member_raw(&w, key, v.raw);
	jw_raw(&w, NULL, members);
	jw_end_obj(&w);
}

void mcp_text_splice(struct buf *out, struct slice text, struct slice part, struct slice instead)
{
	buf_add(out, text.p, (size_t)(part.p - text.p));
	buf_add_slice(out, instead);
	buf_add(out, part.p + part.n, (size_t)(text.p + text.n - (part.p + part.n)));
}

bool mcp_key_is_one_of(struct slice key, const char *const *keys)
{
	for (; *keys; keys++)
		if (jkey_is(key, *keys))
			return true;
	return false;
}

void mcp_object_strip(struct buf *out, struct slice object, const char *const *keys)
{
	struct jw w = JW(out);

	buf_reserve(out, object.n + KIB);
	jw_obj(&w, NULL);
	jobj_each(key, v, object)
		if (!mcp_key_is_one_of(key, keys))
			jw_member_raw(&w, key, v.raw);
	jw_end_obj(&w);
}

void mcp_meta_merge(struct buf *out, struct slice object, struct slice members)
{
	struct jw w = JW(out);
	bool merged = false;

	buf_reserve(out, object.n + members.n + KIB);
	jw_obj(&w, NULL);
	jobj_each(key, v, object) {
		if (!jkey_is(key, "_meta")) {
			jw_member_raw(&w, key, v.raw);
		} else if (!merged) { /* with a second one, readers could see different messages */
			jw_member_raw(&w, key, SLICE(""));
			mcp_object_merge(out, v.raw, members);
			merged = true;
		}
	}
	if (!merged) {
		jw_obj(&w, "_meta");
		jw_raw(&w, NULL, members);
		jw_end_obj(&w);
	}
	jw_end_obj(&w);
}

void mcp_meta_strip(struct buf *out, struct slice object, const char *const *keys)
{
	_cleanup_(buf_done) struct buf meta = { 0 };
	struct jw w = JW(out);

	buf_reserve(out, object.n + KIB);
	jw_obj(&w, NULL);
	jobj_each(key, v, object) {
		if (v.type != J_OBJECT || !jkey_is(key, "_meta")) {
			jw_member_raw(&w, key, v.raw);
			continue;
		}
		buf_reset(&meta);
		mcp_object_strip(&meta, v.raw, keys);
		out->failed |= meta.failed;
		if (!slice_is(buf_slice(&meta), "{}"))
			jw_member_raw(&w, key, buf_slice(&meta));
	}
	jw_end_obj(&w);
}

/* A result without resultType is complete: servers of before 2026-07-28 do not send the
 * member. */
bool mcp_result_is(struct slice result, const char *type)
{
	struct jval v = jobj_get(result, "resultType");

	return v.type == J_NONE ? strcmp(type, "complete") == 0 : jstr_is(v, type);
}

/* Continues an object that has members already, and ends it. */
static void mcp_put_call(struct buf *out, const char *method, struct slice params)
{
	struct jw w = { out, true };

	jw_str(&w, "method", method);
	jw_raw(&w, "params", params);
	buf_putc(out, '}');
}

void mcp_put_request(struct buf *out, struct slice id, const char *method, struct slice params)
{
	buf_puts(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	buf_add_slice(out, id);
	mcp_put_call(out, method, params);
}

void mcp_put_notification(struct buf *out, const char *method, struct slice params)
{
	buf_puts(out, "{\"jsonrpc\":\"2.0\"");
	mcp_put_call(out, method, params);
}

void mcp_put_error(struct buf *out, const struct err *e, struct slice extra)
{
	struct jw w = JW(out);

	jw_obj(&w, NULL);
	jw_int(&w, "code", e->rpc ? e->rpc : RPC_INTERNAL_ERROR);
	jw_str(&w, "message", e->msg);
	jw_obj(&w, "data");
	jw_str(&w, "reason", e->reason[0] ? e->reason : "INTERNAL");
	jw_str(&w, "field", e->field[0] ? e->field : NULL);
	jw_raw(&w, NULL, extra);
	jw_end_obj(&w);
	jw_end_obj(&w);
}

/* The error of a tool is a result with isError: so a model reads it. An error of JSON-RPC is
 * for its client. */
void mcp_put_tool_error(struct buf *out, const struct err *e, struct slice extra)
{
	struct jw w = JW(out);

	jw_obj(&w, NULL);
	jw_str(&w, "resultType", "complete");
	jw_arr(&w, "content");
	jw_object(&w, NULL, JW_STR("type", "text"), JW_STR("text", e->msg));
	jw_end_arr(&w);
	jw_obj(&w, "structuredContent");
	jw_obj(&w, "error");
	jw_str(&w, "code", e->reason[0] ? e->reason : "INTERNAL");
	jw_str(&w, "message", e->msg);
	jw_raw(&w, NULL, extra);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_bool(&w, "isError", true);
	jw_end_obj(&w);
}
