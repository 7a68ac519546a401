/*
 * netns.h - network namespaces with nothing in them but a loopback of their own: what runs in one reaches the sockets
 * that are made in it, UNIX sockets by their path, and nothing else. Abstract UNIX sockets belong to a namespace, too.
 *
 * A namespace is made by a child of ours, which lives for a moment and hands its descriptor back, and so is a socket
 * in it: the daemon itself stays where it is, and can still listen on that socket and accept from it. It lives as long
 * as a reference to it, a process or a socket in it; nothing of it is on disk, so a killed daemon leaves nothing.
 *
 * Root needs CAP_SYS_ADMIN. Another user has it in a user namespace in which he is himself and nobody else is anybody.
 * The kernel lets a process write the maps of one only while it is dumpable, and the daemon is not for long: one is
 * made at its start (netns_prepare), and all namespaces of the network belong to it.
 *
 * Making one takes a millisecond. All of it runs on the loop.
 */
#pragma once

#include "base/err.h"

struct netns;

/* Once, before the process hides its memory. */
void netns_prepare(void);
/* NULL: they can be made here; else why not. As it was when it was tried first. */
const char *netns_missing(void);
/* 0, or why none can be made now. */
int netns_try(struct err *e);

/* One reference; NULL with e. */
struct netns *netns_new(struct err *e);
/* Both take NULL. */
struct netns *netns_ref(struct netns *n);
struct netns *netns_unref(struct netns *n);
/* An unbound socket in it that does not block, or -errno. */
int netns_socket(const struct netns *n, int family, int type);
/* Between fork and exec, while we are who we are. n NULL: nothing. 0 or -errno. */
int netns_enter(const struct netns *n);
/* The same for the user namespace alone, where there is one. Once: a second time is an error. */
int netns_enter_users(void);
