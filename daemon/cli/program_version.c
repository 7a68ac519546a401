#include "cli/program_version.h"

#include "base/clock.h"
#include "base/os/passing_home.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PROGRAM_LINE_MAX 4096

static bool become(const struct agent_user *as)
{
	if (as->switched && (setgroups(0, NULL) < 0 || setresgid(as->gid, as->gid, as->gid) < 0 ||
			     setresuid(as->uid, as->uid, as->uid) < 0))
		return false;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* out: its output; failed: where the errno goes if it cannot be started, closed by exec. */
static _noreturn_ void run_child(const char *path, const struct agent_user *as, int out, int failed,
				 char *const *env)
{
	const struct rlimit no_core = { 0, 0 },
			    seconds = { PROGRAM_VERSION_MS / 1000, PROGRAM_VERSION_MS / 1000 };
	char *argv[] = { (char *)path, (char *)"--version", NULL };
	int null = open("/dev/null", O_RDWR), e;
	sigset_t none;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_CPU, &seconds);
	if (null >= 0 && dup2(null, 0) == 0 && dup2(out, 1) == 1 && dup2(null, 2) == 2 &&
	    dup2(failed, 3) == 3 && fcntl(3, F_SETFD, FD_CLOEXEC) == 0 && chdir("/") == 0 &&
	    become(as)) {
		syscall(SYS_close_range, 4, ~0U, 0);
		execve(path, argv, env);
	}
	e = errno;
	if (write(3, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(127);
}

/* 1: it has said a line. */
static int hear(int out, char *ret, size_t size)
{
	uint64_t until = clock_mono_ms() + PROGRAM_VERSION_MS, now;
	struct pollfd p = { out, POLLIN, 0 };
	size_t n = 0;

	while (!memchr(ret, '\n', n) && n < size - 1) {
		ssize_t got;

		now = clock_mono_ms();
		if (now >= until || poll(&p, 1, (int)(until - now)) == 0)
			return -ETIMEDOUT;
		got = read(out, ret + n, size - 1 - n);
		if (got == 0 || (got < 0 && errno != EINTR))
			break;
		n += (size_t)MAX(got, 0);
	}
	ret[n] = '\0';
	return n && n < size - 1 ? 0 : -EIO;
}

static void keep_printable(char *s)
{
	char *out = s;

	for (; *s && *s != '\n'; s++)
		if (*s >= ' ' && *s <= '~')
			*out++ = *s;
	*out = '\0';
}

static int read_version(int out, int failed, char *ret)
{
	char line[PROGRAM_LINE_MAX] = "";
	int why = 0, r;

	if (read(failed, &why, sizeof(why)) == sizeof(why))
		return -why;
	r = hear(out, line, sizeof(line));
	if (r < 0)
		return r;
	keep_printable(line);
	snprintf(ret, PROGRAM_VERSION_MAX, "%.*s", PROGRAM_VERSION_MAX - 1, line);
	return *ret ? 0 : -EIO;
}

static void end_child(pid_t pid)
{
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL); /* it may have no group of its own yet */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

int program_version(const char *path, const struct agent_user *as, char ret[PROGRAM_VERSION_MAX])
{
	_cleanup_(freep) char *search = NULL;
	struct passing_home home;
	int out[2], failed[2], r;
	char *env[] = { NULL, home.variable, (char *)"LANG=C.UTF-8", NULL };
	pid_t pid;

	*ret = '\0';
	if (asprintf(&search, "PATH=%s", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin") < 0)
		abort();
	env[0] = search;
	if (pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(failed, O_CLOEXEC) < 0) {
		r = -errno;
		close(out[0]);
		close(out[1]);
		return r;
	}
	passing_home_make(&home, as->switched, as->uid, as->gid);
	pid = fork();
	if (pid == 0)
		run_child(path, as, out[1], failed[1], env);
	r = pid < 0 ? -errno : 0;
	close(out[1]);
	close(failed[1]);
	if (r == 0) {
		r = read_version(out[0], failed[0], ret);
		end_child(pid);
	}
	passing_home_remove(&home);
	close(out[0]);
	close(failed[0]);
	return r;
}
