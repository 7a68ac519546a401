/*
 * cgroup_place.c - finds the daemon's cgroup in each hierarchy, and the memory that its limits
 * leave.
 *
 * /proc/self/cgroup has the path in the hierarchy, mountinfo the mounted subtree and its directory
 * (proc(5)). In a container the subtree can begin below the top; a path outside of it has no
 * directory. A limit applies to all groups below it, so the minimum up to the mount point counts.
 * Inactive file pages do not count as used, because the kernel can reclaim them.
 */
#include "proc/cgroup/cgroup_place.h"

#include "base/buf.h"
#include "base/os/file.h"
#include "base/util.h"
#include "proc/cgroup/cgroup_dir.h"
#include "proc/machine/machine_facts.h"

#include <stdio.h>

const char *cgroup_kind_name(enum cgroup_kind kind)
{
	static const char *const names[] = { "none", "v1", "v2" };

	return names[kind];
}

/* A file of /proc as a string; NULL if it cannot be read. */
static char *read_whole(const char *root, const char *path)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *file = xprintf("%s%s", root, path);

	if (file_read(file, 1024 * 1024, &b) < 0)
		return NULL;
	return xstrndup(b.data, b.len);
}

/* A word of a list with commas. */
static bool list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, word, n) == 0 && (!p[n] || p[n] == ','))
			return true;
	}
	return false;
}

void cgroup_view_read(const char *root, struct cgroup_view *ret)
{
	*ret = (struct cgroup_view){ root, read_whole(root, "/proc/self/cgroup"),
				     read_whole(root, "/proc/self/mountinfo") };
}

void cgroup_view_done(struct cgroup_view *v)
{
	free(v->own);
	free(v->mounts);
}

/* Our own path in the hierarchy: a line "number:controllers:path"; that of v2 names none. */
static char *own_path(const struct cgroup_view *v, enum cgroup_kind kind, const char *controller)
{
	_cleanup_(freep) char *text = v->own ? xstrdup(v->own) : NULL;
	char *line, *save = NULL;

	for (line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*list++ = *path++ = '\0';
		if (kind == CGROUP_V2 ? !*list : list_has(list, controller))
			return xstrdup(path);
	}
	return NULL;
}

struct hierarchy {
	char top[1024], point[1024]; /* what of it is mounted, and where */
};

/* A line of mountinfo: "id parent device TOP POINT options... - TYPE source OPTIONS". */
static bool parse_mount(const char *line, enum cgroup_kind kind, const char *controller,
			struct hierarchy *ret)
{
	const char *sep = strstr(line, " - ");
	char type[64], options[1024];

	/* few are, and there may be thousands of others */
	if (!sep || strncmp(sep + 3, "cgroup", 6) != 0)
		return false;
	if (sscanf(sep, " - %63s %*s %1023s", type, options) != 2 ||
	    sscanf(line, "%*s %*s %*s %1023s %1023s", ret->top, ret->point) != 2)
		return false;
	return kind == CGROUP_V2 ? strcmp(type, "cgroup2") == 0 :
				   strcmp(type, "cgroup") == 0 && list_has(options, controller);
}

static bool find_mount(const struct cgroup_view *v, enum cgroup_kind kind, const char *controller,
		       struct hierarchy *ret)
{
	_cleanup_(freep) char *text = v->mounts ? xstrdup(v->mounts) : NULL;
	char *line, *save = NULL;

	for (line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		if (parse_mount(line, kind, controller, ret))
			return true;
	return false;
}

char *cgroup_place_find(const struct cgroup_view *v, enum cgroup_kind kind, const char *controller,
			size_t *ret_point)
{
	_cleanup_(freep) char *own = own_path(v, kind, controller);
	const char *rest;
	struct hierarchy h;
	char *dir;

	if (!own || !find_mount(v, kind, controller, &h))
		return NULL;
	rest = path_below(own, h.top);
	if (!rest)
		return NULL;
	dir = xprintf("%s%s%s%s", v->root, h.point, *rest ? "/" : "", rest);
	if (ret_point)
		*ret_point = strlen(v->root) + strlen(h.point);
	return dir;
}

/* Files of the memory controller. */
struct memory_files {
	enum cgroup_kind kind;
	const char *limit, *used, *cache; /* cache: a line of memory.stat */
};
static const struct memory_files v1_files = { CGROUP_V1, "memory.limit_in_bytes",
					      "memory.usage_in_bytes", "total_inactive_file " };
static const struct memory_files v2_files = { CGROUP_V2, "memory.max", "memory.current",
					      "inactive_file " };

/* Pages of files that are used by nobody. */
static uint64_t cache_of(const char *dir, const char *line)
{
	_cleanup_(freep) char *path = file_join(dir, "memory.stat");
	_cleanup_(buf_done) struct buf b = { 0 };
	const char *at;

	if (file_read(path, CGROUP_STAT_MAX, &b) < 0 || buf_putc(&b, '\0') < 0)
		return 0;
	for (at = strstr(b.data, line); at && at != b.data && at[-1] != '\n';)
		at = strstr(at + 1, line);
	return at ? strtoull(at + strlen(line), NULL, 10) : 0;
}

static uint64_t limit_of(const char *dir, const struct memory_files *f)
{
	uint64_t limit = cgroup_dir_number(dir, f->limit, NULL);

	return limit ? limit : UINT64_MAX;
}

static uint64_t left_of(const char *dir, const struct memory_files *f)
{
	uint64_t limit = cgroup_dir_number(dir, f->limit, NULL), used;

	if (!limit)
		return UINT64_MAX;
	used = cgroup_dir_number(dir, f->used, NULL);
	used -= MIN(used, cache_of(dir, f->cache));
	return limit - MIN(limit, used);
}

/* The least that the groups from ours up to the mount point allow; UINT64_MAX: no limit. */
static uint64_t least_of(const struct cgroup_view *v, const struct memory_files *f,
			 uint64_t (*of)(const char *dir, const struct memory_files *f))
{
	size_t point;
	_cleanup_(freep) char *dir = cgroup_place_find(v, f->kind, "memory", &point);
	uint64_t least = UINT64_MAX;

	while (dir) {
		least = MIN(least, of(dir, f));
		if (strlen(dir) <= point)
			break;
		*strrchr(dir, '/') = '\0';
	}
	return least;
}

static uint64_t groups_allow(uint64_t (*of)(const char *dir, const struct memory_files *f))
{
	_cleanup_(cgroup_view_done) struct cgroup_view view;
	uint64_t v2;

	cgroup_view_read("", &view);
	v2 = least_of(&view, &v2_files, of);
	return MIN(v2, least_of(&view, &v1_files, of));
}

static uint64_t machine_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t memory_limit(void)
{
	return MIN(machine_memory(), groups_allow(limit_of));
}

uint64_t memory_left(void)
{
	uint64_t available = machine_memory_available();

	return MIN(available ? available : machine_memory(), groups_allow(left_of));
}
