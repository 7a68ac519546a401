/*
 * upstream_web.h - an HTTP server on the test's own loop that answers by a script: what it must find in a request, and what it says.
 */
#pragma once

#include "upstream_rig.h"

/* One request that is expected; they may come in any order. */
struct step {
	const char *want[4]; /* all of these stand in it */
	const char *lacks;   /* and this does not */
	const char *reply;   /* NULL: none for now */
	bool hold;	     /* the connection stays open behind the reply */
	bool used;
};

struct peer {
	struct list link;
	struct loop_io io;
	struct buf in;
	struct step *step;
	bool gone; /* the client closed it */
};

/* Listens on a port of 127.0.0.1; 0: it could not. A request that fits no step is counted in web_strange. */
unsigned web_begin(void);
void web_script(struct step *steps, size_t n);
/* Nobody is listened to any more. */
void web_deaf(void);
void web_end(void);
extern unsigned web_strange;
struct peer *web_peer(const struct step *st);
void web_say(struct peer *p, const char *text, bool hold);
/* Until all steps were used; gives up after three seconds. */
void web_all_used(void);
