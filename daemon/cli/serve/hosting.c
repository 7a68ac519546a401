/*
 * hosting.c - builds the MCP side of the daemon: hosted servers, the relay of sessions, MCP sessions over HTTP. It
 * decides the user of all of it, and what it sees of the daemon's environment.
 *
 * hosting_open runs before the claim and starts no server, because copies of a template would share it. hosting_begin
 * reads --mcp-config and starts the servers, once in the life of the process. Servers get a built environment with the
 * home of the agent's user, not the environment of the daemon. --check and doctor read the file of servers with the
 * same code (hosting_check).
 */
#include "cli/serve/serve.h"

#include "base/os/file.h"
#include "session/core/harness/baseenv.h"
#include "session/core/session_host.h"
#include "tools/hosted/mcpfile.h"

#include <pwd.h>

#define READY_MS 200 /* after a start: what takes long and nobody waits for */

/* The base environment with the user's home, where npx and uvx keep the programs that they download. */
static char **hosting_env(const struct config *c, const struct passwd *pw)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };

	baseenv_put(&plan, c->pass_env);
	if (pw) {
		harness_plan_env(&plan, "HOME", pw->pw_dir);
		harness_plan_env(&plan, "USER", pw->pw_name);
		harness_plan_env(&plan, "LOGNAME", pw->pw_name);
	}
	baseenv_no_proxy(&plan, NULL);
	return harness_plan_environ(&plan);
}

static const struct passwd *find_user(const struct config *c)
{
	return c->agent_user ? getpwnam(c->agent_user) : getpwuid(geteuid());
}

static const char *home_of(const struct passwd *pw)
{
	return pw && access(pw->pw_dir, F_OK) == 0 ? pw->pw_dir : "/";
}

/* A client of /mcp may still use it. */
static void on_backend_gone(void *ctx, struct mcp_backend *b)
{
	struct daemon *d = ctx;

	if (d->mcp.http)
		mcp_http_forget(d->mcp.http, b);
}

/* Absolute, or NULL: none was given. */
static int tools_root(const struct config *c, char **ret, struct err *e)
{
	struct stat sb;

	*ret = c->tools_root ? realpath(c->tools_root, NULL) : NULL;
	if (!c->tools_root || (*ret && stat(*ret, &sb) == 0 && S_ISDIR(sb.st_mode)))
		return 0;
	return err_field(e, "tools-root", "OPTION_INVALID", "--tools-root: %s: %s", c->tools_root,
			 *ret ? "not a directory" : strerror(errno));
}

static int open_relay(struct daemon *d, char *const *env, struct err *e)
{
	const struct config *c = d->cfg;
	_cleanup_(freep) char *root = NULL;
	int r = tools_root(c, &root, e);
	struct relay_config rc = { .run_dir = c->run_dir,
				   .root = root ? root : home_of(find_user(c)),
				   .state = c->state,
				   .env = env,
				   .hosted = d->mcp.hosted,
				   .fetcher = d->fetcher,
				   .gone = on_backend_gone,
				   .ctx = d };
	_cleanup_(freep) char *self = file_own_program();

	if (r < 0)
		return r;
	if (!self)
		return err_set(e, -ENOENT, 0, "SELF_UNKNOWN", "/proc/self/exe cannot be read");
	rc.self = self;
	d->mcp.relay = relay_new(d->loop, d->procs, d->store, &rc, e);
	return d->mcp.relay ? 0 : -EIO;
}

static struct mcp_backend *on_backend_find(void *ctx, struct slice name, struct slice session,
					   struct err *e)
{
	_cleanup_(freep) char *n = name.n ? xstrndup(name.p, name.n) : NULL;
	_cleanup_(freep) char *s = session.n ? xstrndup(session.p, session.n) : NULL;
	struct daemon *d = ctx;

	return relay_find(d->mcp.relay, n, s, e);
}

int hosting_open(struct daemon *d, struct err *e)
{
	struct mcp_endpoint endpoint = { on_backend_find, d };
	char **env = hosting_env(d->cfg, find_user(d->cfg));
	int r;

	d->mcp.hosted =
		hosted_new(d->loop, d->procs, &(struct hosted_config){ .fetcher = d->fetcher });
	r = open_relay(d, env, e);
	harness_plan_free_environ(env);
	if (r == 0)
		d->mcp.http = mcp_http_new(d->loop, &endpoint);
	return r;
}

/* The filter of these bounds takes longer to make than all else of a start, so it is not made before anybody needs it, or
 * the first answers are out. It is made ahead all the same: later there may be no memory for it. */
static void on_hosting_ready(void *ctx)
{
	const struct daemon *d = ctx;

	(void)store_bounds(d->store);
}

void hosting_begin(struct daemon *d)
{
	const struct config *c = d->cfg;
	const struct passwd *pw = find_user(c);
	char **env;

	if (d->mcp.begun)
		return;
	d->mcp.begun = true;
	loop_timer_set(d->loop, &d->mcp.ready, READY_MS, on_hosting_ready, d);
	if (!c->mcp_config)
		return;
	env = hosting_env(c, pw);
	hosted_load(d->mcp.hosted, &(struct hosted_config){ .file = c->mcp_config,
							    .env = env,
							    .home = home_of(pw),
							    .bounds = store_bounds(d->store) });
	harness_plan_free_environ(env);
	hosted_start(d->mcp.hosted);
}

void hosting_close_http(struct daemon *d)
{
	loop_timer_cancel(&d->mcp.ready);
	d->mcp.http = mcp_http_free(d->mcp.http);
}

void hosting_close(struct daemon *d)
{
	d->mcp.relay = relay_free(d->mcp.relay);
	d->mcp.hosted = hosted_free(d->mcp.hosted);
}

/* The message of an unknown key does not have its name. */
static int refuse_issue(const struct config *c, const struct mcpfile_issue *is, struct err *e)
{
	const char *entry = is->entry ? is->entry : "", *key = is->warning ? is->why.field : "";

	return err_field(e, "mcp-config", "OPTION_INVALID", "--mcp-config %s: %s%s%s%s%s",
			 c->mcp_config, entry, *entry ? *key ? "." : ": " : "", key,
			 *key ? ": " : "", is->why.msg);
}

void hosting_warn_user(void *ctx _unused_, const char *text)
{
	fprintf(stderr, "acpd: warning: %s\n", text);
}

int hosting_check(const struct config *c, hosting_warn_fn warn, void *ctx, struct err *e)
{
	_cleanup_(mcpfile_done) struct mcpfile f = { 0 };
	struct mcpfile_source source = { .path = c->mcp_config };
	_cleanup_(freep) char *root = NULL;
	struct err told;
	char **env;

	if (tools_root(c, &root, e) < 0)
		return -EINVAL;
	env = hosting_env(c, find_user(c));
	if (c->mcp_config)
		mcpfile_read(&f, &source, env);
	harness_plan_free_environ(env);
	for (size_t i = 0; i < f.nissues; i++) {
		if (!f.issues[i].warning)
			return refuse_issue(c, &f.issues[i], e);
		refuse_issue(c, &f.issues[i], &told);
		if (strcmp(f.issues[i].why.reason, "KEY_UNKNOWN") == 0)
			warn(ctx, told.msg);
	}
	return (int)f.n;
}
