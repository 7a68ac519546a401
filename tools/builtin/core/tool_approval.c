/*
 * tool_approval.c - a human's decision on a call: the call is answered with "input_required", which holds one
 * elicitation with a boolean "approve", and comes again with the answer.
 *
 * requestState is an HMAC under a key of this process over the tool, its arguments and a time: an answer is valid for
 * the call that was asked about, once, for TOOL_ASK_MS. params._meta.acpd.permission {tool, category, title, paths?,
 * command?} has the question for programs: the gate of a session makes a permission request of it.
 */
#include "base/clock.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "digest/digest.h"
#include "json/jstr.h"
#include "tools/builtin/core/toolbox_internal.h"
#include "tools/mcp/msg.h"

#define NONCE_HEX 32

struct approval_state {
	uint64_t until; /* clock_mono_ms */
	char nonce[NONCE_HEX + 1];
};

enum approval_answer { ANSWER_NONE, ANSWER_YES, ANSWER_NO };

static int add_part(struct buf *b, struct slice s)
{
	/* With its length: otherwise bytes could move from one part to the next under the same
	 * signature. */
	buf_printf(b, "%zu:", s.n);
	return buf_add_slice(b, s);
}

/* SHA-256(key, SHA-256(key, text)): without the key none can be made or extended. */
static int sign(const struct toolbox_call *c, const struct approval_state *s, char out[SHA256_HEX])
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct slice key = { c->tool.box->key, sizeof(c->tool.box->key) };
	struct sha256 inner, outer;
	char both[sizeof(c->tool.box->key) + SHA256_BYTES];

	buf_add_slice(&text, key);
	buf_printf(&text, "%llu.%s.", (unsigned long long)s->until, s->nonce);
	add_part(&text, slice_of(c->tool.tool->name));
	add_part(&text, c->tool.args);
	if (text.failed || sha256_of(buf_slice(&text), &inner) < 0)
		return -EIO;
	memcpy(both, key.p, key.n);
	memcpy(both + key.n, inner.bytes, SHA256_BYTES);
	if (sha256_of((struct slice){ both, sizeof(both) }, &outer) < 0)
		return -EIO;
	sha256_hex(&outer, out);
	return 0;
}

/* --- the answer ------------------------------------------------------------------------------------------------- */

static bool parse_state(const char *text, struct approval_state *ret, struct sha256 *mac)
{
	unsigned long long until;
	char hex[SHA256_HEX];
	int end = 0;

	if (sscanf(text, "%20llu.%32[0-9a-f].%64[0-9a-f]%n", &until, ret->nonce, hex, &end) != 3 ||
	    text[end] || strlen(ret->nonce) != NONCE_HEX)
		return false;
	ret->until = until;
	return sha256_from_hex(slice_of(hex), mac) == 0;
}

/* True if it is ours, for this call, and in time. */
static bool approval_state_is_valid(const struct toolbox_call *c, struct approval_state *ret)
{
	_cleanup_(freep) char *text = NULL;
	char hex[SHA256_HEX];
	struct sha256 theirs, ours;

	return jstr_decode(jobj_get(buf_slice(&c->params), "requestState"), 256, &text) == 0 &&
	       parse_state(text, ret, &theirs) && ret->until > clock_mono_ms() &&
	       sign(c, ret, hex) == 0 && sha256_from_hex(slice_of(hex), &ours) == 0 &&
	       sha256_equal(&theirs, &ours);
}

/* An answer counts once. The oldest are forgotten only when they have expired. */
static bool use_once(struct toolbox *b, const struct approval_state *s)
{
	uint64_t now = clock_mono_ms();
	bool fresh = true;
	size_t free_slot = TOOL_ASKS_MAX;

	/* Tools ask from their threads as well as from the loop. */
	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < TOOL_ASKS_MAX; i++) {
		if (b->used[i].until <= now)
			free_slot = i;
		else if (memcmp(b->used[i].nonce, s->nonce, NONCE_HEX) == 0)
			fresh = false;
	}
	/* Without a free slot the answer could be used again, so it is refused. */
	fresh &= free_slot < TOOL_ASKS_MAX;
	if (fresh) {
		b->used[free_slot].until = s->until;
		memcpy(b->used[free_slot].nonce, s->nonce, NONCE_HEX);
	}
	pthread_mutex_unlock(&b->lock);
	return fresh;
}

