#include "cli/serve/stop_deadline.h"

#include "base/limits.h"
#include "base/limits_parts.h"
#include "base/log.h"
#include "base/os/threads.h"
#include "base/util.h"
#include "cli/cmd.h"

#include <stdio.h>
#include <unistd.h>

#define STACK_BYTES (256 * KIB) /* it reads the process table */

/* The stop may be held up by a process, which ends here, or by the daemon itself. */
static void *wait_for_end(void *arg _unused_)
{
	sleep_ms(STOP_KILL_MS);
	log_error("serve", "stop timed out, killing all processes");
	kill_descendants();
	sleep_ms(STOP_EXIT_MS);
	log_error("serve", "stop timed out, exiting");
	kill_descendants();
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
