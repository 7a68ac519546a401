/*
 * check_tools.c - doctor: the programs that agents need.
 *
 * A program is asked its version, as the user that would run it and within bounds (program_host.h). A harness that
 * others could have replaced is not run at all, another such program not as ourselves.
 */
#include "cli/doctor/doctor.h"
#include "cli/harness/program_host.h"
#include "cli/serve/serve.h"

#include "fetcher/fetcher.h"
#include "harnesses/harness_pins.h"
#include "session/core/session.h"
#include "session/core/session_paths.h"

#include <pwd.h>

#define NODE_MAJOR 22 /* from then on it runs TypeScript */
#define NODE_MINOR 6

/* Whom agents run as; without a user of theirs it is whoever runs the daemon. */
static struct agent_user who_runs(const struct doctor *d)
{
	const struct passwd *pw = d->c->agent_user && d->has_accounts ? getpwnam(d->c->agent_user) :
									NULL;
	struct agent_user u = agent_user_self();

	if (geteuid() == 0 && pw && pw->pw_uid != 0)
		u = (struct agent_user){ true, pw->pw_uid, pw->pw_gid, NULL };
	return u;
}

/* Others could have put anything there: not to be run as root, not even to be asked its version. */
static bool is_foreign_program(const char *path, char *why, size_t size)
{
	_cleanup_(freep) char *real = realpath(path, NULL);

	return real && !safe_path(real, why, size);
}

/* --- harnesses ------------------------------------------------------------------------------------------------- */

/* The one that somebody named. */
static bool is_wanted_harness(const struct doctor *d, const struct harness_def *def)
{
	return strcmp(serve_default_harness(d->c, &d->harnesses), def->id) == 0 &&
	       (d->c->default_harness || def->configured);
}

/* What a manifest puts in its place may do anything when it is given --version. */
static void say_harness(struct doctor *d, const struct harness_def *def, char *path)
{
	const struct agent_user as = who_runs(d);
	char version[VERSION_TEXT_MAX + 1];
	struct err why;

	if (!def->own_command && program_host_version(path, &as, version, &why) == 0)
		doctor_found(d, FOUND_OK, def->id, "%s, %s", version, path);
	else if (def->own_command)
		doctor_found(d, FOUND_OK, def->id, "%s", path);
	else
		doctor_found(d, FOUND_WARNING, def->id, "%s %s", path, why.msg);
}

static void say_missing(struct doctor *d, const struct harness_def *def)
{
	struct finding *f = doctor_found(d,
					 is_wanted_harness(d, def) ? FOUND_TROUBLE : FOUND_WARNING,
					 def->id, "%s (not installed)", def->command);

	if (harness_pin_of(def))
		finding_hint(f, "acpd harness install %s", def->id);
}

/* True: it is there. */
static bool check_harness(struct doctor *d, const struct harness_def *def)
{
	_cleanup_(freep) char *path = harness_program(def);
	char why[256];

	if (!path)
		say_missing(d, def);
	else if (is_foreign_program(path, why, sizeof(why)))
		finding_hint(
			doctor_found(d, FOUND_TROUBLE, def->id, "%s: %s", path, why),
			"an agent could put another program there: chown it to root, chmod go-w");
	else
		say_harness(d, def, path);
	return path != NULL;
}

void check_harnesses(struct doctor *d)
{
	size_t n = 0;

	if (!d->has_harnesses)
		return; /* that is told already */
	for (size_t i = 0; i < d->harnesses.n; i++)
		n += check_harness(d, &d->harnesses.defs[i]);
	if (!n)
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL, "none is installed"),
			     HOW_TO_INSTALL);
}

/* --- other programs --------------------------------------------------------------------------------------------- */

struct tool {
	char *path, version[VERSION_TEXT_MAX + 1];
};

static void tool_done(struct tool *t)
{
	free(t->path);
}

/* The program of that name, or of the other one (NULL: there is none); false: trouble, and told. */
static bool find_checked_tool(struct doctor *d, const char *name, const char *other,
			      const char *lost, struct tool *t)
{
	const struct agent_user as = who_runs(d);
	struct err failure;
	char why[256];

	t->path = paths_find_command(name, getenv("PATH"));
	if (!t->path && other)
		t->path = paths_find_command(other, getenv("PATH"));
	if (!t->path) {
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL, "it is not installed: %s", lost),
			     "install it into a directory of PATH");
		return false;
	}
	if (!as.switched && is_foreign_program(t->path, why, sizeof(why))) {
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL, "%s: %s", t->path, why),
			     "it was not run: chown it to root, chmod go-w");
		return false;
	}
	if (program_host_version(t->path, &as, t->version, &failure) == 0)
		return true;
	finding_hint(doctor_found(d, FOUND_TROUBLE, NULL, "%s %s", t->path, failure.msg),
		     "agents run it as uid %u", (unsigned)as.uid);
	return false;
}

void check_node(struct doctor *d)
{
	_cleanup_(tool_done) struct tool t = { 0 };
	int major = 0, minor = 0;

	if (!find_checked_tool(d, "node", "nodejs", "runCode runs no JavaScript", &t))
		return;
	if (sscanf(t.version, "v%d.%d", &major, &minor) == 2 &&
	    (major > NODE_MAJOR || (major == NODE_MAJOR && minor >= NODE_MINOR)))
		doctor_found(d, FOUND_OK, NULL, "%s, %s", t.version, t.path);
	else
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL,
					  "%s, %.40s, is too old: runCode runs no TypeScript",
					  t.path, t.version),
			     "install Node %d.%d or later", NODE_MAJOR, NODE_MINOR);
}

/* Those of which any version will do. */
static void check_any(struct doctor *d, const char *name, const char *other, const char *lost)
{
	_cleanup_(tool_done) struct tool t = { 0 };

	if (find_checked_tool(d, name, other, lost, &t))
		doctor_found(d, FOUND_OK, NULL, "%s, %s", t.version, t.path);
}

void check_python(struct doctor *d)
{
	check_any(d, "python3", "python", "runCode runs no Python");
}

void check_git(struct doctor *d)
{
	check_any(d, "git", NULL, "agents and the tools for patches work with it");
}

void check_ripgrep(struct doctor *d)
{
	check_any(d, "rg", NULL, "harnesses search with it, and some would download it");
}

void check_certificates(struct doctor *d)
{
	_cleanup_(freep) char *path = d->c->ca_file ? xstrdup(d->c->ca_file) : fetcher_ca_file();
	struct err e;

	if (d->c->ca_file && fetcher_ca_check(path, &e) < 0)
		return; /* that is a setting, and told there */
	if (!path)
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL,
					  "there are none: nothing is reached by https"),
			     "apt-get install ca-certificates, or name a file with --ca-file");
	else if (fetcher_ca_check(path, &e) < 0)
		doctor_found(d, FOUND_TROUBLE, NULL, "%s", e.msg);
	else
		doctor_found(d, FOUND_OK, NULL, "%s", path);
}
