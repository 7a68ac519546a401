#include "snap_rig.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "git_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

struct rig rig;

int rig_setup(void **state)
{
	rig = (struct rig){ .limits = { SNAPSHOT_FILE_MAX, SNAPSHOT_BYTES_MAX, UNPACK_ENTRIES_MAX,
					SNAPSHOT_PATCH_MAX, 0 } };
	return scratch_setup(state) < 0 || mkdir(scratch_path("ws"), 0755) < 0;
}

int rig_done(void **state)
{
	snapshot_report_done(&rig.report);
	return scratch_done(state);
}

const char *rig_path(const char *path)
{
	static char paths[2][PATH_BYTES_MAX + 64];
	static unsigned turn;
	char *p = paths[turn++ % 2];

	snprintf(p, sizeof(paths[0]), "%s/ws/%s", scratch_dir(), path);
	return p;
}

static void make_parents(const char *path)
{
	_cleanup_(freep) char *dir = xstrdup(path);
	char *slash = strrchr(dir, '/');

	*slash = '\0';
	assert_int_equal(file_mkdirs(dir, 0755), 0);
}

void rig_put(const char *path, const char *text)
{
	const char *full = rig_path(path);
	int fd;

	if (!text) {
		assert_true(unlink(full) == 0 || file_remove_tree(full) == 0);
		return;
	}
	make_parents(full);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

void rig_link(const char *path, const char *target)
{
	make_parents(rig_path(path));
	assert_int_equal(symlink(target, rig_path(path)), 0);
}

void rig_settle(void)
{
	struct timespec t = { 0, (SNAPSHOT_RECENT_MS + 20) * 1000000L };

	nanosleep(&t, NULL);
}

static int look(struct snapshot_dir *s, uint32_t turn)
{
	struct snapshot_job job = { .gitignore = rig.gitignore,
				    .turn = turn,
				    .limits = rig.limits };
	int r;

	job.root = open(scratch_path("ws"), O_RDONLY | O_DIRECTORY);
	job.history = &s->history;
	snapshot_report_done(&rig.report);
	r = snapshot_take(&job, &s->files, &rig.report, &rig.v);
	close(job.root);
	if (r == 0)
		r = snapshot_dir_commit(s, &rig.v);
	snapshot_dir_close(s);
	return r;
}

int rig_snapshot_in(const char *dir, uint32_t turn)
{
	struct snapshot_dir s;
	int r;

	rig.v = (struct verdict){ 0 };
	r = snapshot_dir_open_snapshot(&s, scratch_path(dir), turn, scratch_path("patch"), &rig.v);
	return r < 0 ? r : look(&s, turn);
}

int rig_snapshot(uint32_t turn)
{
	return rig_snapshot_in("base", turn);
}

int rig_diff(uint32_t since)
{
	struct snapshot_dir s;
	int r;

	rig.v = (struct verdict){ 0 };
	r = snapshot_dir_open_diff(&s, scratch_path("base"), since, false, scratch_path("patch"),
				   &rig.v);
	return r < 0 ? r : look(&s, 0);
}

static void check(int r)
{
	if (r != 0)
		fail_msg("%d %s %s: %s", r, rig.v.reason, rig.v.path, rig.v.message);
}

void rig_snapshot_ok(uint32_t turn)
{
	check(rig_snapshot(turn));
}

void rig_diff_ok(uint32_t since)
{
	check(rig_diff(since));
}

bool rig_patch_has(const char *text)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(file_read(scratch_path("patch"), 1 << 26, &b), 0);
	return b.len && memmem(b.data, b.len, text, strlen(text));
}

const char *rig_base_files(void)
{
	static char line[4096];
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(git_run("base", "ls | tr '\\n' ' '"), 0);
	assert_int_equal(file_read(scratch_path("out"), sizeof(line) - 1, &b), 0);
	memcpy(line, b.data, b.len);
	line[b.len ? b.len - 1 : 0] = '\0';
	return line;
}
