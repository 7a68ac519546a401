/*
 * session_host.h - what runs for a session besides its harness: as whom, where, with which environment; and how its text is
 * shown. For the parts, and for the layers that start programs for a session.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "proc/proc.h"

struct session;
struct agent_user;
struct session_store;

/* Its own private home. */
const char *session_home(const struct session *s);
/* As whom all of this session runs. */
const struct agent_user *session_user(const struct session *s);
/* As whom, and within what, it runs. Borrowed, and true once session_bounds_open has been called: before
 * anything is started for it. */
struct proc_bounds session_bounds(const struct session *s);
/* Makes what session_bounds refers to: namespaces, groups, network. */
int session_bounds_open(struct session *s, struct err *e);
/* Environment of a process of this session: the base environment, the session's own, and the markers of
 * proc/table/process_tree.h with this name. Freed with harness_plan_free_environ. */
char **session_environ(const struct session *s, const char *marker);
/* Hides secrets in a line from a program, in place; it may have been cut to size. */
void session_mask_line(const struct session *s, char *text, size_t size);
/* The same of what a program has written so far. */
void session_mask_bytes(const struct session *s, struct buf *b);
/* Members of an event: what a turn's transcript should hold about tools. kind lifecycle. */
void session_note_lifecycle(struct session *s, struct slice members);
/* Its network is not open: what runs for it does not reach all that the daemon does. */
bool session_is_walled(const struct session *s);
/* As whom, and within what, the tools of the daemon's own /mcp run. uid and gid are true without switch_user, too. */
struct proc_bounds store_bounds(const struct session_store *st);
/* Raw parameters: _meta.acpd.mcp, .policy, .env; empty if absent. */
struct slice session_mcp(const struct session *s);
struct slice session_policy(const struct session *s);
struct slice session_env(const struct session *s);
