/*
 * agui_input.c - decodes a RunAgentInput by tables of fields, and converts the content of messages
 * to ACP blocks.
 *
 * Members that are not in a table are ignored. Counts are checked before an array is allocated.
 * nmessages counts complete elements only, so agui_input_done can free a partly decoded input. Text
 * that is only forwarded stays a raw slice of the body and is spliced into the prompt. A part
 * without an ACP block refuses the whole run, before anything is sent to the session.
 */
#include "agui/agui_input.h"

#include "base/limits.h"
#include "json/json.h"

static const struct jfield input_fields[] = {
	JF_STR(struct agui_input, thread_id, "threadId", JF_REQUIRED | JF_FILLED, AGUI_ID_MAX),
	JF_STR(struct agui_input, run_id, "runId", JF_REQUIRED | JF_FILLED, AGUI_ID_MAX),
	JF_STR(struct agui_input, version, "protocolVersion", 0, 32),
	JF_STR(struct agui_input, parent, "parentRunId", 0, AGUI_ID_MAX),
	JF_RAW(struct agui_input, given_messages, "messages", JF_REQUIRED),
	JF_RAW(struct agui_input, given_state, "state", 0),
	JF_RAW(struct agui_input, given_props, "forwardedProps", 0),
	JF_ARR(struct agui_input, tools, "tools", 0),
	JF_ARR(struct agui_input, context, "context", 0),
	JF_ARR(struct agui_input, resume, "resume", 0),
	JF_END,
};

struct agui_message_args {
	char *id, *role, *tool_call_id;
	struct jval content, error;
};

static const struct jfield message_fields[] = {
	JF_STR(struct agui_message_args, id, "id", JF_REQUIRED | JF_FILLED, AGUI_ID_MAX),
	JF_STR(struct agui_message_args, role, "role", JF_REQUIRED, 32),
	JF_STR(struct agui_message_args, tool_call_id, "toolCallId", 0, RPC_ID_MAX),
	JF_RAW(struct agui_message_args, content, "content", 0),
	JF_RAW(struct agui_message_args, error, "error", 0),
	JF_END,
};

static const char *const role_words[] = {
	[ROLE_USER] = "user",		[ROLE_SYSTEM] = "system", [ROLE_DEVELOPER] = "developer",
	[ROLE_ASSISTANT] = "assistant", [ROLE_TOOL] = "tool",	  [ROLE_REASONING] = "reasoning",
	[ROLE_ACTIVITY] = "activity",
};

static int find_role(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(role_words); i++)
		if (strcmp(role_words[i], word) == 0)
			return (int)i;
	return -1;
}

static bool is_text_or_parts(struct jval v)
{
	return v.type == J_STRING || v.type == J_ARRAY;
}

/* prefix: "messages[3]." */
static int check_message(const struct agui_message_args *a, const char *prefix, struct err *e)
{
	char field[64];
	int role = find_role(a->role);

	snprintf(field, sizeof(field), "%srole", prefix);
	if (role < 0)
		return err_field(e, field, "FIELD_INVALID", "%s: there is no such role", field);
	snprintf(field, sizeof(field), "%scontent", prefix);
	if ((role == ROLE_USER || role == ROLE_TOOL) && !is_text_or_parts(a->content))
		return err_field(e, field, "FIELD_INVALID", "%s must be text or parts", field);
	if ((role == ROLE_SYSTEM || role == ROLE_DEVELOPER) && a->content.type != J_STRING)
		return err_field(e, field, "FIELD_INVALID", "%s must be text", field);
	snprintf(field, sizeof(field), "%stoolCallId", prefix);
	if (role == ROLE_TOOL && !a->tool_call_id)
		return err_field(e, field, "FIELD_MISSING", "%s is missing", field);
	return 0;
}

