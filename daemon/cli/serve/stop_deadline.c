#include "cli/serve/stop_deadline.h"

#include "base/limits.h"
#include "base/limits_parts.h"
#include "base/log.h"
#include "base/os/threads.h"
#include "base/util.h"
#include "cli/cmd.h"
#include "proc/table/process_tree.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (256 * KIB) /* it reads the process table */

/* Not to a point in time: a daemon that was stopped or frozen meanwhile has the second sleep whole. */
static void sleep_ms(uint64_t ms)
{
	struct timespec left = { .tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

static void kill_all(void)
{
	for (int i = 0; i < SWEEP_ROUNDS && tree_kill_descendants() > 0; i++)
		sleep_ms(SWEEP_ROUND_MS);
}

/* The stop may be held up by a process, which ends here, or by the daemon itself. */
static void *wait_for_end(void *arg _unused_)
{
	sleep_ms(STOP_KILL_MS);
	log_error("serve", "stop timed out, killing all processes");
	kill_all();
	sleep_ms(STOP_EXIT_MS);
	log_error("serve", "stop timed out, exiting");
	kill_all();
	_exit(EXIT_FAILED);
}

void stop_deadline_start(void)
{
	pthread_t thread;
	int r = thread_start_sized(&thread, STACK_BYTES, wait_for_end, NULL);

	if (r == 0)
		pthread_detach(thread);
	else
		log_warn("serve", "stop has no deadline", "text", strerror(-r));
}
