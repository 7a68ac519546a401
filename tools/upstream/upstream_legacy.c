/*
 * upstream_legacy.c - calls, results and notifications between callers of 2026-07-28 and a legacy
 * server.
 *
 * legacy_call_put_result writes new members before the raw result without parsing it, unless the
 * result has members of these names. A message that names no call reaches a call only if all
 * candidates have the same caller: no caller sees the log of another. A result that arrives while
 * the caller is away is stored until its retry.
 */
#include "tools/upstream/upstream_legacy.h"

#include "base/limits.h"
#include "json/json.h"
#include "tools/mcp/msg.h"
#include "tools/upstream/upstream_legacy_internal.h"

#include <sys/random.h>

/* A request whose answer nobody waits for: a log level, a subscription that is made or ended
 * again. */
struct background_request {
	struct list link;
	struct upstream_rpc_request rq;
};

/* --- beginning and end ------------------------------------------------------------------------------------ */

/* Every revision before 2026-07-28. A server with another one is not spoken to. */
static bool revision_known(const char *revision)
{
	static const char *const known[] = { "2025-11-25", "2025-06-18", "2025-03-26",
					     "2024-11-05" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(revision, known[i]) == 0)
			return true;
	return false;
}

/* A capability that is not announced is absent. */
static void read_capabilities(struct legacy *l, struct slice caps)
{
	struct jslot s[] = { { .key = "logging" },
			     { .key = "tools" },
			     { .key = "prompts" },
			     { .key = "resources" } };

	if (!caps.n || jscan_object(caps, s, ARRAY_SIZE(s)) != JSCAN_OK)
		return;
	l->logging = s[0].v.type == J_OBJECT;
	l->tools_changed = jobj_is_true(s[1].v.raw, "listChanged");
	l->prompts_changed = jobj_is_true(s[2].v.raw, "listChanged");
	l->resources_changed = jobj_is_true(s[3].v.raw, "listChanged");
	l->subscribe = jobj_is_true(s[3].v.raw, "subscribe");
}

/* Writes the result of initialize as that of server/discover. */
static void legacy_put_discovered(struct legacy *l, struct jval caps, struct jval server)
{
	static const char *const not_here[] = { "protocolVersion", "serverInfo", NULL };
	static const char *const no_caps[] = { "tasks",
					       NULL }; /* another meaning of the same name */
	_cleanup_(buf_done) struct buf members = { 0 }, kept = { 0 }, merged = { 0 }, meta = { 0 };

	buf_puts(&members, "\"resultType\":\"complete\",\"supportedVersions\":[\"" MCP_MODERN
			   "\"],\"capabilities\":");
	mcp_object_strip(&members, caps.type == J_OBJECT ? caps.raw : SLICE("{}"), no_caps);
	buf_puts(&members, ",\"ttlMs\":0,\"cacheScope\":\"private\"");
	mcp_object_strip(&kept, buf_slice(&l->hello), not_here);
	mcp_object_merge(&merged, buf_slice(&kept), buf_slice(&members));
	if (server.type != J_OBJECT) {
		buf_add_slice(&l->discover, buf_slice(&merged));
		return;
	}
	buf_puts(&meta, "\"" MCP_META_SERVER "\":");
	buf_add_slice(&meta, server.raw);
	mcp_meta_merge(&l->discover, buf_slice(&merged), buf_slice(&meta));
}

struct legacy *legacy_new(struct upstream *u, struct slice hello, char **revision)
{
	struct jslot s[] = { { .key = "protocolVersion" },
			     { .key = "capabilities" },
			     { .key = "serverInfo" } };
	_cleanup_(freep) char *chosen = NULL;
	struct legacy *l;

	if (jscan_object(hello, s, ARRAY_SIZE(s)) != JSCAN_OK ||
	    jstr_decode(s[0].v, MCP_TEXT_MAX, &chosen) < 0 || !revision_known(chosen))
		return NULL;
	l = new0(struct legacy);
	l->u = u;
	l->level = SEVERITY_NONE;
	list_init(&l->calls);
	list_init(&l->background);
	list_init(&l->listens);
	list_init(&l->watched);
	/* The key of requestState lives as long as the connection: no state is valid for the
	 * next one. */
	if (getrandom(l->secret, sizeof(l->secret), 0) != sizeof(l->secret))
		abort();
	buf_add_slice(&l->hello, hello);
	read_capabilities(l, s[1].v.raw);
	legacy_put_discovered(l, s[1].v, s[2].v);
	*revision = TAKE_PTR(chosen);
	return l;
}

