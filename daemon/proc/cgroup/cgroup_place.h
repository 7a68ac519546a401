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
