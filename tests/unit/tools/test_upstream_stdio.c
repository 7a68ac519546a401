/* MCP servers that are real child processes, written in shell: their deaths, their noise, their silence. */
#include "upstream_rig.h"

#include "base/limits.h"
#include "base/log.h"
#include "tools/upstream/upstream_server.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

/* Reads a request; its answers, with its id. */
#define READ "read l; id=${l#*'\"id\":'}; id=${id%%,*}; "
#define ANSWER(result) "echo '{\"id\":'$id',\"result\":" result "}'; "
/* A modern server's answer to the handshake. */
#define HELLO                                                                                      \
	READ ANSWER(                                                                               \
		"{\"supportedVersions\":[\"2026-07-28\"],\"_meta\":"                               \
		"{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"sh\",\"version\":\"9\"}}}")

static struct proc_host *procs;
static struct upstream *s;
static struct told a;
static bool up, down, wanted_again;
static unsigned ups_count;
static struct err why;
static char name[64];

static void on_up(void *ctx _unused_, const struct mcp_server_info *info)
{
	up = true;
	ups_count++;
	snprintf(name, sizeof(name), "%s %s %s %d", info->name, info->version, info->revision,
		 info->is_legacy);
}

static void on_down(void *ctx _unused_, const struct err *e)
{
	assert_false(down);
	down = true;
	up = false;
	why = *e;
}

static bool on_wanted(void *ctx _unused_)
{
	return wanted_again;
}

static const struct mcp_server_events events = { .up = on_up,
						 .down = on_down,
						 .wanted = on_wanted };

static void on_signal(void *ctx _unused_, int signo _unused_)
{
	proc_host_reap(procs);
}

static int setup(void **state _unused_)
{
	sigset_t set;

	ups_loop = loop_new();
	signal(SIGPIPE, SIG_IGN); /* as the daemon does */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(ups_loop, &set, on_signal, NULL);
	procs = proc_host_new(ups_loop, NULL);
	up = down = wanted_again = false;
	ups_count = 0;
	return 0;
}

static int teardown(void **state _unused_)
{
	uint64_t end = clock_mono_ms() + 8000;

	s = mcp_server_free(s);
	while (proc_host_count(procs) && clock_mono_ms() < end)
		ups_run(10);
	assert_int_equal(proc_host_count(procs), 0);
	procs = proc_host_free(procs);
	ups_loop = loop_free(ups_loop);
	buf_done(&a.text);
	return 0;
}

static void make(const char *script, int data, unsigned start_ms)
{
	char *argv[] = { "/bin/sh", "-c", (char *)(uintptr_t)script, NULL };
	char *env[] = { "PATH=/usr/bin:/bin", "ACPD_SESSION=unit.1", NULL };
	const struct mcp_stdio_config config = { .name = "unit",
						 .argv = argv,
						 .env = env,
						 .cwd = "/",
						 .session = "unit.1",
						 .data = data,
						 .start_ms = start_ms };

	s = mcp_stdio_new(ups_loop, procs, &config, &events, NULL);
}

static void start(const char *script)
{
	struct err e;

	make(script, 0, 3000);
	assert_int_equal(mcp_server_start(s, &e), 0);
}

static void call(const char *method)
{
	told_call(&a, mcp_server_backend(s), method, "{}");
}

static bool says(const char *text)
{
	return a.text.data && memmem(a.text.data, a.text.len, text, strlen(text));
}

/* --- a life ----------------------------------------------------------------------------------------------- */

static void test_life(void **state _unused_)
{
	uint64_t began;

	start(HELLO READ ANSWER("{}") "cat >/dev/null");
	assert_true(mcp_server_pid(s) > 0);
	call("tools/list"); /* waits */
	ups_until(&a.done);
	assert_buf(&a.text, "= {}");
	assert_string_equal(name, "sh 9 2026-07-28 0");
	began = clock_mono_ms();
	mcp_server_stop(s);
	mcp_server_stop(s);
	ups_until(&down);
	assert_true(clock_mono_ms() - began < 1000); /* the end of stdin is enough */
	assert_int_equal(mcp_server_pid(s), 0);
	assert_string_equal(why.reason, "SERVER_GONE");
}

