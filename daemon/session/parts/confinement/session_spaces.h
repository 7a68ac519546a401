/*
 * session_spaces.h - the namespaces of a session at level strict (proc/spaces/spaces.h), and what it sees in them.
 *
 * Writable are its cwd, its additionalDirectories and its home; /tmp and /var/tmp are a directory of its home. Hidden are
 * the daemon's state and run directory with all that is other sessions', /run, and the homes of users, but for what lies
 * in them of the above and for programs: those of PATH, acpd's, and the harness's own.
 *
 * They are made before the first harness, and again with a later one if what they depend on has changed or the kernel has
 * ended them; they are released when the session is closed.
 */
#pragma once

#include "base/err.h"

struct session;

/* Before anything is started: what its level asks for, as far as it can be had. 0 or -errno with e. */
int session_spaces_open(struct session *s, struct err *e);
/* Kills what runs in them. */
void session_spaces_close(struct session *s);
