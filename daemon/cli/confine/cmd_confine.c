/*
 * cmd_confine.c - `acpd confine try`: runs a command as a session's programs run under a level, and reports what
 * it was refused. No daemon is needed.
 *
 * Each part of the confinement comes from the code that sessions use: bounds, mount view, network namespace,
 * proxy, home and environment. First it is found out what of the level this machine cannot enforce; without
 * --partial nothing is run then. The command has a kernel session of its own, and this process passes signals on
 * to it. It is a subreaper: whatever outlives the command is killed before the report.
 */
#include "cli/cmd.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "cli/confine/confine_try.h"
#include "base/net/address_rules.h"
#include "confine/confine_machine.h"
#include "egress/wire/egress_rules.h"
#include "proc/level_means.h"
#include "proc/spaces/fsview.h"
#include "proc/spaces/shut_devices.h"
#include "proc/spaces/spaces.h"
#include "proc/spawn.h"
#include "session/core/harness/baseenv.h"
#include "session/core/session_paths.h"

#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define TRY_NAME "try"
#define SIGNALLED 128 /* exit codes of a shell for a command that a signal has ended */

struct try_home {
	char *dir, *tmp;
	char **env;
};

struct attempt {
	const struct config *c;
	struct try_result result;
	struct passwd *user; /* NULL: who calls */
	struct egress_rules *network;
	struct proc_bounds bounds;
	char *program;
	struct try_home home;
	struct try_proxy proxy;
};

/* --- its home -------------------------------------------------------------------------------------------------- */

static int make_home_dir(const char *path, const struct passwd *user)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return user && chown(path, user->pw_uid, user->pw_gid) < 0 ? -errno : 0;
}

static char **build_home_env(const char *home, const char *tmp, const struct passwd *user,
			     const struct sockaddr_in *proxy)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };

	baseenv_put(&plan, NULL);
	if (proxy)
		baseenv_proxy(&plan, proxy);
	harness_plan_env(&plan, "HOME", home);
	harness_plan_env(&plan, "TMPDIR", tmp);
	if (user) {
		harness_plan_env(&plan, "USER", user->pw_name);
		harness_plan_env(&plan, "LOGNAME", user->pw_name);
	}
	baseenv_no_proxy(&plan, NULL);
	return harness_plan_environ(&plan);
}

/* An empty directory of its user's own, with one for temporary files in it, and the base environment (session/core/harness/baseenv.h), as
 * the programs of a session have. user NULL: who calls. proxy: that its programs are told of, or NULL. 0 or -errno with e. */
static int try_home_make(struct try_home *h, const struct passwd *user,
			 const struct sockaddr_in *proxy, struct err *e)
{
	const char *parent = getenv("TMPDIR");
	char name[] = "acpd-try-XXXXXX";
	int r;

	h->dir = file_join(parent && *parent == '/' ? parent : "/tmp", name);
	if (!mkdtemp(h->dir)) {
		r = -errno;
		free(TAKE_PTR(h->dir));
		return err_set(e, r, 0, "NO_HOME", "no directory for a home can be made: %s",
			       strerror(-r));
	}
	h->tmp = file_join(h->dir, "tmp");
	/* The inner directory first: once the outer one belongs to the user, its names are his. */
	r = make_home_dir(h->tmp, user);
	if (r == 0)
		r = make_home_dir(h->dir, user);
	if (r < 0)
		return err_set(e, r, 0, "NO_HOME", "no home in %s: %s", h->dir, strerror(-r));
	h->env = build_home_env(h->dir, h->tmp, user, proxy);
	return 0;
}

/* Nothing of the command runs any more. */
static void try_home_remove(struct try_home *h)
{
	if (h->dir)
		file_remove_tree(h->dir);
	free_each(h->dir, h->tmp);
	harness_plan_free_environ(h->env);
}

static void attempt_done(struct attempt *a)
{
	try_proxy_stop(&a->proxy, NULL);
	proc_bounds_drop(&a->bounds);
	try_home_remove(&a->home);
	free(a->program);
	egress_rules_free(a->network);
	free(a->result.refused);
}

/* --- what a level needs --------------------------------------------------------------------------------------- */

static const char *why_no_try_uid(const struct attempt *a)
{
	return geteuid() == 0 && !a->user ? "there is no --agent-user: the command runs as root" :
					    NULL;
}

static bool needs_wall(const struct attempt *a)
{
	return a->result.level == LEVEL_STRICT ||
	       (a->network && egress_rules_mode(a->network) != EGRESS_ON);
}

/* Behind a wall it is the way out, if there is to be one. */
static bool needs_proxy(const struct attempt *a)
{
	return needs_wall(a) && !(a->network && egress_rules_mode(a->network) == EGRESS_OFF);
}

