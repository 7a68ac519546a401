/*
 * confine_machine.c - probes once which confinement features the kernel and the rights of the
 * daemon provide.
 *
 * The vforked child shares the memory of the daemon until it exits (ask_child). Each
 * attempt is therefore a plain system call, and the results return through a pipe.
 * SECCOMP_GET_ACTION_AVAIL asks for a listener without installing one. If the child itself fails,
 * every feature counts as missing, with that errno.
 */
#include "confine/confine_machine.h"

#include "base/util.h"
#include "confine/ask_child.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* --- what is tried, in the child ------------------------------------------------------------------------------ */

static struct sock_filter allow_all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
static const struct sock_fprog filter = { 1, &allow_all };
static const uint32_t notifies = SECCOMP_RET_USER_NOTIF;

/* In this order: a filter takes no_new_privs. */
static const struct {
	long call, args[3];
	const char *missing;
} parts[MACHINE_PARTS] = {
	[MACHINE_NO_NEW_PRIVS] = { SYS_prctl,
				   { PR_SET_NO_NEW_PRIVS, 1 },
				   "the kernel has no no_new_privs" },
	[MACHINE_FILTER] = { SYS_seccomp,
			     { SECCOMP_SET_MODE_FILTER, 0, (long)&filter },
			     "the kernel takes no filter of system calls (seccomp)" },
	[MACHINE_LISTENER] = { SYS_seccomp,
			       { SECCOMP_GET_ACTION_AVAIL, 0, (long)&notifies },
			       "the kernel hands refused system calls to nobody (Linux 5.0)" },
	[MACHINE_BOUNDING] = { SYS_prctl,
			       { PR_CAPBSET_DROP, CAP_SYS_BOOT },
			       "the daemon may not take capabilities away from what it "
			       "starts (it has no CAP_SETPCAP)" },
	[MACHINE_LANDLOCK] = { SYS_landlock_create_ruleset,
			       { 0, 0, LANDLOCK_CREATE_RULESET_VERSION },
			       "the kernel has no Landlock" },
};

/* --- the child's answers -------------------------------------------------------------------------------------- */

static int try_all(const void *ctx _unused_, int to)
{
	int errors[MACHINE_PARTS];

	for (size_t i = 0; i < MACHINE_PARTS; i++) {
		const long *a = parts[i].args;

		errors[i] = syscall(parts[i].call, a[0], a[1], a[2], 0L, 0L) < 0 ? errno : 0;
	}
	return write(to, errors, sizeof(errors)) < 0 ? -errno : 0;
}

const char *confine_machine_missing(enum machine_part part)
{
	static char why[MACHINE_PARTS][160];
	static bool asked;
	int errors[MACHINE_PARTS], r;

	if (!asked) {
		r = ask_child(true, try_all, NULL, errors, sizeof(errors));
		for (size_t i = 0; i < MACHINE_PARTS; i++)
			if (r < 0 || errors[i])
				snprintf(why[i], sizeof(why[i]), "%s: %s", parts[i].missing,
					 strerror(r < 0 ? -r : errors[i]));
		asked = true;
	}
	return why[part][0] ? why[part] : NULL;
}
