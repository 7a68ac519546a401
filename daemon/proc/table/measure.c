/*
 * measure.c - CPU time and peak memory of a session, from its cgroup or from /proc.
 *
 * A cgroup of v2 counts all members, also those that exited. Otherwise the tree below the leader is
 * walked by /proc/PID/task/TID/children, since children are listed at the thread that forked them.
 * The walk runs on the loop: MEASURE_FILES_MAX bounds it, and a larger tree yields too low a
 * number.
 */
#include "proc/table/measure.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "base/util.h"
#include "proc/cgroup/cgroup_place.h"

#include <dirent.h>

/* The processes of a session, as far as the loop can afford to look: a fork bomb is not worth more. */
struct measure_walk {
	char text[MEASURE_READ_BYTES + 1];
	size_t files;
	pid_t list[MEASURE_FILES_MAX];
	size_t n;
	uint64_t ticks, peak_kib;
};

/* The beginning of a file of a process, NUL-terminated; NULL if it is gone, or enough has been read. */
static char *measure_read(struct measure_walk *w, pid_t pid, const char *name)
{
	if (++w->files > MEASURE_FILES_MAX ||
	    file_of_process(pid, name, w->text, sizeof(w->text)) < 0)
		return NULL;
	return w->text;
}

void measure_open(struct measure *m, const char *cgroup)
{
	m->cpu = cgroup ? cgroup_dir_open(cgroup, "cpu.stat") : -1;
	m->memory = m->cpu < 0 ? -1 : cgroup_dir_open(cgroup, "memory.peak");
}

void measure_close(struct measure *m)
{
	closep(&m->cpu);
	closep(&m->memory);
}

static bool from_cgroup(const struct measure *m, struct proc_usage *ret)
{
	ret->cpu_us = cgroup_file_number(m->cpu, "usage_usec");
	if (!ret->cpu_us) /* no such file, or the cgroup is gone: a process that was started has used some */
		return false;
	ret->peak_rss = cgroup_file_number(m->memory, NULL);
	ret->source = "cgroup";
	return true;
}

/* Fields 14-17 of stat: utime, stime, cutime, cstime in clock ticks. */
static void add_process(struct measure_walk *w, pid_t pid)
{
	unsigned long u, s, cu, cs;
	const char *text = measure_read(w, pid, "stat"), *at;

	at = text ? strrchr(text, ')') : NULL;
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
			  &u, &s, &cu, &cs) != 4)
		return;
	w->ticks += u + s + cu + cs;
	text = measure_read(w, pid, "status");
	at = text ? strstr(text, "VmHWM:") : NULL;
	if (at)
		w->peak_kib += strtoull(at + 6, NULL, 10);
}

/* Appends the pids in a "children" file, each followed by a space; a cut one is left out. */
static void walk_add_list(struct measure_walk *w, pid_t pid, const char *name)
{
	const char *text = measure_read(w, pid, name);
	char *end;

	while (text && *text && w->n < MEASURE_FILES_MAX) {
		pid_t child = (pid_t)strtol(text, &end, 10);

		if (*end != ' ')
			break;
		w->list[w->n++] = child;
		text = end + 1;
	}
}

/* Children hang on the thread that forked them. */
static void add_children(struct measure_walk *w, pid_t pid)
{
	struct dirent *de;
	_cleanup_(closedirp) DIR *d = opendir(SHORT_TEXT(32, "/proc/%d/task", (int)pid));

	while (d && w->files < MEASURE_FILES_MAX && (de = readdir(d))) {
		if (de->d_name[0] != '.')
			walk_add_list(w, pid, SHORT_TEXT(320, "task/%s/children", de->d_name));
	}
}

static void from_proc(pid_t leader, struct proc_usage *ret)
{
	struct measure_walk w = { .n = 1 };

	w.list[0] = leader;
	for (size_t i = 0; i < w.n && w.files < MEASURE_FILES_MAX; i++) {
		add_process(&w, w.list[i]);
		add_children(&w, w.list[i]);
	}
	ret->peak_rss = w.peak_kib * 1024;
	if (ret->source)
		return; /* a cgroup that does not keep its memory's peak */
	ret->cpu_us = w.ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	ret->source = w.peak_kib ? "procfs" : NULL;
}

/* Most need no walk, and not the room for one either. */
void measure_tree(const struct measure *m, pid_t leader, bool peak, struct proc_usage *ret)
{
	*ret = (struct proc_usage){ 0 };
	if (!from_cgroup(m, ret) || (!ret->peak_rss && peak))
		from_proc(leader, ret);
}

static uint64_t timeval_us(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000 + (uint64_t)tv.tv_usec;
}

void measure_dead(const struct rusage *used, struct proc_usage *ret)
{
	*ret = (struct proc_usage){ .cpu_us =
					    timeval_us(used->ru_utime) + timeval_us(used->ru_stime),
				    .peak_rss = (uint64_t)used->ru_maxrss * 1024,
				    .source = "rusage" };
}
