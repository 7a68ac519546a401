/* process_facts.h - what one process has used, and uses, by /proc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
