/*
 * bundle_internal.h - bundles of sessions: how they are made of a session, and how a session is made of one.
 *
 * Directories below the state directory: bundles/ has what is being made or taken, one directory each, and is emptied at
 * every start; runs/<session>/ has what a session keeps besides its journal: recorded model calls (model/), and of one that
 * was imported also session.json, usage.ndjson and diff.patch as they came.
 */
#pragma once

#include "session/core/session_internal.h"

/* bundle_room.c */
/* An empty directory below bundles/, with artifacts/ and model/ in it; the caller frees. */
int bundle_room_new(struct session_store *st, char **ret, struct err *e);
/* NULL is nothing. */
void bundle_room_drop(struct session_store *st, const char *dir);
/* What an earlier daemon left. */
void bundle_room_begin(struct session_store *st);
/* "NO_SPACE" or "STATE_NOT_WRITABLE", with e filled. */
int bundle_room_failed(int r, struct err *e);
/* <state>/runs/<id>/<name>; the caller frees. name NULL: the directory. */
char *run_path(const struct session_store *st, const char *id, const char *name);

/* bundle_session.c: session.json. report: acpd-unpack's of the workspace's changes, or empty. */
void bundle_put_session(struct session *s, struct slice report, struct buf *b);
