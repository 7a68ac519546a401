#include "unit.h"

#include "base/os/file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

static char dir[64];

const char *scratch_dir(void)
{
	return dir;
}

const char *scratch_path(const char *name)
{
	static char paths[2][4096];
	static unsigned turn;
	char *p = paths[turn++ % 2];

	snprintf(p, sizeof(paths[0]), "%s/%s", dir, name);
	return p;
}

void scratch_write(const char *name, const void *p, size_t n)
{
	int fd = open(scratch_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, p, n), 0);
	close(fd);
}

static int setup_below(const char *top)
{
	snprintf(dir, sizeof(dir), "%s/acpd-unit-XXXXXX", top);
	return mkdtemp(dir) ? 0 : -1;
}

int scratch_setup(void **state _unused_)
{
	return setup_below("/tmp");
}

int scratch_setup_memory(void **state)
{
	return setup_below("/dev/shm") == 0 ? 0 : scratch_setup(state);
}

int scratch_setup_disk(void **state _unused_)
{
	struct statfs fs;

	if (statfs("/tmp", &fs) == 0 && fs.f_type == TMPFS_MAGIC)
		return setup_below("/var/tmp");
	return setup_below("/tmp");
}

int scratch_done(void **state _unused_)
{
	return file_remove_tree(dir);
}
