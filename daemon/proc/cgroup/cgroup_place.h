/*
 * cgroup_place.h - where the kernel keeps cgroups, and where in them we are: mountinfo and /proc/self/cgroup, of v1, v2
 * or both.
 *
 * A controller is in one hierarchy at a time; one hierarchy of v1 may have several. What a container sees of a hierarchy
 * may begin below its top: our own group is then told from there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

const char *cgroup_kind_name(enum cgroup_kind kind);

/* What the kernel says of both at one time: whoever asks for several hierarchies reads it once. root: what to put before
 * each path of the kernel's, "" but for tests; it must outlive the view. own, mounts: NULL if they cannot be read. */
struct cgroup_view {
	const char *root;
	char *own, *mounts;
};
void cgroup_view_read(const char *root, struct cgroup_view *ret);
void cgroup_view_done(struct cgroup_view *v);

/* A weight as that kernel has it: v1's shares stand to 1024 as weights stand to 100. */
static inline uint64_t cpu_number(uint64_t weight, enum cgroup_kind kind)
{
	return kind == CGROUP_V2 ? weight : weight * 1024 / 100;
}

/* The directory of our own group in the hierarchy with this controller (v2: any word, there is one hierarchy); NULL:
 * there is none. The caller frees. ret_point: length of the part of it that is the mount point; may be NULL. */
char *cgroup_place_find(const struct cgroup_view *v, enum cgroup_kind kind, const char *controller,
			size_t *ret_point);

/* Bytes of memory that the daemon and its children may have together: the machine's, or less if a cgroup says so. */
uint64_t memory_limit(void);
/* Bytes of it that are free now, or can be freed without harm: what the kernel says is available, and of each group on
 * our way up what its limit leaves. */
uint64_t memory_left(void);

/*
 * One directory of a hierarchy: its small files, its members killed, its end. Knows no controller and no
 * session.
 *
 * A daemon holds a lock on its own directory, "acpd-<mark>" (tree_owner_mark), as long as it lives. That is how one that starts tells
 * what a dead one has left.
 */

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