static void test_started_again(void **state _unused_)
{
	int fd = memfd_create("data", 0);
	struct err e;

	assert_int_equal(write(fd, "42\n", 3), 3);
	lseek(fd, 0, SEEK_END);
	make("read d <&3; " HELLO READ ANSWER("{\"d\":'$d'}") "read l", fd, 3000);
	close(fd);
	for (unsigned i = 1; i <= 2; i++) {
		down = false;
		assert_int_equal(mcp_server_start(s, &e), 0);
		assert_int_equal(mcp_server_start(s, &e), -EALREADY);
		ups_until(&up);
		assert_int_equal(ups_count, i);
		call("tools/list");
		if (i == 1) {
			ups_until(&a.done);
			assert_buf(&a.text, "= {\"d\":42}");
			buf_done(&a.text);
		} else {
			mcp_call_cancel(a.call);
		}
		mcp_server_stop(s);
		ups_until(&down);
	}
}

static void test_no_program(void **state _unused_)
{
	char *argv[] = { "/nonexistent", NULL }, *env[] = { NULL };
	const struct mcp_stdio_config config = {
		.name = "unit", .argv = argv, .env = env, .cwd = "/", .session = "unit.1"
	};
	struct err e;

	s = mcp_stdio_new(ups_loop, procs, &config, &events, NULL);
	wanted_again = true;
	call("tools/list");
	assert_true(mcp_server_start(s, &e) < 0);
	assert_string_equal(e.reason, "SERVER_SPAWN_FAILED");
	ups_run(20);
	assert_false(a.done || down); /* whoever wanted it says when to give up */
	mcp_server_stop(s);
	assert_true(a.done && says("SERVER_GONE"));
}

/* A request that is too large to wait for a server is answered once, also while the server is down. */
static void test_too_large_to_wait(void **state _unused_)
{
	_cleanup_(buf_done) struct buf p = { .max = MESSAGE_MAX + KIB };

	buf_puts(&p, "{\"a\":\"");
	while (buf_len(&p) <= MESSAGE_MAX)
		buf_puts(&p, "................................................................");
	buf_puts(&p, "\"}");
	buf_putc(&p, '\0');
	make("cat >/dev/null", 0, 3000);
	told_call(&a, mcp_server_backend(s), "tools/call", p.data);
	ups_until(&a.done);
	assert_true(says("MESSAGE_TOO_LARGE"));
	assert_false(says("SERVER_GONE"));
}

/* --- deaths ----------------------------------------------------------------------------------------------- */

static void test_killed_in_a_call(void **state _unused_)
{
	start(HELLO
	      "read l; echo 'last words' >&2; echo '{\"method\":\"notifications/tools/list_changed\"}';"
	      " kill -9 $$");
	call("tools/call");
	ups_until(&a.done);
	assert_true(says("! {\"code\":-32603") && says("SERVER_GONE"));
	ups_until(&down);
	assert_non_null(strstr(why.msg, "killed by signal 9: last words"));
	buf_done(&a.text);
	call("tools/call"); /* and it is not started by itself */
	ups_until(&a.done);
	assert_true(says("SERVER_GONE"));
}

/* A server that takes any first message but initialize for a reason to exit. */
static void test_exits_at_discover(void **state _unused_)
{
	start("read l; case \"$l\" in *'\"initialize\"'*) ;; *) exit 3;; esac;"
	      "id=${l#*'\"id\":'}; id=${id%%,*}; echo '{\"id\":'$id',\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	      "\"serverInfo\":{\"name\":\"old\",\"version\":\"1\"}}}'; cat >/dev/null");
	ups_until(&up);
	assert_string_equal(name, "old 1 2025-06-18 1");
	assert_false(down);
}

static void test_exits_always(void **state _unused_)
{
	start("echo 'no license' >&2; exit 4");
	call("tools/list");
	ups_until(&down);
	assert_true(a.done && says("SERVER_GONE"));
	assert_non_null(strstr(why.msg, "exited with 4: no license"));
}

static void test_closes_stdout(void **state _unused_)
{
	start(HELLO "exec >&-; cat >/dev/null; exit 5");
	call("tools/list");
	ups_until(&down);
	assert_true(a.done && says("SERVER_GONE"));
	assert_non_null(strstr(why.msg, "exited with 5"));
}

