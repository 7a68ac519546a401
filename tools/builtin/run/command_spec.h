/*
 * command_spec.h - what the tools that start processes share: how a call names its command, the one function that
 * starts every command, and how an end is reported.
 *
 * Only command_judge asks the policy about commands, and only command_start starts them; it judges first. A command is
 * shell text or words. What is judged may be more than what is started (code in a file is judged as code in an argument
 * of its interpreter). The environment is ours, then that of the configuration, then that of the call.
 */
#pragma once

#include "base/buf.h"
#include "tools/builtin/core/toolbox.h"
#include "tools/builtin/run/command_run.h"

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
	TF_STRING("workingDirectory", 0,                                                           \
		  "directory it runs in; default: the working directory of the tools"),            \
		TF_STRING("cwd", 0, "the same as workingDirectory"),                               \
		TF_MAP("envs", TOOL_VARIABLES, "environment variables, on top of those there are", \
		       .max = RUN_ENVS_MAX),                                                       \
		TF_MAP("env", TOOL_VARIABLES, "the same as envs", .max = RUN_ENVS_MAX),            \
		TF_INT("timeoutMs", 0,                                                             \
		       "time limit in milliseconds, 0: none; then SIGTERM, 2 s later SIGKILL "     \
		       "to all of its processes",                                                  \
		       .max = RUN_TIME_MAX),                                                       \
		TF_INT("timeoutSeconds", 0, "the same in seconds", .max = RUN_TIME_MAX / 1000),    \
		TF_INT("maxOutputBytes", 0, "newest bytes kept of stdout and of stderr each",      \
		       .max = RUN_KEEP_MAX)

/* And of tables of what comes back: success and command_put_end; command_put and command_put_unrun. */
/* clang-format off */
#define COMMAND_OUT_END TF_BOOL("success", TOOL_REQUIRED, "it has not failed: it runs, or it has ended with exit code 0"), TF_INT("exitCode", TOOL_REQUIRED | TOOL_NULLABLE, "128 and the signal's number if a signal ended it; 127: no such command; null: it runs"), TF_STRING("signal", TOOL_REQUIRED | TOOL_NULLABLE, "the signal that ended it, such as SIGSEGV"), TF_BOOL("running", TOOL_REQUIRED, "it has not ended"), TF_BOOL("timedOut", TOOL_REQUIRED, "its time was over"), TF_BOOL("killed", TOOL_REQUIRED, "it was ended from here")
#define COMMAND_OUT_COMMON COMMAND_OUT_END, TF_STRING("stdout", TOOL_REQUIRED, "what it wrote"), TF_STRING("stderr", TOOL_REQUIRED, "what it wrote"), TF_STRING("command", TOOL_REQUIRED, "what was run"), TF_INT("executionTime", TOOL_REQUIRED, "milliseconds"), TF_BOOL("stdoutTruncated", TOOL_REQUIRED, "older output is not kept"), TF_BOOL("stderrTruncated", TOOL_REQUIRED, "older output is not kept"), TF_INT("stdoutDroppedBytes", TOOL_REQUIRED, "bytes that are not kept"), TF_INT("stderrDroppedBytes", TOOL_REQUIRED, "bytes that are not kept"), TF_INT("leftBehind", 0, "processes that it had left running, which were ended with it"), TF_STRING("pid", 0, "names it for getProcessOutput and killProcess; of one that has ended: for what was left out"), TF_STRING("piece", 0, "getProcessOutput with offset: of the stream asked for"), TF_INT("offset", 0, "where piece begins"), TF_INT("nextOffset", 0, "where to read on, if there is more"), TF_BOOL("dryRun", 0, "nothing was run")
/* clang-format on */

/*
 * The processes of a toolbox: the host of all that run, and those in the background, which
 * outlive the call that started them, are named by their pid (a string, as in Mastra's handles), and end with the
 * toolbox.
 *
 * The newest RUN_BACKGROUND_MAX are remembered with the end of their output, also after they have ended; so are the
 * newest RUN_ENDED_MAX commands whose output was more than could be shown, for getProcessOutput to read on.
 */

struct command_run_host *background_procs_host(struct toolbox *b);
/* Takes a run that has ended, to be read on by pid. False: there is no room. */
bool background_procs_keep(struct toolbox *b, struct command_run *r, const char *shown,
			   const struct command_run_status *st, char pid[PID_TEXT]);
/* Starts it in the background and ends the call. Owns what cmd holds. input: written to its stdin, which is then
 * closed unless cmd->input. */
void background_procs_start(struct builtin_call *c, struct command_spec *cmd, struct slice input);

/*
 * What a model is shown of a command: the head and the tail of what it wrote, and how it ended.
 */
struct command_text {
	const char *pid;   /* by which getProcessOutput reads what is left out; NULL: it cannot */
	size_t lines;	   /* only the last so many of each stream; 0: head and tail */
	bool capture;	   /* false: nothing of what it wrote */
	size_t room;	   /* bytes, in all */
	const char *unrun; /* why it was not run; st and r are not used then */
};

/* True if the output is longer than what is shown. */
bool command_text_cut(const struct command_run *r, size_t room);
/* st NULL: it still runs. */
void command_text(struct buf *out, const struct command_run *r, const struct command_run_status *st,
		  const struct command_text *how);
/* A piece of one stream, as it is asked for by offset; at: where it really begins, end: where it ends. */
void command_text_piece(struct buf *out, const struct command_output *o, struct slice piece,
			uint64_t at, bool running);

/* The variables of createSandbox, which all later commands of this sandbox get. */

/* NAME=value, ended by NULL; NULL: none. On top of the configuration's, below those of a call; the policy judges them
 * with each command. */
char *const *sandbox_variables(const struct toolbox *b);
