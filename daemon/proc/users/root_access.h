/*
 * root_access.h - ways by which the agent's user could become root on this machine, as far as its files tell.
 *
 * Images bring such ways along: E2B leaves root and its own user without a password and lets sshd take that, which
 * needs no setuid program, so that no_new_privs of our children does not close it. Nothing is mended here (images/
 * does, at boot); it is only found, so that the log, /ready and doctor can say it. Read anew each time: images change
 * these files after the daemon has started.
 *
 * What is looked for: the agent's user is root itself (AGENT_IS_ROOT); an account with a shell and without a password
 * (EMPTY_PASSWORD); a rule of sudo that lets the user in unasked (SUDO_NOPASSWD); an sshd that takes empty passwords
 * (SSHD_EMPTY_PASSWORDS). Rather once too often than not at all: a later rule of sudo that takes an earlier one back
 * is not seen. The files are root's and small; each is read up to ROOT_ACCESS_FILE_MAX, at most ROOT_ACCESS_FILES_MAX
 * of a kind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ROOT_ACCESS_MAX 16 /* ways reported; more say nothing new */

struct root_access {
	size_t n;
	struct {
		const char *kind;
		char text[200]; /* for humans: which file or account, and what closes it */
	} ways[ROOT_ACCESS_MAX];
	bool unread; /* some file that must be read could not be, so there may be more */
};

/* etc: "/etc", or another directory in tests. user: the name that agents run as. */
void root_access_find(struct root_access *ret, const char *etc, const char *user);
