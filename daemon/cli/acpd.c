/*
 * acpd.c - the main function: finds the subcommand, reads its options, and returns its exit code.
 *
 * commands[] is searched from the top, so "a b" must precede "a" (usage verify before usage).
 * `scope` selects the options of a subcommand (cli_options.h). `args` are placeholders for the usage
 * line, and the number of arguments is checked against them: "[X]" is optional, "X..." allows more.
 * `acpd GROUP` alone prints the commands that begin with GROUP.
 */
#include "base/version.h"
#include "cli/cmd.h"

#include "http/openapi.h"

/* The description of the API, as GET /openapi.json serves it. */
static int cmd_openapi(const struct config *c _unused_)
{
	if (fputs(openapi_text, stdout) < 0 || fflush(stdout) != 0)
		return fail(EXIT_FAILED, "the description could not be written");
	return EXIT_DONE;
}

struct subcommand {
	const char *name; /* one word or two; "a b" stands before "a" */
	const char *args; /* arguments besides options, a word each; NULL: none */
	unsigned scope;
	command_fn *fn;
	const char *help;
};

static const struct subcommand commands[] = {
	{ "serve", NULL, SCOPE_SERVE | SCOPE_INSTEAD, cmd_serve,
	  "serve ACP over WebSocket and host harnesses" },
	{ "acp", NULL, SCOPE_CLIENT, cmd_acp,
	  "bridge: ACP on standard input and output to a daemon" },
	{ "run", NULL, SCOPE_RUN, cmd_run, "run one prompt and print what comes back" },
	{ "claim", NULL, SCOPE_LOCAL | SCOPE_CLAIM, cmd_claim,
	  "give the daemon its token (read from standard input or --token-file)" },
	{ "restart", NULL, SCOPE_LOCAL | SCOPE_RESTART, cmd_restart,
	  "Restart the daemon in place with its installed program, after running turns" },
	{ "sessions", NULL, SCOPE_LOCAL, cmd_sessions, "list the daemon's sessions" },
	{ "tokens mint", NULL, SCOPE_LOCAL | SCOPE_TOKENS, cmd_tokens_mint,
	  "make a token with a scope, until a time; prints it" },
	{ "tokens list", NULL, SCOPE_LOCAL, cmd_tokens_list, "list the tokens that were made so" },
	{ "tokens revoke", "ID", SCOPE_LOCAL, cmd_tokens_revoke,
	  "end such a token, and its connections" },
	{ "usage verify", NULL, SCOPE_VERIFY, cmd_usage_verify,
	  "check the usage ledger: every line, and that none is missing" },
	{ "usage", NULL, SCOPE_USAGE, cmd_usage,
	  "print usage records, straight from the ledger file" },
	{ "stats", "[LEDGER...]", SCOPE_STATS, cmd_stats,
	  "say what turns took, cost and came to on average, by harness and model, from usage ledgers" },
	{ "archive put", "FILE", SCOPE_ARCHIVE, cmd_archive_put,
	  "upload an archive (-: standard input) unless the daemon has it; prints its digest" },
	{ "archive have", "DIGEST", SCOPE_ARCHIVE, cmd_archive_have,
	  "ask whether the daemon has an archive: exit code 0 or 1" },
	{ "archive get", "DIGEST", SCOPE_ARCHIVE | SCOPE_GET, cmd_archive_get,
	  "download an archive" },
	{ "archive list", NULL, SCOPE_ARCHIVE, cmd_archive_list,
	  "list the archives that the daemon has" },
	{ "archive rm", "DIGEST", SCOPE_ARCHIVE, cmd_archive_rm,
	  "remove an archive, unless a session needs it" },
	{ "archive extract", "ARCHIVE DEST", SCOPE_EXTRACT, cmd_archive_extract,
	  "unpack an archive file into a directory, all of it or nothing" },
	{ "bundle export", "SESSION", SCOPE_ARCHIVE | SCOPE_GET, cmd_bundle_export,
	  "write a session with all that belongs to it into one file" },
	{ "bundle import", "FILE", SCOPE_ARCHIVE, cmd_bundle_import,
	  "make a session of a bundle, which can be read and replayed; prints its id" },
	{ "bundle replay", "FILE", SCOPE_REPLAY, cmd_bundle_replay,
	  "ACP on standard input and output: an agent whose one session is that of a bundle" },
	{ "skills validate", "DIR", SCOPE_VALIDATE, cmd_skills_validate,
	  "say what is wrong with a skill: exit code 0, or 3 if it is not valid" },
	{ "mcp", NULL, SCOPE_MCP, cmd_mcp,
	  "what harnesses start as an MCP server: carries it to the daemon; --builtin: the built-in tools" },
	{ "check", NULL, 0, cmd_check,
	  "what the daemon starts for a check of a session: told on descriptor 3, answers with a line" },
	{ "confine try", "-- CMD...", SCOPE_TRY, cmd_confine_try,
	  "run a command under a level of confinement and say what it was refused: exit code 3 then" },
	{ "entrypoint", "-- CMD...", SCOPE_ENTRY, cmd_entrypoint,
	  "first process of a container: says what is there, passes signals on, keeps the exit code" },
	{ "harness list", NULL, SCOPE_HARNESS | SCOPE_HARNESS_LIST, cmd_harness_list,
	  "say which harnesses are installed, where, and which version each says it has" },
	{ "harness install", "HARNESS", SCOPE_INSTALL, cmd_harness_install,
	  "install the pinned release of a harness, all of it or nothing" },
	{ "harness verify", "[HARNESS]", SCOPE_HARNESS, cmd_harness_verify,
	  "hash what is installed and compare it with the pins: exit code 3 if it is something else" },
	{ "ui", NULL, SCOPE_UI, cmd_ui,
	  "serve the run viewer on this machine for a daemon elsewhere; prints the address to open" },
	{ "openapi", NULL, SCOPE_HELP, cmd_openapi,
	  "print the description of the API: OpenAPI 3.1, as GET /openapi.json serves it" },
	{ "doctor", NULL, SCOPE_LOCAL | SCOPE_SERVE, cmd_doctor,
	  "say what of this machine and of the settings of serve is wrong, with or without a daemon" },
};

