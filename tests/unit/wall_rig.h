/*
 * wall_rig.h - two network namespaces and a cable between them: near, where the test itself then is, and far, which stands for the
 * internet and counts what comes. With servers on both sides, and what a user tries from near.
 */
#pragma once

#include "unit.h"

#include "loop/loop.h"
#include "proc/proc.h"

#include <sys/types.h>

#define NEAR4 "198.51.100.1"
#define FAR4 "198.51.100.2"
#define NEAR6 "2001:db8::1"
#define FAR6 "2001:db8::2"
#define FAR_ECHO 8443	/* TCP; also 53 and 443, TCP and UDP */
#define FAR_PUSH 9000	/* TCP: a byte each 10 ms */
#define NEAR_PLAIN 8080 /* TCP, on all addresses; also 53, TCP and UDP */
#define NEAR_DAEMON 4096

extern struct loop *near_loop;
extern struct proc_host *near_procs;

/* Group set-up; near_possible says why not. */
int near_begin(void **state);
int near_end(void **state);
bool near_possible(void);
/* Another loop and other processes, for a process that was forked off. */
void near_again(void);

/* fn(arg) in a process of its own, as that user: its result, at most 255. */
enum who_flags { IN_USERNS = 1, BY_SOCKET_ONLY = 2 /* root, but its sockets are the user's */ };
int as_user(uid_t uid, unsigned flags, int (*fn)(const void *arg), const void *arg);
pid_t start_as_user(uid_t uid, unsigned flags, int (*fn)(const void *arg), const void *arg);
int finish(pid_t pid);

/* 0 after a byte has gone there and back; else errno. */
struct aim {
	int type, protocol;
	const char *host;
	uint16_t port;
};
int try_aim(const void *aim);
/* A connected socket, or -errno. */
int aim_open(const struct aim *a);
/* The same from the far side, as root. */
int try_from_far(const struct aim *a);
/* A TCP server on near that serves one connection as that user; it runs. */
pid_t serve_as_user(uid_t uid, uint16_t port);

/* Packets that have reached the far side from near: TCP, UDP, ICMP, anything else but what finds neighbours. */
unsigned far_packets(void);
/* A command on near; its output. */
const char *near_shell(const char *command);

/* Runs the loop until *flag. */
void near_until(const bool *flag);
void near_run(unsigned ms);
