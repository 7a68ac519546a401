#include "proc/measure.h"

#include "base/file.h"
#include "base/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define TREE_MAX 512 /* processes looked at; a fork bomb is not worth more */

/* NUL-terminated text of a small file in /proc or /sys; NULL if it is gone. */
static const char *read_text(struct buf *b, const char *path)
{
	buf_reset(b);
	return file_read(path, 64 * 1024, b) < 0 || buf_putc(b, '\0') < 0 ? NULL : b->data + b->pos;
}

static int open_in(const char *dir, const char *name)
{
	_cleanup_(freep) char *path = dir ? file_join(dir, name) : NULL;

	return path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

void measure_open(struct measure *m, const char *cgroup)
{
	m->cpu = open_in(cgroup, "cpu.stat");
	m->memory = m->cpu < 0 ? -1 : open_in(cgroup, "memory.peak");
}

void measure_close(struct measure *m)
{
	closep(&m->cpu);
	closep(&m->memory);
}

/* The number that stands behind name at the file's beginning. */
static bool read_number(int fd, const char *name, uint64_t *ret)
{
	char text[64], *end;
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	size_t skip = strlen(name);

	if (n < (ssize_t)skip || memcmp(text, name, skip) != 0)
		return false;
	text[n] = '\0';
	*ret = strtoull(text + skip, &end, 10);
	return end > text + skip;
}

static bool from_cgroup(const struct measure *m, struct proc_usage *ret)
{
	if (!read_number(m->cpu, "usage_usec ", &ret->cpu_us))
		return false;
	read_number(m->memory, "", &ret->peak_rss);
	ret->source = "cgroup";
	return true;
}

/* Fields 14-17 of stat: utime, stime, cutime, cstime in clock ticks. */
static void add_process(pid_t pid, struct buf *b, uint64_t *ticks, uint64_t *peak_kib)
{
	unsigned long u, s, cu, cs;
	const char *text, *at;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	text = read_text(b, path);
	at = text ? strrchr(text, ')') : NULL;
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
			  &u, &s, &cu, &cs) != 4)
		return;
	*ticks += u + s + cu + cs;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	text = read_text(b, path);
	at = text ? strstr(text, "VmHWM:") : NULL;
	if (at)
		*peak_kib += strtoull(at + 6, NULL, 10);
}

/* Appends the pids in a "children" file. */
static size_t add_list(const char *path, struct buf *b, pid_t *list, size_t n)
{
	const char *text = read_text(b, path);
	char *end;

	while (text && *text && n < TREE_MAX) {
		pid_t child = (pid_t)strtol(text, &end, 10);

		if (end == text)
			break;
		list[n++] = child;
		text = end + (*end == ' ');
	}
	return n;
}

/* Children hang on the thread that forked them. */
static size_t add_children(pid_t pid, struct buf *b, pid_t *list, size_t n)
{
	char path[320];
	struct dirent *de;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (de = readdir(d))) {
		if (de->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, de->d_name);
		n = add_list(path, b, list, n);
	}
	if (d)
		closedir(d);
	return n;
}

void measure_tree(const struct measure *m, pid_t leader, bool peak, struct proc_usage *ret)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	uint64_t ticks = 0, peak_kib = 0;
	pid_t list[TREE_MAX] = { leader };
	size_t n = 1;

	*ret = (struct proc_usage){ 0 };
	if (from_cgroup(m, ret) && (ret->peak_rss || !peak))
		return;
	for (size_t i = 0; i < n; i++) {
		add_process(list[i], &b, &ticks, &peak_kib);
		n = add_children(list[i], &b, list, n);
	}
	ret->peak_rss = peak_kib * 1024;
	if (ret->source)
		return; /* a cgroup that does not keep its memory's peak */
	ret->cpu_us = ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	ret->source = peak_kib ? "procfs" : NULL;
}
