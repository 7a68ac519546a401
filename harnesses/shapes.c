/*
 * shapes.c - the form of ACP's updates and permission requests, as tables. Source: ACP v1 schema (SDK
 * 2.4.0, unstable superset). Stricter than the schema where clients are: lines begin at 1, paths and ids are not
 * empty, times are ISO 8601, and no members are allowed except the named ones and _meta.
 * tests/integration/harnesses/updates.test.mjs checks the result against the schema.
 */
#include "harnesses/harness.h"

#include "json/jknown.h"
#include "json/jshape.h"

#define META JS_MEMBER("_meta", jshape_map, JS_NULLABLE, NULL)
#define REQUIRED(name, shape) JS_MEMBER(name, shape, JS_REQUIRED, NULL)
#define FALLBACK(name, shape, raw) JS_MEMBER(name, shape, JS_REQUIRED, raw)
#define OPTIONAL(name, shape) JS_MEMBER(name, shape, 0, NULL)
#define NULLABLE(name, shape) JS_MEMBER(name, shape, JS_NULLABLE, NULL)
#define LAST JS_LAST
#define OBJECT(list)                                                                               \
	{                                                                                          \
		JS_OBJECT, .members = JS_MEMBERS(list)                                             \
	}
#define ARM(tag, list)                                                                             \
	{                                                                                          \
		tag, JS_MEMBERS(list)                                                              \
	}
#define WORDS(list)                                                                                \
	{                                                                                          \
		JS_WORD, .words = list                                                             \
	}
#define ARRAY(shape)                                                                               \
	{                                                                                          \
		JS_ARRAY, .items = &shape                                                          \
	}

/* clang-format off */

static const struct jshape line = { JS_INTEGER, .min = 1, .max = UINT32_MAX };
static const struct jshape count = { JS_INTEGER, .min = 0, .max = (1ll << 53) - 1 }; /* what every client can hold */
static const struct jshape size = { JS_INTEGER, .min = 0, .max = (1ll << 53) - 1 };
static const struct jshape code = { JS_INTEGER, .min = INT32_MIN, .max = INT32_MAX };

/* --- content ----------------------------------------------------------------------------------------------- */

static const char *const roles[] = { "assistant", "user", NULL };
static const struct jshape role = WORDS(roles), audience = ARRAY(role);
static const struct jmember annotation_members[] = {
	NULLABLE("audience", audience), NULLABLE("lastModified", jshape_string),
	NULLABLE("priority", jshape_number), META, LAST };
static const struct jshape annotations = OBJECT(annotation_members);

static const struct jmember text_members[] = {
	REQUIRED("text", jshape_string), NULLABLE("annotations", annotations), META, LAST };
static const struct jmember image_members[] = {
	REQUIRED("data", jshape_string), REQUIRED("mimeType", jshape_string), NULLABLE("uri", jshape_string),
	NULLABLE("annotations", annotations), META, LAST };
static const struct jmember audio_members[] = {
	REQUIRED("data", jshape_string), REQUIRED("mimeType", jshape_string), NULLABLE("annotations", annotations),
	META, LAST };
static const struct jmember link_members[] = {
	REQUIRED("name", jshape_string), REQUIRED("uri", jshape_string), NULLABLE("description", jshape_string),
	NULLABLE("mimeType", jshape_string), NULLABLE("size", size), NULLABLE("title", jshape_string),
	NULLABLE("annotations", annotations), META, LAST };
static const struct jmember contents_text[] = {
	REQUIRED("text", jshape_string), REQUIRED("uri", jshape_string), NULLABLE("mimeType", jshape_string), META, LAST };
static const struct jmember contents_blob[] = {
	REQUIRED("blob", jshape_string), REQUIRED("uri", jshape_string), NULLABLE("mimeType", jshape_string), META, LAST };
static const struct jshape contents = { JS_ONE_OF, .members = JS_MEMBERS(contents_text), .more = JS_MEMBERS(contents_blob) };
static const struct jmember resource_members[] = {
	REQUIRED("resource", contents), NULLABLE("annotations", annotations), META, LAST };
static const struct jarm block_arms[] = {
	ARM("text", text_members), ARM("image", image_members), ARM("audio", audio_members),
	ARM("resource_link", link_members), ARM("resource", resource_members), { NULL, NULL } };
static const struct jshape block = { JS_TAGGED, .tag = "type", .arms = block_arms }, blocks = ARRAY(block);

/* --- tool calls ---------------------------------------------------------------------------------------------- */