static void message_from_args(struct agui_message_args *a, struct slice raw,
			      struct agui_message *ret)
{
	ret->role = (enum agui_role)find_role(a->role);
	ret->id = TAKE_PTR(a->id);
	ret->content = a->content;
	ret->tool_call_id = TAKE_PTR(a->tool_call_id);
	ret->error = a->error.type == J_STRING ? a->error.raw : SLICE_NONE;
	ret->raw = raw;
}

static int parse_message(struct agui_input *in, struct jval v, struct err *e)
{
	struct agui_message_args a = { 0 };
	int r;
	char *prefix = SHORT_TEXT(48, "messages[%zu].", in->nmessages);

	if (v.type != J_OBJECT) {
		/* Without the dot: the element itself is wrong. */
		prefix[strlen(prefix) - 1] = '\0';
		return err_field(e, prefix, "FIELD_INVALID", "%s must be an object", prefix);
	}
	r = jdec_object(v.raw, message_fields, prefix, &a, e);
	if (r < 0)
		return r;
	r = check_message(&a, prefix, e);
	if (r == 0)
		message_from_args(&a, v.raw, &in->messages[in->nmessages++]);
	jdec_free(message_fields, &a);
	return r;
}

static size_t count_elements(struct jval array)
{
	size_t n = 0;

	jarr_each(v, array)
		n++;
	return n;
}

static int check_element_count(struct jval array, size_t max, const char *field, struct err *e)
{
	if (array.type == J_ARRAY && count_elements(array) > max)
		return err_field(e, field, "TOO_MANY", "%s has more than %zu elements", field, max);
	return 0;
}

static int parse_messages(struct agui_input *in, struct jval array, struct err *e)
{
	struct jiter it;
	struct jval v;
	int r;

	if (array.type != J_ARRAY)
		return err_field(e, "messages", "FIELD_INVALID", "messages must be an array");
	/* Counted first: the client must not decide how much is allocated. */
	r = check_element_count(array, AGUI_MESSAGES_MAX, "messages", e);
	if (r < 0)
		return r;
	in->messages = xalloc((count_elements(array) + 1) * sizeof(*in->messages));
	jiter_init(&it, array);
	while (r == 0 && jiter_next(&it, NULL, &v))
		r = parse_message(in, v, e);
	return r;
}

/* Each tool of the front end has a name. */
static int check_tools(struct slice tools, struct err *e)
{
	int r = check_element_count((struct jval){ tools.n ? J_ARRAY : J_NONE, tools },
				    AGUI_TOOLS_MAX, "tools", e);
	char field[48];

	if (r < 0)
		return r;
	jarr_each_at(i, v, tools) {
		snprintf(field, sizeof(field), "tools[%zu].name", i);
		if (jobj_get(v.raw, "name").type != J_STRING)
			return err_field(e, field, "FIELD_INVALID", "%s must be text", field);
	}
	return 0;
}

static int parse_settings(struct agui_input *in, struct err *e)
{
	struct jval forwarded = in->given_props, own;

	if (forwarded.type != J_OBJECT)
		return 0;
	own = jobj_get(forwarded.raw, "acpd");
	if (own.type == J_NONE || own.type == J_NULL)
		return 0;
	if (own.type != J_OBJECT)
		return err_field(e, "forwardedProps.acpd", "FIELD_INVALID",
				 "forwardedProps.acpd must be an object");
	in->settings = own.raw;
	return 0;
}

static int parse_input_rest(struct agui_input *in, struct err *e)
{
	int r = parse_messages(in, in->given_messages, e);

	if (in->given_state.type == J_OBJECT)
		in->state = in->given_state.raw;
	if (r == 0)
		r = check_tools(in->tools, e);
	return r == 0 ? parse_settings(in, e) : r;
}

