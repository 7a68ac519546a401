/* command_job.c - runCommand, and what runCode has in common with it: a command whose end the call waits for. */
#include "tools/builtin/run/command_job.h"

#include "base/limits.h"
#include "tools/builtin/code/run_code.h"
#include "tools/builtin/core/model_text.h"
#include "tools/builtin/testrun/testrun.h"

/* Frees the job, not its call. */
void command_job_drop(struct command_job *j)
{
	j->call->own = NULL;
	command_run_free(j->run);
	if (j->progress.call)
		command_progress_end(&j->progress);
	command_done(&j->cmd);
	buf_done(&j->input);
	if (j->release)
		j->release(j->own);
	free(j);
}

struct command_job *command_job_new(struct builtin_call *c)
{
	struct command_job *j = new0(struct command_job);

	j->call = c;
	j->capture = true;
	c->own = j;
	return j;
}

void command_job_fail(struct command_job *j, const struct err *e)
{
	struct builtin_call *c = j->call;

	command_job_drop(j);
	tool_fail(c, e, SLICE_NONE);
}

static void job_done(struct command_job *j, struct slice members, struct slice text)
{
	struct builtin_call *c = j->call;

	command_job_drop(j);
	tool_answer(c, &(struct tool_result){ .members = members, .text = text });
}

static void command_job_on_output(void *ctx, enum command_run_stream s, struct slice bytes)
{
	struct command_job *j = ctx;

	if (j->capture)
		command_progress_add(&j->progress, s, bytes);
}

static void command_job_finish(struct command_job *j, const struct command_run_status *st)
{
	_cleanup_(buf_done) struct buf out = { 0 }, text = { .max = RUN_KEEP_MAX };
	struct command_text how = { .capture = j->capture, .room = tool_room(j->call) };
	struct jw w = JW(&out);
	char pid[PID_TEXT];

	/* what is left out can be read on, as that of a process in the background */
	if (j->capture && command_text_cut(j->run, how.room) &&
	    background_procs_keep(j->call->box, j->run, j->cmd.shown, st, pid))
		how.pid = pid;
	command_put(&w, j->cmd.shown, j->run, st, 0, j->capture);
	jw_str(&w, "pid", how.pid);
	if (j->more)
		j->more(j, st, &w);
	command_text(&text, j->run, st, &how);
	if (how.pid)
		/* It is kept with the processes of the background now. */
		j->run = NULL;
	job_done(j, buf_slice(&out), buf_slice(&text));
}

static void command_job_on_end(void *ctx, const struct command_run_status *st)
{
	struct command_job *j = ctx;
	/* A stop by the time limit of the call is a timeout, too. */
	struct command_run_status told = *st;
	struct err e = { 0 };

	told.timed_out |= j->timed_out;
	command_progress_end(&j->progress);
	j->progress.call = NULL;
	if (j->gone) {
		err_set(&e, -ECANCELED, 0, "ABORTED", "the command was ended, its caller has gone");
		command_job_fail(j, &e);
	} else if (j->again && !told.timed_out && j->again(j, st)) {
		j->run = command_run_free(j->run);
		command_job_run(j);
	} else if (j->refuse && j->refuse(j, st, &e)) {
		command_job_fail(j, &e);
	} else {
		command_job_finish(j, &told);
	}
}

static const struct command_run_events events = { command_job_on_output, command_job_on_end };

static void unrun(struct command_job *j, int code, const char *why)
{
	_cleanup_(buf_done) struct buf out = { 0 }, text = { 0 };
	struct jw w = JW(&out);

	command_put_unrun(&w, j->cmd.shown, code, why);
	if (j->more)
		j->more(j, NULL, &w);
	command_text(&text, NULL, NULL, &(struct command_text){ .unrun = why ? why : "dry run" });
	job_done(j, buf_slice(&out), buf_slice(&text));
}

void command_job_run(struct command_job *j)
{
	struct builtin_call *c = j->call;
	struct err e = { 0 };
	int r;

	if (c->dry_run) {
		r = command_judge(c, &j->cmd, &e);
		if (r < 0)
			command_job_fail(j, &e);
		else if (r == 0)
			unrun(j, 0, NULL);
		else
			command_job_drop(j);
		return;
	}
	j->cmd.input = buf_len(&j->input) > 0;
	command_progress_init(&j->progress, toolbox_loop(c->box), c);
	r = command_start(c, &j->cmd, &events, j, &j->run, &e);
	/* A result with exit code 127, as from a shell, and not an error of the tool. */
	if (r == -ENOENT && strcmp(e.reason, "COMMAND_NOT_FOUND") == 0) {
		unrun(j, 127, e.msg);
	} else if (r < 0) {
		command_job_fail(j, &e);
	} else if (r > 0) {
		command_job_drop(j);
	} else if (buf_len(&j->input)) {
		command_run_write(j->run, buf_slice(&j->input));
		command_run_close_input(j->run);
	}
}

