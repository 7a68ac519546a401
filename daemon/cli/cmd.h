/* cmd.h - the subcommands, the one table of exit codes, and what subcommands share (cmd.c). */
#pragma once

#include "base/buf.h"
#include "cli/options/cli_options.h"
#include "json/jscan.h"

struct loop;

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_REFUSED = 3, /* by policy, safety or the model */
	EXIT_BUDGET = 4,
	EXIT_CANCELLED = 5,
	EXIT_UNREACHABLE = 6, /* no daemon, or the daemon is not claimed */
	/* from 10 on: a kind of trouble that doctor found (cli/doctor/finding.c) */
};

/* A subcommand: its exit code. */
typedef int command_fn(const struct config *c);

command_fn cmd_serve, cmd_acp, cmd_run, cmd_claim, cmd_sessions, cmd_restart, cmd_tokens_mint,
	cmd_tokens_list, cmd_tokens_revoke, cmd_doctor, cmd_ui, cmd_usage, cmd_usage_verify,
	cmd_archive_put, cmd_archive_have, cmd_archive_get, cmd_archive_list, cmd_archive_rm,
	cmd_archive_extract, cmd_bundle_export, cmd_bundle_import, cmd_bundle_replay, cmd_stats,
	cmd_skills_validate, cmd_mcp, cmd_check, cmd_confine_try, cmd_harness_list,
	cmd_harness_install, cmd_harness_verify, cmd_entrypoint;

/* shim.c: `acpd mcp` without --builtin. */
int shim_run(void);

/* "acpd: text" on standard error; returns code. */
int fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with the text of e: EXIT_USAGE if an option is wrong, else code. */
int fail_option(const struct err *e, int code);

/* Prints JSON text and a line break on standard output: as it is, or indented. */
void print_json(struct slice json);
void print_pretty(struct slice json);
/* Returns code, or EXIT_FAILED and says so if standard output has not taken all that was printed. */
int flushed(int code);

/* Decodes a string for a terminal: one line. NULL: v is not a string of at most max bytes. The caller frees. */
char *cli_shown(struct jval v, size_t max);
/* The same of a member, of at most PATH_BYTES_MAX bytes. */
char *cli_text_of(struct slice object, const char *key);
/* Decodes a member of at most 4096 bytes as it is; "" if there is none. The caller frees. */
char *cli_string_of(struct slice object, const char *key);
/* The number; 0 if there is none. */
long long cli_number_of(struct slice object, const char *key);
/* path, absolute, but with its links as they are; the caller frees. */
char *cli_absolute(const char *path);

/* fn gets the signals of a list that ends in 0. -errno. */
int cli_signals(struct loop *loop, const int *signals, void (*fn)(void *ctx, int signo), void *ctx);
/* For cli_signals, and for other callbacks: ends loop_run of the loop that is ctx. */
void quit_on_signal(void *loop, int signo);
void quit_loop(void *loop);
/* The same for SIGCHLD: reaps the children of procs. */
void reap_on_signal(void *procs, int signo);
/* Sleeps that long by CLOCK_MONOTONIC, also when the process was stopped or frozen meanwhile. */
void sleep_ms(uint64_t ms);
/* Kills all processes below this one, in some rounds: one that is killed may have started another meanwhile. */
void kill_descendants(void);
