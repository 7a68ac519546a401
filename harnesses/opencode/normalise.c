/*
 * normalise.c - corrects the updates and turn ends of OpenCode's ACP, with data from the plugin.
 *
 * Each correction is one row of `mends` and applies to one kind of update. on_update can rewrite an
 * update, rename its message after a retry, turn a summary into a compaction chunk, or drop it. The
 * plugin's notifications precede the prompt's answer on the same pipe (internal.h), so on_turn_end
 * has all of them. State is reset at each turn, except the list of commands.
 */
#include "harnesses/opencode/internal.h"

#include "json/json.h"

/* --- the turn ------------------------------------------------------------------------------------------ */

static void forget_changes(struct harness *h)
{
	struct opencode_state *s = opencode_state_of(h);

	for (size_t i = 0; i < ARRAY_SIZE(s->changes); i++) {
		free_each(s->changes[i].call, s->changes[i].diffs);
	}
}

/* The text of the prompt's blocks as OpenCode reads it; the caller frees. */
static char *prompt_text(struct slice content)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	jarr_each(v, content) {
		_cleanup_(freep) char *text = NULL;
		struct jval own = jobj_get(v.raw, "text");

		if (own.type != J_STRING)
			own = jobj_get(jobj_get(v.raw, "resource").raw, "text");
		if (jstr_decode(own, 32 * MIB, &text) == 0)
			buf_puts(&b, text);
	}
	buf_putc(&b, '\0');
	return xstrdup(b.failed || !b.data ? "/" : b.data);
}

static bool is_command(const struct opencode_state *s, const char *name)
{
	jarr_each(v, slice_of(s->commands))
		if (jstr_is(jobj_get(v.raw, "name"), name))
			return true;
	return false;
}

/* It takes what begins with a slash for a command, and does nothing if it has none of that name. White space
 * before it is skipped, of which there is more than ASCII's: what goes as text without need is the same to the
 * model. */
static bool takes_prompt(struct opencode_state *s, struct slice content)
{
	_cleanup_(freep) char *text = prompt_text(content);
	char *p = text;

	while (*p && ((unsigned char)*p <= ' ' || (unsigned char)*p > '~'))
		p++;
	if (*p != '/')
		return true;
	p[strcspn(p, " \t\r\n\f\v")] = '\0';
	s->quiet = strcmp(p, "/compact") == 0; /* its own, in no list */
	return s->quiet || is_command(s, p + 1);
}

static bool on_opencode_turn_start(struct harness *h, struct slice content)
{
	struct opencode_state *s = opencode_state_of(h);

	forget_changes(h);
	/* The commands stay: they belong to the session and not to a turn. */
	*s = (struct opencode_state){ .in_turn = true, .commands = s->commands };
	return takes_prompt(s, content);
}

static void free_state(struct harness *h)
{
	forget_changes(h);
	free(opencode_state_of(h)->commands);
}

static bool on_opencode_turn_end(struct harness *h, struct harness_turn_end *end)
{
	struct opencode_state *s = opencode_state_of(h);
	bool ended = !end->failed && strcmp(end->stop_reason, "end_turn") == 0;

	s->in_turn = false;
	/* A cancelled turn stays cancelled, whatever failed before. */
	if (s->failed && (end->failed || ended))
		*end = (struct harness_turn_end){ .failed = true, .error = s->error };
	else if (ended && s->truncated)
		end->stop_reason = "max_tokens";
	end->quiet = s->quiet;
	return s->counted;
}

/* --- tool calls ----------------------------------------------------------------------------------------- */

/* OpenCode names a tool of a server "server_tool", with everything but letters, digits, _ and - as _. */
static bool is_tool_of(const char *server, const char *tool)
{
	for (; *server; server++, tool++) {
		bool plain = (*server >= 'a' && *server <= 'z') ||
			     (*server >= 'A' && *server <= 'Z') ||
			     (*server >= '0' && *server <= '9') || *server == '-';

		if (*tool != (plain ? *server : '_'))
			return false;
	}
	return *tool == '_' && tool[1];
}

/* The server's name if it is a tool of one. Caller frees. */
static char *server_of(const struct harness *h, const char *tool)
{
	jarr_each(v, slice_of(h->mcp_servers)) {
		_cleanup_(freep) char *name = NULL;

		if (v.type == J_OBJECT && jstr_decode(jobj_get(v.raw, "name"), 256, &name) == 0 &&
		    is_tool_of(name, tool))
			return TAKE_PTR(name);
	}
	return NULL;
}

