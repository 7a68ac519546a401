/*
 * asks.c - requests of the agent: permissions and elicitations become asks of the core, all else is refused.
 *
 * What the session's approval decides already is answered here, without the core. That changes where the session has rules:
 * then the core has to see each question, and is told what the approval would have said.
 */
#include "harnesses/acp/internal.h"

#include "base/limits.h"
#include "harnesses/adapter.h"
#include "harnesses/inside.h"
#include "json/json.h"

static struct agent_ask *find_ask(struct harness *h, uint64_t id)
{
	list_each(a, &h->asks, struct agent_ask, link)
		if (a->id == id)
			return a;
	return NULL;
}

static void agent_ask_free(struct agent_ask *a)
{
	list_del(&a->link);
	free_each(a->rpc_id, a);
}

static void acp_refuse(struct harness *h, struct slice id, int code, const char *reason,
		       const char *text)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err e;

	err_set(&e, -EINVAL, code, reason, "%s", text);
	rpc_put_error(&b, id, &e, SLICE_NONE);
	harness_send(&h->host, &b);
}

/* The option that allows; one that allows for good, if that is wanted and there is one. Empty: none. */
static struct slice allowing_option(struct slice params, bool for_good)
{
	struct jval options = jobj_get(params, "options");
	struct slice found = SLICE_NONE;

	jarr_each(v, options) {
		struct jval kind = jobj_get(v.raw, "kind");

		if (for_good && jstr_is(kind, "allow_always"))
			return jobj_get(v.raw, "optionId").raw;
		if (jstr_is(kind, "allow_once") && !found.n)
			found = jobj_get(v.raw, "optionId").raw;
	}
	return found;
}

/* Each location of the call; a call that names none may be of any file. */
static bool edits_inside(const struct harness *h, struct slice call)
{
	struct jval locations = jobj_get(call, "locations");
	size_t n = 0;

	if (!jstr_is(jobj_get(call, "kind"), "edit") || locations.type != J_ARRAY)
		return false;
	jarr_each(v, locations) {
		_cleanup_(freep) char *path = NULL;

		if (jstr_decode(jobj_get(v.raw, "path"), PATH_BYTES_MAX, &path) < 0 ||
		    !harness_inside(path, h->cwd, slice_of(h->additional_dirs)))
			return false;
		n++;
	}
	return n > 0;
}

unsigned acp_rules(const struct harness *h)
{
	return h->host.ops->rules(h->host.ctx);
}

/* Where there are rules the agent was left in the mode that asks, and its approval is ours to know. */
static bool approved(const struct harness *h, struct slice call)
{
	if (h->approval == APPROVAL_NEVER ||
	    (acp_rules(h) & HARNESS_RULES_READS && h->quirks->reads_unasked &&
	     h->quirks->reads_unasked(call)))
		return true;
	return h->approval == APPROVAL_ACCEPT_EDITS && (h->quirks->edits_by_us || acp_rules(h)) &&
	       edits_inside(h, call);
}

/* Answers what the session's approval decides already; only for this one time if it depends on where a file lies. */
static bool allow_at_once(struct harness *h, const struct rpc_msg *m)
{
	struct slice option = allowing_option(m->params, h->approval == APPROVAL_NEVER);
	_cleanup_(buf_done) struct buf result = { 0 }, b = { 0 };
	struct jw w = JW(&result);

	if (!option.n || !approved(h, jobj_get(m->params, "toolCall").raw))
		return false;
	jw_object(&w, NULL,
		  JW_OBJ("outcome", JW_STR("outcome", "selected"), JW_RAW("optionId", option)));
	rpc_put_result(&b, m->id, buf_slice(&result));
	harness_send(&h->host, &b);
	return true;
}

void acp_on_request(struct harness *h, const struct rpc_msg *m)
{
	bool permission = strcmp(m->method, "session/request_permission") == 0;
	bool elicitation = strcmp(m->method, "elicitation/create") == 0;
	struct harness_ask out;
	struct agent_ask *a;

	if (!permission && !(elicitation && h->elicitation)) {
		acp_refuse(h, m->id, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND", "Method not found");
		return;
	}
	/* A client could not show it; the agent gets an error instead of no answer. */
	if (permission && acp_permission_check(m->params) < 0) {
		acp_refuse(h, m->id, RPC_INVALID_PARAMS, "PARAMS_INVALID",
			   "malformed permission request");
		return;
	}
	if (permission && !acp_rules(h) && allow_at_once(h, m))
		return;
	a = new0(struct agent_ask);
	a->id = ++h->last_ask;
	a->rpc_id = xstrndup(m->id.p, m->id.n);
	list_add_tail(&h->asks, &a->link);
	out = (struct harness_ask){ .id = a->id,
				    .elicitation = elicitation,
				    .approved = permission &&
						approved(h, jobj_get(m->params, "toolCall").raw),
				    .params = m->params };
	h->host.ops->ask(h->host.ctx, &out);
}

/* The agent withdraws its request. */
void acp_on_cancel_request(struct harness *h, struct slice params)
{
	struct slice id = jobj_get(params, "requestId").raw;

	list_each(a, &h->asks, struct agent_ask, link) {
		uint64_t ask = a->id;

		if (!slice_is(id, a->rpc_id))
			continue;
		/* The request is still open for the agent: ACP has it answered with this error. */
		acp_refuse(h, id, RPC_CANCELLED, "CANCELLED", "Request cancelled");
		agent_ask_free(a);
		h->host.ops->unask(h->host.ctx, ask);
		return;
	}
}

void harness_acp_answer(struct harness *h, uint64_t ask_id, struct slice result)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct agent_ask *a = find_ask(h, ask_id);

	/* The agent withdrew the request before the answer arrived. */
	if (!a)
		return;
	rpc_put_result(&b, slice_of(a->rpc_id), result);
	agent_ask_free(a);
	harness_send(&h->host, &b);
}

void acp_asks_free(struct harness *h)
{
	while (!list_empty(&h->asks))
		agent_ask_free(list_first(&h->asks, struct agent_ask, link));
}

const struct harness_asking *harness_acp_asks(const struct harness_def *def,
					      enum harness_approval approval _unused_,
					      bool inner_sandbox _unused_)
{
	return def->quirks ? def->quirks->asks : NULL;
}
