#include "cli/commands.h"

#include <stdarg.h>
#include <stdio.h>

struct command {
	const char *name;
	unsigned scope;
	int (*fn)(const struct config *c);
	const char *help;
};

static const struct command commands[] = {
	{ "serve", SCOPE_SERVE, cmd_serve, "serve ACP over WebSocket and host harnesses" },
	{ "acp", SCOPE_CLIENT, cmd_acp, "bridge: ACP on standard input and output to a daemon" },
	{ "run", SCOPE_RUN, cmd_run, "run one prompt and print what comes back" },
	{ "claim", SCOPE_LOCAL, cmd_claim,
	  "give the daemon its token (read from standard input or --token-file)" },
	{ "sessions", SCOPE_LOCAL, cmd_sessions, "list the daemon's sessions" },
	{ "doctor", SCOPE_LOCAL, cmd_doctor, "check the daemon and what it needs" },
};

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

static int usage(void)
{
	printf("acpd %s - agent runtime and ACP daemon for sandboxes\n\nusage: acpd COMMAND [OPTION...]\n\n",
	       ACPD_VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].help);
	printf("\nacpd COMMAND --help lists a command's options; acpd --version prints the version.\n"
	       "Exit codes: 0 done, 1 failed, 2 usage, 3 refused, 4 budget, 5 cancelled, 6 not reachable or "
	       "not claimed.\n");
	return EXIT_DONE;
}

static int run_command(const struct command *cmd, int argc, char **argv)
{
	struct config c;
	struct err e;
	int r;

	if (config_load(&c, cmd->scope, argc, argv, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	if (c.help) {
		printf("acpd %s - %s\n\n", cmd->name, cmd->help);
		config_usage(cmd->scope);
		r = EXIT_DONE;
	} else {
		r = cmd->fn(&c);
	}
	config_done(&c);
	return r;
}

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		usage();
		return argc < 2 ? EXIT_USAGE : EXIT_DONE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("acpd %s\n", ACPD_VERSION);
		return EXIT_DONE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i].name, argv[1]) == 0)
			return run_command(&commands[i], argc - 1, argv + 1);
	return fail(EXIT_USAGE, "no such command: %s (see acpd --help)", argv[1]);
}
