/*
 * main.c - all the targets in one program: "corpora TARGET DIR..." runs a target over every file of the directories (or
 * files) given, the corpus as an ordinary test. "corpora --each TOP T..." does that with the target fuzz_T and TOP/T, each in a child
 * of its own, so that valgrind starts once for all. list.h is made by tests/unit/unit.mk.
 */
#include "fuzz.h"

#include "base/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define INPUT_MAX (16u << 20)

typedef int target(const uint8_t *data, size_t size);

#define ROW(name) target name;
#include "list.h"
#undef ROW

static const struct {
	const char *name;
	target *run;
} rows[] = {
#define ROW(name) { #name, name },
#include "list.h"
#undef ROW
};

static unsigned inputs;
static target *chosen;

static int run_file(const char *path)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(exact_free) struct slice input = SLICE_NONE;
	int r = file_read(path, INPUT_MAX, &b);

	if (r < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
		return r;
	}
	input = exact(b.data, b.len);
	chosen((const uint8_t *)input.p, input.n);
	inputs++;
	return 0;
}

static int run_dir(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int r = 0;

	if (!d)
		return errno == ENOTDIR ? run_file(path) : -errno;
	while (r == 0 && (e = readdir(d))) {
		_cleanup_(freep) char *file = file_join(path, e->d_name);

		if (e->d_name[0] != '.')
			r = run_file(file);
	}
	closedir(d);
	return r;
}

/* The exit code. */
static int run_target(const char *name, char **paths, int n)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(name, rows[i].name) == 0)
			chosen = rows[i].run;
	if (!chosen) {
		fprintf(stderr, "%s: no such target\n", name);
		return 2;
	}
	chosen(NULL, 0); /* as libFuzzer begins */
	for (int i = 0; i < n; i++) {
		int r = run_dir(paths[i]);

		if (r < 0) {
			fprintf(stderr, "%s: %s\n", paths[i], strerror(-r));
			return 1;
		}
	}
	printf("%s: %u inputs\n", name, inputs);
	return inputs ? 0 : 1;
}

static int run_corpus(const char *top, const char *name)
{
	_cleanup_(freep) char *dir = file_join(top, name);
	char whole[64];

	snprintf(whole, sizeof(whole), "fuzz_%s", name);
	return run_target(whole, &dir, 1);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: corpora TARGET DIRECTORY... | --each TOP NAME...\n");
		return 2;
	}
	if (strcmp(argv[1], "--each") != 0)
		return run_target(argv[1], argv + 2, argc - 2);
	for (int i = 3; i < argc; i++) {
		pid_t pid = fork();
		int status = -1;

		if (pid == 0)
			return run_corpus(argv[2], argv[i]);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
			fprintf(stderr, "%s: failed (%d)\n", argv[i], status);
			return 1;
		}
	}
	return 0;
}