static int usage(void)
{
	printf("acpd %s - agent runtime and ACP daemon for sandboxes\n\nusage: acpd COMMAND [OPTION...]\n\n",
	       acpd_version);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  %-15s %s\n", commands[i].name, commands[i].help);
	printf("\nacpd COMMAND --help lists a command's options; acpd --version prints the version.\n"
	       "Exit codes: 0 done, 1 failed, 2 usage, 3 refused, 4 budget, 5 cancelled, 6 not reachable or "
	       "not claimed; from 10 on: what doctor found.\n");
	return EXIT_DONE;
}

/* But for "--", which ends the options. "[NAME]" is optional. */
static int count_words(const char *s, bool optional)
{
	int n = 0;

	for (; s && *s; s += strcspn(s, " "), s += strspn(s, " "))
		n += strncmp(s, "-- ", 3) != 0 && (optional || *s != '[');
	return n;
}

/* Checks that there are as many arguments as the command has names for; "NAME..." stands for one and more. */
static int check_args(const struct subcommand *cmd, const struct config *c)
{
	int want = count_words(cmd->args, false), most = count_words(cmd->args, true);
	bool more = cmd->args && strstr(cmd->args, "...");

	if (c->nargs > most && !more)
		return fail(EXIT_USAGE, "'%s': unexpected argument", c->args[most]);
	if (c->nargs < want)
		return fail(EXIT_USAGE, "usage: acpd %s [OPTION...] %s", cmd->name, cmd->args);
	return EXIT_DONE;
}

static int run_subcommand(const struct subcommand *cmd, int argc, char **argv)
{
	struct config c;
	struct err e;
	int r;

	/* --help is an option like the others, so a wrong one beside it is refused first. */
	if (config_load(&c, cmd->scope, argc, argv, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	if (c.help) {
		printf("acpd %s - %s\n\n", cmd->name, cmd->help);
		if (cmd->args)
			printf("usage: acpd %s [OPTION...] %s\n\n", cmd->name, cmd->args);
		config_usage(cmd->scope);
		r = EXIT_DONE;
	} else {
		r = check_args(cmd, &c);
		if (r == EXIT_DONE)
			r = cmd->fn(&c);
	}
	config_done(&c);
	return r;
}

/* How many of the arguments are the command's name; 0: it is another command. */
static int name_words(const char *name, int argc, char **argv)
{
	size_t n = strcspn(name, " ");
	int more = name[n] ? 1 : 0;

	if (argc < 2 + more || strlen(argv[1]) != n || strncmp(name, argv[1], n) != 0)
		return 0;
	/* The second word has to be whole, too: "usage verif" is the command usage with an argument. */
	return !more ? 1 : strcmp(name + n + 1, argv[2]) == 0 ? 2 : 0;
}

/* For "archive" alone, or with an unknown second word: prints which commands there are. 0: no command begins so. */
static int group_help(const char *group, bool asked)
{
	FILE *out = asked ? stdout : stderr;
	size_t n = strlen(group), found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strncmp(commands[i].name, group, n) != 0 || commands[i].name[n] != ' ')
			continue;
		if (!found++)
			fprintf(out, "acpd %s - its commands:\n\n", group);
		fprintf(out, "  acpd %s %s\n      %s\n", commands[i].name,
			commands[i].args ? commands[i].args : "", commands[i].help);
	}
	if (found)
		fprintf(out, "\nacpd %s COMMAND --help lists a command's options.\n", group);
	return (int)found;
}

static bool asks_for_help(int argc, char **argv)
{
	return argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0);
}

int main(int argc, char **argv)
{
	bool asked;

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		usage();
		return argc < 2 ? EXIT_USAGE : EXIT_DONE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("acpd %s\n", acpd_version);
		return EXIT_DONE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		int words = name_words(commands[i].name, argc, argv);

		if (words)
			/* The last word of the name takes the place of argv[0]. */
			return run_subcommand(&commands[i], argc - words, argv + words);
	}
	asked = asks_for_help(argc, argv);
	if ((argc < 3 || asked) && group_help(argv[1], asked))
		return asked ? EXIT_DONE : EXIT_USAGE;
	return fail(EXIT_USAGE, "no such command: %s%s%s (see acpd --help)", argv[1],
		    argc > 2 && argv[2][0] != '-' ? " " : "",
		    argc > 2 && argv[2][0] != '-' ? argv[2] : "");
}
