/*
 * run_unpack.c - runs one job of acpd-unpack for a subcommand and prints its result.
 *
 * acpd-unpack does all work on untrusted archives; only its exit code and its answer line are used.
 * The program may exit before it reads the job, so SIGPIPE is ignored: the exit code has the
 * reason. Exit code 127 means that execl failed. PDEATHSIG is SIGTERM, on which acpd-unpack rolls
 * back. Names from an archive are flattened to one line before they are printed.
 */
#include "cli/archive/archive.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "workspace/helper_job.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define ANSWER_MAX (16 * MIB)
#define SHOWN_MAX 10 /* names of what was left out */

/* Its exit code, or a negative errno. */
static int unpack_run(const char *path, const char *verb, struct slice job, struct buf *answer)
{
	_cleanup_(closep) int from = -1;
	int in[2], out[2], status;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM); /* it then undoes what it has begun */
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl(path, path, verb, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	from = out[0];
	signal(SIGPIPE, SIG_IGN); /* its exit code says why it does not read */
	if (pid > 0 && file_write_all(in[1], job.p, job.n) == 0)
		file_write_all(in[1], "\n", 1);
	close(in[1]);
	if (pid < 0)
		return -EAGAIN;
	file_read_fd(from, ANSWER_MAX, answer);
	RETRY(waitpid(pid, &status, 0));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return -ENOENT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

void cli_print_skipped(struct slice report)
{
	long long total = cli_number_of(report, "skippedTotal"), shown = 0;
	struct jval skipped = jobj_get(report, "skipped");

	if (!total || skipped.type != J_ARRAY)
		return;
	fprintf(stderr, "left out %lld:\n", total);
	jarr_each(v, skipped) {
		_cleanup_(freep) char *path = cli_text_of(v.raw, "path"),
				      *reason = cli_text_of(v.raw, "reason");

		fprintf(stderr, "  %s: %s\n", reason ? reason : "", path ? path : "");
		if (++shown == SHOWN_MAX)
			break;
	}
	if (shown < total)
		fprintf(stderr, "  and %lld more\n", total - shown);
}

static int print_bad(struct slice bad, int code)
{
	_cleanup_(freep) char *reason = cli_text_of(bad, "reason"),
			      *path = cli_text_of(bad, "path"),
			      *message = cli_text_of(bad, "message");

	fprintf(stderr, "%s: %s%s%s\n", reason ? reason : "UNKNOWN", path ? path : "",
		path ? ": " : "", message ? message : "");
	return code;
}

static int take_unpack_answer(const struct config *c, struct slice line, int code,
			      int (*done)(const struct config *c, struct slice result))
{
	struct jslot slots[] = { { .key = "done" }, { .key = "refused" }, { .key = "failed" } };

	if (jscan_object(line, slots, ARRAY_SIZE(slots)) != JSCAN_OK)
		return fail(EXIT_FAILED, "the helper program ended without an answer");
	if (slots[0].v.type == J_OBJECT)
		return done ? done(c, slots[0].v.raw) : EXIT_DONE;
	return c->json ? code :
			 print_bad(slots[1].v.type == J_OBJECT ? slots[1].v.raw : slots[2].v.raw,
				   code);
}

int run_unpack(const struct config *c, const char *verb, struct slice job,
	       int (*done)(const struct config *c, struct slice result))
{
	_cleanup_(buf_done) struct buf answer = { .max = ANSWER_MAX };
	_cleanup_(freep) char *path = helper_job_program();
	struct slice line;
	int code = path ? unpack_run(path, verb, job, &answer) : -ENOENT;

	if (code < 0)
		return fail(EXIT_FAILED, "acpd-unpack: %s", strerror(-code));
	line = buf_slice(&answer);
	if (c->json && (fwrite(line.p, 1, line.n, stdout) != line.n || fflush(stdout) != 0))
		return EXIT_FAILED;
	return take_unpack_answer(c, line, code, done);
}
