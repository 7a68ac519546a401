/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c - what the relay of MCP calls costs: one tool of one server, called directly and through the daemon.
 *
 *	mcp direct  KEY=VALUE… -- SERVER ARG…	us - SERVER
 *	mcp relayed KEY=VALUE… -- SERVER ARG…	us - acpd mcp - UNIX socket - acpd - WebSocket - us, as orchestrator - SERVER
 *
 * At both ends it is the same program: as the harness it is a legacy client (2025-11-25) on pipes, as the orchestrator it answers
 * mcp/message by passing the request on to SERVER, which it speaks to in the words of 2026-07-28. So the difference of both figures is
 * what the relay adds, one hop to SERVER excepted, which both have. Prints one JSON object.
 *
 * n=CALLS width=AT_ONCE port= token=FILE cwd=DIR daemon=PID seconds=
 */
#include "acp.h"
#include "args.h"
#include "probe.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARM_CALLS 200

struct settings set = { .path = "/acp", .cwd = "/tmp", .n = 1000, .width = 1, .seconds = 120 };

/* Who is there: the server; for the relay also the daemon, and a shim in the place of the server. */
static struct {
	struct wire *harness; /* what the calls go to */
	struct wire *server;  /* SERVER, behind the orchestrator */
	struct acp *acp;
} ends;

/* --- the calls ------------------------------------------------------------------------------- */

static struct {
	uint64_t *start, *took;
	long sent, done, n;
} calls;

static void send_line(struct wire *w, const char *text)
{
	wire_send(w, text, strlen(text));
}

static void call_next(void)
{
	char text[256];
	int n = snprintf(
		text, sizeof(text),
		"{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"test_simple_text\",\"arguments\":{\"n\":%ld}}}",
		calls.sent, calls.sent);

	calls.start[calls.sent++] = now_ns();
	wire_send(ends.harness, text, (size_t)n);
}

/* "id" of a message, wherever in it; -1: none. */
static long id_of(const char *text, size_t n)
{
	const char *at = memmem(text, n, "\"id\":", 5);

	return at ? strtol(at + 5, NULL, 10) : -1;
}

static void on_harness(const char *text, size_t n)
{
	long id = id_of(text, n);

	if (!memmem(text, n, "\"result\":", 9) || id < 0 || id >= calls.n)
		die("the harness got %.*s", (int)n, text);
	calls.took[id] = now_ns() - calls.start[id];
	calls.done++;
	if (calls.sent < calls.n)
		call_next();
}

/* --- the orchestrator ------------------------------------------------------------------------ */

/* A line for SERVER: the MCP request inside of mcp/message, under the id of the outer one. */
static void on_daemon(const char *text, size_t n)
{
	static const char key[] = "\"params\":";
	const char *outer, *inner, *method;
	char head[160];
	char *line;
	int k;

	if (!memmem(text, n, "\"mcp/message\"", 13) || id_of(text, n) < 0)
		return;
	outer = memmem(text, n, key, sizeof(key) - 1);
	inner = outer ? memmem(outer + 1, (size_t)(text + n - outer - 1), key, sizeof(key) - 1) :
			NULL;
	method = outer ? memmem(outer, (size_t)(text + n - outer), "\"method\":\"", 10) : NULL;
	if (!inner || !method || n < 2 || memcmp(text + n - 2, "}}", 2) != 0)
		die("the orchestrator got %.*s", (int)n, text);
	k = snprintf(head, sizeof(head), "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%.*s\",",
		     id_of(text, n), (int)strcspn(method + 10, "\""), method + 10);
	line = need(malloc((size_t)k + n));
	memcpy(line, head, (size_t)k);
	memcpy(line + k, inner, (size_t)(text + n - inner - 1));
	wire_send(ends.server, line, (size_t)k + (size_t)(text + n - inner - 1));
	free(line);
}

static void on_server(const char *text, size_t n)
{
	const char *result = memmem(text, n, "\"result\":", 9);
	char head[64];
	char *line;
	int k;

	if (memmem(text, n < 64 ? n : 64, "\"method\":", 9))
		return; /* of the subscription that the relay holds; nobody waits for it here */
	if (!result)
		die("the server said %.*s", (int)n, text);
	k = snprintf(head, sizeof(head), "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{",
		     id_of(text, n));
	line = need(malloc((size_t)k + n + 2));
	memcpy(line, head, (size_t)k);
	memcpy(line + k, result, (size_t)(text + n - result));
	memcpy(line + k + (text + n - result), "}", 1);
	wire_send(ends.acp->wire, line, (size_t)k + (size_t)(text + n - result) + 1);
	free(line);
}

/* --- turning --------------------------------------------------------------------------------- */

static struct wire *daemon_wire(void)
{
	return ends.acp ? ends.acp->wire : NULL;
}

/* One message of whoever has one; what is buffered first. */
static void turn(void (*harness)(const char *text, size_t n))
{
	struct {
		struct wire *wire;
		void (*fn)(const char *text, size_t n);
	} sides[] = { { ends.harness, harness },
		      { daemon_wire(), on_daemon },
		      { ends.server, on_server } };
	struct pollfd fds[3];
	bool ready = false;
	char *text;
	size_t n;

	for (int i = 0; i < 3; i++) {
		fds[i] = (struct pollfd){ sides[i].wire ? sides[i].wire->rfd : -1, POLLIN, 0 };
		if (sides[i].wire && sides[i].wire->at < sides[i].wire->len)
			ready = true;
	}
	if (poll(fds, 3, ready ? 0 : -1) < 0)
		die("poll failed");
	for (int i = 0; i < 3; i++) {
		struct wire *w = sides[i].wire;

		if (!w || !(fds[i].revents || w->at < w->len))
			continue;
		do {
			if (!wire_recv(w, &text, &n, 1000))
				die("side %d has closed", i);
			sides[i].fn(text, n);
		} while (w->at < w->len);
	}
}

