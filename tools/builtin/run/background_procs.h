/*
 * background_procs.h - the processes of a toolbox: the host of all that run, and those in the background, which
 * outlive the call that started them, are named by their pid (a string, as in Mastra's handles), and end with the
 * toolbox.
 *
 * The newest RUN_BACKGROUND_MAX are remembered with the end of their output, also after they have ended; so are the
 * newest RUN_ENDED_MAX commands whose output was more than could be shown, for getProcessOutput to read on.
 */
#pragma once

#include "tools/builtin/run/command_spec.h"

struct command_run_host *background_procs_host(struct toolbox *b);
/* Takes a run that has ended, to be read on by pid. False: there is no room. */
bool background_procs_keep(struct toolbox *b, struct command_run *r, const char *shown,
			   const struct command_run_status *st, char pid[PID_TEXT]);
/* Starts it in the background and ends the call. Owns what cmd holds. input: written to its stdin, which is then
 * closed unless cmd->input. */
void background_procs_start(struct builtin_call *c, struct command_spec *cmd, struct slice input);
