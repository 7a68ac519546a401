#include "unpack/child.h"

#include "tree/held.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void empty(int dir)
{
	int fd = held_open_dir_at(dir, ".");
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			held_remove_at(dir, e->d_name);
}

void child_empty(const struct ident *ident, int dir)
{
	int dirs[] = { dir, -1 };
	struct verdict v = { .kind = VERDICT_NONE };
	pid_t pid = fork();

	if (pid == 0) {
		if (confine_worker(ident, dirs, 0, &v) == 0)
			empty(dir);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
