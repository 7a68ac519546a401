/*
 * provision.h - puts what a client asked for into a session's workspace and private home, before its harness is started
 * or while it lives. As long as that lasts no harness is started and no turn begins.
 */
#pragma once

#include "session/core/session_internal.h"

/* Begins; session_advance goes on with the session at its end, whatever that was. done (may be NULL) gets the raw
 * object {workspace?, skills?, instructions?} or the error; the same object is session_provisioned until the next
 * request. -EBUSY with SESSION_BUSY while another request is being carried out. */
int provision_begin(struct session *s, const struct request *r, const char *prefix,
		    session_set_fn done, void *ctx, struct err *e);
/* What a request says of a session that is being made; NULL: nothing. */
void provision_setup(struct session *s, const struct request *r);
/* For a new session: whatever comes of it, the session's waiters learn. */
int provision_first(struct session *s, const struct session_params *p, struct err *e);
/* What a load asks for can be begun; else nothing of the load is done. */
int provision_admit(const struct session *s, const struct request *r, struct err *e);
/* For one that is loaded; its waiters fail with it. r may be NULL. */
int provision_again(struct session *s, const struct request *r, struct err *e);
bool provision_busy(const struct session *s);
/* It is at work, and does not wait for the baseline alone. */
bool provision_writes(const struct session *s);
/* Whoever asked is answered once the baseline is taken, too. */
void provision_answer(struct session *s);
/* The session is being closed. */
void provision_abort(struct session *s);
/* Undoes what was asked for with ctx, unless it is written. False: there is none. */
bool provision_cancel(struct session *s, const void *ctx);
/* cwd of a new session, whose user is known: that of p, or an ephemeral directory made for it. */
int provision_cwd(struct session *s, const struct session_params *p, struct err *e);
/* The session came to nothing before anything was written. */
void provision_unmake(struct session *s);

/* The home of s is a copy of that of from: its skills may be removed as those of from. */
void provision_inherit(struct session *s, const struct session *from);
/* What is removed with a session that is closed (remove false) or deleted. */
void provision_closed(struct session *s, bool remove);
void provision_done(struct session *s);
