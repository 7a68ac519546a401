/*
 * ui_server.h - the run viewer on the loopback for one user's browser: its files, and the way from them to a daemon that
 * may be anywhere (ui_target.h), with the headers that a browser cannot send.
 *
 * Other users of the machine, and pages of other origins, reach the listener too. So each path begins with a secret that
 * is new each time and stands in the address alone that is printed; Host has to be the loopback with our port, and Origin,
 * where there is one, the same. A page cannot know that path, and a name that leads here by DNS is no Host of ours.
 */
#pragma once

#include "cli/ui/ui_target.h"
#include "loop/loop.h"

struct ui_server;

struct ui_server_config {
	const struct ui_target *target;
	const char *dir;     /* of the viewer */
	const char *ca_file; /* or NULL */
	int port;	     /* 0: any */
};

/* Borrows what the config names. NULL with e. */
struct ui_server *ui_server_new(struct loop *loop, const struct ui_server_config *c, struct err *e);
/* What to open in a browser. */
const char *ui_server_address(const struct ui_server *s);
/* Until loop_quit. */
void ui_server_run(struct ui_server *s);
struct ui_server *ui_server_free(struct ui_server *s);
