/* program_host.h - programs that a command runs within bounds, and waits for (program_host.c). No daemon is needed. */
#pragma once

#include "session/parts/programs/bounded_run.h"
#include "session/parts/programs/programs.h"
#include "session/parts/programs/version_run.h"
#include "proc/users/agent_user.h"

struct program_host {
	struct loop *loop;
	struct proc_host *procs;
	struct harness_table harnesses;
	struct programs *programs; /* once asked for */
	struct programs_ask ask;
};

/* manifest: as --harness-config, or NULL. program_host_close is for after an error, too. */
int program_host_open(struct program_host *h, const char *manifest, struct err *e);
void program_host_close(struct program_host *h);

/* Asks every installed program for its version, one after the other, each for that many seconds at most. Then
 * h->programs has the facts (programs_at), until program_host_close. */
void program_host_facts(struct program_host *h, const char *prefix, unsigned seconds);
/* Asks this program, with a host of its own, for three seconds at most; as: whom it runs as; NULL: as above. -ETIMEDOUT; -EIO; why says it. */
int program_host_version(char *path, const struct agent_user *as, char ret[VERSION_TEXT_MAX + 1],
			 struct err *why);

/* The Node of an image (NODE_DIR, images/README.md) is on the PATH of acpd.service, not on that of a shell. This puts it there
 * for commands that start harnesses, or ask them their version, unless another is there. Before any thread or child. */
void own_node_add(void);
