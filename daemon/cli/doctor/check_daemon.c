/*
 * check_daemon.c - doctor: what a daemon reports of itself, in the answer to "doctor" on its control socket
 * (net/unix_server.h).
 *
 * A running daemon knows what it has: its cgroup, its uids, its servers. What doctor would find from outside may
 * differ, because it has another environment and perhaps another user. So these checks replace those of the same
 * id (doctor.c). The answer is parsed as loosely as possible: a member that is missing counts as empty, since the
 * daemon may be of another version.
 */
#include "cli/cmd.h"
#include "cli/doctor/doctor.h"

#include "base/version.h"
#include "json/json.h"

static struct slice member(const struct doctor *d, const char *key)
{
	return jobj_get(buf_slice(&d->report), key).raw;
}

static bool true_in(struct slice object, const char *key)
{
	return jobj_get(object, key).type == J_TRUE;
}

void check_no_daemon(struct doctor *d)
{
	if (strcmp(d->unheard.reason, "UNREACHABLE") == 0)
		doctor_found(d, FOUND_OK, NULL, "%s", d->unheard.msg);
	else
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL, "%s", d->unheard.msg),
			     "control.sock is there, but no daemon that answers doctor");
}

void check_daemon(struct doctor *d)
{
	_cleanup_(freep) char *version = cli_string_of(buf_slice(&d->report), "version");

	if (strcmp(version, acpd_version) == 0)
		doctor_found(d, FOUND_OK, NULL, "%s", version);
	else
		finding_hint(doctor_found(d, FOUND_WARNING, NULL, "it is %s, and this is %s",
					  version, acpd_version),
			     "start it again");
}

void check_daemon_claim(struct doctor *d)
{
	if (true_in(buf_slice(&d->report), "claimed"))
		doctor_found(d, FOUND_OK, NULL, "yes");
	else
		doctor_found(d, FOUND_TROUBLE, NULL, "no: acpd claim, or --token-file");
}

void check_daemon_cgroup(struct doctor *d)
{
	_cleanup_(freep) char *kind = cli_string_of(buf_slice(&d->report), "cgroup");

	found_cgroup(d, strcmp(kind, "none") == 0 ? NULL : kind);
}

void check_daemon_user(struct doctor *d)
{
	_cleanup_(freep) char *user = cli_string_of(buf_slice(&d->report), "agentUser");

	if (*user)
		doctor_found(d, FOUND_OK, NULL, "%s", user);
	else
		doctor_found(d, FOUND_WARNING, NULL,
			     "none: harnesses run as the daemon's user (--agent-user)");
}

/* --- limits and levels ------------------------------------------------------------------------------------------ */

/* Why nothing holds the limit of that name; the caller frees. */
static char *why_missing(struct slice limits, struct slice name)
{
	jarr_each(v, jobj_get(limits, "missing")) {
		_cleanup_(freep) char *what = cli_string_of(v.raw, "what");

		if (slice_is(name, what))
			return cli_string_of(v.raw, "why");
	}
	return xstrdup("");
}

void check_daemon_limits(struct doctor *d)
{
	struct slice limits = member(d, "limits");

	jobj_each(name, v, jobj_get(limits, "by").raw) {
		_cleanup_(freep) char *why = why_missing(limits, name), *by = NULL;
		char label[40];

		jstr_decode(v, 64, &by);
		/* The name is a member of the answer: it is cut, as it becomes a label. */
		snprintf(label, sizeof(label), "%.*s", (int)MIN(name.n, 30u), name.p);
		doctor_found(d, *why ? FOUND_WARNING : FOUND_OK, label, "%s%s%s", by ? by : "",
			     *why ? ": " : "", why);
	}
}

/* What of a level is missing, its names only. */
static void one_level(struct doctor *d, struct slice level)
{
	_cleanup_(freep) char *name = cli_string_of(level, "name");
	char names[240] = "";

	if (true_in(level, "whole")) {
		doctor_found(d, FOUND_OK, name, "can be had whole");
		return;
	}
	jarr_each(v, jobj_get(level, "missing")) {
		_cleanup_(freep) char *what = cli_string_of(v.raw, "what");
		size_t n = strlen(names);

		snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", what);
	}
	doctor_found(d, FOUND_WARNING, name, "not whole: no %s", names);
}