static void errand_over(void *ctx, struct slice result _unused_, struct slice error _unused_)
{
	struct background_request *e = ctx;

	upstream_rpc_forget(&e->rq);
	list_del(&e->link);
	free(e);
}

struct legacy *legacy_free(struct legacy *l)
{
	if (!l)
		return NULL;
	list_each(lc, &l->calls, struct legacy_call, link)
		legacy_call_free(lc);
	list_each(e, &l->background, struct background_request, link)
		errand_over(e, SLICE_NONE, SLICE_NONE);
	legacy_subscription_done(l);
	secret_wipe(l->secret, sizeof(l->secret));
	buf_done(&l->hello);
	buf_done(&l->discover);
	free(l);
	return NULL;
}

struct slice legacy_hello(const struct legacy *l)
{
	return buf_slice(&l->hello);
}

void legacy_request_background(struct legacy *l, const char *method, struct slice params)
{
	struct background_request *e = new0(struct background_request);

	e->rq = (struct upstream_rpc_request){ .reply = errand_over, .ctx = e };
	list_add_tail(&l->background, &e->link);
	upstream_rpc_call(&l->u->rpc, &e->rq, method, params);
}

/* A new HTTP session of the server knows neither the log level nor the subscriptions of the
 * old one. */
void legacy_renewed(struct legacy *l)
{
	l->level = SEVERITY_NONE;
	legacy_subscription_again(l);
}

/* --- results ---------------------------------------------------------------------------------------------- */

static void legacy_call_put_result(struct buf *b, const struct legacy_call *lc, struct slice result)
{
	struct jslot marks[] = { { .key = "resultType" },
				 { .key = "ttlMs" },
				 { .key = "cacheScope" } };
	const char *more =
		lc->cacheable ?
			"\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"" :
			"\"resultType\":\"complete\"";
	bool marked = jscan_object(result, marks, ARRAY_SIZE(marks)) != JSCAN_OK;

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		marked |= marks[i].v.type != J_NONE;
	if (marked) { /* with a meaning of its own, which a modern caller would misread */
		mcp_object_merge(b, result, slice_of(more));
		return;
	}
	buf_putc(b, '{');
	buf_puts(b, more);
	if (jobj_has_members((struct jval){ J_OBJECT, result }))
		buf_putc(b, ',');
	buf_add(b, result.p + 1, result.n - 1);
}

/* A resource that does not exist has another code in 2026-07-28. */
static void legacy_call_put_error(struct buf *b, const struct legacy_call *lc, struct slice error)
{
	int64_t code = 0;

	if (lc->is_read && jdec_int(jobj_get(error, "code"), &code) == 0 && code == RPC_NOT_FOUND)
		mcp_object_merge(b, error, SLICE("\"code\":-32602"));
	else
		buf_add_slice(b, error);
}

/* Replaces an answer that is too large to be kept or rewritten by an error. */
static void put_too_large(struct buf *result, struct buf *error)
{
	struct err e;

	buf_done(result);
	buf_done(error);
	*error = (struct buf){ 0 };
	err_set(&e, -E2BIG, RPC_INTERNAL_ERROR, "MESSAGE_TOO_LARGE",
		"the MCP server's answer is too large");
	mcp_put_error(error, &e, SLICE_NONE);
}

static void legacy_call_on_reply(void *ctx, struct slice result, struct slice error)
{
	_cleanup_(buf_done) struct buf r = { 0 }, e = { 0 };
	struct legacy_call *lc = ctx;
	struct upstream_call *c = lc->outer;

	legacy_questions_drop_asks(lc);
	if (error.n)
		legacy_call_put_error(&e, lc, error);
	else
		legacy_call_put_result(&r, lc, result);
	if (r.failed || e.failed)
		put_too_large(&r, &e);
	if (!c) { /* the caller will come for it */
		lc->result = r;
		lc->error = e;
		r = e = (struct buf){ 0 };
		return;
	}
	/* Before the answer, because its receiver may free the server, and all calls with it. */
	c->inner = NULL;
	legacy_call_free(lc);
	upstream_call_done(c, buf_slice(&r), buf_slice(&e));
}

