/*
 * clockstep.c - a wall clock that a test sets, without setting the machine's: loaded into the daemon by LD_PRELOAD.
 *
 * ACPD_TEST_CLOCK names a file of 8 bytes, milliseconds that CLOCK_REALTIME is ahead. ACPD_TEST_CLOCK_SET names a FIFO:
 * what is written there cancels the timers on that clock, as the kernel does when it is set. Without it the kernel is
 * one that has no such timers.
 *
 * ACPD_TEST_CLOCK_STUCK names a file that, once it exists, keeps every timerfd from being set: nothing that waits for one
 * of the loop's timers goes on. Sleeps are a FAST-th as long, so that a test need not wait for what ends it.
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

#define FAST 20

static const int64_t *ahead_ms;
static const char *stuck;
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
	stuck = getenv("ACPD_TEST_CLOCK_STUCK");
}

static int is_stuck(void)
{
	return stuck && access(stuck, F_OK) == 0;
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
	if (fd == cancelled || is_stuck())
		return 0;
	return (int)syscall(SYS_timerfd_settime, fd, flags, new, old);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *want, struct timespec *left)
{
	struct timespec ts = *want;

	if (is_stuck() && !flags) {
		int64_t ns = (ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec) / FAST;

		ts = (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	}
	return syscall(SYS_clock_nanosleep, id, flags, &ts, left) < 0 ? errno : 0;
}

ssize_t read(int fd, void *buf, size_t n)
{
	ssize_t r = syscall(SYS_read, fd, buf, n);

	if (fd != cancelled || r <= 0)
		return r;
	errno = ECANCELED;
	return -1;
}
