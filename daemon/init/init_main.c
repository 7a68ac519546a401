/*
 * acpd-init: the first process of a session's pid namespace (proc/spaces/spaces.h). It takes over what is orphaned in
 * there, and waits. Its end is the end of all of them; it ends when the daemon does, or when the daemon kills it.
 *
 * It is a program of its own because it lives as long as the session: a fork of the daemon would keep the daemon's
 * memory. Linked statically and without the C library it has one or two pages of its own.
 */
#include <linux/capability.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/syscall.h>

static long call(long nr, long a, long b, long c, long d)
{
	long ret;
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
			 x2 __asm__("x2") = c, x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	ret = x0;
#else
#error "acpd-init: how is the kernel called here?"
#endif
	return ret;
}

/* Nobody inside may look into it or steer it, and it may do nothing. */
static void give_up_everything(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	call(SYS_prctl, PR_SET_NAME, (long)"acpd-init", 0, 0);
	call(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0);
	call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
	call(SYS_capset, (long)&head, (long)none, 0, 0);
}

/* The kernel collects what dies. Shown to it as it wants it, which is not as the C library's headers do. */
static void let_children_go(void)
{
	unsigned long action[4] = { (unsigned long)SIG_IGN, SA_NOCLDWAIT };

	call(SYS_rt_sigaction, SIGCHLD, (long)action, 0, sizeof(action[0]));
}

/* gcc may put a call to it in the place of an initializer. */
void *memset(void *p, int c, unsigned long n);
void *memset(void *p, int c, unsigned long n)
{
	for (volatile char *b = p; n--; b++)
		*b = (char)c;
	return p;
}

/* No signal from inside reaches it: it has no handler, and the kernel lets nobody there kill the first process. */
void _start(void);
void _start(void)
{
	give_up_everything();
	let_children_go();
	for (;;)
		call(SYS_ppoll, 0, 0, 0, 0);
}
