/* main.c - runs a target over every file of the directories (or files) given: the corpus as an ordinary test. */
#include "fuzz.h"

#include "base/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#define INPUT_MAX (16u << 20)

static unsigned inputs;

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
	LLVMFuzzerTestOneInput((const uint8_t *)input.p, input.n);
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
	const char *name = strrchr(argv[0], '/');

	LLVMFuzzerTestOneInput(NULL, 0); /* as libFuzzer begins */
	for (int i = 1; i < argc; i++) {
		int r = run_dir(argv[i]);

		if (r < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
			return 1;
		}
	}
	printf("%s: %u inputs\n", name ? name + 1 : argv[0], inputs);
	return inputs ? 0 : 1;
}
