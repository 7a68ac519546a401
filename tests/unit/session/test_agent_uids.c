/* Who has which uid: the book on disk, what is taken next, sharing, trees that are handed on, and the range itself. */
#include "unit.h"

#include "base/limits.h"
#include "session/parts/users/agent_uids.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct uid_range range = { 5000, 5002 };

static struct agent_uids *book(void)
{
	struct err e = { 0 };
	struct agent_uids *u = agent_uids_open(scratch_dir(), &range, &e);

	assert_non_null(u);
	return u;
}

static uid_t take(struct agent_uids *u, const char *holder, const char *tree)
{
	struct err e = { 0 };
	uid_t uid = 0;

	assert_int_equal(agent_uids_take(u, holder, tree, &uid, &e), 0);
	return uid;
}

static void test_take(void **state _unused_)
{
	struct agent_uids *u = book();
	struct err e = { 0 };
	uid_t uid;

	assert_int_equal(take(u, "a", NULL), 5000);
	assert_int_equal(take(u, "b", NULL), 5001);
	assert_int_equal(take(u, "c", NULL), 5002);
	assert_int_equal(agent_uids_free(u), 0);
	assert_true(agent_uids_take(u, "d", NULL, &uid, &e) < 0);
	assert_string_equal(e.reason, "AGENT_UIDS_EXHAUSTED");
	assert_false(agent_uids_of(u, "d", &uid));
	/* the one that has been free for longest comes first */
	agent_uids_drop(u, "b");
	agent_uids_drop(u, "a");
	agent_uids_drop(u, "a");
	assert_int_equal(agent_uids_free(u), 2);
	assert_int_equal(take(u, "d", NULL), 5001);
	assert_int_equal(take(u, "e", NULL), 5000);
	for (const char *const *h = (const char *const[]){ "c", "d", "e", NULL }; *h; h++)
		agent_uids_drop(u, *h);
	agent_uids_close(u);
}

/* What is held is held over restarts, also outside of the range. */
static void test_restart(void **state _unused_)
{
	struct agent_uids *u = book();
	struct err e = { 0 };
	uid_t uid;

	take(u, "a", "/x/tree");
	assert_int_equal(agent_uids_hold(u, 5000, "b", "/y", &e), 0);
	assert_int_equal(agent_uids_hold(u, 5000, "b", "/other", &e), 0); /* it has it already */
	assert_int_equal(agent_uids_hold(u, 77, "old", NULL, &e), 0);
	agent_uids_close(u);
	scratch_write("uids/nonsense", "x", 1);
	scratch_write("uids/0.root", "x", 1);
	scratch_write("uids/99999999999.big", "x", 1);
	u = book();
	assert_int_equal(agent_uids_holders(u, 5000), 2);
	assert_true(agent_uids_of(u, "b", &uid) && uid == 5000);
	assert_true(agent_uids_of(u, "old", &uid) && uid == 77);
	assert_false(agent_uids_of(u, "root", &uid) || agent_uids_of(u, "big", &uid));
	assert_int_equal(agent_uids_free(u), 2);
	assert_int_equal(take(u, "c", NULL), 5001);
	for (const char *const *n = (const char *const[]){ "uids/nonsense", "uids/0.root",
							   "uids/99999999999.big", NULL };
	     *n; n++)
		assert_int_equal(unlink(scratch_path(*n)), 0);
	agent_uids_drop(u, "a");
	assert_int_equal(agent_uids_holders(u, 5000), 1);
	agent_uids_drop(u, "b");
	agent_uids_drop(u, "c");
	agent_uids_drop(u, "old");
	assert_int_equal(agent_uids_free(u), 3);
	agent_uids_close(u);
	u = book();
	assert_int_equal(agent_uids_free(u), 3);
	agent_uids_close(u);
}

static void assert_trees(const struct agent_uids *u, uid_t uid, const char *want)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	agent_uids_trees(u, uid, &b);
	buf_putc(&b, '\0');
	assert_string_equal(b.data, want);
}

