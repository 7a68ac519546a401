/*
 * route_life.c - GET /ready, GET /v1/status, POST /v1/shutdown and POST /v1/restart: the state of the daemon, and how it is
 * ended.
 *
 * Both POST requests are answered 202 at once: the drain that they begin waits for running turns.
 * An empty body is an empty object.
 */
#include "http/routes/handlers.h"

#include "base/version.h"
#include "http/isolation.h"
#include "json/json.h"
#include "lifecycle/lifecycle.h"

static void put_life(const struct http_context *ctx, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);

	jw_obj(&w, NULL);
	jw_str(&w, "incarnation", store_incarnation(ctx->store));
	lifecycle_put(ctx->life, &w);
	jw_end_obj(&w);
}

void http_get_status(const struct http_call *c, struct http_reply *ret)
{
	put_life(c->ctx, ret);
}

void http_retry_after(const struct http_call *c, struct http_reply *ret)
{
	http_reply_header(ret, "Retry-After:", NUMBER_TEXT(lifecycle_retry_after(c->ctx->life)));
}

void http_get_ready(const struct http_call *c, struct http_reply *ret)
{
	const struct http_context *ctx = c->ctx;
	struct jw w = JW(&ret->body);

	jw_obj(&w, NULL);
	if (!store_put_ready(ctx->store, &w))
		ret->status = 503;
	if (lifecycle_draining(ctx->life))
		http_retry_after(c, ret);
	jw_str(&w, "version", acpd_version);
	jw_str(&w, "incarnation", store_incarnation(ctx->store));
	jw_uint(&w, "sessions", store_count(ctx->store));
	jw_uint(&w, "connections", ctx->connections);
	jw_uint(&w, "children", proc_host_count(ctx->procs));
	jw_str(&w, "cgroup",
	       cgroup_kind_name(cgroups_kind(proc_host_cgroups(ctx->procs), CGROUP_KILLING)));
	store_put_limits(&w, "limits", ctx->store);
	isolation_put(ctx->store, &w, "isolation");
	store_put_problems(ctx->store, &w, "problems");
	jw_end_obj(&w);
}

/* --- shutdown ------------------------------------------------------------------------------------------- */

struct shutdown_args {
	int64_t drain_seconds;
};

static const struct jfield shutdown_fields[] = {
	JF_INT(struct shutdown_args, drain_seconds, "drainSeconds", 0, 0, DRAIN_MAX_SECS),
	JF_END,
};

/* An empty body is as good as an empty object. */
static int life_decode(struct slice text, struct shutdown_args *ret, struct err *e)
{
	struct jval v;

	*ret = (struct shutdown_args){ DRAIN_AS_SET };
	if (!text.n)
		return 0;
	if (jscan_value(text, &v) != JSCAN_OK || v.type != J_OBJECT)
		return err_field(e, "", "BODY_INVALID", "the body is a JSON object, or empty");
	return jdec_strict(v.raw, shutdown_fields, NULL, "a shutdown has no such parameter", ret,
			   e);
}

static void life_take(const struct http_context *ctx, struct slice body, bool restart,
		      struct http_reply *ret)
{
	struct shutdown_args a;
	struct err e = { 0 };

	if (life_decode(body, &a, &e) < 0) {
		http_reply_error(ret, 400, e.reason, e.msg);
		return;
	}
	if (!restart) {
		lifecycle_drain(ctx->life, "shutdown", a.drain_seconds);
	} else if (lifecycle_restart(ctx->life, a.drain_seconds, &e) < 0) {
		http_reply_err(ret, 503, &e);
		return;
	}
	ret->status = 202;
	put_life(ctx, ret);
}

static void take_shutdown(const struct http_context *ctx, const char *param _unused_,
			  struct slice body, struct http_reply *ret)
{
	life_take(ctx, body, false, ret);
}

static void take_restart(const struct http_context *ctx, const char *param _unused_,
			 struct slice body, struct http_reply *ret)
{
	life_take(ctx, body, true, ret);
}

void http_post_restart(const struct http_call *c, struct http_reply *ret)
{
	http_take_body(c, SHUTDOWN_BODY_MAX, take_restart, ret);
}

void http_post_shutdown(const struct http_call *c, struct http_reply *ret)
{
	http_take_body(c, SHUTDOWN_BODY_MAX, take_shutdown, ret);
}
