/* Commands and their output: how each kind of end is told, that nothing survives it, and how streams flow. */
#include "unit.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "loop/loop.h"
#include "tools/builtin/run/command_run.h"

#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>

static struct loop *l;
static struct command_run_host *host;

struct result {
	struct command_run *run;
	struct command_run_status st;
	bool done;
	struct buf seen[RUN_STREAMS];
};

static void on_output(void *ctx, enum command_run_stream s, struct slice bytes)
{
	struct result *r = ctx;

	buf_add_slice(&r->seen[s], bytes);
}

static void on_exit_(void *ctx, const struct command_run_status *st)
{
	struct result *r = ctx;

	assert_false(r->done);
	r->st = *st;
	r->done = true;
}

static const struct command_run_events events = { on_output, on_exit_ };

static void turn(void)
{
	struct pollfd p = { loop_fd(l), POLLIN, 0 };

	poll(&p, 1, 20);
	loop_dispatch(l);
}

static void await(struct result *r)
{
	uint64_t end = clock_mono_ms() + 60000;

	while (!r->done && clock_mono_ms() < end)
		turn();
	assert_true(r->done);
}

static char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "MARK=run-test", NULL };

static void start(struct result *r, struct command_run_spec spec)
{
	struct err e = { 0 };

	memset(r, 0, sizeof(*r));
	spec.env = spec.env ? spec.env : env;
	spec.cwd = spec.cwd ? spec.cwd : "/";
	spec.keep = spec.keep ? spec.keep : 1024 * 1024;
	r->run = command_run_start(host, &spec, &events, r, &e);
	if (!r->run)
		fail_msg("%s: %s", e.reason, e.msg);
}

static void shell(struct result *r, const char *text, struct command_run_spec spec)
{
	char *argv[] = { "/bin/sh", "-c", (char *)(uintptr_t)text, NULL };

	spec.argv = argv;
	start(r, spec);
}

static void done(struct result *r)
{
	r->run = command_run_free(r->run);
	for (int s = 0; s < RUN_STREAMS; s++)
		buf_done(&r->seen[s]);
}

static int setup(void **state _unused_)
{
	signal(SIGPIPE, SIG_IGN);
	l = loop_new();
	host = command_run_host_new(l);
	return 0;
}

static int teardown(void **state _unused_)
{
	host = command_run_host_free(host);
	l = loop_free(l);
	return 0;
}

/* --- ends -------------------------------------------------------------------------------------------- */

