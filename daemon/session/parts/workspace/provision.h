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
bool provision_busy(const struct session *s);
/* It is at work, and does not wait for the baseline alone. */
bool provision_writes(const struct session *s);
/* Whoever asked is answered once the baseline is taken, too. */
void provision_answer(struct session *s);
/* The session is being closed. */
void provision_abort(struct session *s);
/* Undoes what was asked for with ctx, unless it is written. False: there is none. */
bool provision_cancel(struct session *s, const void *ctx);
/* Frees what is remembered of requests. */
void provision_done(struct session *s);
/* Hooks of the part (session_part.h): of a new session; of one that is opened by a load or a resume. */
int provision_first(struct session *s, const struct session_params *p, struct err *e);
int provision_admit(const struct session *s, const struct session_params *p, struct err *e);
int provision_again(struct session *s, const struct session_params *p, struct err *e);