void check_daemon_level(struct doctor *d)
{
	struct slice isolation = member(d, "isolation"), level = jobj_get(isolation, "level").raw;
	_cleanup_(freep) char *asked = cli_string_of(level, "requested"),
			      *got = cli_string_of(level, "achieved");

	/* A level that was not named is enforced as far as possible: less than requested is a warning. */
	doctor_found(d, strcmp(asked, got) == 0 ? FOUND_OK : FOUND_WARNING, NULL, "%s: %s", asked,
		     got);
	jarr_each(v, jobj_get(level, "missing")) {
		_cleanup_(freep) char *what = cli_string_of(v.raw, "what"),
				      *why = cli_string_of(v.raw, "why");

		doctor_found(d, FOUND_WARNING, NULL, "%s: %s", what, why);
	}
	jarr_each(v, jobj_get(isolation, "levels"))
		one_level(d, v.raw);
}

void check_daemon_network(struct doctor *d)
{
	_cleanup_(freep) char *missing = cli_string_of(member(d, "isolation"), "networkMissing");

	found_network(d, *missing ? missing : NULL);
}

/* --- users ------------------------------------------------------------------------------------------------------- */

void check_daemon_sharing(struct doctor *d)
{
	struct slice uids = jobj_get(member(d, "isolation"), "agentUids").raw;

	/* Without --agent-uids the answer has no such member. */
	if (!uids.n)
		doctor_found(d, FOUND_WARNING, NULL,
			     "share one user: each can read and stop the others' processes");
	else
		doctor_found(d, FOUND_OK, NULL,
			     "have uids of their own, %llu to %llu: %llu are free",
			     (unsigned long long)jobj_uint(uids, "first"),
			     (unsigned long long)jobj_uint(uids, "last"),
			     (unsigned long long)jobj_uint(uids, "free"));
}

void check_daemon_uids(struct doctor *d)
{
	struct slice uids = jobj_get(member(d, "isolation"), "agentUids").raw;
	_cleanup_(freep) char *problem = cli_string_of(uids, "problem");
	unsigned long long unnamed = jobj_uint(uids, "unnamed");

	/* uids that are all right are not a line of their own: "sessions" has said them. */
	if (*problem)
		doctor_found(d, FOUND_TROUBLE, NULL, "%s", problem);
	else if (unnamed)
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL, "%llu lack a user or group",
					  unnamed),
			     "images/agent-users.sh %llu %llu",
			     (unsigned long long)jobj_uint(uids, "first"),
			     (unsigned long long)jobj_uint(uids, "last"));
}

void check_daemon_root(struct doctor *d)
{
	struct slice isolation = member(d, "isolation");
	/* agents without a user of their own are not meant to be confined */
	enum found_level level = true_in(isolation, "noNewPrivileges") ? FOUND_TROUBLE :
									 FOUND_WARNING;
	size_t before = d->found.n;

	jarr_each(v, jobj_get(isolation, "waysToRoot")) {
		_cleanup_(freep) char *text = cli_string_of(v.raw, "text");

		doctor_found(d, level, NULL, "%s", text);
	}
	found_all_ways(d, true_in(isolation, "unread"), d->found.n > before);
}

/* --- what it is for ------------------------------------------------------------------------------------------------ */

void check_daemon_direct(struct doctor *d)
{
	struct slice direct = member(d, "direct");
	_cleanup_(freep) char *missing = cli_string_of(direct, "missing"),
			      *user = cli_string_of(direct, "user"),
			      *ca = cli_string_of(direct, "caFile"),
			      *allowed = cli_string_of(direct, "allowed");

	if (*missing)
		doctor_found(d, FOUND_WARNING, NULL, "not possible: %s", missing);
	else
		doctor_found(d, *ca ? FOUND_OK : FOUND_WARNING, NULL,
			     "by acpd-fetch as %s; certificates: %s", user,
			     *ca ? ca : "none, so no https");
	if (true_in(direct, "proxy"))
		doctor_found(
			d, FOUND_WARNING, "proxy",
			"which addresses direct calls reach is its affair; private ones, written as such, are refused");
	if (*allowed)
		doctor_found(d, FOUND_WARNING, "upstream-allow", "%s", allowed);
}

void check_daemon_key_memory(struct doctor *d)
{
	struct slice direct = member(d, "direct");
	_cleanup_(freep) char *kept = cli_string_of(direct, "keyMemory"),
			      *program = cli_string_of(direct, "program"),
			      *why = cli_string_of(direct, "keyMemoryWhy");
	/* The daemon refuses to keep keys that may be swapped out, or keeps them all the same. */
	bool refused = strcmp(kept, "refused") == 0;

	if (!*why)
		doctor_found(d, FOUND_OK, NULL, "%s", *kept ? kept : "not known");
	else
		finding_hint(doctor_found(d, refused && *program ? FOUND_TROUBLE : FOUND_WARNING,
					  NULL, "%s: cannot lock memory for keys", kept),
			     "%s%s", why, refused ? ", or use --unlocked-keys" : "");
}