static void test_freed_alive(void **state _unused_)
{
	start(HELLO "trap '' TERM; cat >/dev/null; sleep 60");
	ups_until(&up);
	s = mcp_server_free(s);
	assert_int_equal(proc_host_count(procs), 1);
	ups_run(50);
	assert_false(down); /* teardown waits for the end of the ladder */
}

static void test_kill(void **state _unused_)
{
	start(HELLO "trap '' TERM; cat >/dev/null; sleep 60");
	ups_until(&up);
	mcp_server_kill(s);
	ups_until(&down);
}

/* --- noise and silence ------------------------------------------------------------------------------------ */

static void test_garbage_is_skipped(void **state _unused_)
{
	log_set_level(LOG_ERROR);
	start("echo Starting...; echo; echo '{\"level\":\"info\"}'; printf '\\377\\n'; echo '[1';" HELLO
	      "i=0; while [ $i -lt 900 ]; do echo noise; i=$((i+1)); done;"
	      "echo '{\"method\":\"x\"}';"
	      "i=0; while [ $i -lt 900 ]; do echo noise; i=$((i+1)); done;" READ ANSWER(
		      "{}") "cat >/dev/null");
	call("tools/list");
	ups_until(&a.done);
	assert_buf(&a.text, "= {}");
}

static void test_garbage_has_an_end(void **state _unused_)
{
	log_set_level(LOG_ERROR);
	start(HELLO "while echo noise; do :; done 2>/dev/null");
	call("tools/list");
	ups_until(&down);
	assert_true(a.done && says("SERVER_PROTOCOL"));
	assert_string_equal(why.reason, "SERVER_PROTOCOL");
}

static void test_never_answers(void **state _unused_)
{
	struct err e;

	make("cat >/dev/null", 0, 100);
	assert_int_equal(mcp_server_start(s, &e), 0);
	call("tools/list");
	ups_until(&down);
	assert_true(a.done && says("START_TIMEOUT"));
	assert_string_equal(why.reason, "START_TIMEOUT");
}

static void test_flood(void **state _unused_)
{
	start(HELLO
	      "read l; i=0; while [ $i -lt 20000 ]; do"
	      " echo '{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":1}}';"
	      " i=$((i+1)); done; echo '{\"id\":2,\"result\":{}}'; cat >/dev/null");
	told_call(&a, mcp_server_backend(s), "tools/call", "{\"_meta\":{\"progressToken\":\"t\"}}");
	ups_until(&a.done);
	assert_int_equal(a.text.len,
			 20000 * strlen("~ notifications/progress {\"progressToken\":\"t\","
					"\"progress\":1}\n") +
				 strlen("= {}"));
}

/* A server that does not read: a call that finds no room any more ends, those before wait. */
static void test_does_not_read(void **state _unused_)
{
	_cleanup_(buf_done) struct buf p = { 0 };
	struct told last, first;

	start(HELLO "sleep 60");
	ups_until(&up);
	buf_puts(&p, "{\"a\":\"");
	while (buf_len(&p) < 30 * MIB)
		buf_puts(&p, "................................................................");
	buf_puts(&p, "\"}");
	buf_putc(&p, '\0');
	told_call(&first, mcp_server_backend(s), "tools/call", p.data);
	told_call(&a, mcp_server_backend(s), "tools/call", p.data);
	told_call(&last, mcp_server_backend(s), "tools/call", p.data);
	ups_until(&last.done);
	assert_non_null(memmem(last.text.data, last.text.len, "SERVER_STALLED", 14));
	assert_false(first.done || a.done);
	mcp_call_cancel(first.call);
	mcp_call_cancel(a.call);
	mcp_server_kill(s);
	buf_done(&last.text);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_life),
		CASE(test_started_again),
		CASE(test_no_program),
		CASE(test_too_large_to_wait),
		CASE(test_killed_in_a_call),
		CASE(test_exits_at_discover),
		CASE(test_exits_always),
		CASE(test_closes_stdout),
		CASE(test_freed_alive),
		CASE(test_kill),
		CASE(test_garbage_is_skipped),
		CASE(test_garbage_has_an_end),
		CASE(test_never_answers),
		CASE(test_flood),
		CASE(test_does_not_read),
	};

	return RUN(tests, NULL, NULL);
}
