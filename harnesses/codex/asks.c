/*
 * asks.c - Codex's requests. An approval becomes a permission request whose options each have their answer ready. What
 * the session's approval allows is answered by this code. What nobody can answer is refused at once, since Codex waits
 * for ever. Reject is "decline", after which the turn goes on; only a cancelled question is "cancel", which ends it.
 */
#include "harnesses/codex/internal.h"

static const struct {
	const char *kind, *name;
} kinds[] = {
	{ "allow_once", "Allow" },
	{ "allow_always", "Allow from now on" },
	{ "reject_once", "Reject" },
	{ "reject_always", "Reject from now on" },
};

/* The words of an approval's answer, raw. */
struct ask_words {
	const char *accept, *session, *decline, *cancel;
};

static const struct ask_words words = { "\"accept\"", "\"acceptForSession\"", "\"decline\"",
					"\"cancel\"" };
static const struct ask_words old_words = { "\"approved\"", "\"approved_for_session\"",
					    "{\"denied\":{\"rejection\":\"rejected by user\"}}",
					    "\"abort\"" };

/* --- the table of open questions -------------------------------------------------------------------------- */

struct codex_ask *codex_ask_new(struct harness *h, struct slice rpc_id)
{
	struct codex_ask *a = new0(struct codex_ask);

	a->id = ++h->last_ask;
	a->rpc_id = xstrndup(rpc_id.p, rpc_id.n);
	list_add_tail(&h->asks, &a->link);
	return a;
}

static void codex_ask_free(struct codex_ask *a)
{
	list_del(&a->link);
	for (size_t i = 0; i < a->nchoices; i++)
		free(a->choices[i].result);
	free_each(a->rpc_id, a->item_id, a->remember, a->on_cancel, a->questions, a);
}

/* Each question is freed before the host is called, which must not find it again. */
void codex_asks_drop(struct harness *h, bool tell)
{
	list_drain(a, &h->asks, struct codex_ask, link) {
		uint64_t id = a->id;

		codex_ask_free(a);
		if (tell)
			h->host.ops->unask(h->host.ctx, id);
	}
}

/* serverRequest/resolved: Codex no longer waits, so an answer would be for nothing. */
void codex_on_resolved(struct harness *h, struct slice params)
{
	struct slice id = jobj_get(params, "requestId").raw;

	list_each(a, &h->asks, struct codex_ask, link) {
		uint64_t ask = a->id;

		if (!slice_is(id, a->rpc_id))
			continue;
		codex_ask_free(a);
		h->host.ops->unask(h->host.ctx, ask);
		return;
	}
}

void codex_respond(struct harness *h, struct slice rpc_id, struct slice result)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_result(&b, rpc_id, result);
	harness_send(&h->host, &b);
}

/* At most one answer of each kind. */
static void add_choice(struct codex_ask *a, const char *kind, char *result)
{
	for (size_t i = 0; i < a->nchoices; i++) {
		if (strcmp(a->choices[i].kind, kind) == 0 || a->nchoices >= ASK_CHOICES_MAX) {
			free(result);
			return;
		}
	}
	a->choices[a->nchoices++] = (struct codex_choice){ kind, result };
}

static const char *find_choice(const struct codex_ask *a, const char *kind)
{
	for (size_t i = 0; i < a->nchoices; i++)
		if (strcmp(a->choices[i].kind, kind) == 0)
			return a->choices[i].result;
	return NULL;
}

/* --- answers ------------------------------------------------------------------------------------------------ */

static void settle_ask(struct harness *h, struct codex_ask *a, const char *kind)
{
	const char *result = kind ? find_choice(a, kind) : NULL;
	struct codex_item *it = codex_item_find(h, a->item_id);
	/* "allow_once" or "allow_always"; a kind that was not among the choices has no result. */
	bool allowed = result && slice_starts(slice_of(kind), "allow");

	if (allowed && a->remember && strcmp(kind, "allow_always") == 0)
		strv_add(&h->allowed, xstrdup(a->remember));
	codex_respond(h, slice_of(a->rpc_id), slice_of(result ? result : a->on_cancel));
	codex_ask_free(a);
	/* The client saw the call as pending until now. */
	if (allowed && it)
		codex_item_goes_on(h, it);
}