/* Instead of "server_tool". False: it is no tool of a server. */
static bool put_server_tool(struct harness *h, struct slice update, const char *tool,
			    struct buf *to)
{
	_cleanup_(freep) char *server = server_of(h, tool);
	struct jw w = JW(to);
	const char *own;
	char name[600];

	if (!server)
		return false;
	own = tool + strlen(server) + 1;
	jw_obj(&w, NULL);
	jw_members(&w, update, "title");
	if (jstr_is(jobj_get(update, "sessionUpdate"), "tool_call")) {
		snprintf(name, sizeof(name), "%s/%s", server, own);
		jw_str(&w, "name", name);
	}
	snprintf(name, sizeof(name), "%s.%s", server, own);
	jw_str(&w, "title", name);
	jw_end_obj(&w);
	return true;
}

/* The first update of a call: its title is the tool's name. */
static bool put_tool_name(struct harness *h, struct slice update, struct buf *to)
{
	_cleanup_(freep) char *tool = NULL;
	struct jw w = JW(to);

	if (jstr_decode(jobj_get(update, "title"), 256, &tool) < 0 || !*tool)
		return false;
	if (put_server_tool(h, update, tool, to))
		return true;
	if (!jstr_is(jobj_get(update, "sessionUpdate"), "tool_call") ||
	    jobj_get(update, "name").type != J_NONE)
		return false;
	jw_obj(&w, NULL);
	jw_members(&w, update, NULL);
	jw_str(&w, "name", tool);
	jw_end_obj(&w);
	return true;
}

static const char *diffs_of(struct harness *h, struct slice update)
{
	struct slice call = jobj_get(update, "toolCallId").raw;
	struct opencode_state *s = opencode_state_of(h);

	for (size_t i = 0; i < ARRAY_SIZE(s->changes); i++)
		if (s->changes[i].call && slice_is(call, s->changes[i].call))
			return s->changes[i].diffs;
	return NULL;
}

static void put_elements(struct jw *w, struct jval array)
{
	jarr_each(v, array)
		jw_raw(w, NULL, v.raw);
}

static bool put_diffs(struct harness *h, struct slice update, struct buf *to)
{
	const char *diffs = diffs_of(h, update);
	struct jw w = JW(to);

	if (!diffs || !jstr_is(jobj_get(update, "status"), "completed"))
		return false;
	jw_obj(&w, NULL);
	jw_members(&w, update, "content");
	jw_arr(&w, "content");
	put_elements(&w, jobj_get(update, "content"));
	put_elements(&w, (struct jval){ J_ARRAY, slice_of(diffs) });
	jw_end_arr(&w);
	jw_end_obj(&w);
	return true;
}

/* OpenCode reports 0 as the cost of models without prices: it is unknown. */
static bool put_gauge_without_cost(struct harness *h _unused_, struct slice update, struct buf *to)
{
	int64_t cost;
	struct jw w = JW(to);

	if (!harness_cost_parse(jobj_get(jobj_get(update, "cost").raw, "amount").raw, &cost) ||
	    cost > 0)
		return false;
	jw_obj(&w, NULL);
	jw_members(&w, update, "cost");
	jw_end_obj(&w);
	return true;
}

/* A retry begins a message that broke off again, whole and under the same id. */
static bool put_message_id(struct harness *h, struct slice update, struct buf *to)
{
	struct opencode_state *s = opencode_state_of(h);
	struct jval id = jobj_get(update, "messageId");
	char fresh[80];
	struct jw w = JW(to);

	if (!s->broken[0] || !jstr_is(id, s->broken))
		return false;
	snprintf(fresh, sizeof(fresh), "%s.%u", s->broken, s->retries);
	jw_obj(&w, NULL);
	jw_members(&w, update, "messageId");
	jw_str(&w, "messageId", fresh);
	jw_end_obj(&w);
	return true;
}

/* The mendings by kind of update. At most one applies to each update. */
static const struct {
	enum harness_update kind;
	bool (*put)(struct harness *h, struct slice update, struct buf *to);
} mends[] = {
	{ UPDATE_TOOL_CALL, put_tool_name },	    { UPDATE_TOOL_CALL_UPDATE, put_diffs },
	{ UPDATE_TOOL_CALL_UPDATE, put_tool_name }, { UPDATE_USAGE, put_gauge_without_cost },
	{ UPDATE_AGENT_CHUNK, put_message_id },	    { UPDATE_THOUGHT_CHUNK, put_message_id },
};

