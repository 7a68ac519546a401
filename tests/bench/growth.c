/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth.c - what make bench PARTS=growth puts through a daemon: a history of so many events, all of it read again, and
 * so many ledger records a second. Prints one JSON object of figures.
 *
 *	growth WORK KEY=VALUE…
 *
 *	fill      a new session that is given n updates in one turn, and what one of them costs
 *	whole     a client loads that session with all that it has
 *	paced     rate turns a second for lasts seconds, one at a time on each of width sessions: each is a record
 *
 * port= path= token=FILE cwd=DIR daemon=PID n= size= seconds= width= session=ID rate= lasts=
 */
#include "acp.h"
#include "args.h"
#include "probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_NS 1000000u /* prompts that are due are sent together */
#define WIDTH_MAX 256

struct settings set = { .transport = "ws",
			.path = "/acp",
			.cwd = "/tmp",
			.n = 1000,
			.size = 20,
			.seconds = 300,
			.width = 1 };
static const char *session;
static long rate = 1, lasts = 3;

static struct acp *connect_client(void)
{
	struct acp *a = acp_open(0);

	acp_initialize(a);
	acp_count_reset(a);
	return a;
}

/* Time and CPU since. */
struct span {
	uint64_t at, cpu;
};

static struct span span_now(void)
{
	return (struct span){ now_ns(), cpu_ns((pid_t)set.daemon) };
}

static struct span span_since(struct span from)
{
	struct span now = span_now();

	return (struct span){ now.at - from.at, now.cpu - from.cpu };
}

static void work_fill(void)
{
	struct acp *a = connect_client();
	struct span took;
	char script[80];
	size_t n;

	acp_new_session(a);
	snprintf(script, sizeof(script), "flood %ld %ld", set.n, set.size);
	took = span_now();
	if (!acp_answer(a, acp_ask_prompt(a, script), &n))
		die("the connection is closed (%d)", a->wire->close_code);
	took = span_since(took);
	acp_count_end(a, (uint64_t)set.n);
	if (a->lost)
		die("%" PRIu64 " updates are lost", a->lost);
	printf("{\"session\":\"%s\",\"ms\":%.3f,\"cpu_ms\":%.3f}\n", a->session,
	       (double)took.at / 1e6, (double)took.cpu / 1e6);
	acp_close(a);
}

static void work_whole(void)
{
	struct acp *a = connect_client();
	struct span took;
	char params[600];
	size_t n;

	snprintf(params, sizeof(params), "{\"sessionId\":\"%s\",\"cwd\":\"%s\",\"mcpServers\":[]}",
		 session ? session : "", set.cwd);
	peak_reset((pid_t)set.daemon);
	took = span_now();
	if (!acp_answer(a, acp_ask(a, "session/load", params), &n))
		die("the connection is closed (%d)", a->wire->close_code);
	took = span_since(took);
	acp_count_end(a, (uint64_t)set.n);
	if (a->lost || a->doubled)
		die("%" PRIu64 " updates are lost, %" PRIu64 " doubled", a->lost, a->doubled);
	printf("{\"ms\":%.3f,\"cpu_ms\":%.3f,\"peak\":%ld}\n", (double)took.at / 1e6,
	       (double)took.cpu / 1e6, peak_rss((pid_t)set.daemon));
	acp_close(a);
}

/* --- paced ---------------------------------------------------------------------------------------------- */

/* Each session has one turn at a time; those without one wait in free. */
static struct pace {
	struct acp *a;
	char names[WIDTH_MAX][sizeof(((struct acp *)0)->session)];
	int free[WIDTH_MAX], nfree;
	int *owner; /* of each request, from first on */
	uint64_t first, *begun, *took;
	long asked, done, total;
} pace;

