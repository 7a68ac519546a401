/*
 * ui_server.c - `acpd ui`: the run viewer on this machine, for a daemon that is somewhere else. Its loopback listener
 * has a secret address, which it prints, and a bound on its connections. It serves until a signal ends it.
 *
 * Other users of the machine, and pages of other origins, reach the listener too. So each path begins with a secret
 * that is new each time and is only in the address that is printed; Host has to be the loopback with our port, and
 * Origin, where there is one, the same (ui_answer.c). A page cannot know that path, and a name that leads here by DNS is
 * no Host of ours.
 *
 * Above UI_VISITS_MAX the oldest connection without a request is closed, and the new one gets an error; above twice
 * that number it is closed at once.
 */
#include "cli/cmd.h"
#include "cli/control/reach_daemon.h"
#include "cli/ui/ui.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "http/viewer.h"
#include "net/tcp_listen.h"

#include <signal.h>

#define LOOPBACK "127.0.0.1"

/* The oldest that has asked for nothing makes room for one that perhaps does. */
static void drop_silent_visit(struct ui_server *s)
{
	list_each(v, &s->visits, struct ui_visit, link) {
		if (v->ended || v->state != UI_VISIT_HEAD)
			continue;
		ui_visit_end(v);
		return;
	}
}

static void on_browser_accept(void *ctx, int fd)
{
	struct ui_server *s = ctx;
	bool crowded = s->nvisits >= UI_VISITS_MAX;

	listen_tune(fd);
	if (crowded)
		drop_silent_visit(s);
	if (s->nvisits < 2 * UI_VISITS_MAX)
		ui_visit_begin(s, fd, crowded);
	else
		close(fd);
}

static int open_viewer_listener(struct ui_server *s, int port, struct err *e)
{
	int fd = listen_tcp(LOOPBACK, port, e);

	if (fd < 0)
		return fd;
	port = listen_port(fd);
	snprintf(s->hosts[0], sizeof(s->hosts[0]), LOOPBACK ":%d", port);
	snprintf(s->hosts[1], sizeof(s->hosts[1]), "localhost:%d", port);
	random_hex(s->secret, UI_SECRET_BYTES);
	snprintf(s->address, sizeof(s->address), "http://%s/%s/ui/#token=", s->hosts[0], s->secret);
	return acceptor_open(&s->acceptor, s->loop, fd, on_browser_accept, s);
}

static struct ui_server *ui_server_free(struct ui_server *s)
{
	acceptor_close(&s->acceptor);
	list_each(v, &s->visits, struct ui_visit, link)
		ui_visit_end(v);
	/* Frees the visits and their streams, which use the client below. */
	loop_run_deferred(s->loop);
	raw_client_free(s->daemon);
	free(s);
	return NULL;
}

static struct ui_server *ui_server_new(struct loop *loop, const struct config *c,
				       const struct ui_target *target, const char *dir,
				       struct err *e)
{
	struct ui_server *s = new0(struct ui_server);

	s->loop = loop;
	s->target = target;
	s->dir = dir;
	list_init(&s->visits);
	s->daemon = raw_client_new(loop, target->host, target->port, target->tls, c->ca_file, e);
	if (s->daemon && open_viewer_listener(s, (int)c->port, e) >= 0)
		return s;
	return ui_server_free(s);
}

/* --- the command ------------------------------------------------------------------------------------------------ */

static int read_ui_target(const struct config *c, struct ui_target *ret, struct err *e)
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

static int serve_viewer(const struct config *c, const struct ui_target *target, const char *dir)
{
	struct loop *loop = loop_new();
	struct ui_server *s;
	struct err e;

	if (!loop)
		return fail(EXIT_FAILED, "cannot make the event loop");
	signal(SIGPIPE, SIG_IGN);
	cli_signals(loop, (const int[]){ SIGINT, SIGTERM, SIGHUP, 0 }, quit_on_signal, loop);
	s = ui_server_new(loop, c, target, dir, &e);
	if (s) {
		printf("%s\n", s->address);
		fflush(stdout);
		loop_run(loop);
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
	if (read_ui_target(c, &target, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	code = serve_viewer(c, &target, dir);
	ui_target_done(&target);
	return code;
}
