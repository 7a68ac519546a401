/*
 * clockstep.c - a wall clock that a test sets, without setting the machine's: loaded into the daemon by LD_PRELOAD.
 *
 * ACPD_TEST_CLOCK names a file of 8 bytes, milliseconds that CLOCK_REALTIME is ahead. ACPD_TEST_CLOCK_SET names a FIFO:
 * what is written there cancels the timers on that clock, as the kernel does when it is set. Without it the kernel is
 * one that has no such timers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const int64_t *ahead_ms;
static int cancelled = -1;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("ACPD_TEST_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		abort();
	close(fd);
	ahead_ms = map;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, id, ts);
	int64_t ns;

	if (r < 0 || id != CLOCK_REALTIME)
		return r;
	ns = ts->tv_nsec + *ahead_ms % 1000 * 1000000;
	ts->tv_sec += *ahead_ms / 1000 + ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
	return 0;
}

int timerfd_create(int id, int flags)
{
	const char *path = getenv("ACPD_TEST_CLOCK_SET");

	if (id != CLOCK_REALTIME)
		return (int)syscall(SYS_timerfd_create, id, flags);
	errno = EINVAL;
	cancelled = path ? open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
	return cancelled;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	return fd == cancelled ? 0 : (int)syscall(SYS_timerfd_settime, fd, flags, new, old);
}

ssize_t read(int fd, void *buf, size_t n)
{
	ssize_t r = syscall(SYS_read, fd, buf, n);

	if (fd != cancelled || r <= 0)
		return r;
	errno = ECANCELED;
	return -1;
}