static void lacks(void *ctx, const char *what, const char *why)
{
	struct try_result *t = ctx;

	if (!why)
		return;
	t->missing[t->n_missing].what = what;
	t->missing[t->n_missing++].why = why;
}

static void find_missing(struct attempt *a)
{
	struct try_result *t = &a->result;

	if (t->level >= LEVEL_GUARDED)
		lacks(t, "uid", why_no_try_uid(a));
	level_means_lack(&(struct level_ask){ t->level, true, a->user != NULL }, lacks, t);
	lacks(t, "proxy", needs_proxy(a) ? try_proxy_missing() : NULL);
	if (t->level < LEVEL_STRICT && needs_wall(a)) /* strict has said so */
		lacks(t, "networkNamespace", netns_missing());
}

/* --- what it runs within -------------------------------------------------------------------------------------- */

static int take_options(struct attempt *a, struct err *e)
{
	const struct config *c = a->c;

	level_parse(c->level ? c->level : "guarded", &a->result.level); /* a word of the table */
	if (upstream_allow_check(c->upstream_allow, e) < 0)
		return -EINVAL;
	if (c->network && egress_rules_parse(slice_of(c->network), "network", &a->network, e) < 0)
		return -EINVAL;
	if (!c->agent_user || geteuid() != 0)
		return 0;
	a->user = getpwnam(c->agent_user);
	if (a->user)
		return 0;
	return err_field(e, "agent-user", "OPTION_INVALID", "--agent-user: no user named '%s'",
			 c->agent_user);
}

static int find_try_command(struct attempt *a, struct err *e)
{
	const struct config *c = a->c;

	if (!c->cwd)
		return err_field(e, "cwd", "OPTION_INVALID",
				 "--cwd: the working directory does not exist; name another");
	a->program = strchr(c->args[0], '/') ? cli_absolute(c->args[0]) :
					       paths_find_command(c->args[0], getenv("PATH"));
	if (!a->program)
		return err_set(e, -ENOENT, 0, "NO_COMMAND", "no executable '%s' in PATH",
			       c->args[0]);
	c->args[0] = a->program;
	return 0;
}

/* As of a session with this working directory (session/parts/confinement/session_spaces.h). */
static int fill_view(struct fsview *v, const struct attempt *a, struct err *e)
{
	int r = fsview_add(v, FSVIEW_WRITABLE, a->c->cwd, e);

	if (r == 0)
		r = fsview_add(v, FSVIEW_WRITABLE, a->home.dir, e);
	if (r == 0)
		r = fsview_put(v, "/tmp", a->home.tmp, e);
	if (r == 0)
		r = fsview_put(v, "/var/tmp", a->home.tmp, e);
	seen_homes_hidden(v);
	seen_path(v, getenv("PATH"));
	/* Programs and scripts named in the command must be visible, wherever they are. */
	for (char **arg = a->c->args; *arg; arg++)
		seen_program(v, *arg);
	return r == 0 ? fsview_settle(v, e) : r;
}

static int make_try_mounts(struct attempt *a, struct err *e)
{
	struct proc_bounds *b = &a->bounds;

	if (!shut_devices_needed(a->result.level, b->switch_user))
		return 0;
	b->spaces = shut_devices_spaces(e);
	return b->spaces ? 0 : -EIO;
}

static int make_spaces(struct attempt *a, struct err *e)
{
	struct proc_bounds *b = &a->bounds;
	struct fsview *v;
	int r;

	if (a->result.level != LEVEL_STRICT || spaces_missing())
		return make_try_mounts(a, e);
	v = fsview_new();
	r = fill_view(v, a, e);
	if (r == 0) {
		b->spaces = spaces_new(v, TRY_NAME, b->switch_user, b->uid, b->gid, e);
		r = b->spaces ? 0 : -EIO;
	}
	fsview_free(v);
	return r;
}

static int start_proxy(struct attempt *a, struct err *e)
{
	struct try_proxy_config c = { .netns = a->bounds.netns,
				      .agent_user = a->c->agent_user,
				      .allow = a->c->upstream_allow };

	if (!needs_proxy(a) || try_proxy_missing())
		return 0;
	/* who says nothing may call all that is public */
	if (!a->network &&
	    egress_rules_parse(SLICE("{\"mode\":\"on\"}"), "network", &a->network, e) < 0)
		return -EINVAL;
	c.rules = a->network;
	return try_proxy_start(&a->proxy, &c, e);
}

static int make_network(struct attempt *a, struct err *e)
{
	if (!needs_wall(a) || netns_missing())
		return 0;
	a->bounds.netns = netns_new(e);
	return a->bounds.netns ? start_proxy(a, e) : -EIO;
}

