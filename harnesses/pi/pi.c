/*
 * pi.c - drives `pi --mode rpc`: JSON lines both ways. Pi has no handshake; the answers to the opening commands
 * replace it. Records that are not in the table are ignored: Pi adds some every week.
 */
#include "harnesses/pi/internal.h"
#include "harnesses/adapter.h"

#include "json/jstr.h"

int pi_call_of(struct harness *h, const char *type, const struct jw_member *members,
	       rpc_reply_fn fn, uint64_t tag)
{
	JW_BUF(w, b);
	uint32_t id = rpc_calls_add(&h->calls, fn, h, tag);
	char text[16];
	int r;

	if (!id)
		return -EBUSY;
	snprintf(text, sizeof(text), "%u", id);
	jw_obj(&w, NULL);
	jw_str(&w, "id", text);
	jw_str(&w, "type", type);
	if (members)
		jw_put(&w, members);
	jw_end_obj(&w);
	r = harness_send(&h->host, &b);
	if (r < 0)
		rpc_calls_drop(&h->calls, id);
	return r;
}

/* error is a raw string here, not an object: Pi has no error codes. */
void pi_reply_error(const struct rpc_msg *m, char *ret, size_t size)
{
	_cleanup_(freep) char *text = NULL;
	struct jval v;

	if (jscan_value(m->error, &v) != JSCAN_OK || jstr_decode_shown(v, 64 * KIB, &text) < 0 ||
	    !*text)
		xstrset(&text, "Pi refused without saying why");
	snprintf(ret, size, "%s", text);
	err_flatten(ret);
}

/* --- opening -------------------------------------------------------------------------------------- */

void pi_open_failed(struct harness *h, const char *what)
{
	struct err e;

	if (h->phase != PI_OPENING)
		return;
	h->phase = PI_FAILED;
	err_set(&e, -EPIPE, RPC_INTERNAL_ERROR, "HARNESS_OPEN_FAILED", "%s", what);
	h->host.ops->failed(h->host.ctx, &e);
}

static void on_commands(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	if (m && !m->error.n)
		pi_commands_emit(ctx, jobj_get(m->result, "commands").raw);
}

void pi_opened(struct harness *h)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct harness_ready ready = { .native_id = h->session_id,
				       .version = h->version,
				       .caps = h->caps };
	struct jw w = JW(&b);

	if (h->phase != PI_OPENING)
		return;
	pi_options_put(h, &w, NULL);
	ready.config_options = buf_slice(&b);
	/* a session that was never prompted has nothing to lose */
	ready.restored = h->opened == HARNESS_RESTORE && !h->lost;
	h->phase = PI_READY;
	h->host.ops->ready(h->host.ctx, &ready);
	pi_call_of(h, "get_commands", NULL, on_commands, 0);
}

static void on_opening_model(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	/* refused: the list of options then shows what there is */
	if (m && pi_refresh(ctx, 0) < 0)
		pi_open_failed(ctx, "Pi does not read");
}

/* A resumed session keeps the model that it was last switched to. */
static bool want_other_model(const struct harness *h)
{
	if (!h->own_provider || !h->model)
		return false;
	if (!h->now_provider || !h->now_model || strcmp(h->now_provider, PI_PROVIDER) != 0)
		return true;
	return h->opened == HARNESS_NEW && strcmp(h->now_model, h->model) != 0;
}

static void on_available_models(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	int r;

	if (!m)
		return;
	if (!jraw_set(&h->models, jobj_get(m->result, "models"), J_ARRAY))
		xstrset(&h->models, NULL);
	r = want_other_model(h) ? pi_send_model(h, PI_PROVIDER, h->model, on_opening_model, 0) :
				  pi_refresh(h, 0);
	if (r < 0)
		pi_open_failed(h, "Pi does not read");
}

static void forget_key(struct harness *h)
{
	secret_text_wipe(h->key);
	free(TAKE_PTR(h->key));
}

/* Only if the bridge is there: without it the command would be a prompt. Not in the environment, which commands
 * of the model could read in /proc. Pi answers a command without id without one, and we do not wait. */
