/*
 * event_fields.c - tables of the protocol members of each event kind, and the walk that masks all
 * other strings.
 *
 * A member that a table does not name is text, so a new member of a harness is masked by default.
 * The walk makes one pass over valid JSON without parsing it: it tracks the table of each open
 * object, and copies unchanged spans between hits. A new event kind needs a row in event_fields_of;
 * without one all its strings are text.
 */
#include "session/core/redact/event_fields.h"

#include "base/limits.h"
#include "json/jstr.h"

#define TEXT NULL
#define PROTOCOL event_field_protocol
/* Members whose value is of that kind. */
#define MEMBERS(of, ...)                                                                           \
	{                                                                                          \
		(const char *const[]){ __VA_ARGS__, NULL }, of                                     \
	}
#define KEEP(...) MEMBERS(PROTOCOL, __VA_ARGS__)
/* All that are not named before. */
#define OTHERS(of)                                                                                 \
	{                                                                                          \
		NULL, of                                                                           \
	}

/* All of it is protocol. */
static const struct event_field event_field_protocol[] = { OTHERS(event_field_protocol) };

/* --- parts ------------------------------------------------------------------------------------------- */

/* Content blocks, and what a tool call may have besides: diffs and terminals. */
static const struct event_field content[] = {
	KEEP("type", "mimeType", "annotations", "terminalId", "size"),
	MEMBERS(content, "content", "resource"), OTHERS(TEXT)
};

static const struct event_field chunk[] = {
	KEEP("sessionUpdate", "messageId", "compactionId", "sessionId", "senderSessionId",
	     "recipientSessionId", "senderMessageId", "recipientMessageId", "status"),
	MEMBERS(content, "content"), OTHERS(TEXT)
};

static const struct event_field call[] = { KEEP("sessionUpdate", "toolCallId", "kind", "status",
						"name", "messageId"),
					   MEMBERS(content, "content"), OTHERS(TEXT) };

static const struct event_field plan_entry[] = { KEEP("priority", "status"), OTHERS(TEXT) };
static const struct event_field plan[] = { KEEP("sessionUpdate", "planId", "id", "type"),
					   MEMBERS(plan, "plan"), MEMBERS(plan_entry, "entries"),
					   OTHERS(TEXT) };

static const struct event_field command[] = { KEEP("name"), OTHERS(TEXT) };
static const struct event_field commands[] = { KEEP("sessionUpdate"),
					       MEMBERS(command, "availableCommands"),
					       OTHERS(TEXT) };

/* The name of a value is a model's. */
static const struct event_field option[] = { KEEP("id", "name", "category", "type", "value",
						  "currentValue", "group"),
					     MEMBERS(option, "options"), OTHERS(TEXT) };
const struct event_field event_fields_options[] = {
	KEEP("sessionUpdate", "currentModeId", "id", "name", "category", "type", "value",
	     "currentValue", "group"),
	MEMBERS(option, "availableModes", "configOptions", "options"), OTHERS(TEXT)
};

static const struct event_field info[] = { KEEP("sessionUpdate", "updatedAt"), OTHERS(TEXT) };
static const struct event_field usage[] = { KEEP("sessionUpdate", "cost"), OTHERS(TEXT) };
static const struct event_field notice[] = { KEEP("sessionUpdate", "severity", "id", "code"),
					     OTHERS(TEXT) };
static const struct event_field subagent[] = { KEEP("sessionUpdate", "sessionId", "parentSessionId",
						    "toolCallId", "status", "type", "model"),
					       OTHERS(TEXT) };

/* The options of a question, and the chosen one. */
static const struct event_field choice[] = { KEEP("optionId", "kind"), OTHERS(TEXT) };
static const struct event_field outcome[] = { KEEP("outcome", "optionId"), OTHERS(TEXT) };
static const struct event_field answer[] = { KEEP("action"), MEMBERS(outcome, "outcome"),
					     OTHERS(TEXT) };

/* A form is JSON Schema: the names of its properties are members. */
static const struct event_field form[], properties[];
static const struct event_field form[] = {
	KEEP("type", "format", "enum", "const", "required", "pattern"),
	MEMBERS(form, "oneOf", "anyOf", "items"), MEMBERS(properties, "properties"), OTHERS(TEXT)
};
static const struct event_field properties[] = { OTHERS(form) };

const struct event_field event_fields_question[] = {
	KEEP("sessionId", "mode", "elicitationId"), MEMBERS(call, "toolCall"),
	MEMBERS(choice, "options"), MEMBERS(form, "requestedSchema"), OTHERS(TEXT)
};

/* --- events of ours --------------------------------------------------------------------------------------- */

static const struct event_field ask_event[] = {
	KEEP("kind", "toolCallId", "by", "via", "rule", "reason"), MEMBERS(choice, "options"),
	MEMBERS(answer, "answer"), OTHERS(TEXT)
};
static const struct event_field lifecycle[] = { KEEP("kind", "event", "reason", "server", "tools",
						     "tool", "requestId", "method", "budget",
						     "scope", "call", "errno", "rule", "policy"),
						OTHERS(TEXT) };
static const struct event_field artifact[] = { KEEP("id", "type", "sha256", "source", "ts"),
					       OTHERS(TEXT) };
static const struct event_field artifact_event[] = { KEEP("kind"), MEMBERS(artifact, "artifact"),
						     OTHERS(TEXT) };

static const struct event_field webhook_error[] = { KEEP("class", "reason", "provider"),
						    OTHERS(TEXT) };