/* Who leaves first leaves his trees to the one who stays. */
static void test_trees(void **state _unused_)
{
	struct agent_uids *u = book();
	struct err e = { 0 };

	take(u, "a", "/x/tree");
	assert_int_equal(agent_uids_hold(u, 5000, "b", "/y\nz", &e), 0); /* no line */
	assert_int_equal(agent_uids_hold(u, 5000, "c", "/z", &e), 0);
	assert_trees(u, 5000, "/x/tree\n/z\n");
	assert_trees(u, 5001, "");
	agent_uids_drop(u, "a");
	agent_uids_close(u);
	u = book();
	agent_uids_drop(u, "c");
	assert_trees(u, 5000, "/x/tree\n/z\n");
	agent_uids_drop(u, "b");
	assert_trees(u, 5000, "");
	agent_uids_close(u);
}

/* Nothing is held that could not be written down. */
static void test_not_written(void **state _unused_)
{
	struct agent_uids *u = book();
	struct err e = { 0 };
	uid_t uid;

	assert_int_equal(rmdir(scratch_path("uids")), 0);
	assert_true(agent_uids_take(u, "a", NULL, &uid, &e) < 0);
	assert_string_equal(e.reason, "STATE_NOT_WRITABLE");
	assert_int_equal(agent_uids_free(u), 3);
	assert_false(agent_uids_of(u, "a", &uid));
	agent_uids_close(u);
}

static void test_range(void **state _unused_)
{
	static const struct {
		const char *text;
		uid_t first, last;
	} good[] = { { "1-1", 1, 1 },
		     { "61001-61064", 61001, 61064 },
		     { "2147483647-2147483647", 2147483647, 2147483647 },
		     { "", 0, 0 } };
	static const char *const bad[] = { "1",	    "-",      "1-",	      "-1",
					   "0-1",   "2-1",    "1-2-",	      " 1-2",
					   "1 -2",  "+1-2",   "1-2147483648", "1-99999999999",
					   "0x1-2", "1-5000", "a-b" };
	struct uid_range r;
	struct err e = { 0 };
	char name[UID_RANGE_NAME];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(uid_range_parse(good[i].text, &r, &e), 0);
		assert_true(r.first == good[i].first && r.last == good[i].last);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (uid_range_parse(bad[i], &r, &e) == 0)
			fail_msg("'%s' is taken", bad[i]);
		assert_string_equal(e.reason, "OPTION_INVALID");
	}
	assert_int_equal(uid_range_parse(NULL, &r, &e), 0);
	assert_int_equal(uid_range_size(&r), 0);
	assert_false(uid_range_has(&r, 0));
	assert_int_equal(uid_range_size(&range), 3);
	assert_true(uid_range_has(&range, 5000) && uid_range_has(&range, 5002));
	assert_false(uid_range_has(&range, 4999) || uid_range_has(&range, 5003));
	assert_string_equal(uid_range_name(4294967295, name), "agent-4294967295");
}

/* Returns 0 if the range is refused for 'stranger', in a mount namespace where scratch file 'accounts' is this file;
 * 2: no such namespace is possible. */
static int look_with(const char *file)
{
	struct err e = { 0 };
	unsigned bare;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(scratch_path("accounts"), file, "none", MS_BIND, NULL) < 0)
		return 2;
	return uid_range_look(&range, &bare, &e) == -EEXIST && strstr(e.msg, "'stranger'") ? 0 : 1;
}

static void check_behind_long_entry(const char *file, const char *big, const char *stranger)
{
	struct buf b = { 0 };
	pid_t pid;
	int status;

	buf_puts(&b, big);
	while (b.len < 3 * ACCOUNT_BYTES)
		buf_puts(&b, "somebody,");
	buf_puts(&b, stranger);
	scratch_write("accounts", b.data, b.len);
	buf_done(&b);
	pid = fork();
	if (pid == 0)
		_exit(look_with(file));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_conflict_behind_a_long_entry(void **state _unused_)
{
	check_behind_long_entry("/etc/group", "big:x:100:", "\nstranger:x:5001:\n");
	check_behind_long_entry("/etc/passwd",
				"big:x:100:100:", ":/:/bin/sh\nstranger:x:5001:100::/:/bin/sh\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_not_written),
		cmocka_unit_test(test_conflict_behind_a_long_entry),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
