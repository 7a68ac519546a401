/* extract.c - `acpd archive extract`: the extraction path of the daemon from the command line; the helper acpd-unpack does the work. */
#include "cli/commands.h"

#include "base/file.h"
#include "base/limits.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "json/jdec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/wait.h>

#define ANSWER_MAX (16 * MIB)

/* ACPD_UNPACK, else beside our own executable. */
static char *helper_path(void)
{
	const char *given = getenv("ACPD_UNPACK");
	char self[PATH_MAX];
	ssize_t n = given && *given ? 0 : readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (given && *given)
		return xstrdup(given);
	self[n > 0 ? n : 0] = '\0';
	if (strrchr(self, '/'))
		*strrchr(self, '/') = '\0';
	return file_join(self, "acpd-unpack");
}

/* Absolute, but with its links as they are. */
static char *absolute(const char *path)
{
	_cleanup_(freep) char *here = NULL;

	if (path[0] == '/')
		return xstrdup(path);
	here = getcwd(NULL, 0);
	return file_join(here ? here : "", path);
}

static void write_job(struct buf *b, const struct config *c)
{
	_cleanup_(freep) char *archive = absolute(c->args[0]), *target = absolute(c->args[1]);
	struct passwd *pw = c->uid < 0 ? NULL : getpwuid((uid_t)c->uid);
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "target", target);
	if (c->uid >= 0)
		jw_int(&w, "uid", c->uid);
	if (pw)
		jw_int(&w, "gid", pw->pw_gid);
	jw_arr(&w, "sources");
	jw_obj(&w, NULL);
	jw_str(&w, "archive", archive);
	jw_end_obj(&w);
	jw_end_arr(&w);
	jw_end_obj(&w);
	buf_putc(b, '\n');
}

/* Runs the helper with the job on its standard input; its exit code, or a negative errno. */
static int run_helper(const char *path, struct slice job, struct buf *answer)
{
	_cleanup_(closep) int from = -1;
	int in[2], out[2], status;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl(path, path, "extract", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	from = out[0];
	if (pid > 0)
		file_write_all(in[1], job.p, job.n);
	close(in[1]);
	if (pid < 0)
		return -EAGAIN;
	file_read_fd(from, ANSWER_MAX, answer);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return -ENOENT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

static char *text_of(struct slice object, const char *key)
{
	char *s = NULL;

	if (jstr_decode(jobj_get(object, key), PATH_BYTES_MAX, &s) == 0)
		err_flatten(s); /* names come from the archive: nothing may steer the terminal */
	return s;
}

static int print_done(struct slice done)
{
	int64_t written = 0, bytes = 0;

	jdec_int(jobj_get(done, "written"), &written);
	jdec_int(jobj_get(done, "bytes"), &bytes);
	printf("written %lld files, %lld bytes\n", (long long)written, (long long)bytes);
	return EXIT_DONE;
}

/* "REASON: path: message" */
static int print_bad(struct slice bad, int code)
{
	_cleanup_(freep) char *reason = text_of(bad, "reason"), *path = text_of(bad, "path"),
			      *message = text_of(bad, "message");

	fprintf(stderr, "%s: %s%s%s\n", reason ? reason : "UNKNOWN", path ? path : "",
		path ? ": " : "", message ? message : "");
	return code;
}

static int print_answer(struct slice line, int code)
{
	struct jslot slots[] = { { .key = "done" }, { .key = "refused" }, { .key = "failed" } };

	if (jscan_object(line, slots, ARRAY_SIZE(slots)) != JSCAN_OK)
		return fail(EXIT_FAILED, "the helper program ended without an answer");
	if (slots[0].v.type == J_OBJECT)
		return print_done(slots[0].v.raw);
	return print_bad(slots[1].v.type == J_OBJECT ? slots[1].v.raw : slots[2].v.raw, code);
}

int cmd_archive_extract(const struct config *c)
{
	_cleanup_(buf_done) struct buf job = { 0 }, answer = { .max = ANSWER_MAX };
	_cleanup_(freep) char *path = helper_path();
	struct slice line;
	int code;

	write_job(&job, c);
	code = run_helper(path, buf_slice(&job), &answer);
	if (code < 0)
		return fail(EXIT_FAILED, "%s: %s", path, strerror(-code));
	line = buf_slice(&answer);
	if (c->json) {
		fwrite(line.p, 1, line.n, stdout);
		return fflush(stdout) == 0 ? code : EXIT_FAILED;
	}
	return print_answer(line, code);
}
