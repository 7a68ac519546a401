/* front_legacy.c - the facade of a server of 2025: the calls of a legacy client, and results and errors in its
 * words. */
#include "json/json.h"
#include "tools/mcp/mcp_front_internal.h"

#define REVISION_MAX 64

/* --- initialize --- */

struct initialize {
	char *revision;
	struct slice capabilities, info;
};

static const struct jfield initialize_fields[] = {
	JF_STR(struct initialize, revision, "protocolVersion", JF_REQUIRED, REVISION_MAX),
	JF_OBJ(struct initialize, capabilities, "capabilities", 0),
	JF_OBJ(struct initialize, info, "clientInfo", 0),
	JF_END,
};

/* A server without a name gets one, because a legacy client needs it. */
static struct slice server_info(struct slice discovered)
{
	struct jval info = mcp_meta_get(discovered, MCP_META_SERVER);

	if (info.type != J_OBJECT)
		info = jobj_get(discovered, "serverInfo");
	return info.type == J_OBJECT ? info.raw : SLICE("{\"name\":\"unnamed\",\"version\":\"0\"}");
}

/* server/discover as the result of initialize: instructions and all other members of the server stay. */
static void put_initialized(struct buf *out, const struct mcp_front *f, struct slice discovered)
{
	static const char *const moved[] = { MCP_META_SERVER, NULL };
	static const char *const modern[] = { "resultType",	   "ttlMs",
					      "cacheScope",	   "serverInfo",
					      "supportedVersions", NULL };
	_cleanup_(buf_done) struct buf named = { 0 }, rest = { 0 }, members = { 0 };
	struct jw w = JW(&members);

	jw_str(&w, "protocolVersion", f->revision);
	jw_raw(&w, "capabilities", slice_of(f->server_capabilities));
	jw_raw(&w, "serverInfo", server_info(discovered));
	mcp_meta_strip(&named, discovered, moved);
	mcp_object_strip(&rest, buf_slice(&named), modern);
	mcp_object_merge(out, buf_slice(&rest), buf_slice(&members));
}

static void on_discovered(void *ctx, struct slice result, struct slice error)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct front_request *x = ctx;
	struct mcp_front *f = x->front;
	struct jval capabilities;

	x->call = NULL;
	f->starting = NULL;
	if (error.n) {
		front_request_error(x, error);
		return;
	}
	capabilities = jobj_get(result, "capabilities");
	if (capabilities.type != J_OBJECT)
		capabilities.raw = SLICE("{}");
	f->server_capabilities = xstrndup(capabilities.raw.p, capabilities.raw.n);
	put_initialized(&b, f, result);
	front_request_result(x, buf_slice(&b));
}

static const struct mcp_reply_ops discover_replies = { .notify = mcp_call_hear_nothing,
						       .done = on_discovered };

static void front_legacy_keep_raw(char **slot, struct slice raw, const char *absent)
{
	free(*slot);
	*slot = raw.n ? xstrndup(raw.p, raw.n) : xstrdup(absent);
}

static void front_legacy_on_initialize(struct front_request *x, const struct rpc_msg *m)
{
	struct mcp_front *f = x->front;
	struct initialize in = { 0 };
	struct err e;

	/* The capabilities are known from the answer of the server on; f->starting covers the
	 * time until then. */
	if (f->server_capabilities || f->starting) {
		err_set(&e, -EALREADY, RPC_INVALID_REQUEST, "ALREADY_INITIALIZED",
			"initialize was called before");
		front_request_refuse(x, &e, SLICE_NONE);
		return;
	}
	if (jdec_object(m->params, initialize_fields, "params.", &in, &e) < 0) {
		front_request_refuse(x, &e, SLICE_NONE);
		return;
	}
	f->era = ERA_LEGACY; /* from now on there are capabilities */
	/* A client that asks for an unknown revision gets the newest of its era, and decides
	 * itself whether it continues. */
	f->revision = strcmp(in.revision, MCP_LEGACY_OLD) == 0 ? MCP_LEGACY_OLD : MCP_LEGACY;
	front_legacy_keep_raw(&f->client_capabilities, in.capabilities, "{}");
	front_legacy_keep_raw(&f->client_info, in.info, NULL);
	jdec_free(initialize_fields, &in);
	f->starting = x;
	front_legacy_call(x, "server/discover", SLICE("{}"), &discover_replies);
}

/* Without a flag: whether the server has the group at all. */
bool front_legacy_server_can(const struct mcp_front *f, const char *group, const char *flag)
{
	struct slice all = slice_of(f->server_capabilities);
	struct jval v = jobj_get(all, group);

	if (flag && v.type == J_OBJECT)
		return jobj_get(v.raw, flag).type == J_TRUE;
	return !flag && v.type == J_OBJECT;
}

/* --- requests that are answered here --- */

