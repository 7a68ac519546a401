/*
 * A merge of every kind of step is killed before each call that changes something, fails at each, and its recovery is killed too:
 * afterwards the tree is the old or the new one. The calls are the C library's, by functions of the same name here.
 */
#include "commit_rig.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "tree/held_tree.h"
#include "unpack/commit/intent_log.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* --- the calls ----------------------------------------------------------------------------------------- */

static struct {
	unsigned kill_at, fail_at, fail_to; /* the n-th call; 0: none */
	int error;
	bool plain; /* a file system without flags of rename */
	unsigned calls;
} calls;

/* True: this call fails. */
static bool counted(void)
{
	unsigned n = ++calls.calls;

	if (n == calls.kill_at)
		raise(SIGKILL);
	if (!calls.fail_at || n < calls.fail_at || n > calls.fail_to)
		return false;
	errno = calls.error;
	return true;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	if (flags && calls.plain) {
		errno = EINVAL;
		return -1;
	}
	return counted() ? -1 : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return counted() ? -1 : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	return counted() ? -1 : (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int unlinkat(int dir, const char *name, int flags)
{
	return counted() ? -1 : (int)syscall(SYS_unlinkat, dir, name, flags);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
	return counted() ? -1 : (int)syscall(SYS_mkdirat, dir, name, mode);
}

int fchmod(int fd, mode_t mode)
{
	return counted() ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return counted() ? -1 : syscall(SYS_pwrite64, fd, p, n, at);
}

int fsync(int fd _unused_)
{
	return counted() ? -1 : 0; /* no power is lost here */
}

/* --- a merge of some sixty steps -------------------------------------------------------------------------- */

static char old_tree[4096], new_tree[4096];

static void make_trees(void)
{
	_cleanup_(buf_done) struct buf old = { 0 }, new = { 0 };

	for (unsigned i = 0; i < 10; i++) {
		buf_printf(&old, "same%u=s%u change%u=old%u gone%u=g%u d/ d/e/ d/e/gone%u=%u ", i,
			   i, i, i, i, i, i, i);
		buf_printf(&new, "same%u=s%u change%u=new%u d/added%u=x ", i, i, i, i, i);
	}
	buf_puts(&old, "m1/:700 m1/a=1 m2/:750 m2/a=1 l1->same1 l2->same2 f1=1 f2=1 ");
	buf_puts(&new, "m1/ m1/a=1 m2/:700 m2/a=2 l1->same2 f1->same1 f2/x/y=1 f2/z:755=2 ");
	buf_puts(&old, "t/ t/u/ t/u/a=1 t/b=1 lost/ lost/a=1");
	buf_puts(&new, "t=file n/o/:700 n/o/p=1 n/q->o lost/b=1 lost/c/d=1");
	snprintf(old_tree, sizeof(old_tree), "%.*s", (int)old.len, old.data);
	snprintf(new_tree, sizeof(new_tree), "%.*s", (int)new.len, new.data);
}

/* What ours, foreign and deleted files make of it. */
static void setup(struct rig *r)
{
	rig_open(r, old_tree, old_tree, new_tree, false);
	rig_build(r->target, "foreign=1 d/foreign=2 change3=edited gone4=edited");
	assert_int_equal(held_remove_at(r->target, "lost"), 0);
	calls.calls = 0;
}

static int run(struct rig *r)
{
	int code = commit_plan(&r->c, &r->out, &r->e);

	return code < 0 ? code : commit_apply(&r->c, &r->out, &r->e);
}

static char *before, *after;
static unsigned total;

static int learn(void **state)
{
	struct rig r;

	make_trees();
	assert_int_equal(scratch_setup_memory(state), 0);
	setup(&r);
	before = rig_dump(r.target);
	calls.calls = 0;
	assert_int_equal(run(&r), 0);
	total = calls.calls;
	after = rig_dump(r.target);
	assert_true(total > 60);
	assert_string_not_equal(before, after);
	rig_close(&r);
	return 0;
}

static int forget(void **state)
{
	free(before);
	free(after);
	return scratch_done(state);
}

static void check_tree(struct rig *r, bool committed, const char *what, unsigned n, unsigned m)
{
	char *now = rig_dump(r->target);

	if (strcmp(now, committed ? after : before) != 0)
		fail_msg("%s %u/%u: %s, but\n%s\nis not\n%s", what, n, m,
			 committed ? "committed" : "not committed", now,
			 committed ? after : before);
	free(now);
}

static bool recover(struct rig *r)
{
	bool committed;
	int code = commit_recover(r->target, r->stage, &committed, &r->e);

	if (code < 0)
		fail_msg("recovery: %s", r->e.msg);
	return committed;
}

/* Does it in a child that is killed at call n; true if it was. */
static bool killed(struct rig *r, unsigned n, void (*what)(struct rig *r))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		calls.calls = 0;
		calls.kill_at = n;
		what(r);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status);
}