static void mend_update(struct harness *h, struct harness_event *ev, struct buf *scratch)
{
	for (size_t i = 0; i < ARRAY_SIZE(mends); i++) {
		_cleanup_(buf_done) struct buf to = { 0 };

		if (mends[i].kind != ev->kind || !mends[i].put(h, ev->update, &to))
			continue;
		/* what stood in scratch may be the update that has just been read */
		buf_done(scratch);
		*scratch = to;
		to = (struct buf){ 0 };
		ev->update = buf_slice(scratch);
		return;
	}
}

static const struct opencode_summary *summary_of(struct harness *h, struct slice update)
{
	struct opencode_state *s = opencode_state_of(h);
	struct jval id = jobj_get(update, "messageId");

	for (size_t i = 0; i < ARRAY_SIZE(s->summaries); i++)
		if (s->summaries[i].message[0] && jstr_is(id, s->summaries[i].message))
			return &s->summaries[i];
	return NULL;
}

/* False: there is nothing to show it with. */
static bool to_summary(struct harness_event *ev, const struct opencode_summary *s,
		       struct buf *scratch)
{
	struct jw w = JW(scratch);

	if (ev->kind != UPDATE_AGENT_CHUNK || !s->compaction[0])
		return false;
	jw_object(&w, NULL, JW_STR("sessionUpdate", "compaction_summary_chunk"),
		  JW_STR("compactionId", s->compaction),
		  JW_RAW("content", jobj_get(ev->update, "content").raw));
	ev->kind = UPDATE_COMPACTION_CHUNK;
	ev->update = buf_slice(scratch);
	return true;
}

static void keep_commands(struct opencode_state *s, struct slice update)
{
	if (!jraw_set(&s->commands, jobj_get(update, "availableCommands"), J_ARRAY))
		xstrset(&s->commands, NULL);
}

static bool on_opencode_update(struct harness *h, struct harness_event *ev, struct buf *scratch)
{
	const struct opencode_summary *summary = NULL;

	if (ev->kind == UPDATE_COMMANDS)
		keep_commands(opencode_state_of(h), ev->update);
	mend_update(h, ev, scratch);
	if (ev->kind == UPDATE_AGENT_CHUNK || ev->kind == UPDATE_THOUGHT_CHUNK)
		summary = summary_of(h, ev->update);
	return !summary || to_summary(ev, summary, scratch);
}

/* Files of secrets are asked about by any approval that asks: as in the rules of opencode.c, *.env and *.env.*, but not
 * *.env.example. */
static bool is_secret(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *env = name;
	size_t n = strlen(name);

	/* 12: the length of ".env.example". */
	if (n >= 12 && strcmp(name + n - 12, ".env.example") == 0)
		return false;
	while ((env = strstr(env, ".env")) && env[4] && env[4] != '.')
		env += 4;
	return env != NULL;
}

static bool reads_unasked(struct slice call)
{
	struct jval kind = jobj_get(call, "kind");
	struct jval locations = jobj_get(call, "locations");

	if (!jstr_is(kind, "search") && !jstr_is(kind, "read"))
		return false;
	/* What is no list may name any file. */
	if (locations.type > J_NULL && locations.type != J_ARRAY)
		return false;
	jarr_each(v, locations) {
		_cleanup_(freep) char *path = NULL;

		if (jstr_decode(jobj_get(v.raw, "path"), 4096, &path) < 0 || is_secret(path))
			return false;
	}
	return true;
}

#define SUBAGENTS "what a subagent would be asked about is refused"
static const struct harness_asking asks[CALL_MAX] = {
	[CALL_READ] = { true, SUBAGENTS },
	[CALL_EDIT] = { true, SUBAGENTS },
	[CALL_EXECUTE] = { true, SUBAGENTS },
	[CALL_MCP] = { true, SUBAGENTS },
	[CALL_OTHER] = { true,
			 "skills, to-do lists and the start of a subagent are not asked about" },
};

static const struct acp_hooks hooks = {
	.state_size = sizeof(struct opencode_state),
	.free = free_state,
	.on_update = on_opencode_update,
	.on_notification = opencode_on_notification,
	.on_turn_start = on_opencode_turn_start,
	.on_turn_end = on_opencode_turn_end,
};

const struct acp_quirks opencode_quirks = {
	.name = "opencode",
	.usage = ACP_USAGE_LAST_CALL,
	.input_excludes_cache = true,
	.output_excludes_reasoning = true,
	.exit_in = "metadata",
	.exit_code = "exit",
	.model_prefix = OPENCODE_PROVIDER_ID "/",
	.dirs_by_plan = true,
	.edits_by_us = true,
	.reads_unasked = reads_unasked,
	.images_alone = true,
	.asks = asks,
	.system_prompt = ACP_SYSTEM_PLAN,
	.hooks = &hooks,
};