const struct event_field event_fields_webhook[] = {
	KEEP("key", "stopReason", "turnIncarnation", "traceparent", "reason", "toolCallId",
	     "stopDetail", "budget", "scope", "usage", "kind", "check", "checks"),
	MEMBERS(webhook_error, "error"), MEMBERS(choice, "options"), MEMBERS(artifact, "artifact"),
	OTHERS(TEXT)
};

const struct event_field event_fields_head[] = { MEMBERS(TEXT, "systemPrompt", "rules"),
						 OTHERS(PROTOCOL) };

const struct event_field *event_fields_of(unsigned kind)
{
	static const struct event_field *const rows[EVENT_KIND_MAX] = {
		[UPDATE_USER_CHUNK] = chunk,
		[UPDATE_AGENT_CHUNK] = chunk,
		[UPDATE_THOUGHT_CHUNK] = chunk,
		[UPDATE_TOOL_CALL] = call,
		[UPDATE_TOOL_CALL_UPDATE] = call,
		[UPDATE_PLAN] = plan,
		[UPDATE_COMMANDS] = commands,
		[UPDATE_MODE] = event_fields_options,
		[UPDATE_CONFIG] = event_fields_options,
		[UPDATE_INFO] = info,
		[UPDATE_USAGE] = usage,
		[UPDATE_NOTICE] = notice,
		[UPDATE_COMPACTION] = chunk,
		[UPDATE_COMPACTION_CHUNK] = chunk,
		[UPDATE_PLAN_UPDATE] = plan,
		[UPDATE_PLAN_REMOVED] = plan,
		[UPDATE_SUBAGENT] = subagent,
		[UPDATE_SESSION_MESSAGE] = chunk,
		[UPDATE_SESSION_MESSAGE_CHUNK] = chunk,
		[EVENT_TURN_END] = event_field_protocol, /* its error is hidden where it is made */
		[EVENT_ASK] = ask_event,
		[EVENT_ANSWER] = ask_event,
		[EVENT_USAGE] = event_field_protocol,
		[EVENT_LIFECYCLE] = lifecycle,
		[EVENT_ARTIFACT] = artifact_event,
		[EVENT_CHECK] =
			event_field_protocol, /* hidden where it is made: check_evidence.c */
	};

	return kind < EVENT_KIND_MAX ? rows[kind] : TEXT;
}

/* --- the walk ------------------------------------------------------------------------------------------ */

struct field_level {
	const struct event_field *table;
	bool object;
};

struct field_walk {
	const struct mask *m;
	const char *p, *end, *copied; /* copied: up to here it is in ret */
	struct field_level levels[JSON_DEPTH_MAX + 2];
	unsigned depth;
	const struct event_field *next; /* table of the value that comes */
	bool key;			/* a string here is a member's name */
	struct buf *ret;
};

static const struct event_field *field_row_find(const struct event_field *table, struct slice key)
{
	if (!table)
		return TEXT;
	for (; table->names; table++)
		for (const char *const *name = table->names; *name; name++)
			if (jkey_is(key, *name))
				return table->in;
	return table->in;
}

/* At the opening quote: what is between the quotes; p is moved behind the closing one. */
static struct slice field_take_string(struct field_walk *x)
{
	const char *start = ++x->p;

	while (x->p < x->end && *x->p != '"')
		x->p += *x->p == '\\' ? 2 : 1;
	/* An escape at the very end moves p beyond it. */
	x->p = MIN(x->p, x->end);
	return (struct slice){ start, (size_t)(x->p++ - start) };
}

static void field_put_text(struct field_walk *x, struct slice text)
{
	if (!(mask_find(x->m, text) & MASK_HIT))
		return;
	/* What is unchanged is copied in one piece, up to the next hit. */
	buf_add(x->ret, x->copied, (size_t)(text.p - x->copied));
	mask_put(x->m, text, true, 0, NULL, x->ret);
	x->copied = text.p + text.n;
}

static void on_string(struct field_walk *x)
{
	struct slice text = field_take_string(x);

	if (x->key) {
		x->next = field_row_find(x->levels[x->depth].table, text);
		x->key = false;
	} else if (x->next != PROTOCOL) {
		field_put_text(x, text);
	}
}

static void field_enter(struct field_walk *x, bool object)
{
	/* The JSON was validated with JSON_DEPTH_MAX. The check only keeps the index in its bounds. */
	if (x->depth + 1 < ARRAY_SIZE(x->levels))
		x->depth++;
	x->levels[x->depth] = (struct field_level){ x->next, object };
	x->key = object;
}

static void walk(struct field_walk *x)
{
	while (x->p < x->end) {
		char c = *x->p;

		if (c == '"') {
			on_string(x);
			continue;
		}
		if (c == '{' || c == '[')
			field_enter(x, c == '{');
		else if ((c == '}' || c == ']') && x->depth)
			x->depth--;
		if (c == ',') {
			x->key = x->levels[x->depth].object;
			x->next = x->levels[x->depth].table;
		}
		x->p++;
	}
}

void event_fields_mask(const struct mask *m, struct slice json, bool members,
		       const struct event_field *table, struct buf *ret)
{
	struct field_walk x = { .m = m,
				.p = json.p,
				.end = json.p + json.n,
				.copied = json.p,
				.levels = { { table, members } },
				.next = table,
				.key = members,
				.ret = ret };

	if (!json.n)
		return;
	walk(&x);
	buf_add(ret, x.copied, (size_t)(x.end - x.copied));
}
