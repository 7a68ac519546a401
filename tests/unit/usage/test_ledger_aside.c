/* Ledgers that are not as they were written: what becomes of them, and who is told. */
#include "ledger_rig.h"

#include "base/os/file.h"

#include <sys/stat.h>

#define HEAD_1 "{\"v\":1,\"n\":1,\"incarnation\":\"aa\",\"prevDigest\":null"

static void count_problem(void *ctx, const char *text)
{
	assert_true(*text);
	++*(int *)ctx;
}

/* All files of the folder that begin with the ledger's name, but the ledger. */
static size_t aside_bytes(void)
{
	DIR *d = opendir(scratch_dir());
	struct dirent *e;
	struct stat sb;
	size_t n = 0;

	while ((e = readdir(d)))
		if (strncmp(e->d_name, LEDGER ".", strlen(LEDGER) + 1) == 0 &&
		    stat(scratch_path(e->d_name), &sb) == 0) {
			n += (size_t)sb.st_size;
			unlink(scratch_path(e->d_name));
		}
	closedir(d);
	return n;
}

/* What is no record does not stop anybody: it is kept beside the ledger, said, and the ledger goes on. */
static void test_set_aside(void **state _unused_)
{
	static const struct {
		const char *file;
		size_t whole; /* bytes that stay */
		unsigned last;
	} rows[] = {
		{ "hello\n", 0, 0 },
		{ "hello", 0, 0 },
		{ "\n", 0, 0 },
		{ "{}\n", 0, 0 },
		{ HEAD_1 "}\r\n", 0, 0 },
		{ "{\"n\":1,\"v\":1,\"incarnation\":\"aa\",\"prevDigest\":null}\n", 0, 0 },
		{ HEAD_1 "}\n{}\n", sizeof(HEAD_1) + 1, 1 },
		{ HEAD_1 "}\ngarbage\n", sizeof(HEAD_1) + 1, 1 },
		{ HEAD_1 "}\ngarbage\n{}\ntorn", sizeof(HEAD_1) + 1, 1 },
		/* the number of a record that is damaged is not given again */
		{ HEAD_1 "}\n{\"v\":1,\"n\":2,\"incarnation\":\"aa\",\"prevDigest\":null,}\n",
		  sizeof(HEAD_1) + 1, 2 },
	};

	aside_bytes();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		int problems = 0;

		l = ledger_free(l);
		scratch_write(LEDGER, rows[i].file, strlen(rows[i].file));
		open_at(scratch_path(LEDGER), "bb");
		ledger_on_problem(l, count_problem, &problems);
		if (problems != 1 || ledger_last(l) != rows[i].last ||
		    aside_bytes() != strlen(rows[i].file) - rows[i].whole)
			fail_msg("row %zu: %s", i, rows[i].file);
		append_turn();
		assert_int_equal(file_read(scratch_path(LEDGER), 1000000, &b), 0);
		assert_memory_equal(b.data, rows[i].file, rows[i].whole);
	}
}

/* A changed line in the middle is found in the background. */
static void test_look(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	int problems = 0;

	open_at(scratch_path(LEDGER), "aa");
	append_turn();
	append_turn();
	append_turn();
	assert_int_equal(file_read(scratch_path(LEDGER), 1000000, &b), 0);
	l = ledger_free(l);
	memcpy(memmem(b.data, b.len, "turn", 4), "TURN", 4);
	scratch_write(LEDGER, b.data, b.len);
	open_at(scratch_path(LEDGER), "bb");
	ledger_on_problem(l, count_problem, &problems);
	assert_int_equal(problems, 0);
	run_until(&problems, 1);
	append_turn();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_set_aside, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_look, rig_setup, rig_teardown),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
