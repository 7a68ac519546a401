/* check_command.c - a check that is a command: words or shell text, run as the tools run theirs. */
#include "base/limits.h"
#include "base/os/file.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "tools/builtin/check/check_job_internal.h"
#include "tools/builtin/run/command_run.h"
#include "tools/builtin/run/command_spec.h"

#include <errno.h>

struct command {
	struct command_run_host *host;
	struct command_run *run;
	char **argv, *program, *cwd;
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
	_cleanup_(buf_done) struct buf b = { 0 };
	struct check_job *j = ctx;
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	command_put_end(&w, st);
	jw_uint(&w, "leftBehind", st->left);
	check_command_put_stream(&w, j->own, RUN_STDOUT, "stdout", "stdoutTotal");
	check_command_put_stream(&w, j->own, RUN_STDERR, "stderr", "stderrTotal");
	jw_end_obj(&w);
	check_job_answer(j, buf_slice(&b));
}

static const struct command_run_events events = { NULL, check_command_on_exit };

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
		take_words(j, c);
		c->program = command_run_which(c->argv[0], environ, c->cwd, e);
		if (!c->program)
			return -ENOENT;
		free(c->argv[0]);
		c->argv[0] = xstrdup(c->program);
		return 0;
	}
	c->argv = xalloc(4 * sizeof(char *));
	c->argv[0] = xstrdup(command_shell());
	c->argv[1] = xstrdup("-c");
	c->argv[2] = xstrdup(j->command);
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
		c->run = command_run_start(c->host, &spec, &events, j, &e);
	}
	if (!c->run)
		check_job_refuse(j, e.msg);
}

static void check_command_end(struct check_job *j)
{
	struct command *c = j->own;

	command_run_host_free(c->host);
	strv_free(c->argv);
	free(c->program);
	free(c->cwd);
	free(c);
}

const struct check_job_kind check_job_command = { check_command_start, check_command_end };
