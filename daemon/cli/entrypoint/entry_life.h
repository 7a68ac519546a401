/* entry_life.h - `acpd entrypoint` while its command runs (entry_life.c). */
#pragma once

#include "base/err.h"

#include <signal.h>

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
