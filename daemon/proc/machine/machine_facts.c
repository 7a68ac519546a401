/*
 * machine_facts.c - processors, memory, load and network devices of the machine, from /proc.
 *
 * The formats are those of proc(5): /proc/stat counts clock ticks, /proc/meminfo KiB, /proc/net/dev
 * bytes. Each file is read once into a fixed buffer (proc_text.h); METRIC_DEVICES_MAX bounds the
 * devices. A value that cannot be read is 0. Limits of cgroups are not considered here
 * (cgroup_place.c).
 */
#include "proc/machine/machine_facts.h"

#include "base/util.h"
#include "proc/machine/proc_text.h"

#include <stdio.h>

const char *const cpu_modes[CPU_MODES] = { "user",   "nice", "system",	"idle",
					   "iowait", "irq",  "softirq", "steal" };

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

static void read_memory(struct machine_facts *m, struct proc_text *t)
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
	read_memory(ret, &t);
	if (proc_text_read("/proc/loadavg", &t))
		(void)sscanf(t.text, "%lf %lf %lf", &ret->load[0], &ret->load[1], &ret->load[2]);
	read_devices(ret, &t);
}

uint64_t machine_memory_available(void)
{
	struct machine_facts m = { 0 };
	struct proc_text t = { "" };

	read_memory(&m, &t);
	return m.available;
}
