/*
 * check_job.c - the life of an `acpd check` process: reads its job, runs it on a loop, prints one
 * line.
 *
 * Descriptor 3 holds the job. The end of stdin, SIGTERM and SIGINT end the loop without a line: the
 * daemon needs no answer any more. Both kinds of check answer through check_job_answer, which
 * stores the line and ends the loop. The line is written last, so its reader finds no process and
 * no file of the check.
 */
#include "tools/builtin/check/check_job.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "loop/loop.h"
#include "tools/builtin/check/check_job_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>

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

/* --- its life ------------------------------------------------------------------------------------------------ */

void check_job_answer(struct check_job *j, struct slice line)
{
	buf_reset(&j->line);
	buf_add_slice(&j->line, line);
	buf_putc(&j->line, '\n');
	loop_quit(j->loop);
}

void check_job_refuse(struct check_job *j, const char *why)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_obj(&w, "error");
	jw_str(&w, "message", why);
	jw_end_obj(&w);
	jw_end_obj(&w);
	check_job_answer(j, buf_slice(&b));
}

/* The daemon wants nothing any more, or is gone. */
static void check_job_on_input(void *ctx, uint32_t events _unused_)
{
	struct check_job *j = ctx;
	char some[64];
	ssize_t n = read(STDIN_FILENO, some, sizeof(some));

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