static void legacy_call_notify(void *ctx, const char *method, struct slice params)
{
	struct legacy_call *lc = ctx;

	if (lc && lc->outer)
		mcp_call_notify(&lc->outer->base, method, params);
}

void legacy_call_free(struct legacy_call *lc)
{
	list_del(&lc->link);
	upstream_rpc_forget(&lc->rq);
	legacy_questions_free(lc);
	free(lc);
}

/* --- calls ------------------------------------------------------------------------------------------------ */

static void legacy_set_level(struct legacy *l, enum mcp_severity level)
{
	char params[40];

	/* one level for all: the lowest that was requested; the rest is filtered for each caller */
	if (!l->logging || level == SEVERITY_NONE ||
	    (l->level != SEVERITY_NONE && l->level <= level))
		return;
	l->level = level;
	snprintf(params, sizeof(params), "{\"level\":\"%s\"}", mcp_severity_names[level]);
	legacy_request_background(l, "logging/setLevel", slice_of(params));
}

static void call_server(struct legacy *l, struct upstream_call *c, struct slice params)
{
	static const char *const modern[] = { MCP_META_VERSION, MCP_META_CAPABILITIES,
					      MCP_META_CLIENT,	MCP_META_LOG_LEVEL,
					      "acpd",		NULL };
	static const char *const rounds[] = { "inputResponses", "requestState", NULL };
	const struct mcp_method *method = mcp_method_find(c->method);
	unsigned flags = method ? method->flags : 0;
	_cleanup_(buf_done) struct buf sent = { 0 }, plain = { 0 };
	struct legacy_call *lc;

	/* Answers and state of a round are between the caller and us. */
	mcp_object_strip(&plain, params, rounds);
	if ((flags & MCP_MAY_ASK) && jobj_get(params, "requestState").type == J_STRING) {
		legacy_questions_resume(l, c, params, buf_slice(&plain));
		return;
	}
	mcp_meta_strip(&sent, buf_slice(&plain), modern);
	if (sent.failed || plain.failed) {
		upstream_call_refuse(c, &(struct err){ .rpc = RPC_INVALID_PARAMS,
						       .reason = "MESSAGE_TOO_LARGE",
						       .msg = "the request is too large" });
		return;
	}
	lc = new0(struct legacy_call);
	*lc = (struct legacy_call){ .l = l, .outer = c };
	lc->may_ask = flags & MCP_MAY_ASK;
	lc->cacheable = flags & MCP_CACHEABLE;
	lc->is_read = strcmp(c->method, "resources/read") == 0;
	lc->rq = (struct upstream_rpc_request){ .reply = legacy_call_on_reply,
						.notify = legacy_call_notify,
						.ctx = lc };
	list_add_tail(&l->calls, &lc->link);
	list_init(&lc->asks);
	c->inner = lc;
	legacy_questions_begin(lc, c, params, buf_slice(&plain));
	/* Before the call, whose first log messages come before its answer. */
	legacy_set_level(l, c->level);
	upstream_rpc_call(&l->u->rpc, &lc->rq, c->method, buf_slice(&sent));
}

static void discover(struct legacy *l, struct upstream_call *c, struct slice params _unused_)
{
	buf_add_slice(&c->result, buf_slice(&l->discover));
	upstream_call_later(c);
}

static void not_here(struct legacy *l _unused_, struct upstream_call *c,
		     struct slice params _unused_)
{
	struct err e;

	err_set(&e, -ENOSYS, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND",
		"%s is no method of " MCP_MODERN, c->method);
	upstream_call_refuse(c, &e);
}

