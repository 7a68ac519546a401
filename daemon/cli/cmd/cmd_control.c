/* cmd_control.c - the commands that speak to the control socket: claim, sessions, doctor. */
#include "cli/cmd/cmd.h"
#include "cli/reach_daemon.h"

#include "digest/digest.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jpretty.h"
#include "json/jstr.h"
#include "net/admission.h"

#include <errno.h>
#include <stdio.h>

static int control_failed(int r, const struct err *e)
{
	return fail(r == -ECONNREFUSED ? EXIT_UNREACHABLE : EXIT_REFUSED, "%s", e->msg);
}

/* --- claim ---------------------------------------------------------------------------------------------- */

static int put_digest(struct jw *w, struct slice token, struct err *e)
{
	char text[7 + SHA256_HEX] = "sha256:";
	struct sha256 d;

	if (slice_starts(token, "sha256:")) {
		if (sha256_from_hex((struct slice){ token.p + 7, token.n - 7 }, &d) < 0)
			return err_set(e, -EINVAL, 0, "TOKEN_INVALID",
				       "sha256: needs 64 hex digits");
	} else if (token.n < TOKEN_MIN || token.n > TOKEN_MAX) {
		return err_set(e, -EINVAL, 0, "TOKEN_INVALID", "a token has %d to %d characters",
			       TOKEN_MIN, TOKEN_MAX);
	} else if (sha256_of(token, &d) < 0) {
		return err_set(e, -EIO, 0, "TOKEN_INVALID", "the token could not be hashed");
	}
	sha256_hex(&d, text + 7);
	jw_str(w, "digest", text);
	return 0;
}

/* set: a NAME=VALUE on each line. The daemon knows which there are. */
static int put_settings(struct jw *w, const char *set, struct err *e)
{
	if (!set)
		return 0;
	jw_obj(w, "settings");
	for (const char *line = set; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t n = strcspn(line, "=\n");
		_cleanup_(freep) char *name = xstrndup(line, n), *value = NULL;

		if (line[n] != '=' || !n)
			return err_field(e, "set", "OPTION_INVALID",
					 "--set: '%s' is not NAME=VALUE", name);
		value = xstrndup(line + n + 1, strcspn(line + n + 1, "\n"));
		jw_str(w, name, value);
	}
	jw_end_obj(w);
	return 0;
}

static int put_claim(const struct config *c, struct slice token, struct buf *params, struct err *e)
{
	struct jw w = JW(params);
	int r;

	jw_obj(&w, NULL);
	r = put_digest(&w, token, e);
	if (r == 0)
		r = put_settings(&w, c->set, e);
	if (c->sandbox_id)
		jw_str(&w, "sandboxId", c->sandbox_id);
	jw_end_obj(&w);
	return r;
}