static void on_ping(struct front_request *x, const struct rpc_msg *m _unused_)
{
	front_request_result(x, SLICE("{}"));
}

static void refuse_method(struct front_request *x, const char *method)
{
	struct err e;

	err_set(&e, -EINVAL, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND",
		"%s is not a method of this server", method);
	front_request_refuse(x, &e, SLICE_NONE);
}

/* From now on every request carries the level. */
static void on_set_level(struct front_request *x, const struct rpc_msg *m)
{
	enum mcp_severity level = mcp_severity_of(jobj_get(m->params, "level"));
	struct err e;

	if (!front_legacy_server_can(x->front, "logging", NULL)) {
		refuse_method(x, m->method);
		return;
	}
	if (level == SEVERITY_NONE) {
		err_field(&e, "params.level", "LEVEL_INVALID",
			  "params.level must be one of debug, info, notice, warning, error, "
			  "critical, alert, emergency");
		front_request_refuse(x, &e, SLICE_NONE);
		return;
	}
	x->front->log_level = mcp_severity_names[level];
	front_request_result(x, SLICE("{}"));
}

/* Methods of 2025 that the modern era does not have. */
static const struct own {
	const char *method;
	void (*fn)(struct front_request *x, const struct rpc_msg *m);
} own[] = {
	{ "initialize", front_legacy_on_initialize },
	{ "ping", on_ping },
	{ "logging/setLevel", on_set_level },
	{ "resources/subscribe", front_subscriptions_subscribe },
	{ "resources/unsubscribe", front_subscriptions_unsubscribe },
};

/* --- requests that pass --- */

void front_legacy_members(const struct mcp_front *f, struct buf *out)
{
	struct jw w = JW(out);

	jw_str(&w, MCP_META_VERSION, MCP_MODERN);
	jw_raw(&w, MCP_META_CAPABILITIES, slice_of(f->client_capabilities));
	jw_raw(&w, MCP_META_CLIENT, slice_of(f->client_info));
	jw_str(&w, MCP_META_LOG_LEVEL, f->log_level);
}

void front_legacy_call(struct front_request *x, const char *method, struct slice params,
		       const struct mcp_reply_ops *ops)
{
	/* A member of the client's own _meta with the same key is replaced, so a client cannot
	 * claim other capabilities than those of initialize. */
	_cleanup_(buf_done) struct buf members = { 0 }, full = { 0 };

	front_legacy_members(x->front, &members);
	mcp_meta_merge(&full, params, buf_slice(&members));
	front_request_call(x, method, &full, ops);
}

void front_legacy_result(struct front_request *x, struct slice result)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	/* Only the results of these methods have ttlMs and cacheScope as members of the
	 * protocol. In other results they are the server's own. */
	bool cacheable = x->method && (x->method->flags & MCP_CACHEABLE);

	front_request_begin(x, &b, "result", result.n);
	mcp_object_strip(&b, result, cacheable ? mcp_result_marks : mcp_result_type);
	front_request_end(x, &b);
}

static void front_legacy_on_notify(void *ctx, const char *method, struct slice params)
{
	struct front_request *x = ctx;

	if (!front_heartbeat_heard(x, method, params))
		return;
	front_notify(x->front, method, params, slice_of(x->id));
}

static void front_legacy_on_done(void *ctx, struct slice result, struct slice error)
{
	struct front_request *x = ctx;

	x->call = NULL;
	if (error.n)
		front_request_error(x, error);
	else if (mcp_result_is(result, "input_required"))
		front_questions_begin(x, result);
	else
		front_legacy_result(x, result);
}

const struct mcp_reply_ops front_legacy_replies = { .notify = front_legacy_on_notify,
						    .done = front_legacy_on_done };

static void front_legacy_pass(struct front_request *x, const struct rpc_msg *m)
{
	/* Only a method that may ask is sent again, so only its params are stored. */
	bool again = x->method && (x->method->flags & MCP_MAY_ASK);
	struct err e;

	if (again && front_request_keep(x, m->params, &e) < 0)
		front_request_refuse(x, &e, SLICE_NONE);
	else
		front_legacy_call(x, m->method, m->params, &front_legacy_replies);
}

void front_legacy_request(struct front_request *x, const struct rpc_msg *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (strcmp(own[i].method, m->method) == 0) {
			own[i].fn(x, m);
			return;
		}
	}
	if (x->method && !(x->method->flags & MCP_IN_LEGACY))
		refuse_method(x, m->method);
	else
		front_legacy_pass(x, m);
}

/* The others (progress, roots/list_changed) are not passed to a modern server. */
void front_legacy_notification(struct mcp_front *f, const struct rpc_msg *m)
{
	if (strcmp(m->method, "notifications/initialized") == 0)
		front_subscriptions_lists(f);
}
