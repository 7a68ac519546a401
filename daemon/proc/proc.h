/*
 * proc.h - a session's child process: spawn, line framing, the stop ladder, and the promise that nothing survives.
 *
 * A child gets its own kernel session, PDEATHSIG, default signals, closed descriptors, a built environment, rlimits,
 * another uid if asked, and its own cgroup where one can be had. stdout is delivered line by line, the end of stderr
 * is kept for the error message. The daemon is a subreaper: whatever the child leaves behind comes back to us.
 *
 * Life: SPAWNED -> (proc_stop: stdin EOF, SIGTERM, SIGKILL by time) -> leader reaped -> descendants killed until none
 * is left and the pipes are at EOF -> on_exit, exactly once; the owner then calls proc_free. Until on_exit, proc_free
 * is not allowed. Callbacks run from the loop, never from inside a proc_* call.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "confine/confinement.h"
#include "confine/watch/refusal.h"
#include "loop/loop.h"
#include "proc/cgroup/proc_group.h"
#include "proc/spaces/netns.h"
#include "proc/output/noise.h"
#include "proc/spaces/spaces.h"
#include "proc/table/measure.h"

struct owner_lock;
struct proc;
struct tree_own;
struct proc_host; /* what all children share: loop, cgroups */

/*
 * As whom a child runs, and within what: one value for all that runs for a session. All zeros: as the daemon
 * itself, within nothing.
 *
 * What it points to is borrowed. Who keeps one longer than a call takes references with proc_bounds_keep and returns
 * them with proc_bounds_drop.
 */
struct proc_bounds {
	bool switch_user; /* to uid and gid */
	bool may_gain;	  /* setuid programs such as sudo work: no no_new_privs for who switches */
	bool own_uid;	  /* nobody but children of ours with this flag runs as it */
	uid_t uid;
	gid_t gid;
	struct netns *netns;		       /* where its sockets are; NULL: ours */
	const struct confinement *confinement; /* NULL: none */
	struct proc_group *group;	       /* whose limits it shares; NULL: it has none */
	struct spaces *spaces;		       /* its processes and mounts; NULL: ours */
	struct refusals *refusals; /* for a confinement that logs: where to. Of nothing else */
};

void proc_bounds_keep(struct proc_bounds *b);
void proc_bounds_drop(struct proc_bounds *b);
/* A process within one may stay for the other. */
bool proc_bounds_same(const struct proc_bounds *a, const struct proc_bounds *b);
/* Answers the refused calls of a child within them whose confinement logs (confine/watch/confine_watch.h). */
void proc_bounds_watch(const struct proc_bounds *b, int listener);

struct proc_spec {
	char *const *argv; /* argv[0] is an absolute path */
	char *const *env;
	const char *cwd;
	const char *session; /* names the cgroup and the markers */
	struct proc_bounds bounds;
	int data;	 /* a descriptor that the child has as 3; 0: none */
	size_t line_max; /* bytes of a line that it may say; 0: as a harness */
	bool inherits;	 /* standard streams are ours; for spawn_child alone */
	bool no_input;	 /* its standard input is at its end */
	bool trusted;	 /* a program of ours that starts nothing: no stray can be its */
	bool standing; /* it lives as long as the daemon, which ends it by proc_end: not counted, nobody waits for it */
};

struct proc_status {
	bool exited;		 /* else killed by signal */
	int code;		 /* exit status or signal number */
	const char *stderr_tail; /* NUL-terminated, control bytes as spaces; valid during on_exit */
	struct slice rest;	 /* what it said behind its last newline; the same */
	bool signalled;		 /* the daemon has sent it a signal */
};

/* What the owner of a child does with a line of PRESCAN_MIN bytes or more (prescan.c). */
#define PRESCAN_KEPT 1
struct proc_prescan {
	/* Returns what run gets, which has all that it needs of the owner; NULL: on_line of struct proc_events takes the
	 * line. line stays as it is, where it is, until free. */
	void *(*begin)(void *ctx, struct slice line);
	/* Called in a thread. */
	void (*run)(void *work);
	/* The same as on_line of struct proc_events, with what run has made. PRESCAN_KEPT: the child is not read until
	 * proc_line_done. */
	int (*on_line)(void *ctx, struct slice line, void *work);
	void (*free)(void *work);
};

struct proc_events {
	/* Optional, as all but on_exit. A line without its newline, valid during the call; <0: protocol fault, no more lines are delivered. */
	int (*on_line)(void *ctx, struct slice line);
	/* No more lines will come although the leader lives: fault says why (NULL: stdout closed). */
	void (*on_closed)(void *ctx, const char *fault);
	void (*on_exit)(void *ctx, const struct proc_status *st);
	/* What stdout had behind its last newline when it ended, before on_closed and on_exit. It may be a
	 * line that was cut off. */
	void (*on_rest)(void *ctx, struct slice rest);
	const struct proc_prescan *prescan;
};

/* owner: whose file names our cgroups once there are any; NULL. */
struct proc_host *proc_host_new(struct loop *loop, struct owner_lock *owner);
/* All children must be gone. */
struct proc_host *proc_host_free(struct proc_host *h);
/* To be called on SIGCHLD: reaps our children and adopted orphans. */
void proc_host_reap(struct proc_host *h);
unsigned proc_host_count(const struct proc_host *h);
/* host: a struct proc_host. Those that live, standing ones too, by number and the name that they were started with; at most max. Returns how many
 * there are. */
size_t proc_host_list(void *host, struct tree_own *ret, size_t max);
/* What the owners of children have counted; they add to it. */
struct noise_counts *proc_host_noise(struct proc_host *h, enum noise_from from);
/* Long lines that a thread has read, or will, and of these the ones whose children wait for it now. */
struct prescan_counts {
	uint64_t lines;
	unsigned in_work;
};
struct prescan_counts proc_host_prescans(const struct proc_host *h);
/* fn is called from the loop whenever the last child has gone. */
void proc_host_on_idle(struct proc_host *h, void (*fn)(void *ctx), void *ctx);
/* Makes them, if nobody has asked before. */
struct cgroups *proc_host_cgroups(struct proc_host *h);

struct proc *proc_spawn(struct proc_host *h, const struct proc_spec *spec,
			const struct proc_events *ev, void *ctx, struct err *e);
struct proc *proc_free(struct proc *p);
/* Of a standing one, at any time: kills it, waits for that, and frees it. on_exit does not follow. */
struct proc *proc_end(struct proc *p);
pid_t proc_pid(const struct proc *p);
/* Queues a line for stdin and adds the newline. -EPIPE: stdin is closed; -E2BIG: the child does not read. */
int proc_send(struct proc *p, struct slice line);
/* The owner has done with a line that it kept, if it did: the child is read again. Called from the loop. */
void proc_line_done(struct proc *p);
/* Begins the stop ladder; harmless when repeated. */
void proc_stop(struct proc *p);
/* SIGKILL of everything now; on_exit follows. */
void proc_kill(struct proc *p);
/* Kills once, beside the loop, what a turn left that began at `from` (tree_now), the next one at `until` (0: there
 * is none yet): table/process_tree.h. */
void proc_sweep_turn(struct proc *p, uint64_t from, uint64_t until);
/* What it and its descendants have used so far; after the exit, what the child and those it waited for did. */
void proc_measure(const struct proc *p, bool peak, struct proc_usage *ret);
