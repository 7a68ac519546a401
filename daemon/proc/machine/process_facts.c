#include "proc/machine/process_facts.h"

#include "base/util.h"
#include "proc/machine/proc_text.h"

#include <dirent.h>
#include <stdio.h>
#include <time.h>

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
	struct proc_text t;
	const char *after;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	after = proc_text_read(path, &t) ? strrchr(t.text, ')') : NULL;
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
	DIR *d = opendir("/proc/self/fd");
	struct dirent *entry;
	size_t n = 0;

	while (d && (entry = readdir(d)))
		n += entry->d_name[0] != '.';
	if (d)
		closedir(d);
	return n ? n - 1 : 0;
}
