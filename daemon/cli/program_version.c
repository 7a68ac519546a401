#include "cli/program_version.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static pid_t start(const char *program, int out)
{
	char *argv[] = { (char *)program, (char[]){ "--version" }, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;
	int r;

	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = posix_spawn(&pid, program, &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return r == 0 ? pid : -1;
}

/* Until its first line is whole, it ends, or its time is over. */
static size_t read_line(int fd, char *ret, size_t size)
{
	uint64_t end = clock_mono_ms() + PROGRAM_VERSION_MS, now;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t n = 0;

	while (n < size && !memchr(ret, '\n', n) && (now = clock_mono_ms()) < end) {
		ssize_t got = poll(&p, 1, (int)(end - now)) > 0 ? read(fd, ret + n, size - n) : -1;

		if (got == 0)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	return n;
}

static void keep_printable(char *s, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n && s[i] != '\n'; i++)
		if (s[i] >= ' ' && s[i] <= '~')
			s[kept++] = s[i];
	s[kept] = '\0';
}

bool program_version(const char *program, char *ret, size_t size)
{
	int ends[2];
	size_t n = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	pid = start(program, ends[1]);
	close(ends[1]);
	if (pid > 0) {
		n = read_line(ends[0], ret, size - 1);
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	keep_printable(ret, n);
	return *ret;
}