/* Only the digest leaves this process, and the token was never in argv. */
int cmd_claim(const struct config *c)
{
	_cleanup_(buf_done) struct buf token = { 0 }, params = { 0 }, result = { 0 };
	struct err e;
	int r = read_token(c->token_file, &token, &e);

	if (r == 0)
		r = put_claim(c, buf_slice(&token), &params, &e);
	if (token.data)
		secret_wipe(token.data, token.cap);
	if (r < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	r = control_call(c, "claim", buf_slice(&params), &result, &e);
	return r < 0 ? control_failed(r, &e) : EXIT_DONE;
}

/* --- sessions ------------------------------------------------------------------------------------------- */

static char *text_of(struct slice object, const char *key)
{
	char *s = NULL;

	return jstr_decode(jobj_get(object, key), 4096, &s) == 0 ? s : xstrdup("");
}

static void print_session(struct slice s)
{
	_cleanup_(freep) char *id = text_of(s, "sessionId"), *state = text_of(s, "state"),
			      *harness = text_of(s, "harness"), *cwd = text_of(s, "cwd"),
			      *title = text_of(s, "title");
	struct slice seq = jobj_get(s, "seq").raw;

	printf("%-38s %-8s %-10s %8.*s  %s%s%s\n", id, state, harness, (int)seq.n, seq.p, cwd,
	       *title ? "  " : "", title);
}

int cmd_sessions(const struct config *c)
{
	_cleanup_(buf_done) struct buf result = { 0 };
	_cleanup_(freep) char *pretty = NULL;
	struct jiter it;
	struct jval v;
	struct err e;
	int r = control_call(c, "sessions", SLICE("{}"), &result, &e);

	if (r < 0)
		return control_failed(r, &e);
	if (c->json) {
		pretty = jpretty(buf_slice(&result));
		printf("%s\n", pretty ? pretty : "{}");
		return EXIT_DONE;
	}
	if (jiter_init(&it, jobj_get(buf_slice(&result), "sessions")))
		while (jiter_next(&it, NULL, &v))
			print_session(v.raw);
	return EXIT_DONE;
}

/* --- doctor --------------------------------------------------------------------------------------------- */

static int line(bool ok, const char *what, const char *detail)
{
	printf("%-4s %-22s %s\n", ok ? "ok" : "FAIL", what, detail);
	return ok ? 0 : 1;
}

static int check_harnesses(struct slice report)
{
	struct jiter it;
	struct jval v;
	int installed = 0;

	if (!jiter_init(&it, jobj_get(report, "harnesses")))
		return 1;
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *id = text_of(v.raw, "id"), *path = text_of(v.raw, "path"),
				      *command = text_of(v.raw, "command");
		bool ok = jobj_get(v.raw, "installed").type == J_TRUE;
		char what[80];

		installed += ok;
		snprintf(what, sizeof(what), "harness %s", id);
		printf("%-4s %-22s %s%s\n", ok ? "ok" : "--", what, ok ? path : command,
		       ok ? "" : " (not installed)");
	}
	return line(installed > 0, "harnesses",
		    installed ? "at least one is installed" : "none is installed");
}

/* "ready, 2025-11-25, 13 tools, 4 ms", or why it is not. */
static void describe_server(struct slice server, char *out, size_t size)
{
	_cleanup_(freep) char *state = text_of(server, "state"),
			      *revision = text_of(server, "revision"),
			      *message = text_of(jobj_get(server, "lastError").raw, "message");
	struct slice tools = jobj_get(server, "toolCount").raw,
		     ms = jobj_get(server, "latencyMs").raw;

	if (strcmp(state, "ready") == 0 && ms.n)
		snprintf(out, size, "ready, %s, %.*s tools, %.*s ms", revision,
			 tools.n ? (int)tools.n : 2, tools.n ? tools.p : "no", (int)ms.n, ms.p);
	else
		snprintf(out, size, "%s%s%s", state, *message ? ": " : "", message);
}

static int check_servers(struct slice mcp)
{
	struct jiter it;
	struct jval v;
	int bad = 0;

	if (!jiter_init(&it, jobj_get(mcp, "servers")))
		return 0;
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *name = text_of(v.raw, "name"),
				      *state = text_of(v.raw, "state");
		bool failed = strcmp(state, "failed") == 0 || strcmp(state, "backoff") == 0;
		char what[80], text[ERR_MSG_SIZE + 32];

		snprintf(what, sizeof(what), "mcp server %s", name);
		describe_server(v.raw, text, sizeof(text));
		printf("%-4s %-22s %s\n",
		       failed			   ? "FAIL" :
		       strcmp(state, "ready") == 0 ? "ok" :
						     "--",
		       what, text);
		bad += failed;
	}
	return bad;
}

static bool lists_server(struct slice mcp, const char *name)
{
	struct jiter it;
	struct jval v;

	if (jiter_init(&it, jobj_get(mcp, "servers")))
		while (jiter_next(&it, NULL, &v))
			if (jstr_is(jobj_get(v.raw, "name"), name))
				return true;
	return false;
}

/* The error of an entry is already printed beside its server, if it has one. */
static int check_problems(struct slice mcp)
{
	struct jiter it;
	struct jval v;
	int bad = 0;

	if (!jiter_init(&it, jobj_get(mcp, "problems")))
		return 0;
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *server = text_of(v.raw, "server"),
				      *field = text_of(v.raw, "field"),
				      *message = text_of(v.raw, "message");
		bool error = jstr_is(jobj_get(v.raw, "severity"), "error");

		if (error && lists_server(mcp, server))
			continue;
		printf("%-4s %-22s %s%s%s%s%s\n", error ? "FAIL" : "--", "mcp configuration",
		       server, *server && *field ? "." : "", field, *server || *field ? ": " : "",
		       message);
		bad += error;
	}
	return bad;
}

