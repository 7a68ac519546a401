/*
 * testrun_log.c - the log file of a test run, and its tail for the artifact of the session.
 *
 * The paths of the last TEST_LOGS_MAX runs belong to the toolbox, so a log outlives its call. A
 * file is deleted when a later run takes its place, or with the toolbox. A write error or the limit
 * of bytes closes the file; the tail still grows, and the tests continue.
 */
#include "tools/builtin/testrun/testrun.h"

#include "base/os/file.h"
#include "base/limits.h"

/* The files of the last runs. */
struct test_logs {
	char *path[TEST_LOGS_MAX];
	size_t next;
};

static void log_remove(char **path)
{
	if (*path)
		unlink(*path);
	free(TAKE_PTR(*path));
}

static void logs_free(void *p)
{
	struct test_logs *l = p;

	for (size_t i = 0; i < TEST_LOGS_MAX; i++)
		log_remove(&l->path[i]);
	free(l);
}

static void logs_add(struct toolbox *b, const char *path)
{
	struct test_logs *l = toolbox_kept(b, PART_TEST_LOGS);

	if (!l) {
		l = new0(struct test_logs);
		toolbox_keep(b, PART_TEST_LOGS, l, logs_free);
	}
	log_remove(&l->path[l->next]);
	l->path[l->next] = xstrdup(path);
	l->next = (l->next + 1) % TEST_LOGS_MAX;
}

void test_log_init(struct test_log *l)
{
	*l = (struct test_log){ .fd = -1 };
	command_output_init(&l->end, TEST_ARTIFACT_BYTES);
}

void test_log_done(struct test_log *l)
{
	closep(&l->fd);
	free(l->path);
	command_output_done(&l->end);
}

void test_log_open(struct test_log *l, struct toolbox *b)
{
	l->path = xprintf("%s/acpd-tests-XXXXXX.log", toolbox_state_dir(b));
	l->fd = mkostemps(l->path, 4, O_CLOEXEC);
	l->room = TEST_LOG_BYTES;
	/* Without a file the tests run all the same, and the result has only the tail. */
	if (l->fd < 0) {
		free(TAKE_PTR(l->path));
	} else {
		/* The oldest log is deleted now, so no more than TEST_LOGS_MAX exist. */
		logs_add(b, l->path);
	}
}

void test_log_add(struct test_log *l, struct slice bytes)
{
	/* The tail gets everything, the file only what fits. */
	size_t n = MIN(bytes.n, l->room);

	command_output_add(&l->end, bytes);
	if (l->fd < 0)
		return;
	l->room -= n;
	if (file_write_all(l->fd, bytes.p, n) < 0 || !l->room) {
		close(l->fd);
		l->fd = -1;
	}
}

void test_log_text(const struct test_log *l, struct buf *ret)
{
	uint64_t dropped = command_output_dropped(&l->end);

	if (dropped)
		buf_printf(ret, "[%llu bytes before this are left out]\n",
			   (unsigned long long)dropped);
	command_output_text(&l->end, 0, ret);
}
