/* SPDX-License-Identifier: Apache-2.0 */
/* Command line and the poll loop. See stub.h for how it works and README.md for what it does. */
#include "stub.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct settings set = { .init_exit = -1, .protocol = 1 };
bool ignore_term;

static struct buf in;
static int64_t die_at; /* after EOF with ignoreterm */

struct flag {
	const char *name;
	bool *on;
	int *number;
	const char **text;
	const char *help;
};

static const struct flag flags[] = {
	{ "--image", &set.image, NULL, NULL, "take image blocks" },
	{ "--audio", &set.audio, NULL, NULL, "take audio blocks" },
	{ "--embedded", &set.embedded, NULL, NULL, "take embedded resources" },
	{ "--no-load", &set.no_load, NULL, NULL, "no session/load" },
	{ "--no-close", &set.no_close, NULL, NULL, "no session/close" },
	{ "--resume", &set.resume, NULL, NULL, "session/resume" },
	{ "--list", &set.list, NULL, NULL, "session/list" },
	{ "--delete", &set.del, NULL, NULL, "session/delete" },
	{ "--fork", &set.fork, NULL, NULL, "session/fork" },
	{ "--additional-dirs", &set.dirs, NULL, NULL, "additionalDirectories" },
	{ "--mcp-http", &set.mcp_http, NULL, NULL, "MCP servers over HTTP" },
	{ "--mcp-sse", &set.mcp_sse, NULL, NULL, "MCP servers over SSE" },
	{ "--auth", &set.auth, NULL, NULL, "demand authenticate {methodId:\"stub-login\"}" },
	{ "--elicit", &set.elicit_always, NULL, NULL, "elicit even when the client cannot" },
	{ "--usage", &set.usage, NULL, NULL, "usage in the prompt's answer" },
	{ "--option-modes", &set.option_modes, NULL, NULL, "modes as a config option only" },
	{ "--no-store", &set.no_store, NULL, NULL, "remember nothing on disk" },
	{ "--store", NULL, NULL, &set.store, "folder of the memory (default $HOME/.stub-agent)" },
	{ "--banner", NULL, NULL, &set.banner, "print this line before initialize is answered" },
	{ "--init-delay", NULL, &set.init_delay, NULL, "ms before initialize is answered" },
	{ "--init-exit", NULL, &set.init_exit, NULL, "exit with this code at initialize" },
	{ "--init-silent", &set.init_silent, NULL, NULL, "never answer initialize" },
	{ "--init-stderr", NULL, NULL, &set.init_stderr, "print this line on stderr at start" },
	{ "--protocol", NULL, &set.protocol, NULL, "protocolVersion to answer" },
	{ "--new-delay", NULL, &set.new_delay, NULL, "ms before session/new is answered" },
	{ "--new-error", NULL, &set.new_error, NULL, "answer session/new with this error code" },
	{ "--new-silent", &set.new_silent, NULL, NULL, "never answer session/new" },
	{ "--early-update", &set.early_update, NULL, NULL, "updates before session/new's answer" },
};

#define NFLAGS (sizeof(flags) / sizeof(flags[0]))

static int usage(int code)
{
	puts("stub-agent [flags]: a scriptable ACP agent on stdin and stdout");
	for (size_t i = 0; i < NFLAGS; i++)
		printf("  %-18s %s\n", flags[i].name, flags[i].help);
	return code;
}

static bool parse_flag(char **argv, int *i)
{
	const struct flag *f = flags;

	while (f < flags + NFLAGS && strcmp(f->name, argv[*i]) != 0)
		f++;
	if (f == flags + NFLAGS)
		return false;
	if (f->on) {
		*f->on = true;
		return true;
	}
	if (!argv[*i + 1])
		return false;
	++*i;
	if (f->number)
		*f->number = atoi(argv[*i]);
	else
		*f->text = argv[*i];
	return true;
}

static void take_lines(void)
{
	static size_t scanned; /* no newline before this: a long line is scanned once */
	size_t from = 0;
	char *nl;

	while ((nl = memchr(in.p + scanned, '\n', in.len - scanned))) {
		size_t len = (size_t)(nl - (in.p + from));

		if (len && in.p[from + len - 1] == '\r')
			len--;
		if (len)
			rpc_message(in.p + from, len);
		from = scanned = (size_t)(nl - in.p) + 1;
	}
	memmove(in.p, in.p + from, in.len - from);
	in.len -= from;
	scanned = in.len;
}

/* False at the end of input. */
static bool read_input(void)
{
	char data[65536];
	ssize_t n;
	int rounds = 64;

	do {
		n = read(0, data, sizeof(data));
		if (n > 0)
			buf_add(&in, data, (size_t)n);
	} while (--rounds && (n == (ssize_t)sizeof(data) || (n < 0 && errno == EINTR)));
	if (in.len)
		take_lines();
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* ms until something must run without input, -1: nothing. */
static int poll_timeout(void)
{
	int64_t at = rpc_next_deadline(), now = now_ms();

	for (struct session *s = sessions; s; s = s->next)
		at = earlier(at, script_deadline(s));
	if (out_held_until() > 0)
		at = earlier(at, out_held_until());
	if (die_at)
		at = earlier(at, together.dir ? now_ms() + 10 : die_at);
	if (at < 0)
		return -1;
	return at <= now ? 0 : (int)(at - now);
}

static void run_all(void)
{
	if (out_held_until() > 0 && now_ms() >= out_held_until())
		out_hold(0);
	rpc_tick();
	for (struct session *s = sessions; s; s = s->next)
		script_run(s);
	out_flush();
}

static void loop(void)
{
	bool open = true;

	for (;;) {
		struct pollfd pfd[2] = { { .fd = open ? 0 : -1, .events = POLLIN },
					 { .fd = out_wants_write() ? 1 : -1, .events = POLLOUT } };

		if (poll(pfd, 2, poll_timeout()) < 0 && errno != EINTR)
			return;
		if (pfd[0].revents && !read_input()) {
			open = false;
			if (!ignore_term)
				return;
			die_at = now_ms() + LINGER_MS;
		}
		if (!open && together_over())
			return;
		if (die_at && now_ms() >= die_at)
			return;
		run_all();
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0)
			return usage(0);
		if (!parse_flag(argv, &i)) {
			fprintf(stderr, "stub-agent: bad argument %s\n", argv[i]);
			return 2;
		}
	}
	if (set.init_stderr)
		dprintf(2, "%s\n", set.init_stderr);
	set.noise = getenv("STUB_NOISE");
	set.noise_at = getenv("STUB_NOISE_AT");
	noise_at("start");
	fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
	fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);
	loop();
	out_flush();
	return 0;
}
