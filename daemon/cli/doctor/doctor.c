/*
 * doctor.c - the table of checks, and the command.
 *
 * The order of the rows is the order of the findings within a level. A check says for itself when it runs: with a
 * daemon, without one, or always. A row never depends on a later one; check_accounts and check_settings fill what
 * the others use, so they stand before them.
 */
#include "cli/doctor/doctor.h"

#include "cli/cmd.h"
#include "cli/harness/program_host.h"
#include "cli/control/reach_daemon.h"
#include "proc/spaces/netns.h"

#include <signal.h>
#include <stdarg.h>

/* A daemon that answers knows itself what it has; without one we look as it would. */
enum check_when { ALWAYS, WITHOUT_DAEMON, WITH_DAEMON };

struct doctor_check {
	const char *id;
	enum doctor_kind kind;
	enum check_when when;
	doctor_check_fn *run;
};

/* As they are listed, within a level. Several rows may have one id: what a daemon says stands for what we would find. */
static const struct doctor_check checks[] = {
	{ "accounts", KIND_USERS, ALWAYS, check_accounts },
	{ "daemon", KIND_DAEMON, WITHOUT_DAEMON, check_no_daemon },
	{ "daemon", KIND_DAEMON, WITH_DAEMON, check_daemon },
	{ "claimed", KIND_CLAIM, WITH_DAEMON, check_daemon_claim },
	{ "settings", KIND_SETTINGS, ALWAYS, check_settings },
	{ "program", KIND_PROGRAMS, ALWAYS, check_program },
	{ "helper", KIND_PROGRAMS, ALWAYS, check_helpers },
	{ "search-path", KIND_PROGRAMS, ALWAYS, check_search_path },
	{ "directory", KIND_DIRECTORIES, ALWAYS, check_dirs },
	{ "disk", KIND_DISK, ALWAYS, check_disk },
	{ "clock", KIND_CLOCK, ALWAYS, check_clock },
	{ "port", KIND_PORT, WITHOUT_DAEMON, check_port },
	{ "cgroup", KIND_KERNEL, WITHOUT_DAEMON, check_cgroup },
	{ "cgroup", KIND_KERNEL, WITH_DAEMON, check_daemon_cgroup },
	{ "agent-user", KIND_USERS, WITHOUT_DAEMON, check_agent_user },
	{ "agent-user", KIND_USERS, WITH_DAEMON, check_daemon_user },
	{ "limit", KIND_KERNEL, WITHOUT_DAEMON, check_limits },
	{ "limit", KIND_KERNEL, WITH_DAEMON, check_daemon_limits },
	{ "sessions", KIND_USERS, WITHOUT_DAEMON, check_shared_user },
	{ "sessions", KIND_USERS, WITH_DAEMON, check_daemon_sharing },
	{ "agent-uids", KIND_USERS, WITHOUT_DAEMON, check_agent_uids },
	{ "agent-uids", KIND_USERS, WITH_DAEMON, check_daemon_uids },
	{ "level", KIND_KERNEL, WITHOUT_DAEMON, check_levels },
	{ "level", KIND_KERNEL, WITH_DAEMON, check_daemon_level },
	{ "landlock", KIND_KERNEL, ALWAYS, check_landlock },
	{ "key-memory", KIND_KERNEL, WITHOUT_DAEMON, check_key_memory },
	{ "key-memory", KIND_KERNEL, WITH_DAEMON, check_daemon_key_memory },
	{ "network-namespaces", KIND_KERNEL, WITHOUT_DAEMON, check_network },
	{ "network-namespaces", KIND_KERNEL, WITH_DAEMON, check_daemon_network },
	{ "nftables", KIND_KERNEL, WITHOUT_DAEMON, check_nftables },
	{ "way-to-root", KIND_ROOT, WITHOUT_DAEMON, check_ways_to_root },
	{ "way-to-root", KIND_ROOT, WITH_DAEMON, check_daemon_root },
	{ "setuid", KIND_ROOT, ALWAYS, check_setuid },
	{ "direct-calls", KIND_CERTIFICATES, WITH_DAEMON, check_daemon_direct },
	{ "state", KIND_STATE, WITH_DAEMON, check_daemon_state },
	{ "harness", KIND_HARNESS, WITHOUT_DAEMON, check_harnesses },
	{ "harness", KIND_HARNESS, WITH_DAEMON, check_daemon_harnesses },
	{ "mcp", KIND_MCP, WITH_DAEMON, check_daemon_mcp },
	{ "node", KIND_NODE, ALWAYS, check_node },
	{ "python", KIND_PYTHON, ALWAYS, check_python },
	{ "git", KIND_GIT, ALWAYS, check_git },
	{ "ripgrep", KIND_RIPGREP, ALWAYS, check_ripgrep },
	{ "certificates", KIND_CERTIFICATES, ALWAYS, check_certificates },
	{ "listens", KIND_LOOPBACK, ALWAYS, check_listeners },
};

struct finding *doctor_found(struct doctor *d, enum found_level level, const char *subject,
			     const char *fmt, ...)
{
	struct finding *one = findings_add(&d->found, level, d->at->kind, d->at->id, subject);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(one->message, sizeof(one->message), fmt, ap);
	va_end(ap);
	err_flatten(one->message);
	return one;
}

/* --- what is found in the same words with a daemon and without ---------------------------------------------------- */

void found_cgroup(struct doctor *d, const char *kind)
{
	if (kind)
		doctor_found(d, FOUND_OK, NULL, "%s", kind);
	else
		doctor_found(d, FOUND_WARNING, NULL,
			     "none: processes are found by their environment marker");
}

void found_network(struct doctor *d, const char *missing)
{
	if (missing)
		doctor_found(d, FOUND_WARNING, NULL, "no: %s", missing);
	else
		doctor_found(d, FOUND_OK, NULL, "yes: a session can be without network");
}

void found_all_ways(struct doctor *d, bool unread, bool any)
{
	if (unread)
		doctor_found(d, FOUND_WARNING, NULL,
			     "not all files could be read: there may be more");
	else if (!any)
		doctor_found(d, FOUND_OK, NULL, "none found");
}

/* --- the command --------------------------------------------------------------------------------------------------- */

static void run_checks(struct doctor *d)
{
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if (checks[i].when == (d->has_daemon ? WITHOUT_DAEMON : WITH_DAEMON))
			continue;
		d->at = &checks[i];
		checks[i].run(d);
	}
}

int cmd_doctor(const struct config *c)
{
	struct doctor d = { .c = c, .report = { .max = DOCTOR_REPORT_MAX } };
	int code;

	/* As serve does first, so that network namespaces are found as a daemon would find them. */
	netns_prepare();
	own_node_add();
	signal(SIGPIPE, SIG_IGN);
	/* Asked once: all checks see the same answer. */
	d.has_daemon = control_call(c, "doctor", SLICE("{}"), &d.report, &d.unheard) == 0;
	run_checks(&d);
	if (c->json)
		findings_print_json(&d.found, d.has_daemon ? buf_slice(&d.report) : SLICE_NONE);
	else
		findings_print(&d.found);
	code = findings_code(&d.found);
	findings_done(&d.found);
	harness_table_done(&d.harnesses);
	buf_done(&d.report);
	return code;
}
