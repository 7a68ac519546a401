/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - the load client: puts one kind of work through a daemon, or through a bare pipe to the same agent, and
 * prints one JSON object of figures.
 *
 *	client WORK KEY=VALUE… [-- AGENT ARG…]
 *
 *	rtt       n prompts one after the other, each answered at once with one chunk
 *	flood     one prompt that makes the agent write n updates of size bytes, in blocks of 64 KiB
 *	lineflood the same, one write per update
 *	conns     n initialized connections that then do nothing
 *	sessions  n sessions that have had one turn and then do nothing
 *	stall     a flood whose reader does not read until it is all written
 *	load      n updates, then a second connection loads the session and gets them all again
 *	opens     n sessions opened, width of them asked for at a time
 *	turns     n prompts as in rtt, one at a time on each of width sessions
 *
 * transport=ws|pipe|sse|tcp port= path= token=FILE agent=NAME cwd=DIR daemon=PID n= size= secrets=N settle=MS seconds= width=
 * cores=CLIENT,AGENT,DAEMON; stall: hold=MS (stall for so long after all is written) read=1 (read it all afterwards)
 */
#include "acp.h"
#include "args.h"
#include "probe.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARM_TURNS 200
#define BASE_UNITS 10 /* the slope is taken from here: what is allocated once is not counted */

struct settings set = { .transport = "ws",
			.path = "/acp",
			.cwd = "/tmp",
			.agent = "opencode",
			.n = 1000,
			.size = 200,
			.settle = 500,
			.seconds = 120,
			.width = 1 };

/* --- cores --------------------------------------------------------------------------------------------- */

/* The agent is the child of the daemon, or of us. Both exist once a session is open. */
static pid_t agent_pid(const struct acp *a)
{
	return a->wire->child ? a->wire->child : child_of((pid_t)set.daemon);
}

static void pin_all(const struct acp *a)
{
	int self, agent, under_test;

	if (!set.cores || sscanf(set.cores, "%d,%d,%d", &self, &agent, &under_test) != 3)
		return;
	pin(getpid(), self);
	pin(agent_pid(a), agent);
	if (set.daemon)
		pin((pid_t)set.daemon, under_test);
}

static struct acp *open_session(void)
{
	struct acp *a = acp_open(0);

	acp_initialize(a);
	acp_new_session(a);
	pin_all(a);
	return a;
}

/* --- the works ------------------------------------------------------------------------------------------ */

static uint64_t daemon_cpu(void)
{
	return set.daemon ? cpu_ns((pid_t)set.daemon) : 0;
}

static void print_tally(const struct acp *a)
{
	printf(",\"got\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"doubled\":%" PRIu64
	       ",\"gaps\":%" PRIu64,
	       a->got, a->lost, a->doubled, a->gaps);
}

static uint64_t turn(struct acp *a, uint64_t no)
{
	uint64_t start;
	char script[64];
	size_t n;

	snprintf(script, sizeof(script), "echo %010" PRIu64 " done", no);
	start = now_ns();
	if (!acp_answer(a, acp_ask_prompt(a, script), &n))
		die("the connection is closed (%d)", a->wire->close_code);
	return now_ns() - start;
}

static void work_rtt(void)
{
	struct acp *a = open_session();
	uint64_t *took = need(calloc((size_t)set.n, sizeof(*took))), cpu, sum = 0;

	for (int i = 0; i < WARM_TURNS; i++)
		turn(a, (uint64_t)i + 1);
	acp_count_reset(a);
	cpu = daemon_cpu();
	for (long i = 0; i < set.n; i++)
		sum += took[i] = turn(a, (uint64_t)i + 1);
	cpu = daemon_cpu() - cpu;
	acp_count_end(a, (uint64_t)set.n);
	sort_ns(took, (size_t)set.n);
	printf("{\"p50_us\":%.2f,\"p99_us\":%.2f,\"mean_us\":%.2f,\"cpu_us\":%.3f",
	       (double)took[set.n / 2] / 1e3, (double)took[set.n * 99 / 100] / 1e3,
	       (double)sum / 1e3 / (double)set.n, (double)cpu / 1e3 / (double)set.n);
	print_tally(a);
	puts("}");
	free(took);
	acp_close(a);
}

/* Events may come behind the answer where those are two connections: wait for silence. */
static uint64_t flood_tail(struct acp *a, uint64_t end)
{
	char *text;
	size_t n;

	while (a->wire->kind == WIRE_SSE && a->next <= (uint64_t)set.n &&
	       wire_recv(a->wire, &text, &n, 1500)) {
		acp_count(a, text, n);
		end = now_ns();
	}
	return end;
}

static void run_flood(struct acp *a, const char *kind, long n)
{
	char script[80];
	size_t len;

	snprintf(script, sizeof(script), "%s %ld %ld", kind, n, set.size);
	acp_count_reset(a);
	if (!acp_answer(a, acp_ask_prompt(a, script), &len))
		die("the connection is closed (%d)", a->wire->close_code);
}