void codex_answer(struct harness *h, uint64_t ask_id, struct slice result)
{
	struct slice outcome = jobj_get(result, "outcome").raw;
	_cleanup_(freep) char *option = NULL;

	list_each(a, &h->asks, struct codex_ask, link) {
		if (a->id != ask_id)
			continue;
		/* Only elicitations have no prepared results: their answer is built from the client's
		 * content. */
		if (!a->on_cancel) {
			codex_elicit_answer(h, a, result);
			codex_ask_free(a);
			return;
		}
		if (jstr_is(jobj_get(outcome, "outcome"), "selected"))
			option = codex_str(outcome, "optionId");
		settle_ask(h, a, option);
		return;
	}
}

/* --- approvals ---------------------------------------------------------------------------------------------- */

static char *decision(struct slice raw)
{
	return xprintf("{\"decision\":%.*s}", (int)raw.n, raw.p);
}

/* An amendment to the rules: from now on commands that begin so, or hosts, are allowed or refused. */
static const char *kind_of_decision(struct jval v)
{
	struct slice network = jobj_get(v.raw, "applyNetworkPolicyAmendment").raw;
	struct slice rule = jobj_get(network, "network_policy_amendment").raw;

	if (jstr_is(v, "acceptForSession"))
		return "allow_always";
	if (v.type != J_OBJECT)
		return NULL;
	if (network.n)
		return jstr_is(jobj_get(rule, "action"), "deny") ? "reject_always" : "allow_always";
	return jobj_get(v.raw, "acceptWithExecpolicyAmendment").type == J_OBJECT ? "allow_always" :
										   NULL;
}

/* limited: Codex would not ask again about what it allows for good. */
static void put_decisions(struct codex_ask *a, const struct ask_words *say, struct jval offered,
			  bool limited)
{
	add_choice(a, "allow_once", decision(slice_of(say->accept)));
	if (limited) {
		add_choice(a, "allow_always", decision(slice_of(say->accept)));
	} else if (offered.type == J_ARRAY) {
		jarr_each(v, offered)
			if (kind_of_decision(v))
				add_choice(a, kind_of_decision(v), decision(v.raw));
	} else {
		add_choice(a, "allow_always", decision(slice_of(say->session)));
	}
	add_choice(a, "reject_once", decision(slice_of(say->decline)));
	a->on_cancel = decision(slice_of(say->cancel));
}

/* What Codex wants to run may be a part of what its item shows: then that part is what is asked. */
static bool shows_command(const struct codex_item *it, struct slice params)
{
	struct slice asked = jobj_get(params, "command").raw;
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!asked.n)
		return true;
	/* body has members only (internal.h); the braces make it an object. */
	buf_printf(&b, "{%.*s}", (int)buf_len(&it->body), buf_slice(&it->body).p);
	return !b.failed &&
	       slice_eq(asked, jobj_get(jobj_get(buf_slice(&b), "rawInput").raw, "command").raw);
}

static void put_asked_call(struct harness *h, struct jw *w, const struct codex_ask *a,
			   struct slice params, const char *title)
{
	struct codex_item *it = codex_item_find(h, a->item_id);
	struct jval reason = jobj_get(params, "reason");
	const char *id = SHORT_TEXT(40, "ask-%llu", (unsigned long long)a->id);

	jw_obj(w, "toolCall");
	/* An approval can name an item that was never reported, or none: then an id of the question's
	 * own. */
	jw_str(w, "toolCallId", it ? it->shown : a->item_id ? a->item_id : id);
	jw_str(w, "status", "pending");
	if (it && buf_len(&it->body) && shows_command(it, params)) {
		jw_raw(w, NULL, buf_slice(&it->body));
	} else {
		jw_str(w, "title", title);
		jw_str(w, "name", a->tool);
		jw_raw(w, "rawInput", params);
	}
	if (reason.type == J_STRING)
		jw_object(w, "_meta", JW_RAW("reason", reason.raw));
	jw_end_obj(w);
}

