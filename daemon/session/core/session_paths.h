/*
 * session_paths.h - where a session's things live on disk (home, journal, directories in its home), and whether the
 * agent's user may go there.
 *
 * Paths that are returned belong to the caller. Functions return 0 or a negative errno with e filled: the reasons are
 * those that a client sees.
 */
#pragma once

#include "harnesses/spawn_plan.h"
#include "session/core/session_internal.h"

/* cwd must be an absolute path of a directory that the uid running the harness can enter: -EINVAL with
 * CWD_NOT_ABSOLUTE, CWD_NOT_FOUND, CWD_NOT_DIRECTORY or CWD_NOT_ACCESSIBLE. Nothing is created or handed over. */
int paths_check_cwd(const struct agent_user *user, const char *cwd, struct err *e);
/* That user may write in cwd, which has been checked: -EINVAL with CWD_NOT_WRITABLE. */
int paths_check_writable(const struct agent_user *user, const char *cwd, struct err *e);
/* Makes <state>/homes/<id>, 0700, ours until paths_fill_home. */
int paths_session_home(const struct session_store *st, const char *id, char **ret, struct err *e);
/* Of a session of an earlier daemon. -ENOENT: it was gone, and is empty now. */
int paths_find_home(struct session *s);
/* Before every start: an empty <home>/tmp. Before the first: the files of the plan, then the home is handed to the
 * agent's user, after which the daemon writes nothing into it but that directory and the programs of the plan. */
int paths_fill_home(struct session *s, const struct harness_plan *plan, struct err *e);
/* An empty directory of that name in its home, for its user, whatever was there. 0 or -errno. */
int paths_fresh_dir(const struct session *s, const char *name);
/* A directory below a home that is still ours, with those above it, for the agent's user. */
int paths_make_dir(struct session *s, const char *relative, struct err *e);
/* Those directories can be reached by the agent's user while the home is still ours; to be handed over closes it to
 * others again. */
void paths_let_into_home(const struct session *s);
/* An empty home goes to the agent's user at once: somebody else fills it. */
int paths_give_home(struct session *s, struct err *e);
/* <state>/runs/<id>/<name>: what a session stores next to its journal. name NULL: the directory. */
char *paths_run(const struct session_store *st, const char *id, const char *name);
/* <state>/sessions/<id>.jsonl */
char *paths_journal_path(const struct session_store *st, const char *id);
/* command if absolute and executable, else the first match in the PATH; NULL if none. Caller frees. */
char *paths_find_command(const char *command, const char *path);
/* The program of a harness: in PREFIX/ID/bin, where `acpd harness install` puts it, otherwise in the PATH. prefix NULL: only
 * there. NULL if it is not installed; the caller frees. */
char *paths_find_program(const struct harness_def *def, const char *prefix, const char *path);
