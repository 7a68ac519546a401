/*
 * session_recover.h - sessions of an earlier daemon, read back from their journals.
 *
 * At start only the names are read; each journal is read when somebody asks for that session, or in the background, a
 * few at a time, so that starting takes the same time whatever lies in the state directory. A recovered session is
 * closed: it can be listed, loaded and deleted. A turn that the earlier daemon did not end is ended now, once, as
 * failed with class "shutdown", or as the usage ledger says it ended. What of a journal is damaged is passed over and
 * told; one that has nothing in it, or whose harness is no longer configured, is left alone and reported in the log.
 */
#pragma once

#include "session/core/session_internal.h"

/* Notes which journals there are and begins to read them in the background. */
void recover_begin(struct session_store *st);
/* Reads that one now, if there is such a journal. */
struct session *recover_one(struct session_store *st, const char *id);
/* A session whose journal has just been put there, of a bundle. NULL: it could not be read. */
struct session *recover_new(struct session_store *st, const char *id);
/* What of the journal of s is damaged goes to log, /ready and those who are told elsewhere. */
void recover_report_damage(struct session *s);
/* Reads all that are left. */
void recover_all(struct session_store *st);
void recover_done(struct session_store *st);
