/*
 * codex.c - Codex through its own app-server protocol: lines in and out, and the object's life.
 *
 * `codex app-server` speaks JSON-RPC lines on stdio (measured on 0.171.0). One process and one thread of Codex for each
 * session, in a private CODEX_HOME. Configuration goes by -c on the command line, secrets in the environment, MCP servers in
 * thread/start; nothing is read from files we would have to rewrite. README.md has the mapping of the protocol, and what is
 * dropped.
 */
#include "harnesses/codex/internal.h"
#include "harnesses/adapter.h"

/* --- in --------------------------------------------------------------------------------------------- */

#define F_ANY_THREAD 1 /* also for threads that are not ours: those of subagents */

/* Notifications without a row are dropped; README.md says why. */
static const struct {
	const char *method;
	notify_fn *fn;
	unsigned flags;
} notifications[] = {
	{ "item/agentMessage/delta", codex_on_message_delta, 0 },
	{ "item/plan/delta", codex_on_message_delta, 0 },
	{ "item/reasoning/summaryTextDelta", codex_on_thought_delta, 0 },
	{ "item/reasoning/textDelta", codex_on_thought_delta, 0 },
	{ "item/reasoning/summaryPartAdded", codex_on_thought_part, 0 },
	{ "item/commandExecution/outputDelta", codex_on_output_delta, F_ANY_THREAD },
	{ "item/fileChange/patchUpdated", codex_on_patch_updated, F_ANY_THREAD },
	{ "item/mcpToolCall/progress", codex_on_mcp_progress, F_ANY_THREAD },
	{ "item/started", codex_on_item_started, F_ANY_THREAD },
	{ "item/completed", codex_on_item_completed, F_ANY_THREAD },
	{ "turn/started", codex_on_turn_started, 0 },
	{ "turn/completed", codex_on_turn_completed, 0 },
	{ "turn/plan/updated", codex_on_plan, 0 },
	{ "thread/tokenUsage/updated", codex_on_usage, F_ANY_THREAD },
	{ "thread/settings/updated", codex_on_settings, 0 },
	{ "thread/name/updated", codex_on_renamed, 0 },
	{ "serverRequest/resolved", codex_on_resolved, F_ANY_THREAD },
	{ "mcpServer/startupStatus/updated", codex_on_mcp_status, 0 },
	{ "error", codex_on_error, 0 },
	{ "warning", codex_on_warning, 0 },
	{ "guardianWarning", codex_on_warning, 0 },
	{ "configWarning", codex_on_warning, 0 },
	{ "deprecationNotice", codex_on_deprecation, 0 },
	{ "model/rerouted", codex_on_rerouted, 0 },
};

static void on_notification(struct harness *h, const struct rpc_msg *m)
{
	struct jval thread = jobj_get(m->params, "threadId");
	bool other = thread.type == J_STRING && !(h->thread_id && jstr_is(thread, h->thread_id));

	/* While the thread is being opened its id may be unknown, and every id would look like a
	 * subagent's. */
	if (other && h->phase == PHASE_READY)
		codex_child_note(h, m->method, m->params);
	for (size_t i = 0; i < ARRAY_SIZE(notifications); i++) {
		if (strcmp(m->method, notifications[i].method) != 0)
			continue;
		if (notifications[i].flags & F_ANY_THREAD || !other)
			notifications[i].fn(h, m->params);
		return;
	}
}

static int codex_on_line(struct harness *h, struct slice line, struct err *e)
{
	struct rpc_msg m;
	int r;

	if (!line.n)
		return 0;
	r = harness_line_parsed(&h->host, rpc_parse(line, &m, e), &m, e);
	if (r != HARNESS_MESSAGE)
		return r;
	if (m.kind == RPC_RESPONSE)
		rpc_calls_reply(&h->calls, &m); /* unknown ids are dropped */
	else if (m.kind == RPC_REQUEST)
		codex_on_request(h, &m);
	else
		on_notification(h, &m);
	return 0;
}

/* One timer for two things: output that waits to be shown, then the beginning of an answer. */
static void codex_on_timer(struct harness *h)
{
	if (h->output_waits) {
		codex_output_show(h);
		codex_answer_watch(h);
	} else if (h->mcp_starting) {
		codex_answer_delayed(h); /* Codex asks no model before they have */
	} else if (codex_answer_overdue(h)) {
		codex_interrupt(h);
	}
}

