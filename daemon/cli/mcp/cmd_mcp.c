/*
 * cmd_mcp.c - what runs beside a harness as its user: `acpd mcp`, the shim that harnesses start (shim.c), or with
 * --builtin the built-in tools on standard input and output; and `acpd check`, a check of a session.
 *
 * The built-in tools are configured by options, or by an object from a descriptor (--config-fd) where a daemon
 * starts them: it holds what must not be in an argument list. Options are written as the same object, so one
 * parser reads both.
 */
#include "cli/cmd.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "json/jenc.h"
#include "loop/loop.h"
#include "tools/builtin/check/check_job.h"
#include "tools/builtin/core/toolbox.h"
#include "tools/mcp/mcp_serve.h"

#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>

struct server {
	struct loop *loop;
	struct toolbox *box;
	struct mcp_serving *serving;
	int code;
};

static void on_serving_done(void *ctx, const char *fault)
{
	struct server *s = ctx;

	if (fault)
		s->code = fail(EXIT_FAILED, "%s", fault);
	loop_quit(s->loop);
}

static const struct mcp_serve_ops serve_ops = { on_serving_done };

/* Each directory of the list, or the working directory. */
static int roots_put(struct jw *w, const struct config *c, struct err *e)
{
	_cleanup_(freep) char *list = xstrdup(c->root && *c->root ? c->root : c->cwd);
	char *state = NULL, real[PATH_MAX];

	jw_arr(w, "roots");
	for (char *dir = strtok_r(list, ",", &state); dir; dir = strtok_r(NULL, ",", &state)) {
		if (!realpath(dir, real))
			return err_field(e, "root", "OPTION_INVALID", "--root: %s: %s", dir,
					 strerrordesc_np(errno));
		jw_str(w, NULL, real);
	}
	jw_end_arr(w);
	return 0;
}

static int policy_put(struct jw *w, const char *file, struct err *e)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct jval v;
	int r = file ? file_read(file, TOOL_CONFIG_MAX, &text) : 0;

	if (r < 0)
		return err_field(e, "policy", "OPTION_INVALID", "--policy: %s: %s", file,
				 strerrordesc_np(-r));
	if (file && (jscan_value(buf_slice(&text), &v) != JSCAN_OK || v.type != J_OBJECT))
		return err_field(e, "policy", "OPTION_INVALID", "--policy: %s is no JSON object",
				 file);
	if (file)
		jw_raw(w, "policy", v.raw);
	return 0;
}

/* Writes the options as the object that a daemon would send. */
static int config_text(const struct config *c, struct buf *ret, struct err *e)
{
	struct jw w = JW(ret);
	int r;

	if (c->config_fd >= 0) {
		r = file_read_fd((int)c->config_fd, TOOL_CONFIG_MAX, ret);
		close((int)c->config_fd);
		return r < 0 ? err_field(e, "config-fd", "OPTION_INVALID",
					 "--config-fd: cannot read %d", (int)c->config_fd) :
			       0;
	}
	jw_obj(&w, NULL);
	r = roots_put(&w, c, e);
	if (r == 0)
		r = policy_put(&w, c->policy, e);
	jw_bool(&w, "dryRun", c->dry_run);
	jw_end_obj(&w);
	return r;
}

static struct toolbox *make_own_toolbox(struct loop *loop, const struct config *c, struct err *e)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct toolbox_config config = { 0 };
	struct toolbox *box = NULL;

	if (config_text(c, &text, e) == 0 &&
	    toolbox_config_parse(buf_slice(&text), &config, e) == 0)
		box = toolbox_new(loop, &config, e);
	toolbox_config_done(&config);
	return box;
}

static int serve_builtin(const struct config *c)
{
	struct server s = { .loop = loop_new() };
	struct err e;

	if (!s.loop)
		return fail(EXIT_FAILED, "cannot make the event loop");
	signal(SIGPIPE, SIG_IGN);
	s.box = make_own_toolbox(s.loop, c, &e);
	if (!s.box) {
		loop_free(s.loop);
		return fail(EXIT_USAGE, "%s", e.msg);
	}
	cli_signals(s.loop, (const int[]){ SIGTERM, SIGINT, 0 }, quit_on_signal, s.loop);
	s.serving = mcp_serve(s.loop, toolbox_backend(s.box), STDIN_FILENO, STDOUT_FILENO,
			      SLICE_NONE, &serve_ops, &s);
	loop_run(s.loop);
	mcp_serving_free(s.serving);
	toolbox_free(s.box);
	loop_free(s.loop);
	return s.code;
}

/* The session's key, in the shim, and the settings of the session's tools are hidden from neighbours, which run as the
 * same user. */
static void hide_from_neighbours(void)
{
#ifndef __SANITIZE_ADDRESS__ /* its leak check traces the process */
	prctl(PR_SET_DUMPABLE, 0);
#endif
}

int cmd_mcp(const struct config *c)
{
	hide_from_neighbours();
	return c->builtin ? serve_builtin(c) : shim_run();
}

int cmd_check(const struct config *c _unused_)
{
	hide_from_neighbours();
	return check_job_run(3) == 0 ? EXIT_DONE : fail(EXIT_FAILED, "descriptor 3 names no check");
}
