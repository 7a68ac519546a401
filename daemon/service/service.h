/*
 * service.h - the frame of acpd-fetch and acpd-proxy, programs that the daemon starts beside itself: their arguments,
 * their confinement, their loop, and the socket to the daemon. proc/standing.h is the daemon's end.
 *
 * "NAME serve UID GID [ARGUMENT]" serves the daemon on descriptor 3. UID and GID are who to become; of a daemon that is not
 * root they are its own. "probe" instead of "serve" reports what the program can do no more once it is confined.
 *
 * A program is a struct service: what it gives up, and what it does with frames. The frame `config` is the first, and comes
 * once. `ready` is sent after it, so it reports the confinement, too. What the daemon sends against the rules of the socket,
 * and the end of the socket, end the program.
 */
#pragma once

#include "confine/confine_list.h"
#include "loop/frame_channel.h"

struct service_run;

/* <0: it is against the rules. fd: as in struct frame_channel_ops. */
typedef int (*service_frame_fn)(void *ctx, const struct frame *f, int *fd);

struct service {
	const char *name, *arguments; /* "acpd-fetch", "UID GID [CA-FILE]" */
	int arguments_max;
	bool locks_memory; /* it keeps keys: as much locked memory as it may have */
	/* Text for --version: the library that only this program links. */
	const char *(*library)(void);
	/* As the user that it was started as, before it gives anything up. argument: NULL if there is none. NULL, or what cannot
	 * be done; errno is why. */
	const char *(*prepare)(const char *argument);
	/* Files below these can still be read where the kernel has Landlock, and nothing can be written; ended by NULL. */
	const char *const *readable;
	const struct confine_list *calls;

	unsigned types, config,
		ready; /* of frames: the first that does not exist, and two of them */
	const service_frame_fn *takes;		/* by type; NULL: the daemon never sends it */
	void *(*open)(struct service_run *run); /* the ctx of takes */
	void (*close)(void *ctx);
};

struct service_run {
	const struct service *service;
	struct loop *loop;
	struct frame_channel channel;
	bool configured;
	void *ctx;
};

_noreturn_ void service_main(const struct service *s, int argc, char **argv);
