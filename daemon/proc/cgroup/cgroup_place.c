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
#include "base/limits.h"
#include "base/os/file.h"
#include "base/slice.h"
#include "base/util.h"
#include "proc/machine/machine_facts.h"

#include <dirent.h>
#include <signal.h>
#include <sys/file.h>

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
static bool list_has_word(const char *list, const char *word)
{
	struct slice rest = slice_of(list), item;

	while (slice_item(&rest, ',', &item))
		if (slice_is(item, word))
			return true;
	return false;
}

void cgroup_view_read(const char *root, struct cgroup_view *ret)
{
	*ret = (struct cgroup_view){ root, read_whole(root, "/proc/self/cgroup"),
				     read_whole(root, "/proc/self/mountinfo") };
}

void cgroup_view_done(struct cgroup_view *v)
{
	free_each(v->own, v->mounts);
}

/* Our own path in the hierarchy: a line "number:controllers:path"; that of v2 names none. */
static char *own_path(const struct cgroup_view *v, enum cgroup_kind kind, const char *controller)
{
	_cleanup_(freep) char *text = xstrdup(v->own);
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*list++ = *path++ = '\0';
		if (kind == CGROUP_V2 ? !*list : list_has_word(list, controller))
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
	return kind == CGROUP_V2 ?
		       strcmp(type, "cgroup2") == 0 :
		       strcmp(type, "cgroup") == 0 && list_has_word(options, controller);
}

static bool find_mount(const struct cgroup_view *v, enum cgroup_kind kind, const char *controller,
		       struct hierarchy *ret)
{
	_cleanup_(freep) char *text = xstrdup(v->mounts);
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
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

/* --- a directory ----------------------------------------------------------------------------------------- */

/*
 * One cgroup directory: its files, its lock, killing its members, removing it.
 *
 * A daemon owns flock on its directory for life, so an unlocked directory belongs to a dead daemon.
 * v1 has no cgroup.kill: members are read and killed one at a time, and new ones can appear, so
 * callers repeat the call until no member is left. A cgroup with members or children cannot be
 * removed, hence children first.
 */
#define GROUP_PREFIX "acpd-"

/* --- small files ------------------------------------------------------------------------------------------ */

/* Not to block: a lower limit of memory is set without waiting for what has to be given back, where the kernel can. */
int cgroup_dir_write(const char *path, const char *name, const char *text)
{
	_cleanup_(freep) char *file = file_join(path, name);
	_cleanup_(closep) int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

ssize_t cgroup_dir_read(const char *path, const char *name, char *ret, size_t size)
{
	_cleanup_(freep) char *file = file_join(path, name);
	_cleanup_(closep) int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : read(fd, ret, size - 1);

	if (n >= 0)
		ret[n] = '\0';
	return fd >= 0 && n < 0 ? -errno : n;
}

int cgroup_dir_open(const char *path, const char *name)
{
	_cleanup_(freep) char *file = file_join(path, name);
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

uint64_t cgroup_file_number(int fd, const char *key)
{
	char text[1024], *at = text;
	ssize_t got = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	size_t n = key ? strlen(key) : 0;

	if (got <= 0)
		return 0;
	text[got] = '\0';
	while (n && (strncmp(at, key, n) != 0 || at[n] != ' ')) {
		at = strchr(at, '\n');
		if (!at++)
			return 0;
	}
	return strtoull(at + n, NULL, 10);
}

uint64_t cgroup_dir_number(const char *path, const char *name, const char *key)
{
	_cleanup_(closep) int fd = cgroup_dir_open(path, name);

	return cgroup_file_number(fd, key);
}

/* --- what is below ---------------------------------------------------------------------------------------- */

static void each_below(const char *path, void (*fn)(const char *sub))
{
	_cleanup_(closedirp) DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		_cleanup_(freep) char *sub = NULL;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		sub = file_join(path, e->d_name);
		fn(sub);
	}
}

void cgroup_dir_remove(const char *path)
{
	if (path && rmdir(path) < 0 && errno != ENOENT) {
		each_below(path, cgroup_dir_remove);
		rmdir(path);
	}
}

/* A group is locked by its daemon, for as long as that lives. Not empty: some process of a dead one sits in it
 * still. */
static void remove_if_dead(const char *path)
{
	_cleanup_(closep) int fd = -1;

	if (strncmp(strrchr(path, '/') + 1, GROUP_PREFIX, strlen(GROUP_PREFIX)) != 0)
		return;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		cgroup_dir_remove(path);
}

void cgroup_dir_remove_dead(const char *parent)
{
	each_below(parent, remove_if_dead);
}

/* Another daemon that starts may have taken it for a dead one's in between. */
int cgroup_dir_make(const char *dir)
{
	for (int tries = 0; tries < 10; tries++) {
		_cleanup_(closep) int fd = -1;
		struct stat held, there;

		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return -errno;
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		/* The lock is of the inode. A directory that was removed and made again has another one. */
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 &&
		    stat(dir, &there) == 0 && held.st_ino == there.st_ino)
			return TAKE_FD(fd);
	}
	return -EBUSY;
}

/* --- killing ---------------------------------------------------------------------------------------------- */

/* Members read a moment ago, one by one, as many as fit: v1 has nothing better. */
static bool kill_each(const char *path)
{
	_cleanup_(freep) char *pids = xalloc(CGROUP_READ_BYTES);
	char *pid, *save = NULL, *whole;

	if (cgroup_dir_read(path, "cgroup.procs", pids, CGROUP_READ_BYTES) <= 0)
		return true;
	whole = strrchr(pids, '\n'); /* the last number may be cut */
	if (whole)
		*whole = '\0';
	for (pid = strtok_r(pids, "\n", &save); pid; pid = strtok_r(NULL, "\n", &save))
		if (atoi(pid) > 0)
			kill((pid_t)atoi(pid), SIGKILL);
	return false;
}

bool cgroup_dir_kill(const char *path)
{
	char events[256];

	if (!path)
		return true;
	/* v2 says in a word whether anybody is in it or below, however many */
	if (cgroup_dir_read(path, "cgroup.events", events, sizeof(events)) > 0 &&
	    strstr(events, "populated 0"))
		return true;
	return cgroup_dir_write(path, "cgroup.kill", "1") == 0 ? false : kill_each(path);
}

void cgroup_dir_sweep(const char *path)
{
	each_below(path, cgroup_dir_sweep);
	for (int i = 0; i < SWEEP_ROUNDS && !cgroup_dir_kill(path); i++)
		usleep(SWEEP_ROUND_MS * 1000);
	cgroup_dir_remove(path);
}
