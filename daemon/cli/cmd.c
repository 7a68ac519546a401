/*
 * cmd.c - what subcommands share: messages and JSON for whoever called, texts of others that are printed, signals, and the
 * end of processes that a command has started.
 *
 * Texts that come from a daemon, an archive or a ledger are foreign. They become one line before they reach a terminal,
 * which control characters in them would steer.
 */
#include "cli/cmd.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/json.h"
#include "json/jpretty.h"
#include "loop/loop.h"
#include "proc/proc.h"
#include "proc/table/process_tree.h"

#include <stdarg.h>
#include <time.h>

int fail(int code, const char *fmt, ...)
{
	va_list ap;

	fputs("acpd: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return code;
}

int fail_option(const struct err *e, int code)
{
	return fail(strncmp(e->reason, "OPTION", 6) == 0 ? EXIT_USAGE : code, "%s", e->msg);
}

/* --- standard output -------------------------------------------------------------------------------------------- */

void print_json(struct slice json)
{
	printf("%.*s\n", (int)json.n, json.p);
}

void print_pretty(struct slice json)
{
	_cleanup_(freep) char *pretty = jpretty(json);

	printf("%s\n", pretty ? pretty : "{}");
	/* it may hold a token */
	secret_text_wipe(pretty);
}

int flushed(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	return fail(EXIT_FAILED, "standard output: %s", strerror(errno));
}

/* --- texts ------------------------------------------------------------------------------------------------------ */

char *cli_shown(struct jval v, size_t max)
{
	char *s = NULL;

	if (jstr_decode(v, max, &s) == 0)
		err_flatten(s);
	return s;
}

char *cli_text_of(struct slice object, const char *key)
{
	return cli_shown(jobj_get(object, key), PATH_BYTES_MAX);
}

char *cli_string_of(struct slice object, const char *key)
{
	char *s = NULL;

	return jstr_decode(jobj_get(object, key), 4096, &s) == 0 ? s : xstrdup("");
}

long long cli_number_of(struct slice object, const char *key)
{
	return jobj_int(object, key);
}

char *cli_absolute(const char *path)
{
	_cleanup_(freep) char *here = NULL;

	if (path[0] == '/')
		return xstrdup(path);
	here = getcwd(NULL, 0);
	return file_join(here ? here : "", path);
}

/* --- signals and processes ------------------------------------------------------------------------------------------ */

int cli_signals(struct loop *loop, const int *signals, void (*fn)(void *ctx, int signo), void *ctx)
{
	sigset_t set;

	sigemptyset(&set);
	for (; *signals; signals++)
		sigaddset(&set, *signals);
	return loop_signals(loop, &set, fn, ctx);
}

void quit_loop(void *loop)
{
	loop_quit(loop);
}

void quit_on_signal(void *loop, int signo _unused_)
{
	loop_quit(loop);
}

void reap_on_signal(void *procs, int signo _unused_)
{
	proc_host_reap(procs);
}

void sleep_ms(uint64_t ms)
{
	struct timespec left = { .tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

void kill_descendants(void)
{
	for (int i = 0; i < SWEEP_ROUNDS && tree_kill_descendants() > 0; i++)
		sleep_ms(SWEEP_ROUND_MS);
}
