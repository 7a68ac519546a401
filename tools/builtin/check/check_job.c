/*
 * check_job.c - the life of an `acpd check` process: reads its job, a command or a run of tests, carries it out on a
 * loop, prints one line.
 *
 * Descriptor 3 holds the job. The end of stdin, SIGTERM and SIGINT end the loop without a line: the
 * daemon needs no answer any more. Both kinds of check answer through check_job_answer, which
 * stores the line and ends the loop. The line is written last, so its reader finds no process and
 * no file of the check.
 */
#include "tools/builtin/check/check_job.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/json.h"
#include "loop/loop.h"
#include "tools/builtin/core/toolbox.h"
#include "tools/builtin/run/command_run.h"
#include "tools/builtin/run/command_spec.h"

#include <signal.h>
#include <sys/epoll.h>

struct check_job {
	struct loop *loop;
	struct loop_io input;
	struct buf line; /* the answer */
	char *message_file;
	void *own; /* of its kind */
	/* what it was told */
	char *kind, *root, *state_dir, *cwd, *command, *target;
	struct jval message;
	struct slice env, argv, only, tests;
	int64_t timeout_ms;
};

/* Of a kind of check. */
struct check_job_kind {
	/* Answers or refuses, from the loop or at once. */
	void (*start)(struct check_job *j);
	/* Nothing of it is left after. */
	void (*end)(struct check_job *j);
};

static const struct jfield fields[] = {
	JF_STR(struct check_job, kind, "kind", JF_REQUIRED, 16),
	JF_STR(struct check_job, root, "root", JF_REQUIRED, PATH_BYTES_MAX),
	JF_STR(struct check_job, state_dir, "stateDir", JF_REQUIRED, PATH_BYTES_MAX),
	JF_RAW(struct check_job, message, "message", 0),
	JF_STR(struct check_job, cwd, "cwd", 0, PATH_BYTES_MAX),
	JF_OBJ(struct check_job, env, "env", 0),
	JF_INT(struct check_job, timeout_ms, "timeoutMs", JF_REQUIRED, 1, CHECK_TIME_MAX),
	JF_ARR(struct check_job, argv, "argv", 0),
	JF_STR(struct check_job, command, "command", 0, ARG_BYTES_MAX),
	JF_STR(struct check_job, target, "target", 0, CHECK_ID_MAX),
	JF_ARR(struct check_job, only, "only", 0),
	JF_OBJ(struct check_job, tests, "tests", 0),
	JF_END,
};

/* --- the agent's last message ------------------------------------------------------------------------------ */

#define MESSAGE_ENV "ACPD_LAST_MESSAGE"
#define MESSAGE_NAME "acpd-last-message"

/* Whatever had the name before: a check that was killed leaves its file. */
static void write_message(struct check_job *j)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	const char *tmp = getenv("TMPDIR");

	/* The environment may have this variable from outside: a check without a message must not
	 * see it. */
	unsetenv(MESSAGE_ENV);
	if (j->message.type != J_STRING || jstr_decode_bytes(j->message, &text) < 0)
		return;
	j->message_file = file_join(tmp && *tmp == '/' ? tmp : "/tmp", MESSAGE_NAME);
	if (file_replace(j->message_file, buf_slice(&text).p, buf_len(&text), 0600) == 0)
		setenv(MESSAGE_ENV, j->message_file, 1);
}

static void remove_message(struct check_job *j)
{
	if (j->message_file)
		unlink(j->message_file);
	free(j->message_file);
}

/* --- the answer ----------------------------------------------------------------------------------------------- */

/* Once; then the loop ends. line: without its end. */
static void check_job_answer(struct check_job *j, struct slice line)
{
	buf_reset(&j->line);
	buf_add_slice(&j->line, line);
	buf_putc(&j->line, '\n');
	loop_quit(j->loop);
}

static void check_job_refuse(struct check_job *j, const char *why)
{
	JW_BUF(w, b);

	jw_object(&w, NULL, JW_OBJ("error", JW_STR("message", why)));
	check_job_answer(j, buf_slice(&b));
}

/* --- a command: words or shell text, run as the tools run theirs ---------------------------------------------- */

struct command {
	struct command_run_host *host;
	struct command_run *run;
	char **argv, *cwd;
};