static void commit_it(struct rig *r)
{
	if (run(r) < 0)
		_exit(1);
}

static void recover_it(struct rig *r)
{
	bool committed;

	if (commit_recover(r->target, r->stage, &committed, &r->e) < 0)
		_exit(1);
}

/* A commit that is planned, and the log of the plan as an exact one, begun. */
static void begin_exact(struct rig *r)
{
	char line[INTENT_LOG_LINE_MAX];
	struct intent_log_writer w;
	struct intent_log from, log;
	_cleanup_(closep) int fd = -1, to = -1;
	struct op op;

	setup(r);
	assert_int_equal(commit_plan(&r->c, &r->out, &r->e), 0);
	fd = openat(r->stage, "log", O_RDWR | O_CLOEXEC);
	assert_int_equal(intent_log_load(&from, fd), 0);
	assert_int_equal(unlinkat(r->stage, "log", 0), 0);
	to = openat(r->stage, "log", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_int_equal(intent_log_begin(&w, to, LOG_EXACT), 0);
	for (size_t i = 0; i < from.n; i++) {
		assert_int_equal(intent_log_step(&from, i, line, &op), 0);
		assert_int_equal(intent_log_add(&w, &op), 0);
	}
	assert_int_equal(intent_log_end(&w), 0);
	intent_log_writer_done(&w);
	assert_int_equal(intent_log_load(&log, to), 0);
	assert_int_equal(intent_log_set(&log, LOG_REDO), 0);
	intent_log_done(&log);
	intent_log_done(&from);
}

/* Once an exact log is begun nothing of what a kill leaves is taken for a change by others. */
static void test_kill_exact(void **state _unused_)
{
	bool died = true;

	for (unsigned n = 1; died; n += stride_san(3)) {
		struct rig r;

		begin_exact(&r);
		died = killed(&r, n, recover_it);
		assert_true(recover(&r));
		check_tree(&r, true, "exact, killed", n, 0);
		rig_close(&r);
	}
}

/* Others put something into the way of the last step: none of them is left, whichever the killed job had taken. */
static void test_kill_exact_undone(void **state _unused_)
{
	bool died = true;

	for (unsigned n = 1; died; n += stride_san(3)) {
		_cleanup_(freep) char *now = NULL;
		struct rig r;

		begin_exact(&r);
		rig_build(r.target, "d/added9=foreign");
		died = killed(&r, n, recover_it);
		assert_false(recover(&r));
		assert_int_equal(unlinkat(r.target, "d/added9", 0), 0);
		now = rig_dump(r.target);
		if (strcmp(now, before) != 0)
			fail_msg("killed at %u:\n%s\nis not\n%s", n, now, before);
		rig_close(&r);
	}
}

static void kill_everywhere(const char *what)
{
	bool died = true, once = false;

	for (unsigned n = 1; died; n += stride_san(3)) {
		struct rig r;
		bool committed;

		setup(&r);
		died = killed(&r, n, commit_it);
		committed = recover(&r);
		check_tree(&r, committed, what, n, 0);
		assert_true(died || committed);
		assert_int_equal(recover(&r), committed);
		check_tree(&r, committed, what, n, 1);
		once |= died && committed;
		rig_close(&r);
	}
	assert_true(once);
}

static void test_kill(void **state _unused_)
{
	kill_everywhere("killed");
	calls.plain = true;
	kill_everywhere("killed, no flags of rename");
	calls.plain = false;
}

/* The first kill early, in the middle, late; the second at every call of the recovery after it. */
static void test_kill_recovery(void **state _unused_)
{
	for (unsigned n = 7; n <= total; n += total / 4) {
		bool died = true;

		calls.plain = n % 2;
		for (unsigned m = 1; died; m += stride_san(3)) {
			struct rig r;
			bool committed;

			setup(&r);
			assert_true(killed(&r, n, commit_it));
			died = killed(&r, m, recover_it);
			committed = recover(&r);
			check_tree(&r, committed, "recovery killed", n, m);
			rig_close(&r);
		}
	}
	calls.plain = false;
}

static void fail_everywhere(int error)
{
	for (unsigned n = 1; n <= total; n += stride_san(3)) {
		struct rig r;
		int code;

		setup(&r);
		calls.fail_at = calls.fail_to = n;
		calls.error = error;
		code = run(&r);
		calls.fail_at = 0;
		if (code == -ENOTRECOVERABLE)
			fail_msg("failure at %u: not undone", n);
		check_tree(&r, code == 0, "failed", n, 0);
		if (code < 0 && code != -error)
			fail_msg("failure at %u: %d", n, code);
		if (code == -ENOSPC)
			assert_string_equal(r.e.reason, "NO_SPACE");
		rig_close(&r);
	}
}

static void test_failures(void **state _unused_)
{
	fail_everywhere(ENOSPC);
	fail_everywhere(EACCES);
	calls.plain = true;
	fail_everywhere(ENOSPC);
	calls.plain = false;
}

/* From the n-th call on everything fails, so that nothing can be undone; until somebody makes room. */
static void test_fails_on(void **state _unused_)
{
	bool kept = false;

	for (unsigned n = 1; n <= total; n += stride_san(3)) {
		struct rig r;
		int code;

		setup(&r);
		calls.fail_at = n;
		calls.fail_to = ~0u;
		calls.error = ENOSPC;
		code = run(&r);
		kept |= code == -ENOTRECOVERABLE;
		calls.fail_at = 0;
		if (code == -ENOTRECOVERABLE)
			check_tree(&r, recover(&r), "failing on", n, 0);
		else
			check_tree(&r, code == 0, "failing on", n, 0);
		rig_close(&r);
	}
	assert_true(kept);
}

/* Killed half-way; then there is no room for the rest: back to the old tree, also if that is killed in turn. */
static void test_recovery_fails(void **state _unused_)
{
	for (unsigned n = 10; n + 10 <= total; n += total / 4) {
		bool died = true;

		for (unsigned m = 1; died; m += 3 * stride_san(2)) {
			struct rig r;

			setup(&r);
			assert_true(killed(&r, n, commit_it));
			calls.fail_at = calls.fail_to = 4;
			calls.error = ENOSPC;
			died = killed(&r, m, recover_it);
			calls.fail_at = 0;
			check_tree(&r, recover(&r), "recovery failed", n, m);
			rig_close(&r);
		}
	}
}

static void test_truncated_log(void **state _unused_)
{
	_cleanup_(buf_done) struct buf log = { 0 };
	struct rig r;
	int fd;

	setup(&r);
	assert_int_equal(commit_plan(&r.c, &r.out, &r.e), 0);
	fd = openat(r.stage, "log", O_RDWR);
	assert_int_equal(file_read_fd(fd, MIB, &log), 0);
	/* as if it counted: nothing but its length says that it does not */
	assert_int_equal(pwrite(fd, "R", 1, (off_t)log.len - 2), 1);
	for (size_t n = log.len; n-- > 0;) {
		assert_int_equal(ftruncate(fd, (off_t)n), 0);
		assert_false(recover(&r));
	}
	check_tree(&r, false, "truncated", 0, 0);
	for (size_t i = 0; i < log.len; i += 3) {
		struct intent_log read;

		log.data[i] ^= 1;
		assert_int_equal(pwrite(fd, log.data, log.len, 0), log.len);
		assert_true(intent_log_load(&read, fd) == -EBADMSG || i == log.len - 2);
		intent_log_done(&read);
		log.data[i] ^= 1;
	}
	close(fd);
	rig_close(&r);
}

/* A log made by somebody who hopes that recovery does it for him, through links out of the target and of the stage. */
static void test_forged_log(void **state _unused_)
{
	static const char *const words[] = { "out/evil", "out/victim", "evil", "out" };
	static const char kinds[] = "axrdmc";
	struct rig r;
	struct stat sb;
	char *dump;
	int away, fd;

	rig_open(&r, "", "out->../away a=1", "evil=1", false);
	assert_int_equal(mkdir(scratch_path("away"), 0755), 0);
	away = open(scratch_path("away"), O_RDONLY | O_DIRECTORY);
	rig_build(away, "victim=1 empty/");
	assert_int_equal(symlinkat("../../../away", r.stage, "tree/out"), 0);
	assert_int_equal(mkdirat(r.stage, "old", 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(words) * 6; i++) {
		struct op op = { .kind = (enum op_kind)kinds[i % 6],
				 .path = slice_of(words[i / 6]) };
		struct intent_log_writer w;

		if (fstatat(away, "victim", &sb, 0) == 0)
			stamp_of(&sb, &op.was);
		op.will = op.was;
		fd = openat(r.stage, "log", O_RDWR | O_CREAT | O_TRUNC, 0600);
		assert_int_equal(intent_log_begin(&w, fd, LOG_MERGE), 0);
		assert_int_equal(intent_log_add(&w, &op), 0);
		assert_int_equal(intent_log_end(&w), 0);
		intent_log_writer_done(&w);
		for (size_t k = 0; k < 2; k++) {
			assert_int_equal(pwrite(fd, &"RU"[k], 1, lseek(fd, 0, SEEK_END) - 2), 1);
			recover(&r);
		}
		close(fd);
	}
	dump = rig_dump(away);
	assert_string_equal(dump, "empty/ victim=1");
	free(dump);
	close(away);
	rig_close(&r);
}

/* Somebody works in a new directory before a killed merge is undone: he keeps it. */
static void test_undo_spares_work(void **state _unused_)
{
	struct rig r;
	char *dump;
	int fd;

	rig_open(&r, "a=1", "a=1", "a=2 d/e/b=1 f/g=1", false);
	assert_int_equal(commit_plan(&r.c, &r.out, &r.e), 0);
	assert_int_equal(commit_apply(&r.c, &r.out, &r.e), 0);
	usleep(20000); /* a tick of the file system's clock */
	rig_build(r.target, "d/e/mine=1 a=mine");
	fd = openat(r.stage, "log", O_RDWR);
	assert_int_equal(pwrite(fd, "U", 1, lseek(fd, 0, SEEK_END) - 2), 1);
	close(fd);
	assert_false(recover(&r));
	dump = rig_dump(r.target);
	assert_string_equal(dump, "a=mine d/ d/e/ d/e/b=1 d/e/mine=1");
	free(dump);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill),	       cmocka_unit_test(test_kill_recovery),
		cmocka_unit_test(test_kill_exact),     cmocka_unit_test(test_kill_exact_undone),
		cmocka_unit_test(test_failures),       cmocka_unit_test(test_fails_on),
		cmocka_unit_test(test_recovery_fails), cmocka_unit_test(test_truncated_log),
		cmocka_unit_test(test_forged_log),     cmocka_unit_test(test_undo_spares_work),
	};

	return RUN(tests, learn, forget);
}