static void tell_key(struct harness *h)
{
	_cleanup_(secret_buf_done) struct buf command = { 0 }, b = { 0 };
	struct jw c = JW(&command), w = JW(&b);

	if (!h->key)
		return;
	buf_puts(&command, PI_BRIDGE_COMMANDS "key ");
	jw_object(&c, NULL, JW_STR("key", h->key));
	jw_object(&w, NULL, JW_STR("type", "prompt"), JW_SLICE("message", buf_slice(&command)));
	h->host.ops->send(h->host.ctx, buf_slice(&b));
	forget_key(h);
}

static void on_first_state(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	char text[200];

	if (!m)
		return;
	if (m->error.n) {
		pi_reply_error(m, text, sizeof(text));
		pi_open_failed(h, text);
		return;
	}
	pi_on_state(h, m->result);
	/* Messages are the proof that Pi found the session; the bridge only knows that it was once
	 * prompted. */
	if (!slice_is(jobj_get(m->result, "messageCount").raw, "0"))
		h->lost = false;
	/* The bridge reports the version, and does so before Pi answers its first command. */
	if (!h->version) {
		pi_open_failed(h, "Pi did not load the bridge extension");
		return;
	}
	tell_key(h);
	if (pi_call_of(h, "get_available_models", NULL, on_available_models, 0) < 0)
		pi_open_failed(h, "Pi does not read");
}

static int pi_start(struct harness *h, struct err *e)
{
	if (pi_call_of(h, "get_state", NULL, on_first_state, 0) < 0)
		return err_set(e, -EPIPE, RPC_INTERNAL_ERROR, "HARNESS_OPEN_FAILED",
			       "Pi closed its input at once");
	return 0;
}

/* --- records ---------------------------------------------------------------------------------------- */

static void on_response(struct harness *h, const struct pi_record *r)
{
	struct jslot s[] = { { .key = "success" }, { .key = "data" }, { .key = "error" } };
	struct rpc_msg m = { .kind = RPC_RESPONSE, .id = r->m[M_ID].v.raw };

	if (r->m[M_ID].v.type != J_STRING || jscan_object(r->line, s, ARRAY_SIZE(s)) != JSCAN_OK)
		return;
	/* Pi returns the number of the call as a JSON string, without whose quotes it is the id. */
	m.id = (struct slice){ m.id.p + 1, m.id.n - 2 };
	m.result = s[1].v.raw;
	if (s[0].v.type != J_TRUE)
		m.error = s[2].v.type == J_STRING ? s[2].v.raw : SLICE("\"\"");
	rpc_calls_reply(&h->calls, &m);
}

static const struct {
	const char *type;
	void (*fn)(struct harness *h, const struct pi_record *r);
	bool in_turn; /* ignored when no prompt of the client runs */
} records[] = {
	{ "message_update", pi_on_message_update, true },
	{ "response", on_response, false },
	{ "tool_execution_update", pi_on_tool_update, true },
	{ "tool_execution_start", pi_on_tool_start, true },
	{ "tool_execution_end", pi_on_tool_end, true },
	{ "message_start", pi_on_message_start, true },
	{ "message_end", pi_on_message_end, true },
	{ "extension_ui_request", pi_on_dialog, false },
	{ "agent_start", pi_on_agent_start, true },
	{ "agent_settled", pi_on_settled, true },
	{ "auto_retry_start", pi_on_retry, true },
	{ "summarization_retry_scheduled", pi_on_retry, false },
	{ "compaction_start", pi_on_compaction_start, false },
	{ "compaction_end", pi_on_compaction_end, false },
	{ "queue_update", pi_on_queue, false },
	{ "session_info_changed", pi_on_title, false },
	{ "thinking_level_changed", pi_on_level, false },
	{ "extension_error", pi_on_extension_error, false },
};

static void dispatch_record(struct harness *h, const struct pi_record *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		if (!jstr_is(r->m[M_TYPE].v, records[i].type))
			continue;
		if (!records[i].in_turn || h->turn.running)
			records[i].fn(h, r);
		return;
	}
}

