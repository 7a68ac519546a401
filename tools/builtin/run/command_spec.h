/*
 * command_spec.h - what the tools that start processes share: how a call names its command, the one function that
 * starts every command, and how an end is reported.
 *
 * Only command_judge asks the policy about commands, and only command_start starts them; it judges first. A command is
 * shell text or words. What is judged may be more than what is started (code in a file is judged as code in an argument
 * of its interpreter). The environment is ours, then that of the configuration, then that of the call.
 */
#pragma once

#include "tools/builtin/run/command_run.h"
#include "tools/builtin/core/toolbox.h"

struct command_spec {
	char *shell;   /* text for a shell, or NULL */
	char **argv;   /* else words */
	char **judged; /* words that the policy is asked about instead; NULL: those that are run */
	char *shown;   /* as results name it */
	char *cwd;     /* absolute */
	char **envs;   /* NAME=value of the call, or NULL */
	char *own_env; /* a variable of ours, which those of the call may replace; or NULL */
	uint64_t timeout_ms;
	size_t keep;
	bool input;	    /* stdin stays open */
	const char *remove; /* a file removed even if we are killed; borrowed, or NULL */
};

/* Arguments that they all take: workingDirectory or cwd, envs or env, timeoutMs or timeoutSeconds, maxOutputBytes. 0
 * or <0 with e. */
int command_common(const struct builtin_call *c, uint64_t timeout_ms, size_t keep,
		   struct command_spec *ret, struct err *e);
void command_done(struct command_spec *cmd);
/* The program that shell text is for. */
const char *command_shell(void);
/* Words as a shell would need them. */
char *command_quote(char *const *argv);

/* What it gets. The strings are borrowed, the array is the caller's. */
char **command_environment(const struct toolbox *b, const struct command_spec *cmd);

/* 0: may be run. 1: a human has to be asked; the call has been ended. <0: denied. */
int command_judge(struct builtin_call *c, const struct command_spec *cmd, struct err *e);
/* The same, and it runs: *ret. COMMAND_NOT_FOUND and the errors of command_run_start are negative too. */
int command_start(struct builtin_call *c, const struct command_spec *cmd,
		  const struct command_run_events *ev, void *ctx, struct command_run **ret,
		  struct err *e);

/* NULL: it still runs, and has not failed. */
bool command_succeeded(const struct command_run_status *st);
/* How it ended: exitCode, signal, running, timedOut, killed. */
void command_put_end(struct jw *w, const struct command_run_status *st);
/* Members of a result. st NULL: it still runs. lines: only the last of the output, 0: all; capture false: none. */
void command_put(struct jw *w, const char *shown, const struct command_run *r,
		 const struct command_run_status *st, size_t lines, bool capture);
#define PID_TEXT 16
void command_pid(const struct command_run *r, char text[PID_TEXT]);
/* Ends a call of a tool that reports on a process (arguments tail; offset, length, stream): for programs and for
 * models. */
void command_answer(struct builtin_call *c, const char *shown, const struct command_run *r,
		    const struct command_run_status *st);
/* Those of one that was not started: dry run, or not found (exit code 127, and why on stderr). */
void command_put_unrun(struct jw *w, const char *shown, int code, const char *why);

extern const struct tool_field command_out[]; /* COMMAND_OUT_COMMON */

