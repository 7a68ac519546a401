/* bundle_files.h - a bundle file, taken apart and checked by acpd-unpack, in a temporary directory of its own. */
#pragma once

#include "base/buf.h"
#include "cli/cmd.h"

/*
 * EXIT_DONE, or the exit code; the reason has been printed then. dir, in both cases: to be given to bundle_files_remove.
 * The members stand below "in" there, with the sizes and hashes that the manifest says.
 */
int bundle_files_open(const struct config *c, const char *file, char **dir);
void bundle_files_remove(char *dir);
/* Path of a member; the caller frees. */
char *bundle_file(const char *dir, const char *member);
/* session.json, an object, into text; false: it is none (BUNDLE_INVALID). */
bool bundle_session_read(const char *dir, struct buf *text, struct slice *ret);
