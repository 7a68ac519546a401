/*
 * relay.c - the MCP servers of a session: set-up and teardown for its harness, and the target of
 * each call of /mcp.
 *
 * Every start of the harness builds the servers again. The built-in tools stay, because the agent
 * has processes in them. The socket and its directory stay, because the sandbox already shows the
 * directory. relay_target finds the backend of each call separately, so a client of /mcp survives a
 * restart of the harness.
 */
#include "tools/mcp/msg.h"
#include "tools/relay/relay_internal.h"
#include "session/parts/mcp/mcp_servers.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "base/os/local_sock.h"
#include "digest/digest.h"
#include "harnesses/spawn_plan.h"
#include "proc/table/process_tree.h"
#include "tools/hosted/hosted.h"
#include "tools/relay/server_request.h"
#include "session/core/session_host.h"

/* --- one session ------------------------------------------------------------------------------------------- */

struct served_server *session_servers_find(const struct session_servers *v, const char *name)
{
	list_each(o, (struct list *)&v->servers, struct served_server, link)
		if (strcmp(o->name, name) == 0)
			return o;
	return NULL;
}

/* Finds the server that a shim names on the session socket. A server that only serves clients
 * of /mcp is not found. */
static struct mcp_backend *relay_on_find(void *ctx, const char *server)
{
	struct served_server *o = session_servers_find(ctx, server);

	return o && o->for_harness ? o->front : NULL;
}

static const struct session_socket_ops socket_ops = { relay_on_find };

/* A harness that cannot start the shim, or reach the socket, would silently have no tools. */
static int check_reachable(const struct session_servers *v, struct err *e)
{
	const struct agent_user *user = session_user(v->session);

	if (!agent_user_may(user, v->relay->self, X_OK))
		return err_set(e, -EACCES, RPC_INTERNAL_ERROR, "MCP_SHIM_NOT_EXECUTABLE",
			       "the user that runs the harness cannot execute %s", v->relay->self);
	if (!agent_user_may(user, v->socket, W_OK))
		return err_set(e, -EACCES, RPC_INTERNAL_ERROR, "MCP_SOCKET_NOT_REACHABLE",
			       "the user that runs the harness cannot reach %s", v->socket);
	return 0;
}

/* Its socket has a directory of its own: one that is there before it can be shown to the session, and nothing else is. */
static int session_servers_make_place(struct session_servers *v, struct err *e)
{
	_cleanup_(freep) char *sockets = file_join(v->relay->run_dir, "mcp");

	if (!v->place)
		v->place = file_join(sockets, session_id(v->session));
	if (mkdir(v->place, 0711) == 0 || errno == EEXIST)
		return 0;
	return err_set(e, -errno, RPC_INTERNAL_ERROR, "MCP_SOCKET_FAILED", "%s: %s", v->place,
		       strerror(errno));
}

int session_servers_listen(struct session_servers *v, struct err *e)
{
	struct proc_bounds bounds = session_bounds(v->session);

	if (v->session_socket)
		return check_reachable(v, e);
	if (session_servers_make_place(v, e) < 0)
		return -EIO;
	free(v->socket);
	v->socket = file_join(v->place, "sock");
	/* The shim sends it: the path of the socket alone gives no access. */
	random_hex(v->key, 16);
	v->session_socket = session_socket_new(v->relay->loop, v->socket, bounds.uid, bounds.gid,
					       v->key, &socket_ops, v, e);
	return v->session_socket ? check_reachable(v, e) : -EIO;
}

struct session_servers *session_servers_get(struct relay *r, struct session *s)
{
	struct session_servers *v = mcp_servers_handle(s);

	if (v)
		return v;
	v = new0(struct session_servers);
	v->relay = r;
	v->session = s;
	list_init(&v->servers);
	v->names = tool_names_new();
	list_init(&v->own);
	list_init(&v->proxies);
	list_init(&v->calls);
	mcp_servers_set_handle(s, v);
	return v;
}

/* No harness is connected any more: stops what runs, except the built-in tools, which have processes that the agent
 * began. */