static void test_ends(void **state _unused_)
{
	static const struct {
		const char *text;
		bool exited;
		int code;
		const char *out, *err;
	} rows[] = {
		{ "exit 3", true, 3, "", "" },
		{ "echo out; echo err >&2", true, 0, "out\n", "err\n" },
		{ "kill -SEGV $$", false, SIGSEGV, "", "" },
		{ "cat", true, 0, "", "" }, /* stdin is at its end */
		{ "no-such-program-at-all 2>/dev/null", true, 127, "", "" },
		{ "printf 'no newline'", true, 0, "no newline", "" },
		{ "echo $MARK", true, 0, "run-test\n", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result r;

		shell(&r, rows[i].text, (struct command_run_spec){ 0 });
		await(&r);
		if (r.st.exited != rows[i].exited || r.st.code != rows[i].code || r.st.killed ||
		    r.st.timed_out || r.st.left)
			fail_row(i, rows[i].text);
		assert_buf(&r.seen[RUN_STDOUT], rows[i].out);
		assert_buf(&r.seen[RUN_STDERR], rows[i].err);
		done(&r);
	}
}

static void test_cannot_start(void **state _unused_)
{
	char *argv[] = { "/dev/null", NULL }, *ok[] = { "/bin/true", NULL };
	struct command_run_spec spec = { .argv = argv, .env = env, .cwd = "/" };
	struct err e = { 0 };

	assert_null(command_run_start(host, &spec, &events, NULL, &e));
	assert_string_equal(e.reason, "EXECUTION_FAILED");
	spec.argv = ok;
	spec.cwd = "/no/such/directory";
	assert_null(command_run_start(host, &spec, &events, NULL, &e));
	assert_string_equal(e.reason, "CWD_NOT_ACCESSIBLE");
}

static void test_which(void **state _unused_)
{
	struct err e = { 0 };
	char *none[] = { NULL };
	static const struct {
		const char *program, *cwd;
		bool found;
	} rows[] = {
		{ "sh", "/", true },
		{ "/bin/sh", "/", true },
		{ "./sh", "/bin", true },
		{ "bin/sh", "/", true },
		{ "no-such-thing", "/", false },
		{ "/no/such", "/", false },
		{ "bin", "/", false },
		{ "", "/", false },
		{ "/etc/passwd", "/", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(freep) char *a = command_run_which(rows[i].program, env, rows[i].cwd, &e);
		_cleanup_(freep) char *b =
			command_run_which(rows[i].program, none, rows[i].cwd, NULL);

		if (!!a != rows[i].found || !!b != rows[i].found || (a && a[0] != '/'))
			fail_row(i, rows[i].program);
		if (!a)
			assert_string_equal(e.reason, "COMMAND_NOT_FOUND");
	}
}

/* SIGTERM first: who obeys it may still say something. Who does not is killed. */
static void test_timeout(void **state _unused_)
{
	struct command_run_spec spec = { .timeout_ms = 1000 };
	struct result r;

	for (;; spec.timeout_ms *= 2) { /* a busy machine may not have begun it by then */
		shell(&r, "trap 'echo bye; exit 4' TERM; echo begun; sleep 300 & wait", spec);
		await(&r);
		if (r.seen[RUN_STDOUT].len || spec.timeout_ms > 10000)
			break;
		done(&r);
	}
	assert_true(r.st.timed_out && r.st.killed && r.st.exited);
	assert_int_equal(r.st.code, 4);
	assert_buf(&r.seen[RUN_STDOUT], "begun\nbye\n");
	assert_in_range(r.st.ms, spec.timeout_ms, 60000);
	done(&r);
	spec.timeout_ms = 1000;
	shell(&r, "trap '' TERM; while :; do sleep 30; done", spec);
	await(&r);
	assert_true(r.st.timed_out && r.st.killed && !r.st.exited);
	assert_int_equal(r.st.code, SIGKILL);
	assert_in_range(r.st.ms, 3000, 60000);
	done(&r);
}

/* --- what it leaves ---------------------------------------------------------------------------------- */

/* Processes with this text in their command line. */
static unsigned count(const char *text)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;

	while ((e = readdir(d))) {
		_cleanup_(buf_done) struct buf b = { 0 };
		char path[300];

		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		if (isdigit((unsigned char)e->d_name[0]) && file_read(path, 65536, &b) == 0 &&
		    memmem(b.data, b.len, text, strlen(text)))
			n++;
	}
	closedir(d);
	return n;
}

/* Children of ours, zombies or not. */
static unsigned children(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;

	while ((e = readdir(d))) {
		_cleanup_(buf_done) struct buf b = { 0 };
		char path[300], *after;
		int ppid;

		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		if (!isdigit((unsigned char)e->d_name[0]) || file_read(path, 4096, &b) < 0)
			continue;
		buf_putc(&b, '\0');
		after = strrchr(b.data, ')');
		if (after && sscanf(after + 1, " %*c %d", &ppid) == 1 && ppid == getpid())
			n++;
	}
	closedir(d);
	return n;
}

static char mark[24]; /* what sleepers of this run sleep; others may run on this machine */

/* Each way to get out of a tree: a session of its own, forked twice, no environment, all of it together. */
#define ESCAPES                                                                                    \
	"(setsid sleep %1$s &) ; setsid env -i sh -c 'sleep %1$s & sleep %1$s' >/dev/null 2>&1 & "

static void await_count(unsigned n)
{
	uint64_t end = clock_mono_ms() + 60000;

	while (count(mark) < n && clock_mono_ms() < end)
		turn();
	assert_in_range(count(mark), n, 9);
}

static void test_left_behind(void **state _unused_)
{
	char *text = NULL;
	struct result r;

	assert_true(asprintf(&text, ESCAPES "read -r go; exit 5", mark) > 0);
	shell(&r, text, (struct command_run_spec){ .input = true });
	await_count(4);
	command_run_close_input(r.run);
	await(&r);
	assert_true(r.st.exited && r.st.code == 5 && !r.st.killed);
	assert_in_range(r.st.left, 3, 5);
	assert_int_equal(count(mark), 0);
	assert_int_equal(children(), 0);
	done(&r);
	free(text);
}

static void test_kill_tree(void **state _unused_)
{
	char *text = NULL;
	struct result r;

	assert_true(asprintf(&text, ESCAPES "sh -c \"sh -c 'sleep %1$s; :'; :\"; :", mark) > 0);
	for (int way = 0; way < 3; way++) {
		shell(&r, text, (struct command_run_spec){ 0 });
		await_count(7);
		if (way == 2) { /* the host goes, and all with it */
			host = command_run_host_free(host);
			r.run = NULL;
			host = command_run_host_new(l);
		} else {
			if (way)
				command_run_stop(r.run, 2000);
			else
				command_run_kill(r.run);
			await(&r);
			assert_true(r.st.killed && !r.st.timed_out && !r.st.exited);
			assert_int_equal(r.st.code, way ? SIGTERM : SIGKILL);
		}
		assert_int_equal(count(mark), 0);
		assert_int_equal(children(), 0);
		done(&r);
	}
	free(text);
}

/* A command that kills the keeper above it is lost, and told as killed. */
static void test_keeper_killed(void **state _unused_)
{
	char *text = NULL;
	struct result r;

	assert_true(asprintf(&text, "sleep 0.2; kill -9 $PPID; sleep %s; :", mark) > 0);
	shell(&r, text, (struct command_run_spec){ 0 });
	await(&r);
	assert_true(!r.st.exited && r.st.code == SIGKILL);
	for (int i = 0; i < 1000 && count(mark); i++)
		usleep(10000);
	assert_int_equal(count(mark), 0);
	assert_int_equal(children(), 0);
	done(&r);
	free(text);
}

static void test_many(void **state _unused_)
{
	char *argv[] = { "/bin/true", NULL };
	unsigned n = getenv("ACPD_TEST_SLOW") ? 100 : 1000, fds;
	struct result r;

	fds = (unsigned)dup(0);
	close((int)fds);
	for (unsigned i = 0; i < n; i++) {
		start(&r, (struct command_run_spec){ .argv = argv });
		await(&r);
		assert_true(r.st.exited && r.st.code == 0);
		done(&r);
	}
	assert_int_equal(children(), 0);
	assert_int_equal(dup(0), fds);
	close((int)fds);
}

/* --- streams ----------------------------------------------------------------------------------------- */

static void test_input(void **state _unused_)
{
	_cleanup_(buf_done) struct buf big = { 0 };
	struct result r;

	for (int i = 0; i < 40000; i++)
		buf_printf(&big, "line %d\n", i);
	shell(&r, "cat; echo end", (struct command_run_spec){ .input = true });
	assert_int_equal(command_run_write(r.run, buf_slice(&big)), 0);
	while (buf_len(&r.seen[RUN_STDOUT]) < buf_len(&big))
		turn();
	assert_false(r.done);
	command_run_close_input(r.run);
	assert_int_equal(command_run_write(r.run, SLICE("x")), -EPIPE);
	await(&r);
	buf_puts(&big, "end\n");
	assert_true(slice_eq(buf_slice(&r.seen[RUN_STDOUT]), buf_slice(&big)));
	done(&r);
}

/* 100 MB: the newest are kept, the others counted, and a full pipe of a stream that nobody wants stops nothing. */
static void test_flood(void **state _unused_)
{
	static const struct command_run_events quiet = { NULL, on_exit_ };
	_cleanup_(buf_done) struct buf text = { 0 };
	char *argv[] = { "/bin/sh", "-c",
			 "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last", NULL };
	struct command_run_spec spec = { .argv = argv, .env = env, .cwd = "/", .keep = 1024 * 1024 };
	const struct command_output *o;
	struct result r = { 0 };

	r.run = command_run_start(host, &spec, &quiet, &r, NULL);
	await(&r);
	o = command_run_output(r.run, RUN_STDOUT);
	assert_int_equal(o->total, 100000006);
	assert_int_equal(o->len, 1024 * 1024);
	assert_int_equal(command_output_dropped(o), 100000006 - 1024 * 1024);
	command_output_text(o, 0, &text);
	assert_int_equal(text.len, 1024 * 1024);
	assert_memory_equal(text.data + text.len - 7, "x\nlast\n", 7);
	done(&r);
}

/* A piece comes when it is written, not when the command ends. */
static void test_soon(void **state _unused_)
{
	struct result r;

	shell(&r, "echo first; read -r go; echo second",
	      (struct command_run_spec){ .input = true });
	while (!buf_len(&r.seen[RUN_STDOUT]))
		turn();
	assert_false(r.done);
	command_run_close_input(r.run);
	await(&r);
	assert_buf(&r.seen[RUN_STDOUT], "first\nsecond\n");
	done(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),	      cmocka_unit_test(test_cannot_start),
		cmocka_unit_test(test_which),	      cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_left_behind),   cmocka_unit_test(test_kill_tree),
		cmocka_unit_test(test_keeper_killed), cmocka_unit_test(test_many),
		cmocka_unit_test(test_input),	      cmocka_unit_test(test_flood),
		cmocka_unit_test(test_soon),
	};

	snprintf(mark, sizeof(mark), "765%07d", (int)getpid());
	return RUN(tests, setup, teardown);
}
