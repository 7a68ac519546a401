/*
 * shut_devices.h - devices that give a process parts of the kernel which no session needs: file systems and networks of its
 * own making, and what the filter of system calls refuses. At strict a session has its own /dev, and none of them. At
 * guarded a mount of /dev/null covers those that it could open, in a mount namespace that is otherwise the daemon's.
 *
 * Only root can make that namespace, and it is made for sessions that run as another user: sessions of root can open
 * whatever root owns. What can be opened is checked each time, because udev sets modes after the daemon's start. Whether
 * the namespace can be made is tried once.
 */
#pragma once

#include "confine/confinement.h"
#include "proc/spaces/fsview.h"

/* Returns true if sessions at this level need the namespace and can have it. switched: they run as another user than the
 * daemon. */
bool shut_devices_needed(enum confine_level level, bool switched);
/* Returns why a session at this level can open one of the devices; NULL: it cannot. Static. */
const char *shut_devices_missing(enum confine_level level, bool switched);
/* Makes a namespace with the covers alone. NULL with e. */
struct spaces *shut_devices_spaces(struct err *e);
/* Adds the covers to a view for spaces_new_mounts. */
void shut_devices_add(struct fsview *v);
