/*
 * supervise.h - answers the refused calls of a child whose confinement logs, and records them: in a thread of its own,
 * because looking at a call may take as long as its process likes (confine/watch/caller.h). Then that process waits, not
 * the loop and no other child.
 *
 * The thread ends when the last process under that filter has; nobody waits for it. If there can be none, the child
 * fails by its first refused call (ENOSYS), and the log says why.
 */
#pragma once

#include "proc/bounds.h"

/* Takes the listener. bounds: those of the child; what the thread needs of them it keeps. */
void supervise_start(int listener, const struct proc_bounds *bounds);
