/* machine_facts.h - the machine that the daemon runs on, and what a process of it has used, by /proc. */
#pragma once

#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* What one process has used, and uses, by /proc. */
struct process_facts {
	double cpu_secs;	  /* its own */
	double waited_secs;	  /* and that of children it has waited for */
	uint64_t resident, space; /* bytes */
	unsigned threads;
	double started; /* unix seconds */
};

/* False: it is gone, or /proc is hidden from us. */
bool process_facts_read(pid_t pid, struct process_facts *ret);
/* Descriptors that this process has open; 0: not known. */
size_t process_open_files(void);
