/*
 * home_program.h - what of ours a harness loads from the session's home: the same text at each start, whatever lies
 * there.
 *
 * The home is the agent's. An older acpd may have left an older text there, the agent another one, or a link to
 * elsewhere. Nothing is followed: links and files on the way are taken away, and the text comes by a rename. Call it
 * with the rights of the session's user.
 */
#pragma once

/* path is relative and plain. 0 or -errno. */
int home_program_keep(int home, const char *path, const char *text);
/* Creates a directory with those above it, mode 0700, and keeps existing ones. path and result as above. */
int home_program_dir(int home, const char *path);
