/* cmd_entrypoint.c - `acpd entrypoint`: says what the container has, checks its environment, and is its first process
 * from then on (entry_life.h). No value of a variable is printed, and of the command only its name. What programs say of
 * their versions follows while the command runs. */
#include "cli/cmd.h"
#include "cli/control/reach_daemon.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "base/version.h"
#include "cli/entrypoint/entry_life.h"
#include "cli/serve/serve.h"
#include "cli/harness/program_host.h"
#include "cli/archive/archive.h"
#include "harnesses/harness_pins.h"
#include "json/json.h"
#include "proc/machine/machine_facts.h"
#include "session/core/session_paths.h"

#include <ctype.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#define VERSIONS_NICE 10
#define OS_RELEASE_MAX (64 * KIB)
#define MCP_STATES_MAX (1 * MIB)
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
		/* Only of settings that will be used: a command may need none of them. */
		r = serve_check(&s->serve, e);
	if (r == 0)
		r = s->servers =
			serves ? serve_check_strictly(&s->serve, hosting_warn_user, NULL, e) :
				 hosting_check(&s->serve, hosting_warn_user, NULL, e);
	return r < 0 ? r : 0;
}

/* --- the banner ----------------------------------------------------------------------------------------------- */

/* A line of the banner. */
static void banner_say(const char *what, const char *fmt, ...) _printf_(2, 3);

static void banner_say(const char *what, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "  %-11s ", what);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* What the pin says is known without running anything. */
static void banner_say_harnesses(const struct harness_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct harness_pin *pin = harness_pin_of(&t->defs[i]);
		_cleanup_(freep) char *path =
			paths_find_program(&t->defs[i], HARNESS_PREFIX, getenv("PATH"));

		banner_say("harness", "%s: %s%s%s", t->defs[i].id, path ? path : "not found",
			   path && pin ? ", pinned " : "", path && pin ? pin->version : "");
	}
}

static void banner_say_mcp(const struct entry_settings *s)
{
	if (s->serve.mcp_config)
		banner_say("mcp config", "%s: %d server%s", s->serve.mcp_config, s->servers,
			   s->servers == 1 ? "" : "s");
	else
		banner_say("mcp config", "none");
}

/* The value of PRETTY_NAME, without its quotes. */
static char *system_name(void)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	static const char key[] = "\nPRETTY_NAME=";
	char *at, *end;

	buf_putc(&b, '\n');
	if (file_read("/etc/os-release", OS_RELEASE_MAX, &b) < 0 || buf_putc(&b, '\0') < 0)
		return NULL;
	at = strstr(b.data, key);
	if (!at)
		return NULL;
	at += strlen(key);
	at += *at == '"';
	end = at + strcspn(at, "\"\n");
	return xstrndup(at, (size_t)(end - at));
}

static void banner_say_system(void)
{
	_cleanup_(freep) char *name = system_name();
	struct machine_facts m;
	struct statvfs fs = { 0 };
	struct utsname u;

	machine_facts_read(&m);
	/* A failure leaves zeros: the banner is no reason not to start. */
	statvfs("/", &fs);
	if (uname(&u) == 0)
		banner_say("system", "%s, %s %s %s", name ? name : "unknown", u.sysname, u.release,
			   u.machine);
	banner_say("machine", "%u processor%s, %llu MiB of memory, %llu MiB free on /", m.cpus,
		   m.cpus == 1 ? "" : "s", (unsigned long long)(m.memory / MIB),
		   (unsigned long long)(fs.f_bavail * fs.f_frsize / MIB));
	banner_say("user", "uid %u, gid %u", getuid(), getgid());
}

static void banner_say_all(const struct config *c, const struct entry_settings *s)
{
	fprintf(stderr, "acpd %s entrypoint, process %d\n", acpd_version, (int)getpid());
	banner_say_system();
	banner_say_harnesses(&s->harnesses);
	banner_say_mcp(s);
	banner_say("daemon", "%s", c->serve ? s->serve.listen : "none beside the command");
	banner_say("command", "%s", c->args[0]);
}

/* --- versions ------------------------------------------------------------------------------------------------- */

static void say_version(const char *what, const char *id, char *path)
{
	char version[VERSION_TEXT_MAX + 1];
	struct err why;
	const char *text = !path						? "not found" :
			   program_host_version(path, NULL, version, &why) == 0 ? version :
										  why.msg;

	banner_say(what, "%s%s%s", id, *id ? ": " : "", text);
}

static void say_versions(const struct harness_table *t)
{
	static const char *const programs[] = { "node", "npm", "python3", "git" };

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		_cleanup_(freep) char *path = paths_find_command(programs[i], getenv("PATH"));

		say_version(programs[i], "", path);
	}
	for (size_t i = 0; i < t->n; i++) {
		_cleanup_(freep) char *path =
			paths_find_program(&t->defs[i], HARNESS_PREFIX, getenv("PATH"));

		/* A command of a manifest may do anything when it is given --version. */
		if (path && !t->defs[i].own_command)
			say_version("version", t->defs[i].id, path);
	}
}

