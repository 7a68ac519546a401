/*
 * listening.h - which TCP sockets of this network namespace can be reached by loopback, and which process has each: from
 * /proc/net/tcp, tcp6 and the descriptors of all processes that we may look at. Bounded: with more sockets or descriptors
 * than anybody needs some stay unnamed.
 */
#pragma once

#include "base/limits.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DOCTOR_SOCKETS_MAX (1 * MIB) /* of a list of sockets */
#define DOCTOR_LISTENERS_MAX 64	     /* told */
#define DOCTOR_OPEN_FILES_MAX 500000 /* of all processes, searched for who listens */

struct listening {
	char address[INET6_ADDRSTRLEN];
	uint16_t port;
	uid_t uid; /* who made it */
	uint64_t inode;
	pid_t pid;	  /* 0: we may not see whose it is */
	char command[32]; /* what that process calls itself, one line */
};

/* The first max of them, by port; how many. */
size_t listening_find(struct listening *ret, size_t max);
/* "COMMAND (pid N)", or what else is known of it. Returns out. */
const char *listening_owner(const struct listening *l, char *out, size_t size);
