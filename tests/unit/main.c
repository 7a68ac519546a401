/*
 * main.c - all the unit tests in one program: "unit NAME" runs what the file NAME.c has, "unit" alone lists the names, and
 * "unit --each DIR NAME..." runs each of them in a child of its own, so that valgrind starts once for many. What NAME prints is then in
 * DIR/NAME.text, and its exit code in DIR/NAME.code. list.h is made by unit.mk.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROW(name) int name(void);
#include "list.h"
#undef ROW

static const struct {
	const char *name;
	int (*run)(void);
} rows[] = {
#define ROW(name) { #name, name },
#include "list.h"
#undef ROW
};

#define SECONDS 300 /* for one file */

static int run(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(name, rows[i].name) == 0)
			return rows[i].run();
	fprintf(stderr, "%s: no test file of this name; without argument the names are listed\n",
		name);
	return 2;
}

static int open_in(const char *dir, const char *name, const char *suffix)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.%s", dir, name, suffix);
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

/* Does not return in the child but with the exit code of main(). */
static int run_child(const char *dir, const char *name)
{
	int fd = open_in(dir, name, "text");

	if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		return 2;
	close(fd);
	alarm(SECONDS);
	return run(name);
}

static void put_code(const char *dir, const char *name, int status)
{
	int fd = open_in(dir, name, "code");

	dprintf(fd, "%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			puts(rows[i].name);
	if (argc == 2)
		return run(argv[1]);
	for (int i = 3; i < argc; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			return run_child(argv[2], argv[i]);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		put_code(argv[2], argv[i], status);
	}
	return 0;
}