static const char *const kinds[] = { "read", "edit", "delete", "move", "search", "execute", "think", "fetch",
				     "switch_mode", "other", NULL };
static const char *const call_states[] = { "pending", "in_progress", "completed", "failed", NULL };
static const struct jshape tool_kind = WORDS(kinds), call_state = WORDS(call_states);

static const struct jmember content_members[] = { REQUIRED("content", block), META, LAST };
static const struct jmember diff_members[] = {
	REQUIRED("path", jshape_name), REQUIRED("newText", jshape_string), NULLABLE("oldText", jshape_string), META, LAST };
static const struct jmember terminal_members[] = { REQUIRED("terminalId", jshape_string), META, LAST };
static const struct jarm part_arms[] = {
	ARM("content", content_members), ARM("diff", diff_members), ARM("terminal", terminal_members), { NULL, NULL } };
static const struct jshape part = { JS_TAGGED, .tag = "type", .arms = part_arms }, parts = ARRAY(part);
static const struct jmember location_members[] = {
	REQUIRED("path", jshape_name), NULLABLE("line", line), META, LAST };
static const struct jshape location = OBJECT(location_members), locations = ARRAY(location);

static const struct jmember call_members[] = {
	JS_MEMBER("toolCallId", jshape_name, JS_REQUIRED | JS_ID, NULL), FALLBACK("title", jshape_string, "\"\""),
	NULLABLE("name", jshape_string), OPTIONAL("kind", tool_kind), OPTIONAL("status", call_state),
	OPTIONAL("content", parts), OPTIONAL("locations", locations), OPTIONAL("rawInput", jshape_any),
	OPTIONAL("rawOutput", jshape_any), META, LAST };
static const struct jmember call_update_members[] = {
	JS_MEMBER("toolCallId", jshape_name, JS_REQUIRED | JS_ID, NULL), NULLABLE("status", call_state),
	NULLABLE("title", jshape_string), NULLABLE("name", jshape_string), NULLABLE("kind", tool_kind),
	NULLABLE("content", parts), NULLABLE("locations", locations), OPTIONAL("rawInput", jshape_any),
	OPTIONAL("rawOutput", jshape_any), META, LAST };
static const struct jshape asked_call = OBJECT(call_update_members);

/* --- plans, commands, options -------------------------------------------------------------------------------- */

static const char *const priorities[] = { "high", "medium", "low", NULL };
static const char *const entry_states[] = { "pending", "in_progress", "completed", NULL };
static const struct jshape priority = WORDS(priorities), entry_state = WORDS(entry_states);
static const struct jmember entry_members[] = {
	REQUIRED("content", jshape_string), FALLBACK("priority", priority, "\"medium\""),
	FALLBACK("status", entry_state, "\"pending\""), META, LAST };
static const struct jshape entry = OBJECT(entry_members), entries = ARRAY(entry);
static const struct jmember items_members[] = {
	REQUIRED("planId", jshape_string), REQUIRED("entries", entries), META, LAST };
static const struct jmember file_members[] = {
	REQUIRED("planId", jshape_string), REQUIRED("uri", jshape_string), META, LAST };
static const struct jmember markdown_members[] = {
	REQUIRED("planId", jshape_string), REQUIRED("content", jshape_string), META, LAST };
static const struct jarm plan_arms[] = {
	ARM("items", items_members), ARM("file", file_members), ARM("markdown", markdown_members), { NULL, NULL } };
static const struct jshape plan = { JS_TAGGED, .tag = "type", .arms = plan_arms };

static const struct jmember input_members[] = { REQUIRED("hint", jshape_string), META, LAST };
static const struct jshape input = OBJECT(input_members);
static const struct jmember command_members[] = {
	REQUIRED("name", jshape_string), FALLBACK("description", jshape_string, "\"\""), NULLABLE("input", input), META, LAST };
static const struct jshape command = OBJECT(command_members), commands = ARRAY(command);

static const struct jmember choice_members[] = {
	REQUIRED("value", jshape_string), REQUIRED("name", jshape_string), NULLABLE("description", jshape_string), META, LAST };
static const struct jshape choice = OBJECT(choice_members), choices = ARRAY(choice);
static const struct jmember group_members[] = {
	REQUIRED("group", jshape_string), REQUIRED("name", jshape_string), REQUIRED("options", choices), META, LAST };
static const struct jshape group = OBJECT(group_members);
static const struct jshape choices_or_groups = { JS_EITHER, .items = &choice, .other = &group, .tag = "group" };
#define OPTION_MEMBERS                                                                                           \
	REQUIRED("id", jshape_string), REQUIRED("name", jshape_string), NULLABLE("description", jshape_string),  \
		NULLABLE("category", jshape_string), META
