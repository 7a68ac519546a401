/*
 * confine_self.h - what each confined program of ours does about itself, in this order:
 *
 *	pid_t parent = getppid();
 *	confine_self_become(uid, gid);        where it was started as root
 *	confine_self_bind(parent);            dies with its parent, gains nothing by exec, is not traced or dumped
 *	confine_self_limit(RLIMIT_CORE, 0);   and other limits of its own
 *	landlock_enter(&spec);                landlock.h
 *	confine_list_enter(&list);            confine_list.h, last: the others need calls that it takes away
 *
 * The program holds tables, and decides what a failure means. All return 0 or -errno.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Changes the user permanently, without further groups. Between fork and exec, too: plain system calls. */
int confine_self_switch(uid_t uid, gid_t gid);
/* The same for a program of ours, and never to root. A failure leaves the process half changed, and it must end. */
int confine_self_become(uid_t uid, gid_t gid);
/* After the change of user, which takes all of this away. -ESRCH: the parent is gone already. */
int confine_self_bind(pid_t parent);
/* Soft and hard limit to n at most. One that cannot be set stays: it is lower, or somebody else's. */
void confine_self_limit(int what, uint64_t n);
