/*
 * session_uids.h - more sessions than uids (--agent-uids), for those who begin something: store/uid_lending.h does it.
 */
#pragma once

#include "session/core/session.h"

/* What is about to be used. */
struct uid_need {
	struct session *session; /* its files; NULL: none */
	const char *cwd;	 /* of a new session; NULL: it will be made */
	bool fresh;		 /* a new session is made */
};

/* What waited may be tried again, and wait again; e: why not. Called once. */
typedef void (*uid_ready_fn)(void *ctx, const struct err *e);

/* 0: it can go on at once; 1: it has to wait, and fn follows. -errno with e: AGENT_UIDS_EXHAUSTED, SESSION_PARKED. */
int store_uid_need(struct session_store *st, const struct uid_need *need, uid_ready_fn fn,
		   void *ctx, struct err *e);
/* 0: the files of a closed session have a uid; else they are given one: SESSION_PARKED, try again. */
int session_files_need(struct session *s, struct err *e);