static void check_command_put_stream(struct jw *w, const struct command *c,
				     enum command_run_stream s, const char *text, const char *total)
{
	const struct command_output *o = command_run_output(c->run, s);
	uint64_t from = o->total > CHECK_KEEP_BYTES ? o->total - CHECK_KEEP_BYTES : 0;
	_cleanup_(buf_done) struct buf piece = { 0 };

	command_output_piece(o, from, CHECK_KEEP_BYTES, &piece);
	jw_slice(w, text, (struct slice){ piece.data ? piece.data : "", piece.len });
	jw_uint(w, total, o->total);
}

static void check_command_on_exit(void *ctx, const struct command_run_status *st)
{
	JW_BUF(w, b);
	struct check_job *j = ctx;

	jw_obj(&w, NULL);
	command_put_end(&w, st);
	jw_uint(&w, "leftBehind", st->left);
	check_command_put_stream(&w, j->own, RUN_STDOUT, "stdout", "stdoutTotal");
	check_command_put_stream(&w, j->own, RUN_STDERR, "stderr", "stderrTotal");
	jw_end_obj(&w);
	check_job_answer(j, buf_slice(&b));
}

static const struct command_run_events check_command_events = { NULL, check_command_on_exit };

static void take_words(struct check_job *j, struct command *c)
{
	struct jval list = { J_ARRAY, j->argv };
	size_t n = 0;

	c->argv = xalloc((jarr_length(list) + 1) * sizeof(char *));
	jarr_each(v, list)
		if (jstr_decode(v, ARG_BYTES_MAX, &c->argv[n]) == 0)
			n++;
}

/* Ours, and that of the check on top. */
static void take_env(struct check_job *j)
{
	jobj_each(key, v, j->env) {
		_cleanup_(freep) char *name = xstrndup(key.p, key.n), *value = NULL;

		if (jstr_decode(v, ARG_BYTES_MAX, &value) == 0)
			setenv(name, value, 1);
	}
}

static int check_command_prepare(struct check_job *j, struct command *c, struct err *e)
{
	c->cwd = !j->cwd	  ? xstrdup(j->root) :
		 j->cwd[0] == '/' ? xstrdup(j->cwd) :
				    file_join(j->root, j->cwd);
	take_env(j);
	if (j->argv.n) {
		char *program;

		take_words(j, c);
		program = command_run_which(c->argv[0], environ, c->cwd, e);
		if (!program)
			return -ENOENT;
		free(c->argv[0]);
		c->argv[0] = program;
		return 0;
	}
	strv_add(&c->argv, xstrdup(command_shell()));
	strv_add(&c->argv, xstrdup("-c"));
	strv_add(&c->argv, xstrdup(j->command));
	return 0;
}

static void check_command_start(struct check_job *j)
{
	struct command *c = new0(struct command);
	struct command_run_spec spec = { .timeout_ms = (uint64_t)j->timeout_ms,
					 .keep = CHECK_KEEP_BYTES };
	struct err e = { 0 };

	j->own = c;
	c->host = command_run_host_new(j->loop);
	if (check_command_prepare(j, c, &e) == 0) {
		spec.argv = c->argv;
		spec.env = environ;
		spec.cwd = c->cwd;
		c->run = command_run_start(c->host, &spec, &check_command_events, j, &e);
	}
	if (!c->run)
		check_job_refuse(j, e.msg);
}

static void check_command_end(struct check_job *j)
{
	struct command *c = j->own;

	/* Kills what still runs, and waits for its end. */
	command_run_host_free(c->host);
	strv_free(c->argv);
	free_each(c->cwd, c);
}

static const struct check_job_kind check_job_command = { check_command_start, check_command_end };

/* --- tests: one call of runTests, in tools of its own without a policy ---------------------------------------- */

struct tests {
	struct toolbox *box;
	struct mcp_call *call;
};

static void check_tests_refuse(struct check_job *j, struct slice error)
{
	_cleanup_(freep) char *why = NULL;

	if (jstr_decode_shown(jobj_get(error, "message"), MESSAGE_MAX, &why) < 0)
		why = xstrdup("the tests could not be started");
	check_job_refuse(j, why);
}

static void check_tests_on_done(void *ctx, struct slice result, struct slice error)
{
	struct check_job *j = ctx;
	struct tests *t = j->own;
	struct slice told = jobj_get(result, "structuredContent").raw;

	t->call = NULL;
	if (error.n)
		check_tests_refuse(j, error);
	else if (jobj_get(result, "isError").type == J_TRUE)
		check_tests_refuse(j, jobj_get(told, "error").raw);
	else
		check_job_answer(j, told);
}

