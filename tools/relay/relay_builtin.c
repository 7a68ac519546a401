/* relay_builtin.c - the built-in tools, of a session and of the daemon's own /mcp: their configuration and their
 * process. */
#include "base/os/file.h"
#include "base/os/sandbox.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/strv.h"
#include "harnesses/spawn_plan.h"
#include "json/jstr.h"
#include "tools/mcp/msg.h"
#include "tools/relay/relay_internal.h"
#include "tools/relay/server_request.h"
#include "session/core/session_host.h"

/* The environment that each of them has, as tools/builtin/core/toolbox.h reads it. */
static void put_setup(struct jw *w, const char *root, const char *state, const char *id)
{
	jw_obj(w, NULL);
	jw_arr(w, "roots");
	jw_str(w, NULL, root);
	jw_end_arr(w);
	jw_str(w, "cwd", root);
	jw_str(w, "stateDir", state);
	jw_str(w, "session", id);
	jw_str(w, "sandboxId", sandbox_id()); /* unknown: it makes up one of its own */
}

/* c: all but what is the same for each of them. */
static struct relay_server *start_child(struct relay *r, struct mcp_stdio_config *c,
					struct slice setup, const struct session *session)
{
	char *argv[] = { r->self, "mcp", "--builtin", "--config-fd", "3", NULL };

	c->name = MCP_OWN_NAME;
	c->argv = argv;
	return relay_server_new(r->loop, r->procs, c, setup, session);
}

static void put_session_setup(struct jw *w, const struct session_servers *v, struct slice more)
{
	_cleanup_(freep) char *state = file_join(session_home(v->session), "tools");
	struct slice policy = session_policy(v->session);
	_cleanup_(buf_done) struct buf rest = { 0 };

	put_setup(w, session_workdir(v->session), state, session_id(v->session));
	if (more.n)
		jw_members(w, more, NULL);
	if (policy.n) {
		server_request_tool_policy(&rest, policy);
		jw_raw(w, "policy", buf_slice(&rest));
	}
	jw_end_obj(w);
}

/* A process is kept as long as its setup is the same. */
static void need_child(struct session_servers *v, struct slice setup)
{
	char marker[64], **env;
	struct mcp_stdio_config c = { .session = marker,
				      .cwd = session_workdir(v->session),
				      .bounds = session_bounds(v->session) };

	/* The harness was started again with the same settings: processes of the agent go on. */
	if (v->builtin && relay_server_same(v->builtin, setup, &c.bounds))
		return;
	relay_server_free(v->builtin);
	/* A new number for each process: the sweep after the end of one kills by its marker,
	 * and must not find those of the next. */
	snprintf(marker, sizeof(marker), "%s.tools.%llu", session_id(v->session),
		 (unsigned long long)++v->relay->last_marker);
	c.env = env = session_environ(v->session, marker);
	v->builtin = start_child(v->relay, &c, setup, v->session);
	harness_plan_free_environ(env);
}

struct served_server *session_servers_builtin(struct session_servers *v, bool for_harness,
					      struct slice more)
{
	struct served_server *o = session_servers_find(v, MCP_OWN_NAME);
	JW_BUF(w, setup);

	if (o)
		return o;
	put_session_setup(&w, v, more);
	need_child(v, buf_slice(&setup));
	o = served_server_new(
		v->relay->loop, v->session,
		&(struct served_server_spec){ .name = MCP_OWN_NAME,
					      .via = SERVED_BUILTIN,
					      .inner = relay_server_backend(v->builtin),
					      .for_harness = for_harness,
					      .rules = v->rules,
					      .names = v->names });
	list_add_tail(&v->servers, &o->link);
	return o;
}

/* Makes a directory that their user cannot make itself; without it they use the one for temporary files. */
static void relay_own_dir(const struct relay *r, const char *dir)
{
	struct proc_bounds b = store_bounds(r->store);

	if (file_mkdirs(dir, 0700) == 0 && b.switch_user && lchown(dir, b.uid, b.gid) < 0)
		log_warn("mcp", "a directory cannot be given to the agent user", "path", dir);
}

struct mcp_backend *relay_builtin(struct relay *r)
{
	_cleanup_(buf_done) struct buf setup = { 0 };
	_cleanup_(freep) char *state = file_join(r->state, "tools");
	struct mcp_stdio_config c = { .session = RELAY_TOOLS_MARKER,
				      .env = r->env,
				      .cwd = r->root,
				      .bounds = store_bounds(r->store) };
	struct jw w = JW(&setup);

	if (!r->builtin) {
		relay_own_dir(r, state);
		put_setup(&w, r->root, state, NULL);
		jw_end_obj(&w);
		r->builtin = start_child(r, &c, buf_slice(&setup), NULL);
	}
	return relay_server_backend(r->builtin);
}

/* --- programs that the client named -------------------------------------------------------------------------- */

/* The caller frees the words. An argument that does not decode is left out. */
static char **argv_of(const char *program, struct slice args)
{
	char **argv = NULL;

	strv_add(&argv, xstrdup(program));
	jarr_each(v, args) {
		char *arg = NULL;

		if (jstr_decode(v, MIB, &arg) == 0)
			strv_add(&argv, arg);
	}
	return argv;
}

/* The environment of the session's processes, and the entry's own. */
static char **env_of(struct session_servers *v, const char *marker, struct slice env)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };
	char **base = session_environ(v->session, marker);

	harness_plan_add_environ(&plan, base);
	harness_plan_free_environ(base);
	jarr_each(pair, env) {
		_cleanup_(freep) char *name = NULL, *value = NULL;

		if (jstr_decode(jobj_get(pair.raw, "name"), 256, &name) == 0 &&
		    jstr_decode(jobj_get(pair.raw, "value"), MIB, &value) == 0 &&
		    /* Names with this prefix are the daemon's: with them an entry could claim the
		 * marker of another process. */
		    strncmp(name, "ACPD_", 5) != 0)
			harness_plan_env(&plan, name, value);
	}
	return harness_plan_environ(&plan);
}

struct relay_server *client_process_new(struct session_servers *v, const char *name,
					const char *program, struct slice args, struct slice env)
{
	char marker[64], **argv = argv_of(program, args), **environ_list;
	struct mcp_stdio_config c = { .name = name, .session = marker, .argv = argv };
	struct relay_server *child;

	snprintf(marker, sizeof(marker), "%s.mcp.%llu", session_id(v->session),
		 (unsigned long long)++v->relay->last_marker);
	environ_list = env_of(v, marker, env);
	c.env = environ_list;
	c.cwd = session_workdir(v->session);
	c.bounds = session_bounds(v->session);
	child = relay_server_new(v->relay->loop, v->relay->procs, &c, SLICE_NONE, v->session);
	harness_plan_free_environ(argv);
	harness_plan_free_environ(environ_list);
	return child;
}
