/*
 * ui_server.c - the loopback listener of acpd ui: its secret address, and the bound on its
 * connections.
 *
 * Other local users and other pages reach the port too; the secret in the path and the checks of
 * Host and Origin (ui_visit.c) exclude them. Above UI_VISITS_MAX the oldest connection without a
 * request is closed, and the new one gets an error; above twice that number it is closed at once.
 */
#include "cli/ui/ui_internal.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "net/tcp_listen.h"

#include <stdio.h>

#define LOOPBACK "127.0.0.1"

/* The oldest that has asked for nothing makes room for one that perhaps does. */
static void drop_silent(struct ui_server *s)
{
	list_each(v, &s->visits, struct ui_visit, link) {
		if (v->ended || v->state != UI_VISIT_HEAD)
			continue;
		ui_visit_end(v);
		return;
	}
}

static void on_accept(void *ctx, int fd)
{
	struct ui_server *s = ctx;
	bool crowded = s->nvisits >= UI_VISITS_MAX;

	listen_tune(fd);
	if (crowded)
		drop_silent(s);
	if (s->nvisits < 2 * UI_VISITS_MAX)
		ui_visit_begin(s, fd, crowded);
	else
		close(fd);
}

static int open_listener(struct ui_server *s, int port, struct err *e)
{
	int fd = listen_tcp(LOOPBACK, port, e);

	if (fd < 0)
		return fd;
	port = listen_port(fd);
	snprintf(s->hosts[0], sizeof(s->hosts[0]), LOOPBACK ":%d", port);
	snprintf(s->hosts[1], sizeof(s->hosts[1]), "localhost:%d", port);
	random_hex(s->secret, UI_SECRET_BYTES);
	snprintf(s->address, sizeof(s->address), "http://%s/%s/ui/#token=", s->hosts[0], s->secret);
	return acceptor_open(&s->acceptor, s->loop, fd, on_accept, s);
}

struct ui_server *ui_server_new(struct loop *loop, const struct ui_server_config *c, struct err *e)
{
	struct ui_server *s = new0(struct ui_server);

	s->loop = loop;
	s->target = c->target;
	s->dir = c->dir;
	list_init(&s->visits);
	s->daemon = raw_client_new(loop, c->target->host, c->target->port, c->target->tls,
				   c->ca_file, e);
	if (s->daemon && open_listener(s, c->port, e) >= 0)
		return s;
	return ui_server_free(s);
}

const char *ui_server_address(const struct ui_server *s)
{
	return s->address;
}

void ui_server_run(struct ui_server *s)
{
	loop_run(s->loop);
}

struct ui_server *ui_server_free(struct ui_server *s)
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
