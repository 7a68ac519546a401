/*
 * toolgate_params.c - reads and changes the params and results of tool calls for the gate.
 *
 * A digest of tool, arguments and requestState identifies the next round of a call, so an allowed
 * call cannot return with other arguments. The gate answers only a result with exactly one
 * question, and with _meta.acpd.permission. Any other question belongs to the client. The bytes of
 * an artifact never reach the client.
 */
#include "tools/relay/gate/toolgate_internal.h"

#include "json/json.h"
#include "tools/mcp/msg.h"

#define CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

bool toolgate_params_continues(struct slice params)
{
	return jobj_get(params, "inputResponses").type == J_OBJECT;
}

static void round_add(struct sha256_stream *s, struct slice part)
{
	uint64_t n = part.n;

	sha256_add(s, &n, sizeof(n)); /* parts cannot run into each other */
	sha256_add(s, part.p, part.n);
}

void toolgate_params_round(const char *tool, struct slice params, struct slice state,
			   struct sha256 *ret)
{
	struct sha256_stream s;

	sha256_begin(&s);
	round_add(&s, slice_of(tool));
	round_add(&s, jobj_get(params, "arguments").raw);
	round_add(&s, state);
	sha256_end(&s, ret);
}

/* Writes an object whose member key is changed by put, or added. */
static void put_with(struct jw *w, const char *name, struct slice object, const char *key,
		     void (*put)(struct jw *w, const char *key, struct slice old))
{
	jw_obj(w, name);
	if (object.n)
		jw_members(w, object, key);
	put(w, key, jobj_get(object, key).raw);
	jw_end_obj(w);
}

static void put_elicitation(struct jw *w, const char *key, struct slice old)
{
	jw_raw(w, key, old.n ? old : SLICE("{\"form\":{}}"));
}

static void put_capabilities(struct jw *w, const char *key, struct slice old)
{
	put_with(w, key, old, "elicitation", put_elicitation);
}

static void toolgate_params_put_meta(struct jw *w, const char *key, struct slice old)
{
	put_with(w, key, old, CAPABILITIES, put_capabilities);
}

/* Says that the client can elicit, whatever it said itself: the gate answers these questions
 * in its place. */
void toolgate_params_able(struct slice params, struct buf *out)
{
	struct jw w = JW(out);

	put_with(&w, NULL, params, "_meta", toolgate_params_put_meta);
}

/* The values may be secrets, so the session learns them before they can occur in output. */
void toolgate_params_variables(const struct toolgate *g, const char *tool, struct slice params)
{
	static const char *const members[] = { "envs", "envVars" };
	struct slice args = jobj_get(params, "arguments").raw;

	if (!g->ops->variables || strcmp(tool, "createSandbox") != 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		struct jval env = jobj_get(args, members[i]);

		if (env.type == J_OBJECT)
			g->ops->variables(g->ctx, env.raw);
	}
}

static struct jval toolgate_params_at(struct slice object, const char *const *path)
{
	struct jval v = { J_OBJECT, object };

	for (; *path && v.type == J_OBJECT; path++)
		v = jobj_get(v.raw, *path);
	return v;
}

bool toolgate_params_asked(struct slice result, struct toolgate_asked *ret)
{
	static const char *const where[] = { "params", "_meta", "acpd", "permission", NULL };
	struct jval requests, request, v;
	struct jiter it;

	if (!jstr_is(jobj_get(result, "resultType"), "input_required"))
		return false;
	requests = jobj_get(result, "inputRequests");
	if (requests.type != J_OBJECT || !jiter_init(&it, requests) ||
	    !jiter_next(&it, &ret->key, &request) || request.type != J_OBJECT)
		return false;
	v = toolgate_params_at(request.raw, where);
	if (v.type != J_OBJECT)
		return false;
	ret->permission = v.raw;
	ret->state = jobj_get(result, "requestState").raw;
	return !jiter_next(&it, NULL, &request); /* with a second question it is not ours */
}

/* Answers of an earlier round are left out: the server has had them. */
void toolgate_params_allow(struct slice params, struct slice key, struct slice state,
			   struct buf *out)
{
	struct jw w = JW(out);

	jw_obj(&w, NULL);
	jobj_each(name, v, params)
		if (!jkey_is(name, "inputResponses") && !jkey_is(name, "requestState"))
			jw_member_raw(&w, name, v.raw);
	jw_obj(&w, "inputResponses");
	jw_member_raw(&w, key, SLICE("{\"action\":\"accept\",\"content\":{\"approve\":true}}"));
	jw_end_obj(&w);
	jw_raw(&w, "requestState", state);
	jw_end_obj(&w);
}

struct jval toolgate_result_artifact(struct slice result)
{
	static const char *const where[] = { "_meta", "acpd", "artifact", NULL };

	return toolgate_params_at(result, where);
}

void toolgate_result_describe(struct slice result, struct slice described, struct buf *out)
{
	static const char *const ours[] = { "acpd", NULL };
	JW_BUF(w, members);

	/* No place to keep it: the member goes, with the bytes. */
	if (!described.n) {
		mcp_meta_strip(out, result, ours);
		return;
	}
	jw_object(&w, "acpd", JW_RAW("artifact", described));
	mcp_meta_merge(out, result, buf_slice(&members));
}
