/* limits_stop.h - the limits of a daemon that stops, beyond SHUTDOWN_GRACE_MS of limits.h. */
#pragma once

#define STOP_KILL_MS 15000 /* a stop that takes longer has everything killed, */
#define STOP_EXIT_MS 15000 /* and exits so much later, whatever holds it up */
