/*
 * entry_life.h - what the first process of a container owes to the others: `acpd entrypoint` while its command runs.
 *
 * The command has a process group of its own, the foreground one where there is a terminal. Every signal that can be
 * passed on goes to that group, whatever it means to the command; SIGTERM goes to the daemon beside it too. Whoever is
 * orphaned is reaped. It works in any process: one that is not the first becomes a subreaper.
 *
 * Either end ends both. Once the command has ended, the daemon drains. A daemon that ends though nobody has told it to
 * takes the command along (SIGTERM). What does not end within stop_ms of its SIGTERM is killed, and so is what is left
 * of both in the end.
 * The exit code is that of whoever ended first, and always the command's where SIGTERM was the cause.
 *
 * Signals are held from entry_hold_signals on: what comes before there is a command reaches it.
 */
#pragma once

#include "base/err.h"

#include <signal.h>
#include <stdint.h>

struct entry_plan {
	char *program; /* of the command, which is to be found */
	char **argv;
	char **daemon;	  /* argv of the daemon, beginning with its path; NULL: none */
	uint64_t stop_ms; /* longer than the daemon drains */
	sigset_t mask;	  /* that both begin with: as it was before entry_hold_signals */
};

void entry_hold_signals(struct entry_plan *p);
/* The exit code, 128 + n for an end by signal n; -errno with e if the command or the daemon cannot be started. */
int entry_run(const struct entry_plan *p, struct err *e);
