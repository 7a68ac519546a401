/*
 * session_limits.h - what all that runs for a session may use together: memory, processes, a share of the CPU
 * (proc/cgroup/proc_group.h). The client asks, within what the operator allows; where it says nothing, that is its limit.
 *
 * A limit that changes holds at once: nothing is started anew. What the kernel of the machine cannot hold is left out, and
 * told with the reason.
 */
#pragma once

#include "proc/proc.h"
#include "session/core/harness/setup.h"
#include "session/core/session.h"

/* The session's group, made when first asked for. */
struct proc_group *session_limits_group(struct session *s);