static int pi_on_line(struct harness *h, struct slice line, struct err *e _unused_)
{
	struct pi_record r = {
		.m = { [M_TYPE] = { .key = "type" },
		       [M_ID] = { .key = "id" },
		       [M_EVENT] = { .key = "assistantMessageEvent" },
		       [M_MESSAGE] = { .key = "message" },
		       [M_CALL] = { .key = "toolCallId" },
		       [M_TOOL] = { .key = "toolName" },
		       [M_ARGS] = { .key = "args" },
		       [M_PARENT] = { .key = "parentToolCallId" },
		       [M_RESULT] = { .key = "result" },
		       [M_PARTIAL] = { .key = "partialResult" },
		       [M_IS_ERROR] = { .key = "isError" } },
		.delta = { [D_TYPE] = { .key = "type" },
			   [D_INDEX] = { .key = "contentIndex" },
			   [D_DELTA] = { .key = "delta" },
			   [D_CONTENT] = { .key = "content" },
			   [D_ID] = { .key = "id" },
			   [D_TOOL] = { .key = "toolName" },
			   [D_CALL] = { .key = "toolCall" } },
	};
	bool repair;

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (!line.n)
		return 0;
	r.line = line;
	r.m[M_EVENT].sub = r.delta;
	r.m[M_EVENT].nsub = D_COUNT;
	if (jscan_message(line, r.m, M_COUNT, &repair) != JSCAN_OK ||
	    r.m[M_TYPE].v.type != J_STRING)
		return HARNESS_NOT_A_MESSAGE;
	/* The core repairs the text and passes the line again. */
	if (repair)
		return -EILSEQ;
	dispatch_record(h, &r);
	return 0;
}

/* --- life ------------------------------------------------------------------------------------------- */

static struct harness *pi_open(const struct harness_def *def, const struct harness_req *req,
			       const struct harness_host *host)
{
	struct harness *h = new0(struct harness);

	h->host = *host;
	h->caps = def->caps;
	h->opened = req->mode;
	h->own_provider = req->provider;
	h->key = req->provider ? xstrdup(req->provider->key) : NULL;
	h->elicitation = req->elicitation;
	h->rules = req->rules;
	/* A fork has the id of the session that it was copied from (plan.c). */
	h->session_id = xstrdup(req->native_id ? req->native_id : req->session_id);
	h->cwd = xstrdup(req->cwd);
	h->model = xstrdup(req->model);
	if (req->mcp_servers.n)
		h->mcp_servers = xstrndup(req->mcp_servers.p, req->mcp_servers.n);
	rpc_calls_init(&h->calls);
	list_init(&h->tool_calls);
	list_init(&h->asks);
	return h;
}

static struct harness *pi_free(struct harness *h)
{
	if (!h)
		return NULL;
	h->phase = PI_FAILED;
	/* before anything is freed: each open call is ended by its function, which reads h */
	rpc_calls_done(&h->calls);
	pi_asks_drop(h, false);
	pi_calls_free(h);
	forget_key(h);
	free_each(h->session_id, h->cwd, h->model, h->mcp_servers, h->version, h->now_model,
		  h->now_provider, h->now_level, h->now_mode, h->now_approval, h->models, h->levels,
		  h);
	return NULL;
}

/* By the bridge's hook before each call. */
static const struct harness_asking *pi_asks(const struct harness_def *def _unused_,
					    enum harness_approval approval _unused_,
					    bool inner_sandbox _unused_)
{
	static const struct harness_asking asks[CALL_MAX] = {
		[CALL_READ] = { true, NULL },	 [CALL_EDIT] = { true, NULL },
		[CALL_EXECUTE] = { true, NULL }, [CALL_MCP] = { true, NULL },
		[CALL_OTHER] = { true, NULL },
	};

	return asks;
}

const struct harness_ops harness_pi = {
	.name = "pi",
	.asks = pi_asks,
	.plan = pi_plan,
	.open = pi_open,
	.start = pi_start,
	.on_line = pi_on_line,
	.limit = pi_limit,
	.limit_holds = true,
	.reports_calls = true,
	.prompt = pi_prompt,
	.cancel = pi_cancel,
	.answer = pi_answer,
	.set_config = pi_set_config,
	.steer = pi_steer,
	.on_timer = pi_on_timer,
	.free = pi_free,
};