static void put_ask_options(struct jw *w, const struct codex_ask *a)
{
	jw_arr(w, "options");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!find_choice(a, kinds[i].kind))
			continue;
		jw_object(w, NULL, JW_STR("optionId", kinds[i].kind), JW_STR("name", kinds[i].name),
			  JW_STR("kind", kinds[i].kind));
	}
	jw_end_arr(w);
}

/* Asks the client, unless the session's approval decides it or the answer is not needed. Rules come before that approval. */
static void ask_client(struct harness *h, struct codex_ask *a, struct slice params,
		       const char *title, bool allowed)
{
	JW_BUF(w, b);
	struct harness_ask out = { .id = a->id, .wide = a->wide };

	/* There is no turn that a client could be asked about. NULL answers with on_cancel. */
	if (h->cancelled || h->turn == TURN_NONE) {
		settle_ask(h, a, h->cancelled ? NULL : "reject_once");
		return;
	}
	/* With rules, the core decides about each call, and learns here what the approval would allow. */
	out.approved = allowed || h->now.approval == APPROVAL_NEVER;
	if (out.approved && !h->ruled) {
		settle_ask(h, a, "allow_once");
		return;
	}
	jw_obj(&w, NULL);
	put_asked_call(h, &w, a, params, title);
	put_ask_options(&w, a);
	jw_end_obj(&w);
	out.params = buf_slice(&b);
	h->host.ops->ask(h->host.ctx, &out);
}

static void on_command(struct harness *h, const struct rpc_msg *m)
{
	_cleanup_(freep) char *command = codex_str(m->params, "command");
	_cleanup_(freep) char *title = codex_command_text(command ? command : "a command");
	struct codex_ask *a = codex_ask_new(h, m->id);

	a->item_id = codex_str(m->params, "itemId");
	/* Network access and additional permissions are not visible in the call that the client is
	 * shown. */
	a->wide = jobj_get(m->params, "networkApprovalContext").type == J_OBJECT ||
		  jobj_get(m->params, "additionalPermissions").type == J_OBJECT;
	put_decisions(a, &words, jobj_get(m->params, "availableDecisions"), h->limited);
	if (h->limited && command)
		a->remember = xprintf("$ %s", command); /* a tool's name has no space */
	ask_client(h, a, m->params, title,
		   a->remember && codex_name_known(h->allowed, a->remember));
}

static void on_patch(struct harness *h, const struct rpc_msg *m)
{
	struct codex_ask *a = codex_ask_new(h, m->id);
	struct codex_item *it;

	a->item_id = codex_str(m->params, "itemId");
	it = codex_item_find(h, a->item_id);
	a->wide = jobj_get(m->params, "grantRoot").type == J_STRING;
	put_decisions(a, &words, jobj_get(m->params, "availableDecisions"), h->limited);
	if (h->now.mode == MODE_PLAN) { /* to Codex that mode is only an instruction to the model */
		settle_ask(h, a, h->cancelled ? NULL : "reject_once");
		return;
	}
	ask_client(h, a, m->params, "Edit files",
		   h->now.approval == APPROVAL_ACCEPT_EDITS && it && !a->wide &&
			   codex_item_in_workspace(h, it));
}

/* The requests of older releases; they have no list of decisions. */
static void on_old_approval(struct harness *h, const struct rpc_msg *m)
{
	struct codex_ask *a = codex_ask_new(h, m->id);

	a->item_id = codex_str(m->params, "callId");
	put_decisions(a, &old_words, (struct jval){ 0 }, h->limited);
	ask_client(h, a, m->params,
		   strcmp(m->method, "applyPatchApproval") == 0 ? "Edit files" : "Run a command",
		   false);
}

static char *grant(struct slice permissions, const char *scope)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_obj(&w, "permissions");
	jobj_each(key, v, permissions)
		if (v.type != J_NULL) /* requested as null, granted by absence */
			jw_member_raw(&w, key, v.raw);
	jw_end_obj(&w);
	jw_str(&w, "scope", scope);
	jw_end_obj(&w);
	return b.failed ? NULL : xstrndup(b.data, b.len);
}