int agui_input_parse(struct slice text, struct agui_input *ret, struct err *e)
{
	struct agui_input in = { 0 };
	struct jval v;
	int r;

	if (jscan_value(text, &v) != JSCAN_OK || v.type != J_OBJECT)
		return err_field(e, "", "BODY_INVALID", "the body is no JSON object");
	r = jdec_object(v.raw, input_fields, NULL, &in, e);
	if (r < 0)
		return r;
	r = parse_input_rest(&in, e);
	if (r < 0)
		agui_input_done(&in);
	else
		*ret = in;
	return r;
}

void agui_input_done(struct agui_input *in)
{
	for (size_t i = 0; i < in->nmessages; i++) {
		free_each(in->messages[i].id, in->messages[i].tool_call_id);
	}
	free(in->messages);
	jdec_free(input_fields, in);
	*in = (struct agui_input){ 0 };
}

bool agui_input_is_old(const struct agui_input *in)
{
	return !in->version || strncmp(in->version, "0.", 2) == 0;
}

/* --- content as ACP has it ------------------------------------------------------------------------------------------ */

/* The member of a block that tells which message it is of. */
#define JW_ORIGIN(m)                                                                               \
	JW_OBJ("_meta",                                                                            \
	       JW_OBJ("agui", JW_STR("id", (m)->id), JW_STR("role", role_words[(m)->role])))

static void put_said_block(struct jw *w, const struct agui_message *m, struct slice raw_text)
{
	jw_object(w, NULL, JW_STR("type", "text"), JW_RAW("text", raw_text), JW_ORIGIN(m));
}

static void put_data_block(struct jw *w, const struct agui_message *m, const char *type,
			   struct jval value, struct jval mime)
{
	jw_object(w, NULL, JW_STR("type", type), JW_RAW("data", value.raw),
		  JW_RAW("mimeType", mime.raw), JW_ORIGIN(m));
}

static void put_link_block(struct jw *w, const struct agui_message *m, struct jval url)
{
	/* ACP requires a name, and AG-UI has none. */
	jw_object(w, NULL, JW_STR("type", "resource_link"), JW_RAW("uri", url.raw),
		  JW_RAW("name", url.raw), JW_ORIGIN(m));
}

/* Images and sounds as data, and whatever there is an address for. False: there is no block for it. */
static bool put_media(struct jw *w, const struct agui_message *m, struct slice part)
{
	struct slice source = jobj_get(part, "source").raw;
	struct jval value = jobj_get(source, "value"), mime = jobj_get(source, "mimeType");
	bool data = jstr_is(jobj_get(source, "type"), "data");
	struct jval type = jobj_get(part, "type");

	if (value.type != J_STRING)
		return false;
	if (jstr_is(jobj_get(source, "type"), "url"))
		put_link_block(w, m, value);
	else if (data && mime.type == J_STRING && jstr_is(type, "image"))
		put_data_block(w, m, "image", value, mime);
	else if (data && mime.type == J_STRING && jstr_is(type, "audio"))
		put_data_block(w, m, "audio", value, mime);
	else
		return false;
	return true;
}

static bool put_part_block(struct jw *w, const struct agui_message *m, struct jval part)
{
	struct jval text = jobj_get(part.raw, "text");

	if (!jstr_is(jobj_get(part.raw, "type"), "text"))
		return put_media(w, m, part.raw);
	if (text.type == J_STRING)
		put_said_block(w, m, text.raw);
	return text.type == J_STRING;
}

int agui_content_put(const struct agui_message *m, size_t at, struct jw *w, struct err *e)
{
	char field[64];

	if (m->content.type == J_STRING) {
		put_said_block(w, m, m->content.raw);
		return 0;
	}
	jarr_each_at(i, v, m->content) {
		snprintf(field, sizeof(field), "messages[%zu].content[%zu]", at, i);
		if (!put_part_block(w, m, v))
			return err_field(
				e, field, "CONTENT_UNSUPPORTED",
				"%s: cannot deliver it to an agent; send text, the data of an "
				"image or a sound, or a url",
				field);
	}
	return 0;
}