/* --- the state of MCP servers --------------------------------------------------------------------------------- */

/* The daemon's answer to GET /v1/mcp; 0, or a negative errno with e. */
static int ask_servers(const struct config *c, struct buf *text, struct err *e)
{
	struct daemon_asker a = { .path = "/v1/mcp" };
	int r;

	asker_open(&a, c); /* by its socket, which cannot fail */
	r = asker_ask(&a, "GET", e);
	buf_reset(text);
	if (r == 0)
		asker_read(&a, text);
	asker_done(&a);
	if (r == 0 && a.answer.status != 200)
		r = err_set(e, -EAGAIN, 0, "UNREACHABLE", "the daemon answers %d", a.answer.status);
	return r;
}

static bool any_starting(struct slice servers)
{
	jarr_each(v, jobj_get(servers, "servers"))
		if (jstr_is(jobj_get(v.raw, "state"), "starting"))
			return true;
	return false;
}

static void say_server(struct slice server)
{
	_cleanup_(freep) char *name = jobj_str(server, "name", MCP_STATES_MAX),
			      *state = jobj_str(server, "state", 64),
			      *era = jobj_str(server, "era", 64),
			      *reason = jobj_str(jobj_get(server, "lastError").raw, "reason", 64);

	if (!name || !state)
		return;
	fprintf(stderr, "  %-11s %s: %s", "mcp", name, state);
	if (era)
		fprintf(stderr, ", %s, %llu tools, %llu ms", era,
			(unsigned long long)jobj_uint(server, "toolCount"),
			(unsigned long long)jobj_uint(server, "latencyMs"));
	fprintf(stderr, "%s%s\n", reason ? ", " : "", reason ? reason : "");
}

/* Once each has answered its handshake, or has failed. */
static void say_servers(const struct config *c)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct err e = { 0 };
	int r = -EAGAIN;

	for (unsigned i = 0; i < ENTRY_MCP_SECS * 5; i++) {
		r = ask_servers(c, &text, &e);
		if (r == 0 && !any_starting(buf_slice(&text)))
			break;
		sleep_ms(200);
	}
	if (r < 0) {
		banner_say("mcp", "state unknown: %s", e.msg);
		return;
	}
	jarr_each(v, jobj_get(buf_slice(&text), "servers"))
		say_server(v.raw);
}

/* Some take seconds to say theirs, so the command does not wait for them: they are asked by a process of its own, which
 * ends with us, and which the processor is not taken from others for. */
static void start_saying_versions(const struct entry_settings *s, bool serves, const sigset_t *mask)
{
	if (fork() != 0)
		return; /* without it the banner has no versions */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	setpriority(PRIO_PROCESS, 0, VERSIONS_NICE);
	say_versions(&s->harnesses);
	if (serves && s->servers > 0 && s->serve.socket)
		say_servers(&s->serve);
	_exit(0);
}

/* --- the environment ------------------------------------------------------------------------------------------ */

static bool is_variable_name(struct slice s)
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

		if (!is_variable_name(name))
			return err_field(
				e, "require", "OPTION_INVALID",
				"--require: the name of a variable is letters, digits and _");
		*missing += !value || !*value;
		banner_say("variable", "%s: %s", text, value && *value ? "set" : "MISSING");
	}
	return 0;
}

/* --- the command ---------------------------------------------------------------------------------------------- */

static char *find_entry_command(const char *name)
{
	_cleanup_(freep) char *path = strchr(name, '/') ? cli_absolute(name) : xstrdup(name);

	return paths_find_command(path, getenv("PATH"));
}

static int run_entry(const struct config *c, const struct entry_settings *s, struct entry_plan *p)
{
	_cleanup_(freep) char *program = find_entry_command(c->args[0]), *own = NULL;
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
	start_saying_versions(s, c->serve, &p->mask);
	r = entry_run(p, &e);
	return r < 0 ? fail(EXIT_FAILED, "%s", e.msg) : r;
}

int cmd_entrypoint(const struct config *c)
{
	_cleanup_(settings_done) struct entry_settings s = { 0 };
	struct entry_plan p = { 0 };
	int missing = 0;
	struct err e;

	/* First: a signal that comes while we are still starting must reach the command. */
	entry_hold_signals(&p);
	if (read_settings(&s, c->serve, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	/* The daemon drains first: less time than that would kill it while turns run. */
	p.stop_ms = ((uint64_t)s.serve.drain + ENTRY_STOP_SECS) * 1000;
	banner_say_all(c, &s);
	if (require_variables(c->require, &missing, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	if (missing)
		return fail(EXIT_USAGE, "%d required variable%s not set", missing,
			    missing == 1 ? " is" : "s are");
	return run_entry(c, &s, &p);
}
