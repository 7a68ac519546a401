/*
 * cmd_ui.c - `acpd ui`: the run viewer on this machine, for a daemon that is somewhere else (cli/ui/). It prints the address
 * to open, and serves until a signal ends it.
 */
#include "cli/cmd.h"
#include "cli/control/reach_daemon.h"
#include "cli/ui/ui_server.h"
#include "http/viewer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

static void on_ui_signal(void *ctx, int signo _unused_)
{
	loop_quit(ctx);
}

static int read_target(const struct config *c, struct ui_target *ret, struct err *e)
{
	_cleanup_(secret_buf_done) struct buf token = { 0 };

	if (!c->url)
		return err_field(
			e, "url", "OPTION_INVALID",
			"--url is needed: a daemon on this machine serves its viewer at /ui");
	if (c->token_file && read_token(c->token_file, &token, e) < 0)
		return -EINVAL;
	return ui_target_read(ret, c->url, buf_slice(&token), c->header, e);
}

static bool has_viewer(const char *dir)
{
	struct viewer_open o;

	if (!viewer_open(dir, viewer_find("/ui/"), false, &o))
		return false;
	close(o.fd);
	return true;
}

static int serve_viewer(const struct ui_server_config *uc)
{
	struct loop *loop = loop_new();
	struct ui_server *s;
	struct err e;

	if (!loop)
		return fail(EXIT_FAILED, "cannot make the event loop");
	signal(SIGPIPE, SIG_IGN);
	cli_signals(loop, (const int[]){ SIGINT, SIGTERM, SIGHUP, 0 }, on_ui_signal, loop);
	s = ui_server_new(loop, uc, &e);
	if (s) {
		printf("%s\n", ui_server_address(s));
		fflush(stdout);
		ui_server_run(s);
		ui_server_free(s);
	}
	loop_free(loop);
	return s ? EXIT_DONE : fail(EXIT_FAILED, "%s", e.msg);
}

int cmd_ui(const struct config *c)
{
	_cleanup_(freep) char *dir = viewer_dir(c->ui_dir);
	struct ui_target target;
	struct err e;
	int code;

	if (!has_viewer(dir))
		return fail(EXIT_FAILED,
			    "there is no run viewer at %s: make ui before make install "
			    "puts it there, and --ui-dir names another folder",
			    dir ? dir : "../share/acpd/ui");
	if (read_target(c, &target, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	code = serve_viewer(&(struct ui_server_config){
		.target = &target, .dir = dir, .ca_file = c->ca_file, .port = (int)c->port });
	ui_target_done(&target);
	return code;
}
