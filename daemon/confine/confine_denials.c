/*
 * confine_denials.c - the table of refused system calls, which confine_filter.c compiles and
 * confinement_denial searches.
 *
 * A filter sees the number and the argument registers of a call, never memory. A call whose risk is
 * behind a pointer (clone3, adjtimex) is therefore refused as a whole. A name that libseccomp does
 * not know fails the whole filter, so a typo cannot drop a row. Users read the `why` of a row in
 * reports of refusals.
 */
#include "confine/confine_denials.h"

#include "base/util.h"

#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>

#define SOCKET_TYPE 0xf /* the rest are flags */
#define TYPE_RDM 4
#define TYPE_DCCP 6
#define TYPE_PACKET 10
#define PROTOCOL_L2TP 115
#define PROTOCOL_SMC 256

/* With all that families and protocols beside these bring, a module of the kernel is loaded for who asks. */
static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
/* getifaddrs and ip; ss; what waits for devices; ethtool and the like. */
static const uint32_t netlinks[] = { NETLINK_ROUTE, NETLINK_SOCK_DIAG, NETLINK_KOBJECT_UEVENT,
				     NETLINK_GENERIC };
static const uint32_t personalities[] = { PER_LINUX, ADDR_NO_RANDOMIZE, UINT32_MAX };

/* clang-format off */
#define CALL(name, error, why) { name, error, {}, false, why }
#define WHEN(name, error, condition, why) { name, error, { condition }, false, why }
#define BOTH(name, error, one, other, why) { name, error, { one, other }, false, why }
#define FLAT(name, error, why) { name, error, {}, true, why }
#define FLAG(name, flag, why) { name, EPERM, { CONFINE_BITS(0, flag, flag) }, true, why }
#define INET_TYPE(type, error, why) \
	BOTH("socket", error, CONFINE_INT(0, AF_INET), CONFINE_BITS(1, SOCKET_TYPE, type), why), \
	BOTH("socket", error, CONFINE_INT(0, AF_INET6), CONFINE_BITS(1, SOCKET_TYPE, type), why)
#define NAMESPACE(flag, why) FLAG("unshare", flag, why), FLAG("clone", flag, why)

