/*
 * cgroup_dir.h - one directory of a hierarchy: its small files, its members killed, its end. Knows no controller and no
 * session.
 *
 * A daemon holds a lock on its own directory, "acpd-<mark>" (tree_owner_mark), as long as it lives. That is how one that starts tells
 * what a dead one has left.
 */
#pragma once

#include "proc/cgroup/cgroup_place.h"

#include <sys/types.h>

/* Makes dir, which may be there, and locks it: the descriptor, or a negative errno. */
int cgroup_dir_make(const char *dir);
/* What daemons that were killed have left beside our place: what is not locked and is empty goes. */
void cgroup_dir_remove_dead(const char *parent);
/* With all that is below it; what still has members stays. */
void cgroup_dir_remove(const char *path);
/* Kills all members of it once; true when none is left. Where the kernel has no word for that (v1), what is below it does
 * not count. path may be NULL (true). */
bool cgroup_dir_kill(const char *path);
/* Kills everything in it and below, and removes it: takes up to a second for each that does not die. */
void cgroup_dir_sweep(const char *path);

/* A setting of the group: 0 or a negative errno. */
int cgroup_dir_write(const char *path, const char *name, const char *text);
/* What the beginning of a file in the group says, NUL-terminated: its length, or a negative errno. */
ssize_t cgroup_dir_read(const char *path, const char *name, char *ret, size_t size);
/* A number there: all that it says, or with key that behind the key at a line's beginning. 0: not there. */
uint64_t cgroup_dir_number(const char *path, const char *name, const char *key);
/* For one that is read often: its descriptor, or a negative errno; and the same of that (0, if it is none). To open such a
 * file costs several times as much as to read it. */
int cgroup_dir_open(const char *path, const char *name);
uint64_t cgroup_file_number(int fd, const char *key);
