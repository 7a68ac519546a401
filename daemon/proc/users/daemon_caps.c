#include "proc/users/daemon_caps.h"

#include "base/util.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define WORD_BITS 32

static const struct {
	unsigned capability;
	enum daemon_phase until; /* the last phase that needs it */
} kept[] = {
	{ CAP_CHOWN, DAEMON_SERVES }, /* homes, sockets and workspaces go to the agent's user */
	{ CAP_DAC_OVERRIDE, DAEMON_SERVES }, /* what is in a home that only its user may enter */
	{ CAP_FOWNER,
	  DAEMON_SERVES }, /* modes of agents' files beneath an overlay (spaces/overlay.h) */
	{ CAP_KILL, DAEMON_SERVES },		 /* processes of the agent's user */
	{ CAP_SETGID, DAEMON_SERVES },		 /* what runs as another user */
	{ CAP_SETUID, DAEMON_SERVES },		 /* the same */
	{ CAP_SETPCAP, DAEMON_SERVES },		 /* the bounding set of what is started */
	{ CAP_NET_BIND_SERVICE, DAEMON_STARTS }, /* to listen on a port below 1024 */
	{ CAP_NET_ADMIN, DAEMON_SERVES },	 /* the loopback of a session's network namespace */
	{ CAP_SYS_CHROOT, DAEMON_SERVES },	 /* to enter a mount namespace */
	{ CAP_SYS_PTRACE, DAEMON_SERVES },	 /* what /proc says of processes of others */
	{ CAP_SYS_ADMIN, DAEMON_SERVES },	 /* namespaces */
	{ CAP_SYS_RESOURCE, DAEMON_SERVES },	 /* that no child lowers its oom_score_adj again */
};

static void reduce(struct __user_cap_data_struct *sets, const uint32_t *mask)
{
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		sets[i].permitted &= mask[i];
		sets[i].effective &= mask[i];
		sets[i].inheritable = 0;
	}
}

static int caps_set(const uint32_t *mask)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, sets) < 0)
		return -errno;
	/* What the daemon has and the mask lacks goes. Nothing is added, so a user without capabilities is unaffected. */
	reduce(sets, mask);
	if (syscall(SYS_capset, &head, sets) < 0)
		return -errno;
	/* of a kernel without ambient capabilities (before 4.3) there is nothing to clear */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return 0;
}

int daemon_caps_keep(enum daemon_phase phase, struct err *e)
{
	uint32_t mask[_LINUX_CAPABILITY_U32S_3] = { 0 };
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (kept[i].until >= phase)
			mask[kept[i].capability / WORD_BITS] |= 1u
								<< kept[i].capability % WORD_BITS;
	r = caps_set(mask);
	return r < 0 ? err_set(e, r, 0, "CAPABILITIES", "cannot give up capabilities: %s",
			       strerror(-r)) :
		       0;
}
