/*
 * try_home.h - a home and an environment for one command, as the programs of a session have: an empty directory of its
 * user's own, with a directory for temporary files in it, and the base environment (session/core/harness/baseenv.h).
 */
#pragma once

#include "base/err.h"

#include <netinet/in.h>
#include <pwd.h>

struct try_home {
	char *dir, *tmp;
	char **env;
};

/* user NULL: who calls. proxy: that its programs are told of, or NULL. 0 or -errno with e. */
int try_home_make(struct try_home *h, const struct passwd *user, const struct sockaddr_in *proxy,
		  struct err *e);
/* Nothing of the command runs any more. */
void try_home_remove(struct try_home *h);