static void session_servers_clear(struct session_servers *v)
{
	/* From the outside in: connections use servers, which borrow names, processes and rules. */
	if (v->session_socket)
		session_socket_clear(v->session_socket);
	proxy_calls_end(&v->calls);
	while (!list_empty(&v->servers))
		served_server_free(list_first(&v->servers, struct served_server, link));
	tool_names_free(v->names);
	v->names = tool_names_new();
	relay_servers_leave(&v->own, &v->relay->leaving);
	v->project = hosted_set_free(v->project);
	v->rules = mcp_policy_free(v->rules);
	buf_done(&v->reports);
	v->reports = (struct buf){ 0 };
}

static void session_servers_free(struct session_servers *v)
{
	session_servers_clear(v);
	tool_names_free(v->names);
	proxies_free(v->relay, &v->proxies);
	session_socket_free(v->session_socket);
	relay_server_free(v->builtin);
	mcp_servers_set_handle(v->session, NULL);
	secret_wipe(v->key, sizeof(v->key));
	/* After the socket is removed, because rmdir(2) needs an empty directory. */
	if (v->place)
		rmdir(v->place);
	free_each(v->place, v->socket, v);
}

/* --- session/parts/mcp/mcp_servers.h ---------------------------------------------------------- */

static int relay_on_place(void *ctx, struct session *s, struct mcp_place *ret, struct err *e)
{
	struct session_servers *v = session_servers_get(ctx, s);
	int r = session_servers_make_place(v, e);

	*ret = (struct mcp_place){ v->relay->run_dir, v->place, v->relay->self };
	return r;
}

static int relay_on_open(void *ctx, struct session *s, struct buf *ret, struct err *e)
{
	struct session_servers *v = session_servers_get(ctx, s);

	int r;

	session_servers_clear(v);
	r = session_servers_assemble(v, ret, e);
	mcp_servers_set_call_ms(s, mcp_policy_longest(v->rules));
	return r;
}

static void relay_on_close(void *ctx _unused_, struct session *s)
{
	struct session_servers *v = mcp_servers_handle(s);

	if (v && v->session_socket)
		session_socket_clear(v->session_socket);
}

static void on_forget(void *ctx _unused_, struct session *s)
{
	if (mcp_servers_handle(s))
		session_servers_free(mcp_servers_handle(s));
}

static void on_put(void *ctx _unused_, const struct session *s, struct jw *w)
{
	const struct session_servers *v = mcp_servers_handle(s);

	if (!v)
		return;
	jw_arr(w, "mcp");
	list_each(o, (struct list *)&v->servers, struct served_server, link)
		if (o->for_harness)
			served_server_put(o, w);
	jw_raw(w, NULL, buf_slice(&v->reports));
	jw_end_arr(w);
}

/* Translates the name by which the harness reports a tool into SERVER/TOOL. The caller frees
 * it; NULL if no server has the tool. */
static char *on_named(void *ctx _unused_, const struct session *s, const char *said)
{
	const struct session_servers *v = mcp_servers_handle(s);
	const struct tool_name *t;
	char *name = NULL;

	if (!v)
		return NULL;
	list_each(o, (struct list *)&v->servers, struct served_server, link) {
		t = tool_names_said(v->names, o->name, said);
		if (!t)
			continue;
		name = xprintf("%s/%s", o->name, t->tool);
		return name;
	}
	return NULL;
}

static const struct mcp_servers_ops mcp_servers_ops = { relay_on_place, relay_on_open,
							relay_on_close, on_forget,
							on_named,	on_put };

/* --- what a call goes to ---------------------------------------------------------------------------------------- */

/* Also before the harness has been started: the session's settings for its tools hold for all callers. */
static struct served_server *builtin_of(struct session_servers *v, struct err *e)
{
	struct served_server *o = session_servers_find(v, MCP_OWN_NAME);
	struct server_request request;
	int r;

