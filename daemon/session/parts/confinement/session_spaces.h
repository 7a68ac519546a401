/*
 * session_spaces.h - the namespaces of a session at level strict (proc/spaces/spaces.h), and what it sees in them.
 *
 * Writable are its cwd, its additionalDirectories and its home; /tmp and /var/tmp are a directory of its home. Hidden are
 * the daemon's state and run directory with all that is other sessions', /run, and the homes of users, but for what lies
 * in them of the above and for programs: those of PATH, acpd's, and the harness's own.
 *
 * At any level an overlay of a draft (draft/draft_internal.h) needs a mount namespace: then there is one in which only that
 * stands at cwd, and all else is as it is outside.
 *
 * They are made before the first harness, kept while harnesses come and go, so that they and the tools are always in the
 * same ones, made anew with the next harness when the directories have changed or the kernel has ended them, and released
 * when the session is closed.
 */
#pragma once

#include "base/err.h"

struct session;

/* Before anything is started: what its level asks for, as far as it can be had. 0 or -errno with e. */
int session_spaces_open(struct session *s, struct err *e);
/* Kills what runs in them. */
void session_spaces_close(struct session *s);
