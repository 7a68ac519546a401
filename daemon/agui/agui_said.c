/*
 * agui_said.c - digests of tool arguments, and how well a described call fits a front-end tool.
 *
 * Calls are compared by a 64-bit digest, so a finished call is stored without its arguments. An
 * object's digest is the sum of its members' digests, which makes their order irrelevant; arrays
 * are ordered. Numbers are compared by their spelling: 1 and 1.0 differ. Digest 0 is reserved for
 * absent or empty arguments. FNV-1a is not collision-resistant: a false match assigns an update to
 * another call of the same session.
 */
#include "agui/agui_said.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/util.h"
#include "json/jstr.h"

/* --- digests: FNV-1a of each text, and sums where the order does not count ------------------------------------------- */

#define FNV_BASIS 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

static uint64_t digest_mix(uint64_t h, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)p)[i]) * FNV_PRIME;
	return h;
}

static uint64_t text_digest(struct jval v)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	(void)jstr_decode_bytes(v, &b);
	return digest_mix(FNV_BASIS, b.data ? b.data + b.pos : "", buf_len(&b));
}

/* The quotes of a member's name stand around it. */
static uint64_t key_digest(struct slice key)
{
	return text_digest((struct jval){ J_STRING, { key.p - 1, key.n + 2 } });
}

static uint64_t value_digest(struct jval v);

static uint64_t object_digest(struct jval v)
{
	uint64_t sum = 0, member;

	jobj_each(key, value, v) {
		member = value_digest(value);
		sum += digest_mix(key_digest(key), &member, sizeof(member));
	}
	/* The type is mixed in, so that {} and [] differ. */
	return digest_mix(FNV_BASIS ^ J_OBJECT, &sum, sizeof(sum));
}

static uint64_t array_digest(struct jval v)
{
	uint64_t h = FNV_BASIS ^ J_ARRAY, element;

	jarr_each(value, v) {
		element = value_digest(value);
		h = digest_mix(h, &element, sizeof(element));
	}
	return h;
}

/* As deep as the parser lets JSON be. */
static uint64_t value_digest(struct jval v)
{
	switch (v.type) {
	case J_OBJECT:
		return object_digest(v);
	case J_ARRAY:
		return array_digest(v);
	case J_STRING:
		return text_digest(v);
	default:
		return digest_mix(FNV_BASIS ^ v.type, v.raw.p, v.raw.n);
	}
}

static struct jval args_object(struct slice args)
{
	struct jval v;

	if (!args.n || jscan_value(args, &v) != JSCAN_OK || v.type != J_OBJECT)
		return (struct jval){ 0 };
	return v;
}

uint64_t agui_args_digest(struct slice args)
{
	struct jval v = args_object(args);

	return jobj_has_members(v) ? object_digest(v) : 0;
}

/* --- what is said ----------------------------------------------------------------------------------------------------- */

static bool is_other_kind(struct slice update)
{
	struct jval kind = jobj_get(update, "kind");

	return kind.type != J_STRING || jstr_is(kind, "other");
}

/* Titles are sentences, but for those of agents that have none for the tools of others. */
static char *tool_of(struct slice update)
{
	struct jval name = jobj_get(update, "name");
	char *said = NULL;

	if (jstr_decode(name.type == J_STRING ? name : jobj_get(update, "title"), RPC_ID_MAX,
			&said) < 0)
		return NULL;
	if (*said && (name.type == J_STRING || !strpbrk(said, " \t\n")))
		return said;
	free(said);
	return NULL;
}

bool agui_said_read(struct slice update, struct agui_said *ret)
{
	*ret = (struct agui_said){ 0 };
	if (!is_other_kind(update))
		return false;
	ret->tool = tool_of(update);
	ret->args = agui_args_digest(jobj_get(update, "rawInput").raw);
	return true;
}

void agui_said_done(struct agui_said *s)
{
	free(s->tool);
	*s = (struct agui_said){ 0 };
}

enum agui_fit agui_said_fits(const struct agui_said *s, const char *tool, uint64_t args)
{
	bool equal = s->args == args;

	/* Equal arguments decide without a name, but not if both have none: they would fit every call. */
	if (!s->tool)
		return equal && args ? FIT_WHOLE : FIT_NONE;
	if (strcmp(s->tool, tool) != 0)
		return FIT_NONE;
	return equal ? FIT_WHOLE : s->args ? FIT_NONE : FIT_NAME;
}

/* --- which tools there are -------------------------------------------------------------------------------------------- */

static bool has_property(struct jval properties, struct slice key)
{
	jobj_each(name, v, properties)
		if (slice_eq(name, key))
			return true;
	return false;
}

/* A tool that lists no properties takes any. */
static bool tool_takes(struct slice tool, struct jval args)
{
	struct jval properties = jobj_get(jobj_get(tool, "parameters").raw, "properties");

	if (properties.type != J_OBJECT)
		return true;
	jobj_each(key, v, args)
		if (!has_property(properties, key))
			return false;
	return true;
}

bool agui_said_may_fit(const struct agui_said *s, struct slice args, struct slice tools)
{
	struct jval object = args_object(args);

	if (!s->tool && !s->args)
		return false;
	jarr_each(v, tools)
		if (s->tool ? jstr_is(jobj_get(v.raw, "name"), s->tool) : tool_takes(v.raw, object))
			return true;
	return false;
}
