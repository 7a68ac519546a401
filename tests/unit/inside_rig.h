/*
 * inside_rig.h - namespaces of a session "a" below the scratch directory, and children in them. The workspace is ws, the home
 * state/homes/a; state and run are secret, and at tmp stands a directory of the home. Root starts the children as
 * INSIDE_AGENT, everybody else as himself.
 */
#pragma once

#include "proc/proc.h"
#include "unit.h"

#define INSIDE_AGENT 61500

extern struct proc_host *inside_procs;
extern struct buf inside_said;		/* lines of the last child */
extern struct proc_status inside_ended; /* how it ended */
extern bool inside_gone, inside_spoke;	/* it has ended, has said a line */
extern const struct proc_events inside_events;

/* Of a group of tests. */
int inside_begin(void **state);
int inside_end(void **state);
/* Runs it, with mounts of its own; as root once more in a child that is a plain user. */
int inside_run(int (*group)(void));

struct proc_bounds inside_bounds(struct spaces *s);
/* Makes a directory of whoever runs the children. */
void inside_give(const char *dir);
/* Not settled yet. */
struct fsview *inside_view(const char *session);
struct spaces *inside_try(struct fsview *v, struct err *e);
struct spaces *inside_open(const char *session);
/* And waits until none of our children is left. */
void inside_close(struct spaces *s);
bool inside_possible(void);

#define NEED_SPACES()                                                                              \
	do                                                                                         \
		if (!inside_possible())                                                            \
			skip();                                                                    \
	while (0)

/* A shell's script in ws. */
struct proc *inside_start(struct spaces *s, const char *script);
bool inside_wait(const bool *done);
void inside_finish(struct proc *p);
/* What a script prints. */
const char *inside_tell(struct spaces *s, const char *script);