/* --- life ------------------------------------------------------------------------------------------- */

static struct harness *codex_open(const struct harness_def *def, const struct harness_req *req,
				  const struct harness_host *host)
{
	struct harness *h = new0(struct harness);

	h->host = *host;
	h->caps = def->caps;
	h->restoring = req->mode == HARNESS_RESTORE && req->native_id;
	h->cwd = xstrdup(req->cwd);
	h->thread_id = h->restoring ? xstrdup(req->native_id) : NULL;
	h->elicitation = req->elicitation;
	h->has_provider = req->provider != NULL;
	h->idle_ms = req->provider ? (unsigned)req->provider->idle_timeout_ms : 0;
	h->mcp_call_ms = req->mcp_call_ms;
	h->wanted_model = codex_model_wanted(req);
	h->system_prompt = xstrdup(req->system_prompt);
	h->system_override = req->system_override;
	h->now.approval = req->approval;
	h->ruled = req->rules != 0;
	h->inner_sandbox = req->inner_sandbox;
	h->inner_network = req->inner_network;
	if (req->mcp_servers.n)
		h->mcp_servers = xstrndup(req->mcp_servers.p, req->mcp_servers.n);
	if (req->additional_dirs.n)
		h->additional_dirs = xstrndup(req->additional_dirs.p, req->additional_dirs.n);
	if (req->provider)
		codex_models_from_provider(h, req->provider);
	rpc_calls_init(&h->calls);
	list_init(&h->asks);
	list_init(&h->items);
	list_init(&h->meters);
	list_init(&h->children);
	return h;
}

static struct harness *codex_free(struct harness *h)
{
	if (!h)
		return NULL;
	/* before anything is freed: each open call is ended by its function, which reads h */
	rpc_calls_done(&h->calls);
	codex_asks_drop(h, false);
	codex_items_free(h);
	codex_meters_free(h);
	codex_children_free(h);
	strv_free(h->allowed);
	strv_free(h->warned);
	codex_models_free(h);
	codex_settings_done(&h->now);
	codex_settings_done(&h->wanted);
	free_each(h->cwd, h->thread_id, h->wanted_model, h->system_prompt, h->version,
		  h->mcp_servers, h->additional_dirs, h->turn_id, h->used_model, h);
	return NULL;
}

/* What is said here of reads holds for all of its settings: it has no tool that reads but the shell. */
#define READS_BY_COMMANDS                                                                          \
	"Codex reads files by commands, which are judged as commands, and images unasked"

/* With its own sandbox what is allowed runs outside of that, so under never nothing is asked (options.c). */
static const struct harness_asking *codex_asks(const struct harness_def *def _unused_,
					       enum harness_approval approval, bool inner_sandbox)
{
	static const char unasked[] =
		"with innerSandbox and approval never Codex asks for tools of servers only";
	static const struct harness_asking asks[CALL_MAX] = {
		[CALL_READ] = { false, READS_BY_COMMANDS },
		[CALL_EDIT] = { true, NULL },
		[CALL_EXECUTE] = { true,
				   "input to a command that runs already is not asked about" },
		[CALL_MCP] = { true, NULL },
		[CALL_OTHER] = { false, "Codex does not ask about web searches, images and plans" },
	};
	static const struct harness_asking inner_never[CALL_MAX] = {
		[CALL_READ] = { false, READS_BY_COMMANDS }, [CALL_EDIT] = { false, unasked },
		[CALL_EXECUTE] = { false, unasked },	    [CALL_MCP] = { true, NULL },
		[CALL_OTHER] = { false, unasked },
	};

	return inner_sandbox && approval == APPROVAL_NEVER ? inner_never : asks;
}

const struct harness_ops harness_codex = {
	.name = "codex",
	.asks = codex_asks,
	.plan = codex_plan,
	.open = codex_open,
	.start = codex_thread_open,
	.on_line = codex_on_line,
	.limit = codex_limit,
	.reports_calls = true,
	.prompt = codex_prompt,
	.cancel = codex_cancel,
	.answer = codex_answer,
	.set_config = codex_set_config,
	.steer = codex_steer,
	.on_timer = codex_on_timer,
	.free = codex_free,
};