	if (o)
		return o;
	r = server_request_parse(session_mcp(v->session), &request, e);
	if (r == 0)
		r = session_bounds_open(v->session, e);
	/* The rules may exist from the start of a harness, and its servers borrow them. */
	if (r == 0 && !v->rules)
		r = mcp_policy_parse(request.policy, "_meta.acpd.mcp.policy", &v->rules, e);
	return r == 0 ? session_servers_builtin(v, false, request.setup) : NULL;
}

static struct mcp_backend *target_of_session(struct relay *r, const char *name, const char *id,
					     struct relay_holds *ret, struct err *e)
{
	struct session *s = store_find(r->store, id);
	struct session_servers *v;
	struct served_server *o;

	if (!session_is_open(s)) {
		err_set(e, -ENOENT, RPC_NOT_FOUND, "SESSION_NOT_FOUND", "no open session '%s'", id);
		return NULL;
	}
	v = session_servers_get(r, s);
	o = name ? session_servers_find(v, name) : builtin_of(v, e);
	if (!o && name)
		err_set(e, -ENOENT, RPC_NOT_FOUND, "MCP_SERVER_UNKNOWN",
			"the session has no MCP server '%s'", name);
	if (!o)
		return NULL;
	*ret = (struct relay_holds){ &v->proxies, &v->calls };
	return toolgate_outside(o->gate);
}

struct mcp_backend *relay_target(struct relay *r, const char *name, const char *session,
				 struct relay_holds *ret, struct err *e)
{
	if (r->stopping) {
		err_set(e, -ESHUTDOWN, RPC_INTERNAL_ERROR, "SHUTTING_DOWN",
			"the daemon is shutting down");
		return NULL;
	}
	if (session)
		return target_of_session(r, name, session, ret, e);
	/* Without a session, the proxy and its calls belong to the relay itself. */
	*ret = (struct relay_holds){ &r->proxies, &r->calls };
	return name ? hosted_find(r->hosted, name, e) : relay_builtin(r);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* The environment of the built-in tools of /mcp: with the markers of their processes. */
static char **marked(const struct relay_config *config)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };

	harness_plan_add_environ(&plan, config->env);
	harness_plan_env(&plan, TREE_OWNER_ENV, tree_owner_mark());
	harness_plan_env(&plan, TREE_SESSION_ENV, RELAY_TOOLS_MARKER);
	return harness_plan_environ(&plan);
}

struct relay *relay_new(struct loop *loop, struct proc_host *procs, struct session_store *store,
			const struct relay_config *config, struct err *e)
{
	_cleanup_(freep) char *sockets = file_join(config->run_dir, "mcp");
	struct relay *r;
	/* 0711: the user of a session can pass through to its socket, and cannot list those of
	 * others. */
	int error = file_mkdirs(sockets, 0711);

	if (error < 0) {
		err_set(e, error, 0, "RUN_DIR_UNUSABLE", "%s: %s", sockets, strerror(-error));
		return NULL;
	}
	/* Removes the sockets of sessions of an earlier daemon, which nobody serves any more. */
	unixsock_sweep(sockets);
	r = new0(struct relay);
	r->loop = loop;
	r->procs = procs;
	r->store = store;
	r->hosted = config->hosted;
	r->fetcher = config->fetcher;
	r->run_dir = xstrdup(config->run_dir);
	r->self = xstrdup(config->self);
	r->root = xstrdup(config->root);
	r->state = xstrdup(config->state);
	r->env = marked(config);
	r->gone = config->gone;
	r->gone_ctx = config->ctx;
	list_init(&r->proxies);
	list_init(&r->calls);
	list_init(&r->leaving);
	store_set_mcp_servers(store, &mcp_servers_ops, r);
	return r;
}

/* Ends the calls before the processes, so every client of /mcp gets an answer. */
void relay_stop(struct relay *r)
{
	r->stopping = true;
	proxy_calls_end(&r->calls);
	r->builtin = relay_server_free(r->builtin);
}

struct relay *relay_free(struct relay *r)
{
	if (!r)
		return NULL;
	relay_stop(r);
	relay_servers_free(&r->leaving);
	proxies_free(r, &r->proxies);
	harness_plan_free_environ(r->env);
	free_each(r->run_dir, r->self, r->root, r->state, r);
	return NULL;
}