static void pace_open(void)
{
	if (set.width < 1 || set.width > WIDTH_MAX || rate < 1 || lasts < 1)
		die("growth: width, rate or lasts is out of range");
	pace.a = connect_client();
	pace.total = rate * lasts;
	pace.owner = need(calloc((size_t)pace.total, sizeof(*pace.owner)));
	pace.begun = need(calloc((size_t)pace.total, sizeof(*pace.begun)));
	pace.took = need(calloc((size_t)pace.total, sizeof(*pace.took)));
	for (int i = 0; i < set.width; i++) {
		size_t n;

		acp_new_session(pace.a);
		if (!acp_answer(pace.a, acp_ask_prompt(pace.a, "echo 0000000001 done"), &n))
			die("the connection is closed (%d)", pace.a->wire->close_code);
		memcpy(pace.names[i], pace.a->session, sizeof(pace.names[i]));
		pace.free[pace.nfree++] = i;
	}
	pace.first = pace.a->last_id + 1;
}

static void pace_ask(void)
{
	int owner = pace.free[--pace.nfree];

	memcpy(pace.a->session, pace.names[owner], sizeof(pace.names[owner]));
	pace.owner[pace.asked] = owner;
	pace.begun[pace.asked++] = now_ns();
	acp_ask_prompt(pace.a, "echo 0000000001 done");
}

static void pace_take(const char *text, size_t n)
{
	const char *at = memmem(text, n < 64 ? n : 64, "\"id\":", 5);
	uint64_t no;

	if (!at || memmem(text, n < 64 ? n : 64, "\"method\":", 9))
		return;
	if (memmem(text, n, "\"error\":", 8))
		die("refused: %.*s", (int)n, text);
	no = strtoull(at + 5, NULL, 10) - pace.first;
	pace.free[pace.nfree++] = pace.owner[no];
	pace.took[pace.done++] = now_ns() - pace.begun[no];
}

/* What comes until then. */
static void pace_receive(uint64_t until)
{
	char *text;
	size_t n;

	do {
		uint64_t now = now_ns();
		int ms = until > now ? (int)((until - now + TICK_NS - 1) / TICK_NS) : 0;

		if (!wire_recv(pace.a->wire, &text, &n, ms)) {
			if (pace.a->wire->close_code)
				die("the connection is closed (%d)", pace.a->wire->close_code);
			return;
		}
		pace_take(text, n);
	} while (now_ns() < until);
}

static void pace_run(void)
{
	uint64_t start = now_ns();

	while (pace.done < pace.total) {
		uint64_t now = now_ns();
		long due = (long)((double)(now - start) / 1e9 * (double)rate) + 1;

		while (pace.asked < pace.total && pace.asked < due && pace.nfree)
			pace_ask();
		pace_receive(now + TICK_NS);
	}
}

static void work_paced(void)
{
	struct span took;

	pace_open();
	peak_reset((pid_t)set.daemon);
	took = span_now();
	pace_run();
	took = span_since(took);
	sort_ns(pace.took, (size_t)pace.total);
	printf("{\"per_s\":%.1f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"cpu_ms\":%.4f,\"peak\":%ld}\n",
	       (double)pace.total / ((double)took.at / 1e9),
	       (double)pace.took[pace.total / 2] / 1e6,
	       (double)pace.took[pace.total * 99 / 100] / 1e6,
	       (double)took.cpu / 1e6 / (double)pace.total, peak_rss((pid_t)set.daemon));
	acp_close(pace.a);
}

/* --- command line ----------------------------------------------------------------------------------------- */

static const struct arg_key keys[] = {
	{ "path", &set.path, NULL },	 { "token", &set.token_file, NULL },
	{ "cwd", &set.cwd, NULL },	 { "port", NULL, &set.port },
	{ "daemon", NULL, &set.daemon }, { "n", NULL, &set.n },
	{ "size", NULL, &set.size },	 { "seconds", NULL, &set.seconds },
	{ "width", NULL, &set.width },	 { "session", &session, NULL },
	{ "rate", NULL, &rate },	 { "lasts", NULL, &lasts },
};

static const struct arg_work works[] = { { "fill", work_fill },
					 { "whole", work_whole },
					 { "paced", work_paced } };

int main(int argc, char **argv)
{
	args_work(argc, argv, keys, sizeof(keys) / sizeof(*keys), works,
		  sizeof(works) / sizeof(*works));
	return 0;
}