static int make_bounds(struct attempt *a, struct err *e)
{
	struct proc_bounds *b = &a->bounds;

	b->switch_user = a->user;
	b->may_gain = a->result.level == LEVEL_OPEN;
	if (a->user) {
		b->uid = a->user->pw_uid;
		b->gid = a->user->pw_gid;
	}
	if (make_spaces(a, e) < 0)
		return -EIO;
	if (confine_machine_missing(MACHINE_FILTER) || a->result.level == LEVEL_OPEN)
		return 0;
	b->confinement = confinement_get(
		a->result.level, confine_machine_missing(MACHINE_LISTENER) ? 0 : CONFINE_LOG, e);
	/* Only with a filter: without one nothing is refused by us. */
	b->refusals = refusals_new();
	return b->confinement ? 0 : -EIO;
}

/* --- the command ---------------------------------------------------------------------------------------------- */

/* Passes signals on to the command, which is in a kernel session of its own, until it has ended. */
static int await_end(pid_t pid, const sigset_t *signals)
{
	int signo, status;

	for (;;) {
		pid_t ended = waitpid(-1, &status, WNOHANG);

		if (ended == pid)
			return status;
		if (ended > 0)
			continue;
		if (sigwait(signals, &signo) == 0 && signo != SIGCHLD)
			kill(pid, signo);
	}
}

static int run_within(struct attempt *a, const struct proc_spec *spec, struct err *e)
{
	struct spawned s = { .listener = -1 };
	sigset_t signals;
	int status;

	sigemptyset(&signals);
	for (const int *p = (const int[]){ SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0 }; *p; p++)
		sigaddset(&signals, *p);
	/* Before the command is started: await_end takes them synchronously, so none is lost. */
	sigprocmask(SIG_BLOCK, &signals, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (spawn_child(spec, NULL, &s, e) < 0)
		return -EIO;
	if (confinement_logs(spec->bounds.confinement))
		proc_bounds_watch(&spec->bounds, s.listener);
	status = await_end(s.pid, &signals);
	closep(&s.pidfd);
	try_proxy_stop(&a->proxy, a->bounds.refusals);
	kill_descendants();
	a->result.exited = WIFEXITED(status);
	a->result.code = a->result.exited ? WEXITSTATUS(status) : WTERMSIG(status);
	return 0;
}

static int run_try_command(struct attempt *a, struct err *e)
{
	struct proc_spec spec = { .argv = a->c->args,
				  .env = a->home.env,
				  .cwd = a->c->cwd,
				  .session = TRY_NAME,
				  .bounds = a->bounds,
				  .inherits = true };

	return run_within(a, &spec, e);
}

/* --- what came of it ------------------------------------------------------------------------------------------ */

static void collect_refusals(struct attempt *a)
{
	struct try_result *t = &a->result;
	struct refusals *r = a->bounds.refusals;

	t->refused = xalloc(REFUSALS_MAX * sizeof(*t->refused));
	while (r && t->n_refused < REFUSALS_MAX &&
	       refusals_take(r, false, &t->refused[t->n_refused]))
		t->n_refused++;
	/* Refusals that found no space in the list. */
	t->more = r ? refusals_take_more(r) : 0;
}

static int report_try(struct attempt *a, int to)
{
	const struct try_result *t = &a->result;
	_cleanup_(buf_done) struct buf b = { 0 };

	collect_refusals(a);
	(a->c->json ? confine_report_json : confine_report_text)(t, &b);
	if (dprintf(to, "%.*s", (int)buf_len(&b), b.data) < 0)
		return EXIT_FAILED;
	if (confine_report_refused(t))
		return EXIT_REFUSED;
	return t->exited ? t->code : SIGNALLED + t->code;
}

static int refuse_level(const struct try_result *t)
{
	for (size_t i = 0; i < t->n_missing; i++)
		fail(EXIT_REFUSED, "level %s cannot be had here: %s: %s", level_name(t->level),
		     t->missing[i].what, t->missing[i].why);
	return fail(EXIT_REFUSED, "--partial runs the command with what there is of it");
}

int cmd_confine_try(const struct config *c)
{
	_cleanup_(attempt_done) struct attempt a = { .c = c };
	_cleanup_(closep) int out = -1;
	struct err e = { 0 };

	netns_prepare();
	if (take_options(&a, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	/* Nothing has been made so far, so a refusal has nothing to undo. */
	find_missing(&a);
	if (a.result.n_missing && !c->partial)
		return refuse_level(&a.result);
	/* standard output is the report's alone then, and the command's is with its errors */
	out = dup(c->json ? STDOUT_FILENO : STDERR_FILENO);
	if (c->json)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	if (find_try_command(&a, &e) < 0 || make_network(&a, &e) < 0 ||
	    try_home_make(&a.home, a.user, a.proxy.pid ? &a.proxy.at : NULL, &e) < 0 ||
	    make_bounds(&a, &e) < 0 || run_try_command(&a, &e) < 0)
		return fail(EXIT_FAILED, "%s", e.msg);
	return report_try(&a, out);
}