void check_daemon_state(struct doctor *d)
{
	size_t before = d->found.n;

	jarr_each(v, jobj_get(buf_slice(&d->report), "problems")) {
		_cleanup_(freep) char *what = cli_string_of(v.raw, "what"),
				      *name = cli_string_of(v.raw, "name"),
				      *text = cli_string_of(v.raw, "text");

		doctor_found(d, FOUND_TROUBLE, what, "%s%s%s", name, *name ? ": " : "", text);
	}
	if (d->found.n == before)
		doctor_found(d, FOUND_OK, NULL, "nothing is damaged");
}

void check_daemon_harnesses(struct doctor *d)
{
	bool any = false;

	jarr_each(v, jobj_get(buf_slice(&d->report), "harnesses")) {
		_cleanup_(freep) char *id = cli_string_of(v.raw, "id"),
				      *path = cli_string_of(v.raw, "path"),
				      *command = cli_string_of(v.raw, "command");
		bool ok = true_in(v.raw, "installed");

		any |= ok;
		doctor_found(d, ok ? FOUND_OK : FOUND_WARNING, id, "%s%s", ok ? path : command,
			     ok ? "" : " (not installed)");
	}
	if (!any)
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL, "none is installed"),
			     HOW_TO_INSTALL);
}

/* --- MCP ------------------------------------------------------------------------------------------------------------- */

/* "ready, 2025-11-25, 13 tools, 4 ms", or why it is not. */
static void describe_server(struct slice server, char *out, size_t size)
{
	_cleanup_(freep) char *state = cli_string_of(server, "state"),
			      *revision = cli_string_of(server, "revision"),
			      *message =
				      cli_string_of(jobj_get(server, "lastError").raw, "message");
	struct slice tools = jobj_get(server, "toolCount").raw,
		     ms = jobj_get(server, "latencyMs").raw;

	if (strcmp(state, "ready") == 0 && ms.n)
		snprintf(out, size, "ready, %s, %.*s tools, %.*s ms", revision,
			 tools.n ? (int)tools.n : 2, tools.n ? tools.p : "no", (int)ms.n, ms.p);
	else
		snprintf(out, size, "%s%s%s", state, *message ? ": " : "", message);
}

static void one_server(struct doctor *d, struct slice server)
{
	_cleanup_(freep) char *name = cli_string_of(server, "name"),
			      *state = cli_string_of(server, "state");
	/* A server that is starting is no problem yet. */
	bool failed = strcmp(state, "failed") == 0 || strcmp(state, "backoff") == 0;
	char label[64], text[ERR_MSG_SIZE + 32];

	snprintf(label, sizeof(label), "server %s", name);
	describe_server(server, text, sizeof(text));
	doctor_found(d,
		     failed			 ? FOUND_TROUBLE :
		     strcmp(state, "ready") == 0 ? FOUND_OK :
						   FOUND_WARNING,
		     label, "%s", text);
}

static bool lists_server(struct slice mcp, const char *name)
{
	jarr_each(v, jobj_get(mcp, "servers"))
		if (jstr_is(jobj_get(v.raw, "name"), name))
			return true;
	return false;
}

/* The error of an entry is already told beside its server, if it has one. */
static void one_issue(struct doctor *d, struct slice issue)
{
	_cleanup_(freep) char *server = cli_string_of(issue, "server"),
			      *field = cli_string_of(issue, "field"),
			      *message = cli_string_of(issue, "message");
	bool error = jstr_is(jobj_get(issue, "severity"), "error");

	if (!error || !lists_server(member(d, "mcp"), server))
		doctor_found(d, error ? FOUND_TROUBLE : FOUND_WARNING, "configuration",
			     "%s%s%s%s%s", server, *server && *field ? "." : "", field,
			     *server || *field ? ": " : "", message);
}

void check_daemon_mcp(struct doctor *d)
{
	jarr_each(server, jobj_get(member(d, "mcp"), "servers"))
		one_server(d, server.raw);
	jarr_each(issue, jobj_get(member(d, "mcp"), "problems"))
		one_issue(d, issue.raw);
}
