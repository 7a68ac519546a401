/*
 * landlock.h - a process gives up files, ports and scopes for good, by Landlock, as far as the kernel knows it.
 *
 * A program holds a table: the rights that it gives up everywhere (fs, net, scoped), and where it keeps some of them
 * (grants). Rights that the kernel does not know yet are left out, so the same table serves every version of the
 * interface (ABI): 2 of Linux 6.1 knows files only. abi_min says from which on it is worth having, and abi_max up to
 * which it is used. Only system calls, and nothing to free: it may run between fork and exec. no_new_privs has to
 * be set (confine_self.h), and what is open already stays usable.
 *
 *	static const char *const readable[] = { "/etc", "/usr/lib", NULL };
 *	static const struct landlock_grant grants[] = { { .rights = LL_FS_READ_FILE, .paths = readable } };
 *	static const struct landlock_spec spec = {
 *		.fs = LL_FS_ALL, .net = LL_NET_BIND_TCP, .scoped = LL_SCOPED_ALL,
 *		.grants = grants, .n_grants = ARRAY_SIZE(grants),
 *	};
 *	int abi = landlock_enter(&spec);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* By number: the headers may be older than the kernel. */
#define LL_FS_READ_FILE ((uint64_t)1 << 2)
#define LL_FS_READ_DIR ((uint64_t)1 << 3)
#define LL_FS_IOCTL_DEV ((uint64_t)1 << 15)
#define LL_FS_ALL (((uint64_t)1 << 16) - 1)
#define LL_NET_BIND_TCP ((uint64_t)1 << 0)
#define LL_NET_ALL ((uint64_t)3)    /* and connect */
#define LL_SCOPED_ALL ((uint64_t)3) /* abstract sockets, and signals */

struct landlock_grant {
	uint64_t rights; /* kept below these; what is not given up needs no grant */
	const int *dirs; /* ended by -1; NULL: none */
	const char *const
		*paths; /* ended by NULL; NULL: none. Those that are not there are passed over */
};

struct landlock_spec {
	uint64_t fs, net, scoped; /* given up */
	const struct landlock_grant *grants;
	size_t n_grants;
	int abi_min; /* an older kernel is as one without Landlock; 0: any will do */
	int abi_max; /* 0: what the kernel has */
};

/* What the kernel has; 0: nothing. */
int landlock_abi(void);
/* The ABI that is in force from now on; 0: nothing is, since the kernel has none or too little; or -errno. */
int landlock_enter(const struct landlock_spec *spec);
