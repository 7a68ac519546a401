/*
 * control.c - the JSON-RPC methods of control.sock.
 *
 * unix_server.c has admitted the peer by its uid and its ancestry, so no token is needed. Only uid
 * 0 may replace a token: agents can have the daemon's uid. A method appends members to an object
 * that control_dispatch() opens and closes; an error discards the object. Only requests are answered, each with
 * one line. Unknown parameters are refused.
 */
#include "net/unix_server.h"

#include "base/log.h"
#include "base/version.h"
#include "fetcher/fetcher.h"
#include "http/isolation.h"
#include "json/json.h"
#include "lifecycle/lifecycle.h"
#include "rpc/rpc.h"

#define BY_CONTROL "control socket"
#define NO_PARAMETER "this command has no such parameter"

typedef int (*control_fn)(const struct control_context *ctx, const struct rpc_msg *m, struct jw *w,
			  struct err *e);

static const struct jfield no_fields[] = { JF_END };

/* Who was given the daemon's uid is not its owner. */
static int control_replace(const struct control_context *ctx, const struct claim_request *c,
			   struct err *e)
{
	if (ctx->is_root)
		return claim_desk_replace(ctx->claims, c, BY_CONTROL, e);
	return err_field(e, "replace", "UID_NOT_ALLOWED", "replace: only root replaces the token");
}

static int do_claim(const struct control_context *ctx, const struct rpc_msg *m,
		    struct jw *w _unused_, struct err *e)
{
	struct claim_request c;
	int r = claim_request_parse(m->params, &c, e);

	if (r < 0)
		return r;
	r = c.replace ? control_replace(ctx, &c, e) :
			claim_desk_take(ctx->claims, &c, BY_CONTROL, e);
	claim_request_done(&c);
	return r;
}

static int do_sessions(const struct control_context *ctx, const struct rpc_msg *m _unused_,
		       struct jw *w, struct err *e _unused_)
{
	store_put_sessions(ctx->info->store, &grant_admin, w);
	return 0;
}

static void control_put_harnesses(struct jw *w, const struct harness_table *t)
{
	jw_arr(w, "harnesses");
	for (size_t i = 0; i < t->n; i++) {
		_cleanup_(freep) char *path = harness_program(&t->defs[i]);

		jw_object(w, NULL, JW_STR("id", t->defs[i].id),
			  JW_STR("command", t->defs[i].command), JW_BOOL("installed", path != NULL),
			  JW_STR("path", path));
	}
	jw_end_arr(w);
}

static int do_doctor(const struct control_context *ctx, const struct rpc_msg *m _unused_,
		     struct jw *w, struct err *e _unused_)
{
	jw_str(w, "version", acpd_version);
	jw_str(w, "incarnation", store_incarnation(ctx->info->store));
	jw_bool(w, "claimed", !claim_desk_open(ctx->claims));
	jw_uint(w, "restarts", ctx->info->restarts);
	jw_uint(w, "sessions", store_count(ctx->info->store));
	jw_uint(w, "children", proc_host_count(ctx->info->procs));
	jw_str(w, "cgroup",
	       cgroup_kind_name(cgroups_kind(proc_host_cgroups(ctx->info->procs), CGROUP_KILLING)));
	store_put_limits(w, "limits", ctx->info->store);
	jw_str(w, "agentUser", store_agent_user(ctx->info->store));
	isolation_put(ctx->info->store, w, "isolation");
	fetcher_put_status(ctx->info->fetcher, w, "direct");
	store_put_problems(ctx->info->store, w, "problems");
	control_put_harnesses(w, store_harnesses(ctx->info->store));
	hosted_put_status(ctx->info->hosted, w, "mcp");
	return 0;
}

static int do_mint(const struct control_context *ctx, const struct rpc_msg *m, struct jw *w,
		   struct err *e)
{
	return tokens_mint(ctx->info->tokens, m->params, BY_CONTROL, w, e);
}

