/*
 * main.c - all the targets in one program: "corpora NAME DIR..." runs a target over every file of the directories (or
 * files) given, the corpus as an ordinary test. list.h is made by tests/unit/unit.mk.
 */
#include "fuzz.h"

#include "base/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

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

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(argv[1], rows[i].name) == 0)
			chosen = rows[i].run;
	if (!chosen) {
		fprintf(stderr, "usage: corpora TARGET DIRECTORY...\n");
		return 2;
	}
	chosen(NULL, 0); /* as libFuzzer begins */
	for (int i = 2; i < argc; i++) {
		int r = run_dir(argv[i]);

		if (r < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
			return 1;
		}
	}
	printf("%s: %u inputs\n", argv[1], inputs);
	return inputs ? 0 : 1;
}