static enum approval_answer get_answer(const struct toolbox_call *c)
{
	struct jval responses = jobj_get(buf_slice(&c->params), "inputResponses");
	struct jval given = jobj_get(responses.raw, "approval");
	struct approval_state s;

	if (given.type != J_OBJECT || !approval_state_is_valid(c, &s) || !use_once(c->tool.box, &s))
		return ANSWER_NONE;
	return jstr_is(jobj_get(given.raw, "action"), "accept") &&
			       jobj_get(jobj_get(given.raw, "content").raw, "approve").type ==
				       J_TRUE ?
		       ANSWER_YES :
		       ANSWER_NO;
}

/* --- the question ------------------------------------------------------------------------------------------------ */

static bool approval_can_ask(const struct toolbox_call *c)
{
	struct jval caps = mcp_meta_get(buf_slice(&c->params), MCP_META_CAPABILITIES);
	struct jval elicit = jobj_get(caps.raw, "elicitation");

	/* one that can only open addresses shows no form */
	return elicit.type == J_OBJECT && (jobj_get(elicit.raw, "form").type == J_OBJECT ||
					   jobj_get(elicit.raw, "url").type == J_NONE);
}

static void permission_put(struct jw *w, const struct builtin_tool *t, const char *title,
			   struct slice paths, struct slice command)
{
	jw_object(w, "_meta",
		  JW_OBJ("acpd", JW_OBJ("permission", JW_STR("tool", t->name),
					JW_STR("category", policy_category_name(t->category)),
					JW_STR("title", title), JW_RAW("paths", paths),
					JW_RAW("command", command))));
}

static void question_put(struct jw *w, const struct builtin_tool *t, const char *title,
			 struct slice paths, struct slice command)
{
	jw_obj(w, "inputRequests");
	jw_obj(w, "approval");
	jw_str(w, "method", "elicitation/create");
	jw_obj(w, "params");
	jw_str(w, "mode", "form");
	jw_str(w, "message", title);
	jw_raw(w, "requestedSchema",
	       SLICE("{\"type\":\"object\",\"properties\":{\"approve\":{\"type\":\"boolean\",\"title\":\"Allow it\"}},"
		     "\"required\":[\"approve\"]}"));
	permission_put(w, t, title, paths, command);
	jw_end_obj(w);
	jw_end_obj(w);
	jw_end_obj(w);
}

static int approval_ask(struct toolbox_call *c, const char *title, struct slice paths,
			struct slice command)
{
	struct approval_state s = { .until = clock_mono_ms() + TOOL_ASK_MS };
	char hex[SHA256_HEX], text[160];
	struct buf out = { 0 };
	struct jw w = JW(&out);

	random_hex(s.nonce, NONCE_HEX / 2);
	if (sign(c, &s, hex) < 0)
		return -EIO;
	snprintf(text, sizeof(text), "%llu.%s.%s", (unsigned long long)s.until, s.nonce, hex);
	jw_obj(&w, NULL);
	jw_str(&w, "resultType", "input_required");
	question_put(&w, c->tool.tool, title, paths, command);
	jw_str(&w, "requestState", text);
	jw_end_obj(&w);
	toolbox_call_post(c, EVENT_RESULT, &out);
	return 0;
}

bool tool_allowed(struct builtin_call *t, const char *title, struct slice paths,
		  struct slice command)
{
	struct toolbox_call *c = toolbox_call_of(t);
	struct err e;

	if (t->approved)
		return true;
	switch (get_answer(c)) {
	case ANSWER_YES:
		t->approved = true;
		return true;
	case ANSWER_NO:
		err_set(&e, -EACCES, 0, "PERMISSION_REJECTED", "this was not allowed: %.180s",
			title);
		break;
	case ANSWER_NONE:
		if (approval_can_ask(c) && approval_ask(c, title, paths, command) == 0)
			return false;
		err_set(&e, -EACCES, 0, "APPROVAL_REQUIRED", "a human has to allow it: %.180s",
			title);
		break;
	}
	tool_fail(t, &e, SLICE_NONE);
	return false;
}
