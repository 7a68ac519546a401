/*
 * hosted_transport.c - creates the transport of a hosted server, stdio or HTTP.
 *
 * The source of an entry decides which hosts it can reach. The configuration is the operator's. A
 * project file is written by the user of the session. Its servers are called from sockets of that
 * user, and http only on the loopback. A session with a network namespace gets no HTTP server,
 * because the daemon is outside of it.
 */
#include "tools/hosted/hosted_server.h"

#include "base/os/file.h"
#include "base/strv.h"
#include "proc/table/process_tree.h"
#include "session/core/session_paths.h"
#include "tools/upstream/http/upstream_http.h"

/* --- the command of a server that is a child ------------------------------------------------------------------ */

struct hosted_command {
	char **argv, **env; /* as execve wants them; argv[0] is absolute */
	char *cwd;
};

/* The caller's, the entry's, and what must not be changed. */
static void hosted_command_build_env(const struct hosted_server_config *c,
				     struct harness_plan *plan)
{
	harness_plan_add_environ(plan, c->env);
	for (size_t i = 0; i < c->entry->env.n; i++)
		harness_plan_env(plan, c->entry->env.at[i].name, c->entry->env.at[i].value);
	/* Last, so no entry can replace them: the sweep after the end finds processes by these
	 * marks. */
	harness_plan_env(plan, TREE_OWNER_ENV, tree_owner_mark());
	harness_plan_env(plan, TREE_SESSION_ENV, c->mark);
}

static char *hosted_command_path(const char *dir, const char *path)
{
	return path[0] == '/' ? xstrdup(path) : file_join(dir, path);
}

static char *find_program(const char *command, const char *cwd, const char *path)
{
	_cleanup_(freep) char *here = strchr(command, '/') ? hosted_command_path(cwd, command) :
							     NULL;

	_cleanup_(freep) char *found = paths_find_command(here ? here : command, path);
	struct stat sb;

	/* a directory can be "executed", too */
	if (!found || found[0] != '/' || stat(found, &sb) < 0 || !S_ISREG(sb.st_mode))
		return NULL;
	return TAKE_PTR(found);
}

/* The program is looked up in the PATH that it will have. -ENOENT, COMMAND_NOT_FOUND: there is none. */
static int hosted_command_build(const struct hosted_server_config *config,
				struct hosted_command *ret, struct err *e)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };
	const struct mcpfile_entry *entry = config->entry;
	_cleanup_(freep) char *cwd = entry->cwd ? hosted_command_path(config->cwd, entry->cwd) :
						  xstrdup(config->cwd);
	_cleanup_(freep) char *program = NULL;

	hosted_command_build_env(config, &plan);
	program = find_program(entry->argv[0], cwd, harness_plan_getenv(&plan, "PATH"));
	if (!program) {
		err_field(e, "command", "COMMAND_NOT_FOUND", "no executable '%s' in the sandbox",
			  entry->argv[0]);
		return -ENOENT;
	}
	/* argv[0] becomes absolute, so the program does not depend on the working directory. */
	ret->argv = strv_copy(entry->argv);
	free(ret->argv[0]);
	ret->argv[0] = TAKE_PTR(program);
	ret->env = harness_plan_environ(&plan);
	ret->cwd = TAKE_PTR(cwd);
	return 0;
}

static void hosted_command_done(struct hosted_command *c)
{
	strv_free(c->argv);
	harness_plan_free_environ(c->env);
	free(c->cwd);
	*c = (struct hosted_command){ 0 };
}

/* --- both kinds ------------------------------------------------------------------------------------------ */

static struct upstream *make_stdio(const struct hosted_server_config *c,
				   const struct mcp_server_events *events, void *ctx, struct err *e)
{
	_cleanup_(hosted_command_done) struct hosted_command cmd = { 0 };

	if (hosted_command_build(c, &cmd, e) < 0)
		return NULL;
	return mcp_stdio_new(c->loop, c->procs,
			     &(struct mcp_stdio_config){ .name = c->entry->name,
							 .argv = cmd.argv,
							 .env = cmd.env,
							 .cwd = cmd.cwd,
							 .session = c->mark,
							 .bounds = c->bounds },
			     events, ctx);
}

/* A project's file is written by the user who works there, and its connections are made as that user. The operator's
 * are the daemon's. */
static struct socket_user own_hand(const struct hosted_server_config *c)
{
	return (struct socket_user){ c->session && c->bounds.switch_user, c->bounds.uid,
				     c->bounds.gid };
}

/* A server of a project's file may not be reached over the daemon's network: that may reach more than the writer of the
 * file can. */
static struct upstream *make_http(const struct hosted_server_config *c,
				  const struct mcp_server_events *events, void *ctx, struct err *e)
{
	const struct mcpfile_pairs *p = &c->entry->headers;
	struct upstream *u;
	char **headers;

	if (c->bounds.netns) { /* it would be reached from where the daemon is */
		err_set(e, -ENETUNREACH, RPC_INVALID_PARAMS, "MCP_SERVER_UNREACHABLE",
			"the session has no network");
		return NULL;
	}
	headers = xalloc((p->n + 1) * sizeof(*headers));
	for (size_t i = 0; i < p->n; i++)
		headers[i] = xprintf("%s: %s", p->at[i].name, p->at[i].value);
	u = mcp_remote_new(c->loop,
			   &(struct mcp_remote_config){ .name = c->entry->name,
							.url = c->entry->url,
							.headers = headers,
							.local_only = c->session != NULL,
							.fetcher = c->fetcher,
							.as = own_hand(c) },
			   events, ctx, e);
	harness_plan_free_environ(headers);
	return u;
}

struct upstream *hosted_transport_new(const struct hosted_server_config *config,
				      const struct mcp_server_events *events, void *ctx,
				      struct err *e)
{
	return (config->entry->transport == MCPFILE_HTTP ? make_http : make_stdio)(config, events,
										   ctx, e);
}
