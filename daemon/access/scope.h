/*
 * scope.h - what a token may, and what a method or a route needs of it. Words and their order, nothing else. Pure.
 *
 * A row of methods[] (acp/methods.c) and of routes[] (http/endpoints.c) says two things: which scope it needs, and how a
 * token that is limited to some sessions is held to them there. A row that says nothing is refused to everybody: who
 * forgets it notices.
 *
 * The order: admin may all; drive may all that sessions are for, and observe sees all of them and changes nothing. usage,
 * model and tools are for one thing each. daemon/protocol/tokens.md
 */
#pragma once

#include <stdbool.h>

enum grant_scope {
	GRANT_ADMIN,
	GRANT_DRIVE,
	GRANT_OBSERVE,
	GRANT_USAGE,
	GRANT_MODEL,
	GRANT_TOOLS,
	GRANT_MAX,
};

enum grant_need {
	NEED_UNSAID,
	NEED_OPEN, /* nothing, not even a token */
	NEED_ANY,  /* a token, whatever its scope */
	NEED_ACP,  /* there are ACP methods for it: it may open a WebSocket */
	NEED_ADMIN,
	NEED_DRIVE,
	NEED_OBSERVE,
	NEED_USAGE,
	NEED_MODEL,
	NEED_TOOLS,
	NEED_MAX,
};

/* How a token is held to its sessions, if it is limited to some. */
enum need_sessions {
	SESSIONS_NONE,	/* nothing of a session is in it */
	SESSIONS_NAMED, /* the call names one: it is one of its own, or there is none */
	SESSIONS_OWN,	/* the handler shows and takes what is of its own only */
	SESSIONS_ALL,	/* it is of all sessions, or of none yet: refused */
};

bool need_met(enum grant_need n, enum grant_scope s);
const char *grant_scope_word(enum grant_scope s);
/* -1: there is none of that name. */
int grant_scope_find(const char *word);
/* The least scope that would do; NULL: any would, or none. */
const char *need_word(enum grant_need n);
