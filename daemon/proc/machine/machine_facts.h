/* machine_facts.h - the machine that the daemon runs on: processors, memory, load, network devices, by /proc. */
#pragma once

#include "base/limits.h"

#include <stddef.h>
#include <stdint.h>

enum cpu_mode {
	CPU_USER,
	CPU_NICE,
	CPU_SYSTEM,
	CPU_IDLE,
	CPU_IOWAIT,
	CPU_IRQ,
	CPU_SOFTIRQ,
	CPU_STEAL,
	CPU_MODES
};
extern const char *const cpu_modes[CPU_MODES];

struct net_device {
	char name[16];
	uint64_t received, sent; /* bytes */
};

/* What cannot be read is 0. */
struct machine_facts {
	double cpu_secs[CPU_MODES];
	unsigned cpus;
	double load[3]; /* means of 1, 5 and 15 minutes */
	uint64_t memory, available, swap, swap_free;
	struct net_device devices[METRIC_DEVICES_MAX];
	size_t ndevices;
};

void machine_facts_read(struct machine_facts *ret);
/* Bytes of memory that the kernel calls available; 0: it does not say. */
uint64_t machine_memory_available(void);