static void on_permissions(struct harness *h, const struct rpc_msg *m)
{
	struct jval asked = jobj_get(m->params, "permissions");
	struct slice wanted = asked.type == J_OBJECT ? asked.raw : SLICE_NONE;
	struct codex_ask *a = codex_ask_new(h, m->id);

	a->item_id = codex_str(m->params, "itemId");
	a->wide = true;
	add_choice(a, "allow_once", grant(wanted, "turn"));
	add_choice(a, "allow_always", grant(wanted, "session"));
	/* There is no refusal in this request's answer: an empty grant is one. */
	add_choice(a, "reject_once", grant(SLICE_NONE, "turn"));
	a->on_cancel = grant(SLICE_NONE, "turn");
	ask_client(h, a, m->params, "Wider permissions", false);
}

/* --- MCP ---------------------------------------------------------------------------------------------------- */

/* Codex has no "always" for a tool that is asked every time, so it is remembered here. */
static void on_mcp_approval(struct harness *h, const struct rpc_msg *m, struct slice meta)
{
	_cleanup_(freep) char *server = codex_str(m->params, "serverName");
	_cleanup_(freep) char *tool = codex_str(meta, "tool_name"), *text = NULL;
	struct codex_ask *a = codex_ask_new(h, m->id);
	struct codex_item *it;

	a->remember = xprintf("%s/%s", server ? server : "?", tool ? tool : "?");
	a->tool = a->remember;
	/* The request does not name the item of the call, so the call is found by server and tool. */
	it = codex_item_find_mcp(h, a->remember);
	a->item_id = it ? xstrdup(it->id) : NULL;
	text = codex_shown(m->params, "message");
	add_choice(a, "allow_once",
		   xstrdup("{\"action\":\"accept\",\"content\":null,\"_meta\":null}"));
	add_choice(a, "allow_always",
		   xstrdup("{\"action\":\"accept\",\"content\":null,\"_meta\":null}"));
	add_choice(a, "reject_once",
		   xstrdup("{\"action\":\"decline\",\"content\":null,\"_meta\":null}"));
	a->on_cancel = xstrdup("{\"action\":\"cancel\",\"content\":null,\"_meta\":null}");
	ask_client(h, a, m->params, text ? text : a->tool,
		   codex_name_known(h->allowed, a->remember));
}

static void on_elicitation(struct harness *h, const struct rpc_msg *m)
{
	struct slice meta = jobj_get(m->params, "_meta").raw;

	if (jstr_is(jobj_get(meta, "codex_approval_kind"), "mcp_tool_call"))
		on_mcp_approval(h, m, meta);
	else
		codex_elicitation(h, m);
}

/* --- all ---------------------------------------------------------------------------------------------------- */

static const struct {
	const char *method;
	void (*fn)(struct harness *h, const struct rpc_msg *m);
} requests[] = {
	{ "item/commandExecution/requestApproval", on_command },
	{ "item/fileChange/requestApproval", on_patch },
	{ "item/permissions/requestApproval", on_permissions },
	{ "mcpServer/elicitation/request", on_elicitation },
	{ "item/tool/requestUserInput", codex_user_input },
	{ "execCommandApproval", on_old_approval },
	{ "applyPatchApproval", on_old_approval },
};

void codex_on_request(struct harness *h, const struct rpc_msg *m)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err e;

	/* A request means that the model has answered: silence.c stops waiting. */
	if (h->thread_id && jstr_is(jobj_get(m->params, "threadId"), h->thread_id))
		codex_answer_begun(h);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		if (strcmp(m->method, requests[i].method) == 0) {
			requests[i].fn(h, m);
			return;
		}
	}
	/* Codex waits for ever for an answer, so an unknown request is refused at once. */
	err_set(&e, -EINVAL, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND", "Method not found");
	rpc_put_error(&b, m->id, &e, SLICE_NONE);
	harness_send(&h->host, &b);
}