static const struct mcp_reply_ops replies = { mcp_call_hear_nothing, check_tests_on_done };

static struct toolbox *check_tests_box(struct check_job *j, struct err *e)
{
	JW_BUF(w, b);
	struct toolbox_config config = { 0 };
	struct toolbox *box = NULL;

	jw_obj(&w, NULL);
	jw_arr(&w, "roots");
	jw_str(&w, NULL, j->root);
	jw_end_arr(&w);
	jw_str(&w, "cwd", j->root);
	jw_str(&w, "stateDir", j->state_dir);
	jw_raw(&w, "tests", j->tests);
	jw_end_obj(&w);
	if (toolbox_config_parse(buf_slice(&b), &config, e) == 0)
		box = toolbox_new(j->loop, &config, e);
	toolbox_config_done(&config);
	return box;
}

static void check_tests_put_call(const struct check_job *j, struct buf *b)
{
	struct jw w = JW(b);

	jw_object(&w, NULL, JW_STR("name", "runTests"),
		  JW_OBJ("arguments", JW_STR("target", j->target), JW_RAW("only", j->only),
			 JW_STR("cwd", j->cwd), JW_RAW("env", j->env),
			 JW_INT("timeoutMs", j->timeout_ms)));
}

static void check_tests_start(struct check_job *j)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct tests *t = new0(struct tests);
	struct err e = { 0 };

	j->own = t;
	t->box = check_tests_box(j, &e);
	if (!t->box) {
		check_job_refuse(j, e.msg);
		return;
	}
	check_tests_put_call(j, &b);
	t->call =
		mcp_backend_call(toolbox_backend(t->box), "tools/call", buf_slice(&b), &replies, j);
}

static void check_tests_end(struct check_job *j)
{
	struct tests *t = j->own;

	if (t->call)
		mcp_call_cancel(t->call);
	toolbox_free(t->box);
	free(t);
}

static const struct check_job_kind check_job_tests = { check_tests_start, check_tests_end };

/* --- its life ------------------------------------------------------------------------------------------------ */

/* The daemon wants nothing any more, or is gone. */
static void check_job_on_input(void *ctx, uint32_t events _unused_)
{
	struct check_job *j = ctx;
	char some[64];
	ssize_t n = read(STDIN_FILENO, some, sizeof(some));

	/* Bytes on stdin mean nothing: only its end counts. */
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	loop_io_set(j->loop, &j->input, 0);
	loop_quit(j->loop);
}

static void check_job_on_signal(void *ctx, int signo)
{
	struct check_job *j = ctx;

	if (signo == SIGTERM || signo == SIGINT)
		loop_quit(j->loop);
}

static int open_loop(struct check_job *j)
{
	sigset_t set;

	j->loop = loop_new();
	if (!j->loop)
		return -ENOMEM;
	/* A write to a reader that has exited must fail with EPIPE, and not end this process. */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	loop_signals(j->loop, &set, check_job_on_signal, j);
	j->input = (struct loop_io){ .fd = STDIN_FILENO, .fn = check_job_on_input, .ctx = j };
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	return loop_io_set(j->loop, &j->input, EPOLLIN);
}

static int check_job_carry_out(struct check_job *j, int fd)
{
	_cleanup_(buf_done) struct buf text = { .max = CHECK_JOB_MAX };
	const struct check_job_kind *kind;
	struct jval v;
	int r = file_read_fd(fd, CHECK_JOB_MAX, &text);

	close(fd);
	if (r < 0 || jscan_value(buf_slice(&text), &v) != JSCAN_OK || v.type != J_OBJECT ||
	    jdec_object(v.raw, fields, NULL, j, NULL) < 0)
		return -EINVAL;
	kind = strcmp(j->kind, "tests") == 0 ? &check_job_tests : &check_job_command;
	write_message(j);
	kind->start(j);
	loop_run(j->loop);
	/* Before the line is written: its reader relies on the end of all processes. */
	kind->end(j);
	remove_message(j);
	return file_write_all(STDOUT_FILENO, buf_slice(&j->line).p, buf_len(&j->line));
}

int check_job_run(int fd)
{
	struct check_job j = { 0 };
	int r = open_loop(&j);

	if (r == 0)
		r = check_job_carry_out(&j, fd);
	jdec_free(fields, &j);
	buf_done(&j.line);
	loop_free(j.loop);
	return r < 0 ? 1 : 0;
}