static void flood(const char *kind)
{
	struct acp *a = open_session();
	uint64_t start, end, cpu;
	double secs;

	run_flood(a, kind, 5000);
	flood_tail(a, 0);
	if (set.daemon)
		peak_reset((pid_t)set.daemon);
	cpu = daemon_cpu();
	start = now_ns();
	run_flood(a, kind, set.n);
	end = flood_tail(a, now_ns());
	cpu = daemon_cpu() - cpu;
	acp_count_end(a, (uint64_t)set.n);
	secs = (double)(end - start) / 1e9;
	printf("{\"secs\":%.3f,\"per_s\":%.0f,\"cpu_us\":%.3f,\"peak_rss\":%ld", secs,
	       (double)a->got / secs, (double)cpu / 1e3 / (double)set.n,
	       set.daemon ? peak_rss((pid_t)set.daemon) : 0);
	print_tally(a);
	puts("}");
	acp_close(a);
}

static void work_flood(void)
{
	flood("flood");
}

static void work_lineflood(void)
{
	flood("lineflood");
}

static void settle(void)
{
	poll(NULL, 0, (int)set.settle);
}

struct level {
	long rss, pss, dirty;
};

static struct level level_now(void)
{
	settle();
	return (struct level){ memory((pid_t)set.daemon, "Rss"), memory((pid_t)set.daemon, "Pss"),
			       memory((pid_t)set.daemon, "Private_Dirty") };
}

static void print_slope(struct level a, struct level b)
{
	double units = (double)(set.n - BASE_UNITS);

	printf("{\"units\":%ld,\"rss\":%.0f,\"pss\":%.0f,\"dirty\":%.0f}\n", set.n,
	       (double)(b.rss - a.rss) / units, (double)(b.pss - a.pss) / units,
	       (double)(b.dirty - a.dirty) / units);
}

/* What one unit costs, made by add(i), which keeps it open. */
static void add_units(void (*add)(unsigned i))
{
	struct level base = { 0 };

	for (long i = 0; i < set.n; i++) {
		if (i == BASE_UNITS)
			base = level_now();
		add((unsigned)i);
	}
	print_slope(base, level_now());
}

static void add_conn(unsigned i)
{
	if (strcmp(set.transport, "tcp") == 0) {
		if (tcp_connect((int)set.port) < 0)
			die("cannot connect");
		return;
	}
	/* over SSE a connection is one more reader of the same agent's events */
	(void)i;
	acp_initialize(acp_open(0));
}

static void add_session(unsigned i)
{
	static struct acp *one;

	if (!one || one->wire->kind == WIRE_SSE) {
		one = acp_open(i);
		acp_initialize(one);
	}
	acp_new_session(one);
	turn(one, 1);
}

static void work_conns(void)
{
	add_units(add_conn);
}

static void work_sessions(void)
{
	add_units(add_session);
}

/* Waits until the agent has written everything, or is held up for 3 s. Returns what it wrote. */
static long wait_written(pid_t agent, long goal)
{
	long last = -1, now;
	int still = 0;

	while ((now = written_bytes(agent)) < goal && still < 60) {
		still = now == last ? still + 1 : 0;
		last = now;
		poll(NULL, 0, 50);
	}
	return now;
}

static void work_stall(void)
{
	struct acp *a = open_session();
	pid_t agent = agent_pid(a);
	long base, written;
	char script[80], *text;
	uint64_t id;
	size_t n;

	run_flood(a, "flood", 5000);
	acp_count_reset(a);
	settle();
	base = memory((pid_t)set.daemon, "Rss");
	peak_reset((pid_t)set.daemon);
	written = written_bytes(agent);
	snprintf(script, sizeof(script), "flood %ld %ld", set.n, set.size);
	id = acp_ask_prompt(a, script);
	written = wait_written(agent, written + set.n * set.size) - written;
	poll(NULL, 0, (int)set.hold);
	settle();
	printf("{\"written\":%ld,\"rss\":%ld,\"peak\":%ld,\"grown\":%ld", written, base,
	       peak_rss((pid_t)set.daemon), peak_rss((pid_t)set.daemon) - base);
	fflush(stdout);
	if (set.read) {
		text = acp_answer(a, id, &n);
		if (text) /* else: closed, and how many came does not count as lost */
			acp_count_end(a, (uint64_t)set.n);
	} else {
		while (wire_recv(a->wire, &text, &n, 3000))
			acp_count(a, text, n);
	}
	printf(",\"peak_read\":%ld,\"close\":%d", peak_rss((pid_t)set.daemon), a->wire->close_code);
	print_tally(a);
	puts("}");
	acp_close(a);
}

