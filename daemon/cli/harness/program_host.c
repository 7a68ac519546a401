/*
 * program_host.c - runs programs within bounds for a subcommand, and waits for them: a loop and children of its own.
 *
 * A program that is asked for its version is third-party: it gets the system call filter of level guarded if the
 * machine supports filters. If the caller is root, it also runs as the user agent if there is one, otherwise as nobody:
 * a program that this user cannot start is of no use to a session either. loop_run returns when a callback calls
 * loop_quit. Every run has a timeout, so that always happens. SIGCHLD is read by the loop, which reaps the children as
 * in the daemon. A host is good for one call of program_host_facts.
 */
#include "cli/harness/program_host.h"

#include "base/limits.h"
#include "cli/cmd.h"
#include "confine/confine_machine.h"
#include "harnesses/harness_pins.h"
#include "session/core/session_paths.h"

#include <pwd.h>
#include <signal.h>

/* --- Node ------------------------------------------------------------------------------------------------------------ */

void own_node_add(void)
{
	const char *path = getenv("PATH");
	_cleanup_(freep) char *found = paths_find_command("node", path), *longer = NULL;

	if (found || access(NODE_DIR "/node", X_OK) < 0)
		return;
	longer = xprintf("%s%s" NODE_DIR, path ? path : "", path && *path ? ":" : "");
	setenv("PATH", longer, 1);
}

/* --- the host --------------------------------------------------------------------------------------------------------- */

static int make_loop(struct program_host *h)
{
	own_node_add();
	h->loop = loop_new();
	h->procs = proc_host_new(h->loop, NULL);
	return cli_signals(h->loop, (const int[]){ SIGCHLD, 0 }, reap_on_signal, h->procs);
}

int program_host_open(struct program_host *h, const char *manifest, struct err *e)
{
	*h = (struct program_host){ 0 };
	return harness_table_load(&h->harnesses, manifest, e) < 0 ? -EINVAL : make_loop(h);
}

void program_host_close(struct program_host *h)
{
	h->programs = programs_free(h->programs);
	h->procs = proc_host_free(h->procs);
	harness_table_done(&h->harnesses);
	h->loop = loop_free(h->loop);
}

/* --- facts -------------------------------------------------------------------------------------------------------- */

static struct proc_bounds bounds_as(bool switches, uid_t uid, gid_t gid)
{
	struct proc_bounds b = { .switch_user = switches, .uid = uid, .gid = gid };

	if (!confine_machine_missing(MACHINE_FILTER))
		b.confinement = confinement_get(LEVEL_GUARDED, 0, NULL);
	return b;
}

static struct proc_bounds bounds_to_ask_in(void)
{
	struct passwd *pw = NULL;

	if (geteuid() == 0)
		pw = getpwnam("agent");
	if (geteuid() == 0 && !pw)
		pw = getpwnam("nobody");
	return pw ? bounds_as(true, pw->pw_uid, pw->pw_gid) : bounds_as(false, 0, 0);
}

void program_host_facts(struct program_host *h, const char *prefix, unsigned seconds)
{
	struct programs_config c = { .harnesses = &h->harnesses,
				     .prefix = prefix,
				     .path = getenv("PATH"),
				     .bounds = bounds_to_ask_in(),
				     .timeout_ms = seconds * 1000ull };

	h->programs = programs_new(h->loop, h->procs, &c);
	programs_ask(h->programs, &h->ask, quit_loop, h->loop);
	loop_run(h->loop);
}

/* --- one version --------------------------------------------------------------------------------------------------- */

struct one_version {
	struct loop *loop;
	char *text; /* where it goes */
	struct err *why;
};

static void on_one_version(void *ctx, const char *version, const struct err *why)
{
	struct one_version *one = ctx;

	snprintf(one->text, VERSION_TEXT_MAX + 1, "%s", version ? version : "");
	*one->why = *why;
	loop_quit(one->loop);
}

int program_host_version(char *path, const struct agent_user *as, char ret[VERSION_TEXT_MAX + 1],
			 struct err *why)
{
	_cleanup_(program_host_close) struct program_host h = { 0 };
	struct version_spec spec = { .path = path,
				     .search = getenv("PATH"),
				     .bounds = as ? bounds_as(as->switched, as->uid, as->gid) :
						    bounds_to_ask_in(),
				     .timeout_ms = PROGRAM_VERSION_MS };
	struct one_version one = { .text = ret, .why = why };
	struct version_run *v;

	*ret = '\0';
	*why = (struct err){ 0 };
	if (make_loop(&h) < 0)
		return err_set(why, -EIO, 0, "VERSION_FAILED", "there is no loop to wait in");
	one.loop = h.loop;
	v = version_run_start(h.loop, h.procs, &spec, on_one_version, &one, why);
	if (!v)
		return -EIO;
	loop_run(h.loop);
	version_run_free(v);
	return *ret ? 0 : -EIO;
}
