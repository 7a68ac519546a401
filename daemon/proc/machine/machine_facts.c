/*
 * machine_facts.c - processors, memory, load and network devices of the machine, from /proc.
 *
 * The formats are those of proc(5): /proc/stat counts clock ticks, /proc/meminfo KiB, /proc/net/dev
 * bytes. Each file is read once into a fixed buffer; METRIC_DEVICES_MAX bounds the devices. A value that cannot be read is 0. Limits of cgroups are not considered here
 * (cgroup_place.c).
 */
#include "proc/machine/machine_facts.h"

#include "base/os/file.h"
#include "base/util.h"

#include <dirent.h>
#include <time.h>

const char *const cpu_modes[CPU_MODES] = { "user",   "nice", "system",	"idle",
					   "iowait", "irq",  "softirq", "steal" };

/* The beginning of a file, NUL-terminated. */
struct proc_text {
	char text[METRIC_FILE_BYTES + 1];
};

/* In as many pieces as the kernel gives: of a long file, one read returns a page. */
static bool proc_text_read(const char *path, struct proc_text *ret)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 && at < METRIC_FILE_BYTES) {
		n = read(fd, ret->text + at, METRIC_FILE_BYTES - at);
		at += n > 0 ? (size_t)n : 0;
	}
	ret->text[at] = '\0';
	return n >= 0;
}

static void read_cpu(struct machine_facts *m, struct proc_text *t)
{
	char *at = t->text + 4, *end;

	m->cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	if (!proc_text_read("/proc/stat", t) || strncmp(t->text, "cpu ", 4) != 0)
		return;
	for (int i = 0; i < CPU_MODES; i++, at = end)
		m->cpu_secs[i] = (double)strtoull(at, &end, 10) / (double)sysconf(_SC_CLK_TCK);
}

/* A line "Name:   12 kB". */
static uint64_t kib_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at && (at == text || at[-1] == '\n') ? strtoull(at + strlen(name), NULL, 10) * KIB :
						      0;
}

static void facts_read_memory(struct machine_facts *m, struct proc_text *t)
{
	if (!proc_text_read("/proc/meminfo", t))
		return;
	m->memory = kib_of(t->text, "MemTotal:");
	m->available = kib_of(t->text, "MemAvailable:");
	m->swap = kib_of(t->text, "SwapTotal:");
	m->swap_free = kib_of(t->text, "SwapFree:");
}

/* "  eth0: 1 2 3 4 5 6 7 8 9 …": the first number is bytes received, the ninth bytes sent. */
static void read_device(struct machine_facts *m, const char *line)
{
	struct net_device *d = &m->devices[m->ndevices];
	unsigned long long received, sent;

	if (sscanf(line, " %15[^: ]: %llu %*u %*u %*u %*u %*u %*u %*u %llu", d->name, &received,
		   &sent) != 3)
		return;
	d->received = received;
	d->sent = sent;
	m->ndevices++;
}

static void read_devices(struct machine_facts *m, struct proc_text *t)
{
	char *line = t->text, *end;

	if (!proc_text_read("/proc/net/dev", t))
		return;
	for (; m->ndevices < METRIC_DEVICES_MAX && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		read_device(m, line);
	}
}

void machine_facts_read(struct machine_facts *ret)
{
	struct proc_text t = { "" };

	*ret = (struct machine_facts){ 0 };
	read_cpu(ret, &t);
	facts_read_memory(ret, &t);
	if (proc_text_read("/proc/loadavg", &t))
		(void)sscanf(t.text, "%lf %lf %lf", &ret->load[0], &ret->load[1], &ret->load[2]);
	read_devices(ret, &t);
}

uint64_t machine_memory_available(void)
{
	struct machine_facts m = { 0 };
	struct proc_text t = { "" };

	facts_read_memory(&m, &t);
	return m.available;
}

/* --- one process ----------------------------------------------------------------------------------------- */

/* Start times are counted from the boot. */
static double boot_time(void)
{
	struct timespec real, boot;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (double)(real.tv_sec - boot.tv_sec) + (double)(real.tv_nsec - boot.tv_nsec) / 1e9;
}

bool process_facts_read(pid_t pid, struct process_facts *ret)
{
	unsigned long long user, system, child_user, child_system, threads, start, space, pages;
	double ticks = (double)sysconf(_SC_CLK_TCK);
	char text[1024];
	const char *after =
		file_of_process(pid, "stat", text, sizeof(text)) < 0 ? NULL : strrchr(text, ')');

	if (!after ||
	    sscanf(after + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d"
		   " %llu %*d %llu %llu %llu",
		   &user, &system, &child_user, &child_system, &threads, &start, &space,
		   &pages) != 8)
		return false;
	*ret = (struct process_facts){ .cpu_secs = (double)(user + system) / ticks,
				       .waited_secs = (double)(child_user + child_system) / ticks,
				       .resident = pages * (uint64_t)sysconf(_SC_PAGESIZE),
				       .space = space,
				       .threads = (unsigned)threads,
				       .started = boot_time() + (double)start / ticks };
	return true;
}

/* But for the one that it is counted with. */
size_t process_open_files(void)
{
	_cleanup_(closedirp) DIR *d = opendir("/proc/self/fd");
	struct dirent *entry;
	size_t n = 0;

	while (d && (entry = readdir(d)))
		n += entry->d_name[0] != '.';
	return n ? n - 1 : 0;
}
