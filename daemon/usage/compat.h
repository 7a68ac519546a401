/*
 * compat.h - the file that Agenta's runner reads a turn's usage from: {"input":n,"output":n,"total":n,"cost":n} at
 * the path in the session's environment variable AGENTA_AGENT_USAGE_CAPTURE_PATH.
 *
 * The numbers are those of the last turn, never of an earlier one: the file is removed when a turn starts and appears,
 * whole, by a rename when the turn ends. Unknown numbers are left out. A turn without a known total above 0 gets no
 * file, as the reader ignores such a file. Missing parent directories are made.
 *
 * The directory belongs to the session's user, who may put anything there at any time. So everything is done with that
 * user's rights (proc/users/agent_user.h): a symbolic link leads only where the user could write himself. Also, the last name
 * is never followed: a new temporary file beside it (O_EXCL), relative to the opened directory, is renamed over whatever
 * is there. It costs the loop a few system calls and no wait for the disk: this file is not durable, the ledger is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define USAGE_COMPAT_ENV "AGENTA_AGENT_USAGE_CAPTURE_PATH"

struct usage_compat_owner {
	bool switch_user; /* we are root and the session is not */
	uid_t uid;
	gid_t gid;
	mode_t mode; /* of the file, exactly; 0: 0600. New directories get the same with x where r is, less the umask */
};

struct usage_compat {
	struct usage_compat_owner owner;
	bool has_input, has_output, has_total, has_cost;
	uint64_t input, output, total; /* without total: the sum of the others, if both are known */
	int64_t cost;		       /* in 1/COST_UNIT of whatever currency was reported */
};

/* -EINVAL: path is not absolute or has no last name; else 0 or -errno. Without a total any older file is removed. */
int usage_compat_write(const char *path, const struct usage_compat *u);
/* At the start of a turn. Missing is success. */
int usage_compat_remove(const char *path, const struct usage_compat_owner *owner);