static void work_load(void)
{
	struct acp *a = open_session(), *b = acp_open(0);
	uint64_t start, cpu;
	char params[600], *text;
	double secs;
	size_t n;

	run_flood(a, "flood", set.n);
	acp_initialize(b);
	acp_count_reset(b);
	snprintf(params, sizeof(params), "{\"sessionId\":\"%s\",\"cwd\":\"%s\",\"mcpServers\":[]}",
		 a->session, set.cwd);
	peak_reset((pid_t)set.daemon);
	cpu = daemon_cpu();
	start = now_ns();
	text = acp_answer(b, acp_ask(b, "session/load", params), &n);
	secs = (double)(now_ns() - start) / 1e9;
	cpu = daemon_cpu() - cpu;
	acp_count_end(b, (uint64_t)set.n);
	printf("{\"secs\":%.3f,\"per_s\":%.0f,\"cpu_us\":%.3f,\"peak_rss\":%ld,\"close\":%d", secs,
	       (double)b->got / secs, (double)cpu / 1e3 / (double)set.n,
	       peak_rss((pid_t)set.daemon), text ? 0 : b->wire->close_code);
	print_tally(b);
	puts("}");
	acp_close(b);
	acp_close(a);
}

/* Ids of requests are consecutive: the answer to one says which session is free again. */
static void work_turns(void)
{
	char(*names)[sizeof(((struct acp *)0)->session)] =
		need(calloc((size_t)set.width, sizeof(*names)));
	uint64_t *owner = need(calloc((size_t)set.n, sizeof(*owner))), first, start, cpu;
	struct acp *a = open_session();
	long asked = 0, done = 0;
	double secs;

	for (long i = 0; i < set.width; i++) {
		acp_new_session(a);
		turn(a, 1);
		memcpy(names[i], a->session, sizeof(*names));
	}
	first = a->last_id + 1;
	cpu = daemon_cpu();
	start = now_ns();
	while (done < set.n) {
		uint64_t free = asked < set.width ? (uint64_t)asked :
						    owner[acp_next_answer(a) - first];

		done += asked >= set.width;
		if (asked >= set.n)
			continue;
		memcpy(a->session, names[free], sizeof(*names));
		owner[asked++] = free;
		acp_ask_prompt(a, "echo 0000000001 done");
	}
	secs = (double)(now_ns() - start) / 1e9;
	cpu = daemon_cpu() - cpu;
	printf("{\"secs\":%.3f,\"per_s\":%.1f,\"cpu_us\":%.3f}\n", secs, (double)set.n / secs,
	       (double)cpu / 1e3 / (double)set.n);
	free(owner);
	free(names);
	acp_close(a);
}

static void work_opens(void)
{
	struct acp *a = acp_open(0);
	struct level base, full;
	long asked = 0, done = 0;
	uint64_t start, cpu;
	double secs;

	acp_initialize(a);
	for (int i = 0; i < BASE_UNITS; i++)
		acp_new_session(a);
	base = level_now();
	cpu = daemon_cpu();
	start = now_ns();
	for (; done < set.n; done++) {
		for (; asked < set.n && asked - done < set.width; asked++)
			acp_ask_session(a);
		acp_next_answer(a);
	}
	secs = (double)(now_ns() - start) / 1e9;
	cpu = daemon_cpu() - cpu;
	full = level_now();
	printf("{\"secs\":%.3f,\"per_s\":%.1f,\"cpu_us\":%.3f,\"rss\":%.0f,\"dirty\":%.0f}\n", secs,
	       (double)set.n / secs, (double)cpu / 1e3 / (double)set.n,
	       (double)(full.rss - base.rss) / (double)set.n,
	       (double)(full.dirty - base.dirty) / (double)set.n);
	acp_close(a);
}

/* --- command line ---------------------------------------------------------------------------------------- */

static const struct arg_key keys[] = {
	{ "transport", &set.transport, NULL },
	{ "path", &set.path, NULL },
	{ "token", &set.token_file, NULL },
	{ "agent", &set.agent, NULL },
	{ "cwd", &set.cwd, NULL },
	{ "cores", &set.cores, NULL },
	{ "port", NULL, &set.port },
	{ "daemon", NULL, &set.daemon },
	{ "n", NULL, &set.n },
	{ "size", NULL, &set.size },
	{ "settle", NULL, &set.settle },
	{ "secrets", NULL, &set.secrets },
	{ "seconds", NULL, &set.seconds },
	{ "read", NULL, &set.read },
	{ "hold", NULL, &set.hold },
	{ "width", NULL, &set.width },
};

static const struct arg_work works[] = {
	{ "rtt", work_rtt },	 { "flood", work_flood },	{ "lineflood", work_lineflood },
	{ "conns", work_conns }, { "sessions", work_sessions }, { "stall", work_stall },
	{ "load", work_load },	 { "opens", work_opens },	{ "turns", work_turns },
};

int main(int argc, char **argv)
{
	args_work(argc, argv, keys, sizeof(keys) / sizeof(*keys), works,
		  sizeof(works) / sizeof(*works));
	return 0;
}
