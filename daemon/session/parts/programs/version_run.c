/*
 * version_run.c - runs a harness with --version, and extracts one line from its output.
 *
 * The environment is minimal: LANG, PATH and a temporary home, owned by the user that the program
 * runs as. The home is removed with the run. Output is untrusted: the first nonblank line is cut to
 * VERSION_TEXT_MAX and stripped of control characters.
 */
#include "session/parts/programs/version_run.h"

#include "base/os/passing_home.h"

struct version_run {
	struct bounded_run *run;
	struct passing_home home;
	uint64_t timeout_ms;
	void (*done)(void *ctx, const char *version, const struct err *why);
	void *ctx;
};

/* The first line that says something; false: there is none. */
static bool first_line(struct slice text, char line[VERSION_TEXT_MAX + 1])
{
	while (text.n && strchr(" \t\r\n", *text.p))
		text = slice_after(text, 1);
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '\n')
			text.n = i;
	snprintf(line, VERSION_TEXT_MAX + 1, "%.*s", (int)MIN(text.n, VERSION_TEXT_MAX), text.p);
	err_flatten(line);
	return *line != '\0';
}

static int read_answer(const struct version_run *v, const struct run_result *r,
		       char line[VERSION_TEXT_MAX + 1], struct err *e)
{
	if (r->timed_out)
		err_set(e, -ETIMEDOUT, 0, "VERSION_TIMEOUT", "did not say its version within %u s",
			(unsigned)(v->timeout_ms / 1000));
	else if (r->too_much)
		err_set(e, -E2BIG, 0, "VERSION_TOO_LONG",
			"said more than %zu bytes when asked for its version",
			(size_t)PROGRAM_OUTPUT_MAX);
	else if (!r->exited || r->code != 0)
		err_set(e, -EIO, 0, "VERSION_FAILED",
			"ended with %s %d when asked for its version%s%.120s",
			r->exited ? "exit code" : "signal", r->code, *r->errors ? ": " : "",
			r->errors);
	else if (!first_line(r->output, line))
		err_set(e, -EIO, 0, "VERSION_FAILED", "said nothing when asked for its version");
	else
		return 0;
	err_flatten(e->msg);
	return -EIO;
}

static void on_run_done(void *ctx, const struct run_result *r)
{
	struct version_run *v = ctx;
	char line[VERSION_TEXT_MAX + 1];
	struct err why = { 0 };
	int got = read_answer(v, r, line, &why);

	v->done(v->ctx, got == 0 ? line : NULL, &why);
}

/* Of the daemon's environment only the PATH is passed: the rest can hold keys. */
struct version_run *
version_run_start(struct loop *loop, struct proc_host *procs, const struct version_spec *spec,
		  void (*done)(void *ctx, const char *version, const struct err *why), void *ctx,
		  struct err *e)
{
	struct version_run *v = new0(struct version_run);
	_cleanup_(freep) char *path = NULL;
	char version[] = "--version", lang[] = "LANG=C.UTF-8";
	char *argv[] = { spec->path, version, NULL };
	char *env[] = { lang, v->home.variable, NULL, NULL };
	struct run_spec run = { .argv = argv,
				.env = env,
				.cwd = "/",
				.bounds = &spec->bounds,
				.timeout_ms = spec->timeout_ms,
				.output_max = PROGRAM_OUTPUT_MAX };

	path = xprintf("PATH=%s", spec->search ? spec->search : "");
	env[2] = path;
	v->timeout_ms = spec->timeout_ms;
	v->done = done;
	v->ctx = ctx;
	passing_home_make(&v->home, spec->bounds.switch_user, spec->bounds.uid, spec->bounds.gid);
	v->run = bounded_run_start(loop, procs, &run, on_run_done, v, e);
	return v->run ? v : version_run_free(v);
}

void version_run_kill(struct version_run *v)
{
	bounded_run_kill(v->run);
}

struct version_run *version_run_free(struct version_run *v)
{
	if (!v)
		return NULL;
	bounded_run_free(v->run);
	passing_home_remove(&v->home);
	free(v);
	return NULL;
}