static const struct jmember select_members[] = {
	OPTION_MEMBERS, REQUIRED("currentValue", jshape_string), REQUIRED("options", choices_or_groups), LAST };
static const struct jmember boolean_members[] = { OPTION_MEMBERS, REQUIRED("currentValue", jshape_bool), LAST };
static const struct jarm option_arms[] = {
	ARM("select", select_members), ARM("boolean", boolean_members), { NULL, NULL } };
static const struct jshape option = { JS_TAGGED, .tag = "type", .arms = option_arms }, options = ARRAY(option);

/* --- usage, subagents, and the rest ----------------------------------------------------------------------------- */

static const struct jmember cost_members[] = {
	REQUIRED("amount", jshape_number), REQUIRED("currency", jshape_string), META, LAST };
static const struct jshape cost = OBJECT(cost_members);
static const struct jmember usage_members[] = {
	REQUIRED("totalTokens", count), REQUIRED("inputTokens", count), REQUIRED("outputTokens", count),
	NULLABLE("thoughtTokens", count), NULLABLE("cachedReadTokens", count), NULLABLE("cachedWriteTokens", count), META, LAST };
static const struct jshape usage = OBJECT(usage_members);
static const struct jmember fault_members[] = {
	REQUIRED("code", code), REQUIRED("message", jshape_string), OPTIONAL("data", jshape_any), LAST };
static const struct jshape fault = OBJECT(fault_members);
static const struct jmember running_members[] = { META, LAST };
static const struct jmember idle_members[] = {
	NULLABLE("usage", usage), NULLABLE("stopReason", jshape_string), NULLABLE("error", fault), META, LAST };
static const struct jarm state_arms[] = {
	ARM("running", running_members), ARM("idle", idle_members), ARM("requires_action", running_members),
	ARM("unknown", running_members), { NULL, NULL } };
static const struct jshape state = { JS_TAGGED, .tag = "state", .arms = state_arms };
static const struct jmember empty_members[] = { META, LAST };
static const struct jshape empty = OBJECT(empty_members);
static const struct jmember capability_members[] = { NULLABLE("cancel", empty), META, LAST };
static const struct jshape capabilities = OBJECT(capability_members);
static const struct jshape names = ARRAY(jshape_name);

/* --- updates --------------------------------------------------------------------------------------------------- */

#define UPDATE(...) { JS_OBJECT, .tag = "sessionUpdate", .members = JS_MEMBERS((const struct jmember[]){ __VA_ARGS__, META, LAST }) }
#define CHUNK UPDATE(REQUIRED("content", block), JS_MEMBER("messageId", jshape_name, JS_NULLABLE | JS_ID, NULL))

static const struct jshape updates[UPDATE_MAX] = {
	[UPDATE_USER_CHUNK] = CHUNK,
	[UPDATE_AGENT_CHUNK] = CHUNK,
	[UPDATE_THOUGHT_CHUNK] = CHUNK,
	[UPDATE_TOOL_CALL] = { JS_OBJECT, .tag = "sessionUpdate", .members = JS_MEMBERS(call_members) },
	[UPDATE_TOOL_CALL_UPDATE] = { JS_OBJECT, .tag = "sessionUpdate", .members = JS_MEMBERS(call_update_members) },
	[UPDATE_PLAN] = UPDATE(REQUIRED("entries", entries)),
	[UPDATE_COMMANDS] = UPDATE(REQUIRED("availableCommands", commands)),
	[UPDATE_MODE] = UPDATE(REQUIRED("currentModeId", jshape_string)),
	[UPDATE_CONFIG] = UPDATE(REQUIRED("configOptions", options)),
	[UPDATE_INFO] = UPDATE(NULLABLE("title", jshape_string), NULLABLE("updatedAt", jshape_time)),
	[UPDATE_USAGE] = UPDATE(REQUIRED("used", count), REQUIRED("size", count), NULLABLE("cost", cost)),
	[UPDATE_NOTICE] = UPDATE(FALLBACK("severity", jshape_string, "\"warning\""), REQUIRED("title", jshape_string),
				 NULLABLE("description", jshape_string)),
	[UPDATE_COMPACTION] = UPDATE(REQUIRED("compactionId", jshape_string), REQUIRED("status", jshape_string),
				     NULLABLE("summary", blocks), NULLABLE("error", jshape_string)),
	[UPDATE_COMPACTION_CHUNK] = UPDATE(REQUIRED("compactionId", jshape_string), REQUIRED("content", block)),
	[UPDATE_PLAN_UPDATE] = UPDATE(REQUIRED("plan", plan)),
	[UPDATE_PLAN_REMOVED] = UPDATE(REQUIRED("planId", jshape_string)),
	[UPDATE_SUBAGENT] = UPDATE(REQUIRED("sessionId", jshape_string), NULLABLE("title", jshape_string),
				   NULLABLE("description", jshape_string), NULLABLE("capabilities", capabilities),
				   NULLABLE("state", state), NULLABLE("cwd", jshape_name),
				   NULLABLE("additionalDirectories", names)),
	[UPDATE_SESSION_MESSAGE] = UPDATE(REQUIRED("messageId", jshape_string), NULLABLE("senderSessionId", jshape_string),
					  NULLABLE("recipientSessionId", jshape_string),
					  NULLABLE("senderMessageId", jshape_string),
					  NULLABLE("recipientMessageId", jshape_string), NULLABLE("content", blocks)),
	[UPDATE_SESSION_MESSAGE_CHUNK] = UPDATE(REQUIRED("messageId", jshape_string), REQUIRED("content", block)),
};

