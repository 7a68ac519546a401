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

int cmd_serve(const struct config *c);
int cmd_acp(const struct config *c);
int cmd_run(const struct config *c);
int cmd_claim(const struct config *c);
int cmd_sessions(const struct config *c);
int cmd_restart(const struct config *c);
int cmd_tokens_mint(const struct config *c);
int cmd_tokens_list(const struct config *c);
int cmd_tokens_revoke(const struct config *c);
int cmd_doctor(const struct config *c);
int cmd_ui(const struct config *c);
int cmd_usage(const struct config *c);
int cmd_usage_verify(const struct config *c);
int cmd_archive_put(const struct config *c);
int cmd_archive_have(const struct config *c);
int cmd_archive_get(const struct config *c);
int cmd_archive_list(const struct config *c);
int cmd_archive_rm(const struct config *c);
int cmd_archive_extract(const struct config *c);
int cmd_bundle_export(const struct config *c);
int cmd_bundle_import(const struct config *c);
int cmd_bundle_replay(const struct config *c);
int cmd_bundle_rerun(const struct config *c);
int cmd_stats(const struct config *c);
int cmd_skills_validate(const struct config *c);
int cmd_mcp(const struct config *c);
int cmd_check(const struct config *c);
int cmd_confine_try(const struct config *c);
int cmd_harness_list(const struct config *c);
int cmd_harness_install(const struct config *c);
int cmd_harness_verify(const struct config *c);
int cmd_entrypoint(const struct config *c);

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
/* Wipes what it holds, and frees it. For _cleanup_. */
void secret_buf_done(struct buf *b);

/* fn gets the signals of a list that ends in 0. -errno. */
int cli_signals(struct loop *loop, const int *signals, void (*fn)(void *ctx, int signo), void *ctx);
/* Sleeps that long by CLOCK_MONOTONIC, also when the process was stopped or frozen meanwhile. */
void sleep_ms(uint64_t ms);
/* Kills all processes below this one, in some rounds: one that is killed may have started another meanwhile. */
void kill_descendants(void);