static bool initialized;

static void on_initialized(const char *text, size_t n)
{
	if (!memmem(text, n, "\"protocolVersion\"", 17))
		die("initialize: %.*s", (int)n, text);
	initialized = true;
}

static void begin(void)
{
	send_line(
		ends.harness,
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
		"\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"0\"}}}");
	while (!initialized)
		turn(on_initialized);
	send_line(ends.harness, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static void run_calls(long n)
{
	calls.start = need(calloc((size_t)n, sizeof(uint64_t)));
	calls.took = need(calloc((size_t)n, sizeof(uint64_t)));
	calls.n = n;
	calls.sent = calls.done = 0;
	for (long i = 0; i < set.width && i < n; i++)
		call_next();
	while (calls.done < n)
		turn(on_harness);
}

static void measure(void)
{
	uint64_t start, cpu;
	double n = (double)set.n, secs;

	begin();
	run_calls(WARM_CALLS);
	free(calls.start);
	free(calls.took);
	start = now_ns();
	cpu = set.daemon ? cpu_ns((pid_t)set.daemon) : 0;
	run_calls(set.n);
	cpu = (set.daemon ? cpu_ns((pid_t)set.daemon) : 0) - cpu;
	secs = (double)(now_ns() - start) / 1e9;
	sort_ns(calls.took, (size_t)set.n);
	printf("{\"p50_us\":%.2f,\"p99_us\":%.2f,\"per_s\":%.1f,\"cpu_us\":%.3f}\n",
	       (double)calls.took[set.n / 2] / 1e3, (double)calls.took[set.n * 99 / 100] / 1e3,
	       n / secs, (double)cpu / 1e3 / n);
	free(calls.start);
	free(calls.took);
}

/* --- the session ----------------------------------------------------------------------------- */

static void work_direct(void)
{
	ends.harness = wire_pipe(set.argv);
	measure();
	ends.harness = wire_free(ends.harness);
}

static void open_session(void)
{
	static const char key[] = "\"sessionId\":\"";
	char params[512], *text, *at;
	size_t n;

	ends.acp = need(calloc(1, sizeof(*ends.acp)));
	ends.acp->wire = wire_ws((int)set.port, set.path, set.token);
	acp_initialize(ends.acp);
	snprintf(
		params, sizeof(params),
		"{\"cwd\":\"%s\",\"mcpServers\":[{\"type\":\"acp\",\"name\":\"bench\",\"serverId\":\"bench:1\"}]}",
		set.cwd);
	text = acp_answer(ends.acp, acp_ask(ends.acp, "session/new", params), &n);
	at = text ? memmem(text, n, key, sizeof(key) - 1) : NULL;
	if (!at || sscanf(at + sizeof(key) - 1, "%255[^\"]", ends.acp->session) != 1)
		die("no session id");
}

/* The value behind key, from *at on, which is moved behind it. No value here has an escape. */
static char *value(char **at, const char *key)
{
	char *from = strstr(*at, key), *end;

	if (!from)
		return NULL;
	from += strlen(key);
	end = strchr(from, '"');
	if (!end)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return from;
}

/* What the stub says it was given as MCP server, without the escapes of the text that it stands in. */
static char *given_server(void)
{
	uint64_t id = acp_ask_prompt(ends.acp, "getparams");
	char *text, *plain = NULL;
	size_t n, k = 0;

	while (wire_recv(ends.acp->wire, &text, &n, 5000) && !plain) {
		char *at = memmem(text, n, "mcpServers", 10);

		if (!at)
			continue;
		plain = need(calloc(1, n + 1));
		for (; at < text + n; at++)
			if (*at != '\\')
				plain[k++] = *at;
	}
	if (!plain)
		die("the agent does not say what it was given");
	acp_answer(ends.acp, id, &n);
	return plain;
}

static void work_relayed(void)
{
	char *at, *given, *name, *argv[] = { NULL, "mcp", NULL };

	open_session();
	at = given = given_server();
	argv[0] = value(&at, "\"command\":\"");
	while ((name = value(&at, "\"name\":\"")) != NULL)
		setenv(name, value(&at, "\"value\":\""), 1);
	ends.server = wire_pipe(set.argv);
	ends.harness = wire_pipe(argv);
	measure();
	ends.harness = wire_free(ends.harness);
	ends.server = wire_free(ends.server);
	wire_free(ends.acp->wire);
	free(ends.acp);
	free(given);
}

/* --- the command line ------------------------------------------------------------------------ */

static const struct arg_key keys[] = {
	{ "n", NULL, &set.n },
	{ "width", NULL, &set.width },
	{ "port", NULL, &set.port },
	{ "token", &set.token_file, NULL },
	{ "cwd", &set.cwd, NULL },
	{ "daemon", NULL, &set.daemon },
	{ "seconds", NULL, &set.seconds },
};

int main(int argc, char **argv)
{
	bool relayed = argc > 1 && strcmp(argv[1], "relayed") == 0;

	args_read(argc, argv, keys, sizeof(keys) / sizeof(*keys));
	if (!set.argv || !set.argv[0] || set.n < 1)
		die("mcp: no server");
	signal(SIGPIPE, SIG_IGN);
	alarm((unsigned)set.seconds);
	if (!relayed) {
		work_direct();
		return 0;
	}
	work_relayed();
	return 0;
}