static const struct denial denials[] = {
	/* the kernel itself */
	CALL("bpf", EPERM, "programs in the kernel"),
	CALL("perf_event_open", EPERM, "observing other processes and the kernel"),
	CALL("userfaultfd", EPERM, "holding up the kernel at a page"),
	CALL("kexec_load", EPERM, "another kernel"),
	CALL("kexec_file_load", EPERM, "another kernel"),
	CALL("init_module", EPERM, "modules of the kernel"),
	CALL("finit_module", EPERM, "modules of the kernel"),
	CALL("delete_module", EPERM, "modules of the kernel"),
	CALL("create_module", ENOSYS, "modules of the kernel"),
	CALL("query_module", ENOSYS, "modules of the kernel"),
	CALL("get_kernel_syms", ENOSYS, "modules of the kernel"),
	CALL("syslog", EPERM, "the kernel's log"),
	CALL("lookup_dcookie", ENOSYS, "profiles of the kernel"),
	CALL("nfsservctl", ENOSYS, "the kernel's NFS server"),
	CALL("_sysctl", ENOSYS, "settings of the kernel"),
	CALL("uselib", ENOSYS, "loading a library by the kernel"),
	CALL("memfd_secret", EPERM, "memory that nobody can account for"),
	CALL("modify_ldt", EPERM, "segments of 16 bits"),
	CALL("iopl", EPERM, "ports of devices"),
	CALL("ioperm", EPERM, "ports of devices"),
	/* bypasses what is said of sockets below */
	CALL("io_uring_setup", ENOSYS, "system calls past every filter"),
	CALL("io_uring_enter", ENOSYS, "system calls past every filter"),
	CALL("io_uring_register", ENOSYS, "system calls past every filter"),

	/* the machine */
	CALL("reboot", EPERM, "the end of the machine"),
	CALL("acct", EPERM, "records of all processes"),
	CALL("quotactl", EPERM, "quotas"),
	CALL("quotactl_fd", EPERM, "quotas"),
	CALL("swapon", EPERM, "swap space"),
	CALL("swapoff", EPERM, "swap space"),
	CALL("settimeofday", EPERM, "the clock"),
	CALL("clock_settime", EPERM, "the clock"),
	/* they also read it, but what they set is behind a pointer */
	CALL("clock_adjtime", EPERM, "the clock"),
	CALL("adjtimex", EPERM, "the clock"),
	CALL("fanotify_init", EPERM, "watching files of others"),
	CALL("vhangup", EPERM, "the terminal of others"),

	/* past permissions; ptrace and what comes with it stays: gdb and strace need it, and the kernel asks whose it is */
	CALL("open_by_handle_at", EPERM, "files by number, past their directories"),
	CALL("keyctl", EPERM, "keys that are not bound to this sandbox"),
	CALL("add_key", EPERM, "keys that are not bound to this sandbox"),
	CALL("request_key", EPERM, "keys that are not bound to this sandbox"),
	CALL("pidfd_getfd", EPERM, "descriptors of other processes"),
	CALL("kcmp", EPERM, "addresses in the kernel"),
	CALL("move_pages", EPERM, "memory of other processes"),
	CALL("migrate_pages", EPERM, "memory of other processes"),
	/* gdb switches off what makes addresses random */
	WHEN("personality", EPERM, CONFINE_NOT_IN(0, personalities), "executable data, and old layouts of memory"),
	/* typed into a terminal, it is run by who reads there */
	WHEN("ioctl", EPERM, CONFINE_INT(1, TIOCSTI), "typing into a terminal"),
	WHEN("ioctl", EPERM, CONFINE_INT(1, TIOCLINUX), "typing into a console"),
	WHEN("ioctl", EPERM, CONFINE_INT(1, TIOCCONS), "the output of the console"),
	WHEN("ioctl", EPERM, CONFINE_INT(1, TIOCSETD), "line disciplines, which are modules of the kernel"),
	/* where /dev/net/tun can be opened, a namespace of its own would do */
	WHEN("ioctl", EPERM, CONFINE_INT(1, TUNSETIFF), "network interfaces that a process serves"),

	/* sockets past TCP and UDP; with a user namespace of its own a process gets even raw ones */
	WHEN("socket", EAFNOSUPPORT, CONFINE_NOT_IN(0, families), "other families of sockets"),
	WHEN("socketpair", EAFNOSUPPORT, CONFINE_NOT_IN(0, families), "other families of sockets"),
	INET_TYPE(SOCK_RAW, EPERM, "raw packets"),
	INET_TYPE(TYPE_PACKET, EPERM, "raw packets"),
	INET_TYPE(SOCK_SEQPACKET, ESOCKTNOSUPPORT, "other protocols"),
	INET_TYPE(TYPE_DCCP, ESOCKTNOSUPPORT, "other protocols"),
	INET_TYPE(TYPE_RDM, ESOCKTNOSUPPORT, "other protocols"),
	WHEN("socket", EPROTONOSUPPORT, CONFINE_INT(2, IPPROTO_SCTP), "other protocols"),
	WHEN("socket", EPROTONOSUPPORT, CONFINE_INT(2, PROTOCOL_L2TP), "other protocols"),
	WHEN("socket", EPROTONOSUPPORT, CONFINE_INT(2, PROTOCOL_SMC), "other protocols"),
	BOTH("socket", EPROTONOSUPPORT, CONFINE_INT(0, AF_NETLINK), CONFINE_NOT_IN(2, netlinks),
	     "the kernel's firewall, audit and other parts"),

	/* namespaces, and what one may do in them */
	NAMESPACE(CLONE_NEWUSER, "a user namespace"),
	NAMESPACE(CLONE_NEWNS, "a mount namespace"),
	NAMESPACE(CLONE_NEWPID, "a namespace of processes"),
	NAMESPACE(CLONE_NEWNET, "a network namespace"),
	NAMESPACE(CLONE_NEWIPC, "an IPC namespace"),
	NAMESPACE(CLONE_NEWUTS, "a namespace of host names"),
	NAMESPACE(CLONE_NEWCGROUP, "a cgroup namespace"),
	FLAG("unshare", CLONE_NEWTIME, "a namespace of clocks"), /* for clone the bit means another thing */
	/* its flags are behind a pointer; the C library then takes clone */
	FLAT("clone3", ENOSYS, "namespaces"),
	FLAT("setns", EPERM, "namespaces of others"),
	FLAT("mount", EPERM, "mounts"),
	FLAT("umount2", EPERM, "mounts"),
	FLAT("pivot_root", EPERM, "mounts"),
	FLAT("move_mount", EPERM, "mounts"),
	FLAT("open_tree", EPERM, "mounts"),
	FLAT("fsopen", EPERM, "mounts"),
	FLAT("fsmount", EPERM, "mounts"),
	FLAT("fsconfig", EPERM, "mounts"),
	FLAT("fspick", EPERM, "mounts"),
	FLAT("mount_setattr", EPERM, "mounts"),
	FLAT("chroot", EPERM, "another root"),
	FLAT("sethostname", EPERM, "the name of the machine"),
	FLAT("setdomainname", EPERM, "the name of the machine"),
};
/* clang-format on */

const struct denial *confine_denials(size_t *n)
{
	*n = ARRAY_SIZE(denials);
	return denials;
}