static void print_network(struct slice isolation)
{
	_cleanup_(freep) char *missing = text_of(isolation, "networkMissing");

	printf("%-4s %-22s %s%s\n", *missing ? "--" : "ok", "network namespaces",
	       *missing ? "no: " : "yes: a session can be without network", missing);
}

static void print_level(struct slice isolation)
{
	struct jval level = jobj_get(isolation, "level"), v;
	_cleanup_(freep) char *asked = text_of(level.raw, "requested"),
			      *got = text_of(level.raw, "achieved");
	struct jiter it;

	printf("%-4s %-22s %s: %s\n", strcmp(asked, got) == 0 ? "ok" : "--", "level", asked, got);
	if (!jiter_init(&it, jobj_get(level.raw, "missing")))
		return;
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *what = text_of(v.raw, "what"), *why = text_of(v.raw, "why");

		printf("%-4s %-22s %s: %s\n", "--", "", what, why);
	}
}

/* What of a level is missing, its names only. */
static void print_one_level(struct slice level)
{
	_cleanup_(freep) char *name = text_of(level, "name");
	bool whole = jobj_get(level, "whole").type == J_TRUE;
	const char *between = "not whole: no ";
	char label[40];
	struct jiter it;
	struct jval v;

	snprintf(label, sizeof(label), "level %s", name);
	printf("%-4s %-22s %s", whole ? "ok" : "--", label, whole ? "can be had whole" : "");
	if (jiter_init(&it, jobj_get(level, "missing"))) {
		while (jiter_next(&it, NULL, &v)) {
			_cleanup_(freep) char *what = text_of(v.raw, "what");

			printf("%s%s", between, what);
			between = ", ";
		}
	}
	printf("\n");
}

static void print_levels(struct slice isolation)
{
	struct jiter it;
	struct jval v;

	if (jiter_init(&it, jobj_get(isolation, "levels")))
		while (jiter_next(&it, NULL, &v))
			print_one_level(v.raw);
}

/* Why nothing holds the limit of that name; the caller frees. */
static char *why_missing(struct slice limits, struct slice name)
{
	struct jiter it;
	struct jval v;

	if (!jiter_init(&it, jobj_get(limits, "missing")))
		return xstrdup("");
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *what = text_of(v.raw, "what");

		if (slice_is(name, what))
			return text_of(v.raw, "why");
	}
	return xstrdup("");
}

static void print_limits(struct slice limits)
{
	struct slice name;
	struct jiter it;
	struct jval v;

	if (!jiter_init(&it, jobj_get(limits, "by")))
		return;
	while (jiter_next(&it, &name, &v)) {
		_cleanup_(freep) char *why = why_missing(limits, name), *by = NULL;
		char label[40];

		jstr_decode(v, 64, &by);
		snprintf(label, sizeof(label), "limit %.*s", (int)MIN(name.n, 30u), name.p);
		printf("%-4s %-22s %s%s%s\n", *why ? "--" : "ok", label, by ? by : "",
		       *why ? ": " : "", why);
	}
}

static void print_direct(struct slice direct)
{
	_cleanup_(freep) char *missing = text_of(direct, "missing"),
			      *user = text_of(direct, "user"), *ca = text_of(direct, "caFile"),
			      *allowed = text_of(direct, "allowed");
	bool proxy = jobj_get(direct, "proxy").type == J_TRUE;

	if (*missing)
		printf("%-4s %-22s not possible: %s\n", "--", "direct calls", missing);
	else
		printf("%-4s %-22s by acpd-fetch as %s; certificates: %s\n", *ca ? "ok" : "--",
		       "direct calls", user, *ca ? ca : "none, so no https");
	if (proxy)
		printf("%-4s %-22s %s\n", "--", "proxy",
		       "which addresses direct calls reach is its affair; private ones, written as such, are refused");
	if (*allowed)
		printf("%-4s %-22s %s\n", "--", "upstream-allow", allowed);
}

