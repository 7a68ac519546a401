/*
 * serve_check.c - checks the configuration of acpd serve before anything is created.
 *
 * serve, --check, doctor and entrypoint run the same checks. Unknown ACPD_* variables and problems
 * in the MCP configuration are refused by --check and doctor; a start only warns of them. A
 * directory is probed by creating a file, because modes show neither a read-only nor a full file
 * system. The token file is read by the code that loads it later, into an admission that is freed
 * again.
 */
#include "cli/serve/serve.h"
#include "cli/options/cli_options.h"

#include "agui/agui.h"
#include "base/http/authority.h"
#include "base/os/file.h"
#include "fetcher/fetcher.h"
#include "base/net/address_rules.h"
#include "net/claim/admission.h"
#include "net/claim/e2b_metadata.h"
#include "session/parts/users/agent_uids.h"

#include <pwd.h>

static int check_token_file(const struct config *c, struct err *e)
{
	struct admission *g = admission_new(&(struct admission_config){
		.agent_user = c->agent_user, .agent_uids = c->agent_uids });
	int r = c->token_file ? admission_load(g, c->token_file, e) : 0;

	admission_free(g);
	if (r < 0)
		err_wrap(e, "--token-file %s", c->token_file);
	return r;
}

/* Tries it: permissions do not show file systems that are read-only or full. By a file: when a directory goes, so does its block, and a
 * file system may tell the device at once. */
static bool can_make_in(const char *dir)
{
	_cleanup_(freep) char *probe = file_join(dir, ".acpd-XXXXXX");
	_cleanup_(closep) int fd = mkostemp(probe, O_CLOEXEC);

	return fd >= 0 && unlink(probe) == 0;
}

/* By its nearest existing parent. */
int serve_check_dir(const char *option, const char *dir, struct err *e)
{
	_cleanup_(freep) char *at = xstrdup(dir);
	struct stat st;
	char *slash;

	/* a link to nothing is there, and no directory can be made in its place */
	while (lstat(at, &st) < 0 && errno == ENOENT && (slash = strrchr(at, '/')))
		slash[slash == at] = '\0';
	if (lstat(at, &st) < 0 && errno == ENOENT)
		xstrset(&at, ".");
	if (stat(at, &st) == 0 && !S_ISDIR(st.st_mode))
		errno = ENOTDIR;
	else if (can_make_in(at))
		return 0;
	return err_field(e, option, "DIR_UNUSABLE", "--%s: %s: %s: %s", option, dir, at,
			 strerror(errno));
}

int serve_listen(const char *listen, char **host, int *port, struct err *e)
{
	struct authority a;

	if (!authority_parse(slice_of(listen), 0, &a) || a.port < 0)
		return err_field(e, "listen", "OPTION_INVALID", "--listen: '%s' is not HOST:PORT",
				 listen);
	*host = xstrndup(a.host.p, a.host.n);
	*port = a.port;
	return 0;
}

static int check_fetcher(const struct config *c, struct err *e)
{
	uid_t uid;
	gid_t gid;

	if (c->ca_file && fetcher_ca_check(c->ca_file, e) < 0)
		return -EINVAL;
	if (c->fetch_user && fetcher_user(c->fetch_user, c->agent_user, &uid, &gid, e) < 0)
		return -EINVAL;
	return upstream_allow_check(c->upstream_allow, e);
}

int serve_check_users(const struct config *c, struct err *e)
{
	const struct passwd *pw = c->agent_user ? getpwnam(c->agent_user) : NULL;
	struct agent_user user = agent_user_self();
	struct uid_range range;

	if (c->agent_user && !pw)
		return err_field(e, "agent-user", "OPTION_INVALID",
				 "--agent-user: no user named '%s'", c->agent_user);
	if (pw && pw->pw_uid != user.uid)
		user = (struct agent_user){ true, pw->pw_uid, pw->pw_gid, NULL };
	return uid_range_parse(c->agent_uids, &range, e) < 0 ? -EINVAL :
							       agent_uids_check(&range, &user, e);
}

static int check_all_dirs(const struct config *c, struct err *e)
{
	if (!c->state)
		return err_field(e, "state", "OPTION_INVALID",
				 "--state is needed: there is no home directory");
	if (serve_check_dir("state", c->state, e) < 0 ||
	    serve_check_dir("run-dir", c->run_dir, e) < 0)
		return -EINVAL;
	return c->workspaces ? serve_check_dir("workspaces", c->workspaces, e) : 0;
}

int serve_check_options(const struct config *c, struct err *e)
{
	_cleanup_(freep) char *host = NULL;
	struct e2b_place place;
	int port, r = check_token_file(c, e);

	if (r < 0)
		return r;
	if (c->archives_baked && access(c->archives_baked, R_OK | X_OK) < 0)
		return err_field(e, "archives-baked", "OPTION_INVALID", "--archives-baked: %s: %s",
				 c->archives_baked, strerror(errno));
	if (e2b_place_parse(c->metadata_url, &place, e) < 0)
		return -EINVAL;
	r = check_fetcher(c, e);
	if (r == 0)
		r = serve_webhooks_check(c, e);
	if (r == 0)
		r = agui_profiles_check(c->profile, e);
	if (r == 0)
		r = serve_telemetry_check(e);
	return r < 0 ? r : serve_listen(c->listen, &host, &port, e);
}

int serve_check(const struct config *c, struct err *e)
{
	int r = serve_check_options(c, e);

	if (r < 0)
		return r;
	return serve_check_users(c, e) < 0 || check_all_dirs(c, e) < 0 ? -EINVAL : 0;
}

/* --- what only --check and doctor refuse ---------------------------------------------------------------- */

static void refuse_variable(void *ctx, const char *name, const char *nearest)
{
	struct err *e = ctx;

	if (!*e->reason)
		err_field(e, name, "OPTION_UNKNOWN",
			  "%s: nothing reads this variable; the nearest that is known is %s", name,
			  nearest);
}

int serve_check_strictly(const struct config *c, hosting_warn_fn warn, void *ctx, struct err *e)
{
	int servers = hosting_check(c, warn, ctx, e);

	if (servers < 0)
		return -EINVAL;
	*e = (struct err){ 0 };
	env_names_unknown(refuse_variable, e);
	return *e->reason ? -EINVAL : servers;
}

/* --- harnesses -------------------------------------------------------------------------------------------- */

int serve_harnesses(const struct config *c, struct harness_table *ret, struct err *e)
{
	const char *usual;
	int r = harness_table_load(ret, c->harness_config, e);

	if (r < 0)
		return r;
	usual = serve_default_harness(c, ret);
	return harness_table_find(ret, usual) ?
		       0 :
		       err_field(e, "default-harness", "OPTION_INVALID",
				 "--default-harness: no harness '%s'", usual);
}
