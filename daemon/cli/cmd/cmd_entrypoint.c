/* cmd_entrypoint.c - `acpd entrypoint`: says what the container has, checks its environment, and is its first process
 * from then on (entry_life.h). No value of a variable is printed, and of the command only its name. */
#include "cli/cmd/cmd.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "cli/entry_life.h"
#include "cli/hosting.h"
#include "cli/program_version.h"
#include "cli/run_unpack.h"
#include "cli/serve_check.h"
#include "session/workspace/session_paths.h"

#include <ctype.h>
#include <stdio.h>

#define NOT_FOUND 127 /* as shells end for a command that there is not */

/* What `acpd serve` will take from the environment, and what comes of it. */
struct entry_settings {
	struct config serve;
	struct harness_table harnesses;
	int servers; /* of MCP */
};

static void settings_done(struct entry_settings *s)
{
	harness_table_done(&s->harnesses);
	config_done(&s->serve);
}

/* Whether all of it would do is asked only where the daemon is started from it: a command may be given more. */
static int read_settings(struct entry_settings *s, bool serves, struct err *e)
{
	char *argv[] = { (char[]){ "serve" }, NULL };
	int r = config_load(&s->serve, SCOPE_SERVE, 1, argv, e);

	if (r == 0)
		r = serve_harnesses(&s->serve, &s->harnesses, e);
	if (r == 0 && serves)
		r = serve_check(&s->serve, e);
	if (r == 0 && serves)
		r = serve_check_strictly(&s->serve, e);
	if (r == 0)
		r = s->servers = hosting_check(&s->serve, e);
	return r < 0 ? r : 0;
}

/* --- the banner ----------------------------------------------------------------------------------------------- */

static void say(const char *what, const char *text)
{
	fprintf(stderr, "  %-11s %s\n", what, text);
}

static void say_program(const char *name)
{
	_cleanup_(freep) char *path = paths_find_command(name, getenv("PATH"));
	const struct agent_user self = agent_user_self();
	char version[PROGRAM_VERSION_MAX];

	if (!path)
		say(name, "not found");
	else
		say(name, program_version(path, &self, version) == 0 ? version : "says no version");
}

static void say_harnesses(const struct harness_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		_cleanup_(freep) char *path =
			paths_find_command(t->defs[i].command, getenv("PATH"));

		fprintf(stderr, "  %-11s %s: %s\n", "harness", t->defs[i].id,
			path ? path : "not found");
	}
}

static void say_mcp(const struct entry_settings *s)
{
	if (s->serve.mcp_config)
		fprintf(stderr, "  %-11s %s: %d server%s\n", "mcp config", s->serve.mcp_config,
			s->servers, s->servers == 1 ? "" : "s");
	else
		say("mcp config", "none");
}

static void say_all(const struct config *c, const struct entry_settings *s)
{
	static const char *const programs[] = { "node", "python3", "git" };

	fprintf(stderr, "acpd %s entrypoint, process %d\n", ACPD_VERSION, (int)getpid());
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		say_program(programs[i]);
	say_harnesses(&s->harnesses);
	say_mcp(s);
	say("daemon", c->serve ? s->serve.listen : "none beside the command");
	say("command", c->args[0]);
}

/* --- the environment ------------------------------------------------------------------------------------------ */

static bool is_name(struct slice s)
{
	size_t i = 0;

	while (i < s.n && (isalnum((unsigned char)s.p[i]) || s.p[i] == '_'))
		i++;
	return s.n > 0 && i == s.n && !isdigit((unsigned char)s.p[0]);
}

/* What is no name may be a value: it is not shown. */
static int require_variables(const char *names, int *missing, struct err *e)
{
	for (const char *p = names; p && *p; p += strcspn(p, ","), p += *p == ',') {
		struct slice name = { p, strcspn(p, ",") };
		_cleanup_(freep) char *text = xstrndup(name.p, name.n);
		const char *value = getenv(text);

		if (!is_name(name))
			return err_field(
				e, "require", "OPTION_INVALID",
				"--require: the name of a variable is letters, digits and _");
		*missing += !value || !*value;
		fprintf(stderr, "  %-11s %s: %s\n", "variable", text,
			value && *value ? "set" : "MISSING");
	}
	return 0;
}

/* --- the command ---------------------------------------------------------------------------------------------- */

static char *find_command(const char *name)
{
	_cleanup_(freep) char *path = strchr(name, '/') ? cli_absolute(name) : xstrdup(name);

	return paths_find_command(path, getenv("PATH"));
}

static int run(const struct config *c, struct entry_plan *p)
{
	_cleanup_(freep) char *program = find_command(c->args[0]), *own = NULL;
	char *serve[] = { NULL, (char[]){ "serve" }, NULL };
	struct err e;
	int r;

	if (!program)
		return fail(NOT_FOUND, "no executable '%s' in PATH", c->args[0]);
	if (c->serve) {
		own = serve[0] = file_own_program();
		if (!own)
			return fail(EXIT_FAILED, "/proc/self/exe cannot be read");
		p->daemon = serve;
	}
	p->program = program;
	p->argv = c->args;
	r = entry_run(p, &e);
	return r < 0 ? fail(EXIT_FAILED, "%s", e.msg) : r;
}

int cmd_entrypoint(const struct config *c)
{
	_cleanup_(settings_done) struct entry_settings s = { 0 };
	struct entry_plan p = { 0 };
	int missing = 0;
	struct err e;

	entry_hold_signals(&p);
	if (read_settings(&s, c->serve, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	p.stop_ms = ((uint64_t)s.serve.drain + ENTRY_STOP_SECS) * 1000;
	say_all(c, &s);
	if (require_variables(c->require, &missing, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	if (missing)
		return fail(EXIT_USAGE, "%d required variable%s not set", missing,
			    missing == 1 ? " is" : "s are");
	return run(c, &p);
}