/* Rows for tables of input fields. */
#define COMMAND_IN_COMMON                                                                          \
	{ .name = "workingDirectory",                                                              \
	  .type = TOOL_STRING,                                                                     \
	  .text = "directory it runs in; default: the working directory of the tools" },           \
		{ .name = "cwd", .type = TOOL_STRING, .text = "the same as workingDirectory" },    \
		{ .name = "envs",                                                                  \
		  .type = TOOL_MAP,                                                                \
		  .max = RUN_ENVS_MAX,                                                             \
		  .flags = TOOL_VARIABLES,                                                         \
		  .text = "environment variables, on top of those there are" },                    \
		{ .name = "env",                                                                   \
		  .type = TOOL_MAP,                                                                \
		  .max = RUN_ENVS_MAX,                                                             \
		  .flags = TOOL_VARIABLES,                                                         \
		  .text = "the same as envs" },                                                    \
		{ .name = "timeoutMs",                                                             \
		  .type = TOOL_INT,                                                                \
		  .max = RUN_TIME_MAX,                                                             \
		  .text = "time limit in milliseconds, 0: none; then SIGTERM, 2 s later SIGKILL "  \
			  "to all of its processes" },                                             \
		{ .name = "timeoutSeconds",                                                        \
		  .type = TOOL_INT,                                                                \
		  .max = RUN_TIME_MAX / 1000,                                                      \
		  .text = "the same in seconds" },                                                 \
	{                                                                                          \
		.name = "maxOutputBytes", .type = TOOL_INT, .max = RUN_KEEP_MAX,                   \
		.text = "newest bytes kept of stdout and of stderr each"                           \
	}

/* And of tables of what comes back: success and command_put_end; command_put and command_put_unrun. */
/* clang-format off */
#define COMMAND_OUT_END \
	{ .name = "success", .type = TOOL_BOOL, .flags = TOOL_REQUIRED, \
	  .text = "it has not failed: it runs, or it has ended with exit code 0" }, \
	{ .name = "exitCode", .type = TOOL_INT, .flags = TOOL_REQUIRED | TOOL_NULLABLE, \
	  .text = "128 and the signal's number if a signal ended it; 127: no such command; null: it runs" }, \
	{ .name = "signal", .type = TOOL_STRING, .flags = TOOL_REQUIRED | TOOL_NULLABLE, \
	  .text = "the signal that ended it, such as SIGSEGV" }, \
	{ .name = "running", .type = TOOL_BOOL, .flags = TOOL_REQUIRED, .text = "it has not ended" }, \
	{ .name = "timedOut", .type = TOOL_BOOL, .flags = TOOL_REQUIRED, .text = "its time was over" }, \
	{ .name = "killed", .type = TOOL_BOOL, .flags = TOOL_REQUIRED, .text = "it was ended from here" }
#define COMMAND_OUT_COMMON \
	COMMAND_OUT_END, \
	{ .name = "stdout", .type = TOOL_STRING, .flags = TOOL_REQUIRED, .text = "what it wrote" }, \
	{ .name = "stderr", .type = TOOL_STRING, .flags = TOOL_REQUIRED, .text = "what it wrote" }, \
	{ .name = "command", .type = TOOL_STRING, .flags = TOOL_REQUIRED, .text = "what was run" }, \
	{ .name = "executionTime", .type = TOOL_INT, .flags = TOOL_REQUIRED, .text = "milliseconds" }, \
	{ .name = "stdoutTruncated", .type = TOOL_BOOL, .flags = TOOL_REQUIRED, .text = "older output is not kept" }, \
	{ .name = "stderrTruncated", .type = TOOL_BOOL, .flags = TOOL_REQUIRED, .text = "older output is not kept" }, \
	{ .name = "stdoutDroppedBytes", .type = TOOL_INT, .flags = TOOL_REQUIRED, .text = "bytes that are not kept" }, \
	{ .name = "stderrDroppedBytes", .type = TOOL_INT, .flags = TOOL_REQUIRED, .text = "bytes that are not kept" }, \
	{ .name = "leftBehind", .type = TOOL_INT, \
	  .text = "processes that it had left running, which were ended with it" }, \
	{ .name = "pid", .type = TOOL_STRING, \
	  .text = "names it for getProcessOutput and killProcess; of one that has ended: for what was left out" }, \
	{ .name = "piece", .type = TOOL_STRING, .text = "getProcessOutput with offset: of the stream asked for" }, \
	{ .name = "offset", .type = TOOL_INT, .text = "where piece begins" }, \
	{ .name = "nextOffset", .type = TOOL_INT, .text = "where to read on, if there is more" }, \
	{ .name = "dryRun", .type = TOOL_BOOL, .text = "nothing was run" }
/* clang-format on */
