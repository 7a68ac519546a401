#include "confine/ask_child.h"

#include "base/util.h"

#include <fcntl.h>
#include <sys/wait.h>

static ssize_t child_read(int fd, char *to, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = RETRY(read(fd, to + have, size - have));

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

static int exit_error(pid_t pid)
{
	int status;

	if (RETRY(waitpid(pid, &status, 0)) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

/* A child that shares our memory does not return from here: we go on only when it has ended. */
static pid_t child_begin(bool shares, int (*answer)(const void *ctx, int to), const void *ctx,
			 int to)
{
	pid_t pid = shares ? vfork() : fork();

	if (pid == 0)
		_exit(-answer(ctx, to));
	return pid;
}

int ask_child(bool shares, int (*answer)(const void *ctx, int to), const void *ctx, void *ret,
	      size_t size)
{
	_cleanup_(closep) int from = -1, to = -1;
	int ends[2], r;
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	pid = child_begin(shares, answer, ctx, to);
	if (pid < 0)
		return -errno;
	closep(&to);
	n = child_read(from, ret, size);
	closep(&from); /* it does not wait for us if it has more */
	r = exit_error(pid);
	return r < 0 ? r : (int)n;
}