static int do_tokens(const struct control_context *ctx, const struct rpc_msg *m _unused_,
		     struct jw *w, struct err *e _unused_)
{
	tokens_put(ctx->info->tokens, w);
	return 0;
}

struct revoke_command {
	char *id;
};

static const struct jfield revoke_fields[] = {
	JF_STR(struct revoke_command, id, "id", JF_REQUIRED, TOKEN_ID_SIZE),
	JF_END,
};

static int do_revoke(const struct control_context *ctx, const struct rpc_msg *m,
		     struct jw *w _unused_, struct err *e)
{
	struct revoke_command a = { 0 };
	int r = jdec_object(m->params, revoke_fields, NULL, &a, e);

	if (r == 0)
		r = tokens_revoke(ctx->info->tokens, a.id, BY_CONTROL, e);
	jdec_free(revoke_fields, &a);
	return r;
}

struct restart_command {
	int64_t drain;
};

static const struct jfield restart_fields[] = {
	JF_INT(struct restart_command, drain, "drainSeconds", 0, 0, DRAIN_MAX_SECS),
	JF_END,
};

static int do_restart(const struct control_context *ctx, const struct rpc_msg *m, struct jw *w,
		      struct err *e)
{
	struct restart_command a = { DRAIN_AS_SET };
	int r = jdec_object(m->params, restart_fields, NULL, &a, e);

	if (r == 0)
		r = lifecycle_restart(ctx->info->life, a.drain, e);
	if (r < 0)
		return r;
	jw_uint(w, "restarts", ctx->info->restarts);
	jw_uint(w, "drainSeconds", lifecycle_drain_left(ctx->info->life));
	return 0;
}

static const struct {
	const char *name;
	control_fn fn;
	const struct jfield *fields;
} methods[] = {
	{ "claim", do_claim, NULL }, /* claim_request_parse knows them */
	{ "sessions", do_sessions, no_fields },
	{ "doctor", do_doctor, no_fields },
	{ "tokens/mint", do_mint, NULL }, /* tokens_mint knows them */
	{ "tokens/list", do_tokens, no_fields },
	{ "tokens/revoke", do_revoke, revoke_fields },
	{ "restart", do_restart, restart_fields },
};

static int control_dispatch(const struct control_context *ctx, const struct rpc_msg *m,
			    struct buf *result, struct err *e)
{
	struct jw w = JW(result);

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		int r;

		if (strcmp(methods[i].name, m->method) != 0)
			continue;
		r = methods[i].fields ? jdec_refuse_unknown(m->params, methods[i].fields, NULL,
							    NO_PARAMETER, e) :
					0;
		if (r < 0)
			return r;
		jw_obj(&w, NULL);
		r = methods[i].fn(ctx, m, &w, e);
		jw_end_obj(&w);
		return r;
	}
	return rpc_no_method(m, e);
}

void control_answer(const struct control_context *ctx, struct slice line, struct buf *out)
{
	_cleanup_(buf_done) struct buf result = { 0 };
	struct rpc_msg m;
	struct err e = { 0 };
	enum rpc_parse_result parsed = rpc_parse(line, &m, &e);

	if (parsed == RPC_E_ANSWER)
		rpc_put_error(out, m.id, &e, SLICE_NONE);
	else if (parsed != RPC_PARSED || m.kind != RPC_REQUEST)
		return;
	else if (control_dispatch(ctx, &m, &result, &e) < 0)
		rpc_put_error(out, m.id, &e, SLICE_NONE);
	else
		rpc_put_result(out, m.id, buf_slice(&result));
	buf_putc(out, '\n');
}

void control_refuse(struct buf *out, const char *reason, const char *message)
{
	struct err e;

	err_set(&e, -EACCES, RPC_INVALID_REQUEST, reason, "%s", message);
	rpc_put_error(out, SLICE("null"), &e, SLICE_NONE);
	buf_putc(out, '\n');
}