/* --- permission requests ----------------------------------------------------------------------------------------- */

static const char *const answers[] = { "allow_once", "allow_always", "reject_once", "reject_always", NULL };
static const struct jshape answer = WORDS(answers);
static const struct jmember answer_members[] = {
	REQUIRED("optionId", jshape_string), REQUIRED("name", jshape_string), REQUIRED("kind", answer), META, LAST };
static const struct jshape offered = OBJECT(answer_members), offers = ARRAY(offered);
static const struct jmember ask_members[] = { REQUIRED("toolCall", asked_call), REQUIRED("options", offers), META, LAST };
static const struct jshape permission = OBJECT(ask_members);

/* --- the modes of a session
 * ---------------------------------------------------------------------------------------- */

static const struct jmember mode_members[] = {
	REQUIRED("id", jshape_string), REQUIRED("name", jshape_string), NULLABLE("description", jshape_string), META, LAST };
static const struct jshape mode = OBJECT(mode_members), modes = ARRAY(mode);
static const struct jmember state_members[] = {
	REQUIRED("currentModeId", jshape_string), REQUIRED("availableModes", modes), META, LAST };
static const struct jshape mode_state = OBJECT(state_members);

/* clang-format on */

static enum harness_check check_shape(const struct jshape *s, enum jtype type, struct slice raw,
				      struct buf *mended, struct jval *id)
{
	struct jval v = { type, raw };

	if (jshape_fits(s, v, id))
		return CHECK_FITS;
	if (!jshape_mend(s, v, mended) || mended->failed)
		return CHECK_REFUSED;
	/* Checked again: not every fault can be repaired. */
	v.raw = buf_slice(mended);
	return jshape_fits(s, v, id) ? CHECK_MENDED : CHECK_REFUSED;
}

bool harness_update_take(struct jwalk *w, void *ret_event)
{
	struct harness_event *ev = ret_event;
	size_t bytes = jknown_size(w); /* 0 of most */
	struct slice key;
	struct jval name;

	ev->fits = false;
	/* Only with sessionUpdate as the first member: the kind decides how the rest is read. Other
	 * orders take the slow path. */
	if (jwalk_enter(w, '{', '}') != JWALK_PART || !jwalk_key(w, &key) ||
	    !slice_is(key, "sessionUpdate") || !jwalk_value(w, &name) ||
	    harness_update_find(name, &ev->kind) < 0 || harness_update_is_beyond(ev->kind, bytes))
		return false;
	ev->fits = jshape_fits_rest(&updates[ev->kind], w, &ev->id);
	return ev->fits;
}

enum harness_check harness_update_check(enum harness_update kind, struct slice update,
					struct buf *mended, struct jval *id)
{
	return check_shape(&updates[kind], J_OBJECT, update, mended, id);
}

enum harness_check harness_ask_check(struct slice params, struct buf *mended)
{
	return check_shape(&permission, J_OBJECT, params, mended, NULL);
}

enum harness_check harness_modes_check(struct slice state_raw, struct buf *mended)
{
	return check_shape(&mode_state, J_OBJECT, state_raw, mended, NULL);
}

enum harness_check harness_options_check(struct slice list, struct buf *mended)
{
	return check_shape(&options, J_ARRAY, list, mended, NULL);
}