void legacy_begin(struct legacy *l, struct upstream_call *c, struct slice params)
{
	static const struct {
		const char *method;
		void (*begin)(struct legacy *l, struct upstream_call *c, struct slice params);
	} rows[] = {
		{ "server/discover", discover },
		{ "subscriptions/listen", legacy_subscription_begin },
		{ "initialize", not_here },
		{ "ping", not_here },
		{ "logging/setLevel", not_here },
		{ "resources/subscribe", not_here },
		{ "resources/unsubscribe", not_here },
		{ "tasks/list",
		  not_here }, /* of the older tasks, whose capability is not passed on */
		{ "tasks/result", not_here },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].method, c->method) == 0) {
			rows[i].begin(l, c, params);
			return;
		}
	}
	call_server(l, c, params);
}

void legacy_cancel(struct upstream_call *c)
{
	struct legacy_call *lc = TAKE_PTR(c->inner);

	if (c->listen)
		legacy_subscription_end(c, true);
	if (!lc)
		return;
	legacy_questions_drop_asks(lc);
	upstream_rpc_cancel(&lc->l->u->rpc, &lc->rq);
	legacy_call_free(lc);
}

/* As legacy_cancel, but without a word to the server: the connection has ended. */
void legacy_detach(struct upstream_call *c)
{
	struct legacy_call *lc = TAKE_PTR(c->inner);

	if (c->listen)
		legacy_subscription_end(c, false);
	if (lc)
		legacy_call_free(lc);
}

/* --- what the server sends by itself ------------------------------------------------------------------------ */

static bool same_who(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* The call that a message belongs to: that of the stream it came on; else one of the possible ones, if all are the same
 * caller's. */
static struct legacy_call *legacy_call_find(struct legacy *l, uint32_t origin,
					    bool (*could)(const struct legacy_call *lc))
{
	struct legacy_call *found = NULL;

	list_each(lc, &l->calls, struct legacy_call, link) {
		if (!lc->rq.id || !could(lc) || (origin && lc->rq.id != origin))
			continue;
		if (found && !same_who(found->who, lc->who))
			return NULL;
		/* Of the calls of one caller, only one that it waits for can pass a message on. */
		if (!found || (!found->outer && lc->outer))
			found = lc;
	}
	return found;
}

static bool may_ask(const struct legacy_call *lc)
{
	return lc->may_ask;
}

static bool is_attached(const struct legacy_call *lc)
{
	return lc->outer;
}

static bool wants_log(const struct legacy_call *lc)
{
	return lc->outer && lc->outer->level != SEVERITY_NONE;
}

static void got_log(struct legacy *l, uint32_t origin, const char *method, struct slice params)
{
	struct legacy_call *lc = legacy_call_find(l, origin, wants_log);

	/* The server has one level for all callers, so each caller's own level is applied here. */
	if (lc && mcp_severity_of(jobj_get(params, "level")) >= lc->outer->level)
		legacy_call_notify(lc, method, params);
}

static void got_cancel(struct legacy *l, uint32_t origin _unused_, const char *method _unused_,
		       struct slice params)
{
	struct jval id = jobj_get(params, "requestId");

	if (id.type != J_NONE)
		legacy_questions_unasked(l, id.raw);
}

static void got_change(struct legacy *l, uint32_t origin _unused_, const char *method,
		       struct slice params)
{
	legacy_subscription_notified(l, method, params);
}

void legacy_notified(struct legacy *l, uint32_t origin, const char *method, struct slice params)
{
	static const struct {
		const char *method;
		void (*got)(struct legacy *l, uint32_t origin, const char *method,
			    struct slice params);
	} rows[] = {
		{ "notifications/message", got_log },
		{ "notifications/cancelled", got_cancel },
		{ "notifications/resources/updated", got_change },
		{ "notifications/resources/list_changed", got_change },
		{ "notifications/tools/list_changed", got_change },
		{ "notifications/prompts/list_changed", got_change },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].method, method) == 0) {
			rows[i].got(l, origin, method, params);
			return;
		}
	}
	/* Any other notification, such as one of an extension. */
	legacy_call_notify(legacy_call_find(l, origin, is_attached), method, params);
}

void legacy_asked(struct legacy *l, uint32_t origin, struct slice id, const char *method,
		  struct slice params)
{
	if (strcmp(method, "ping") == 0)
		upstream_rpc_answer(&l->u->rpc, id, SLICE("{}"));
	else
		legacy_questions_asked(l, legacy_call_find(l, origin, may_ask), id, method, params);
}