void command_job_cancel(struct builtin_call *c, bool timed_out)
{
	struct command_job *j = c->own;

	if (!j || !j->run)
		return;
	j->timed_out |= timed_out;
	j->gone |= !timed_out;
	/* A timeout leaves time for a last output; a caller that has gone reads none. */
	if (timed_out)
		command_run_stop(j->run, TOOL_KILL_MS);
	else
		command_run_kill(j->run);
}

/* --- runCommand ----------------------------------------------------------------------------------------- */

/* command is shell text, with args a program; argv is both. */
static int command_job_take_command(const struct builtin_call *c, struct command_spec *ret,
				    struct err *e)
{
	char *text = tool_arg_str(c, "command");
	char **args = tool_arg_strv(c, "args"), **argv = tool_arg_strv(c, "argv");
	size_t n = 0;

	if (!!text == !!argv || (argv && args) || (argv && !argv[0]) || (text && !*text)) {
		free(text);
		strv_free(args);
		strv_free(argv);
		return err_field(e, "command", "INVALID_ARGUMENT",
				 "give command (with args, or as shell text), or argv");
	}
	ret->argv = argv;
	if (args) {
		n = strv_len(args);
		ret->argv = xalloc((n + 2) * sizeof(*ret->argv));
		ret->argv[0] = text;
		memcpy(ret->argv + 1, args, n * sizeof(*args));
		free(args);
	} else {
		ret->shell = text;
	}
	ret->shown = ret->shell ? xstrdup(ret->shell) : command_quote(ret->argv);
	return 0;
}

static void command_job_start(struct builtin_call *c)
{
	_cleanup_(freep) char *mode = tool_arg_str(c, "stdin");
	bool background = tool_arg_bool(c, "background", false);
	bool pipe = mode && strcmp(mode, "pipe") == 0;
	struct command_job *j = command_job_new(c);
	struct err e = { 0 };
	int r = command_job_take_command(c, &j->cmd, &e);

	if (r == 0)
		r = command_common(c, background ? 0 : RUN_TIME_MS, RUN_KEEP_BYTES, &j->cmd, &e);
	if (r == 0 && pipe && !background)
		r = err_field(&e, "stdin", "INVALID_ARGUMENT",
			      "stdin \"pipe\" needs background: nobody could write to it");
	if (r < 0) {
		command_job_fail(j, &e);
		return;
	}
	j->capture = tool_arg_bool(c, "captureOutput", true);
	tool_arg_bytes(c, "input", &j->input);
	if (background && !c->dry_run) {
		_cleanup_(buf_done) struct buf input = j->input;
		struct command_spec cmd = j->cmd;

		j->input = (struct buf){ 0 };
		j->cmd = (struct command_spec){ 0 };
		command_job_drop(j);
		cmd.input = pipe;
		background_procs_start(c, &cmd, buf_slice(&input));
		command_done(&cmd);
	} else {
		command_job_run(j);
	}
}

const struct tool_field command_out[] = { COMMAND_OUT_COMMON, { 0 } };

static const char *const stdin_words[] = { "ignore", "pipe", NULL };

static const struct tool_field in[] = {
	TF_STRING("command", 0, "shell text; with args: the program, without a shell"),
	TF_STRINGS("args", 0, "its arguments", .max = RUN_ARGS_MAX),
	TF_STRINGS("argv", 0, "program and arguments, instead of command", .max = RUN_ARGS_MAX),
	COMMAND_IN_COMMON,
	TF_BOOL("captureOutput", 0, "false: stdout and stderr are read but not returned",
		.fallback = "true"),
	TF_BOOL("background", 0, "answer at once with its pid and let it run on",
		.fallback = "false"),
	TF_STRING("input", TOOL_BYTES, "text for its stdin"),
	TF_STRING(
		"stdin", 0,
		"ignore: at its end after input. pipe (in the background): open for writeProcessInput",
		.fallback = "\"ignore\"", .words = stdin_words),
	{ 0 },
};

const struct builtin_tool command_tools[] = {
	BUILTIN_TOOL(
		"runCommand", "Run a command",
		"Runs a command and returns its output and how it ended. What it leaves running is ended "
		"with it; servers and other long runs belong in the background, which lasts as long as the session.",
		CATEGORY_EXECUTE, HINT_DESTRUCTIVE | HINT_OPEN_WORLD, in, command_out,
		.start = command_job_start, .cancel = command_job_cancel),
	BUILTIN_TOOL(
		"runCode", "Run code",
		"Runs a program in Python, JavaScript or TypeScript and returns its output and how it ended.",
		CATEGORY_EXECUTE, HINT_DESTRUCTIVE | HINT_OPEN_WORLD, code_in, code_out,
		.start = code_start, .cancel = command_job_cancel, .setting = "interpreters",
		.setting_check = code_interpreters_check),
	BUILTIN_TOOL(
		"runTests", "Run tests",
		"Runs the tests of a target and returns the result of each; those that ended before a timeout as well.",
		CATEGORY_EXECUTE, HINT_DESTRUCTIVE | HINT_OPEN_WORLD, testrun_in, testrun_out,
		.show = testrun_text, .start = testrun_start, .cancel = testrun_cancel,
		.setting = "tests", .setting_check = test_rows_check),
	{ 0 },
};