static int check_uids(struct slice isolation)
{
	struct slice uids = jobj_get(isolation, "agentUids").raw;
	_cleanup_(freep) char *problem = text_of(uids, "problem");
	char text[128];

	if (!uids.n) {
		printf("%-4s %-22s %s\n", "--", "sessions",
		       "share one user: each can read and stop the others' processes");
		return 0;
	}
	snprintf(text, sizeof(text), "have uids of their own, %llu to %llu: %llu are free",
		 (unsigned long long)jobj_uint(uids, "first"),
		 (unsigned long long)jobj_uint(uids, "last"),
		 (unsigned long long)jobj_uint(uids, "free"));
	line(true, "sessions", text);
	if (*problem)
		return line(false, "agent uids", problem);
	snprintf(text, sizeof(text), "%llu lack a user or group (images/agent-users.sh)",
		 (unsigned long long)jobj_uint(uids, "unnamed"));
	return jobj_uint(uids, "unnamed") ? line(false, "agent uids", text) : 0;
}

static int check_isolation(struct slice isolation)
{
	bool walled = jobj_get(isolation, "noNewPrivileges").type == J_TRUE, found = false;
	struct jiter it;
	struct jval v;
	int bad = 0;

	bad += check_uids(isolation);
	print_level(isolation);
	print_levels(isolation);
	print_network(isolation);
	if (!jiter_init(&it, jobj_get(isolation, "waysToRoot")))
		return 0;
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *text = text_of(v.raw, "text");

		/* agents without a user of their own are not meant to be confined */
		printf("%-4s %-22s %s\n", walled ? "FAIL" : "--", "way to root open", text);
		bad += walled;
		found = true;
	}
	if (jobj_get(isolation, "unread").type == J_TRUE)
		printf("%-4s %-22s %s\n", "--", "ways to root",
		       "not all files could be read: there may be more");
	else if (!found)
		line(true, "ways to root", "none found");
	return bad;
}

static int check_state(struct slice report)
{
	struct jiter it;
	struct jval v;
	int bad = 0;

	if (!jiter_init(&it, jobj_get(report, "problems")))
		return 0;
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *what = text_of(v.raw, "what"),
				      *name = text_of(v.raw, "name"),
				      *text = text_of(v.raw, "text");
		char label[80];

		snprintf(label, sizeof(label), "state: %s", what);
		printf("FAIL %-22s %s%s%s\n", label, name, *name ? ": " : "", text);
		bad++;
	}
	return bad ? bad : line(true, "state", "nothing is damaged");
}

static int report_checks(struct slice report)
{
	_cleanup_(freep) char *version = text_of(report, "version"),
			      *cgroup = text_of(report, "cgroup"),
			      *user = text_of(report, "agentUser");
	bool claimed = jobj_get(report, "claimed").type == J_TRUE;
	int bad = 0;

	bad += line(true, "daemon", version);
	bad += line(claimed, "claimed", claimed ? "yes" : "no: acpd claim, or --token-file");
	printf("%-4s %-22s %s\n", strcmp(cgroup, "none") == 0 ? "--" : "ok", "cgroup",
	       strcmp(cgroup, "none") == 0 ?
		       "none: processes are found by their environment marker" :
		       cgroup);
	printf("%-4s %-22s %s\n", *user ? "ok" : "--", "agent user",
	       *user ? user : "none: harnesses run as the daemon's user (--agent-user)");
	print_limits(jobj_get(report, "limits").raw);
	bad += check_isolation(jobj_get(report, "isolation").raw);
	print_direct(jobj_get(report, "direct").raw);
	bad += check_state(report);
	bad += check_harnesses(report);
	bad += check_servers(jobj_get(report, "mcp").raw);
	bad += check_problems(jobj_get(report, "mcp").raw);
	return bad;
}

int cmd_doctor(const struct config *c)
{
	_cleanup_(buf_done) struct buf result = { 0 };
	_cleanup_(freep) char *pretty = NULL;
	struct err e;
	int r = control_call(c, "doctor", SLICE("{}"), &result, &e);

	if (r < 0) {
		if (!c->json)
			line(false, "daemon", e.msg);
		return c->json ? control_failed(r, &e) : EXIT_UNREACHABLE;
	}
	if (c->json) {
		pretty = jpretty(buf_slice(&result));
		printf("%s\n", pretty ? pretty : "{}");
		return EXIT_DONE;
	}
	return report_checks(buf_slice(&result)) ? EXIT_FAILED : EXIT_DONE;
}
