/*
 * process_tree.h - the process table: who descends from whom, and whose environment carries which marker.
 *
 * Every child is started with ACPD_OWNER=<mark> and ACPD_SESSION=<session>. Below the daemon a process belongs
 * to the session of the child of ours that it descends from. What was orphaned hangs directly on us: it belongs to
 * the session whose leader's kernel session it is in, or that its environment names. One that names no session which
 * has a child of ours (it may say what it likes) is a stray. What runs as a uid that a session alone has is that
 * session's, whatever it says. Only environments of orphans are read, in pieces,
 * whatever their size.
 *
 * All of this takes as long as agents want it to: never on the loop (sweep.h), but at start and end, when there is
 * none.
 *
 * What a turn left (from, until: when it began, when the next one did): processes of the session that were started in
 * it, and do not work for the leader. That is what was orphaned, what has a kernel session of its own, and what does
 * not read from a pipe of its own, as MCP and language servers do, which a harness may start at any time; and
 * whatever descends from such.
 *
 * Signals go through a pidfd opened before the process is looked at once more; its start time must be the one it had
 * in the table, so that a recycled pid is never hit. Where there are no pidfds, right after that look.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TREE_OWNER_ENV "ACPD_OWNER"
#define TREE_SESSION_ENV "ACPD_SESSION"
#define TREE_OWNER_MARK_MAX 64

/* A session whose processes are to be killed. */
struct tree_target {
	char *session;
	pid_t leader; /* as its kernel session is numbered; 0: none */
	bool strays;  /* count those in that nothing else can own */
	uid_t uid;    /* whoever runs as that is its; 0: no uid is its alone */
	/* Not 0: the leader lives on; only what a turn of its left is meant, see below. until 0: to the end. */
	uint64_t from, until;
	int found; /* live processes of it that were found */
};

/* A child of ours that lives. init: of the session's pid namespace (proc/spaces/spaces.h): what was orphaned in there
 * hangs on it as other orphans do on us. */
struct tree_own {
	pid_t pid;
	char *session;
	bool init;
};

/* Kills once what belongs to the sessions asked for, among all that descends from root. since: tree_now before own
 * was made. */
void tree_kill_sessions(pid_t root, struct tree_target *targets, size_t ntargets,
			const struct tree_own *own, size_t nown, uint64_t since);
/* Kills once everything that descends from us; returns how many. */
int tree_kill_descendants(void);
/* Kills once every process that carries ACPD_OWNER=mark, wherever it hangs; returns how many. */
int tree_kill_owner(const char *mark);
/* As start times are counted. */
uint64_t tree_now(void);
/* In clock ticks since the boot; 0: there is no such process. With its number it names a process for good. */
uint64_t tree_start_time(pid_t pid);
/* Numbers of processes mean something in one namespace only. 0: it has no name. */
uint64_t tree_pid_namespace(void);
/* Marks what this process starts: its number, start time and namespace, so nothing is drawn for it, and it stays when
 * the incarnation changes. */
const char *tree_owner_mark(void);
