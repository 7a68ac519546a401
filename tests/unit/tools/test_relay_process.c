/* An MCP server of one session as a child process: what it may do to the setup that it reads. */
#include "upstream_rig.h"

#include "tools/relay/relay_internal.h"

#include <signal.h>

static struct proc_host *procs;

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
	return 0;
}

static int teardown(void **state _unused_)
{
	uint64_t end = clock_mono_ms() + 8000;

	while (proc_host_count(procs) && clock_mono_ms() < end)
		ups_run(10);
	assert_int_equal(proc_host_count(procs), 0);
	procs = proc_host_free(procs);
	ups_loop = loop_free(ups_loop);
	return 0;
}

/* The first process tries to write another policy into its setup; the next one reads the daemon's. */
static void test_setup_stays(void **state _unused_)
{
	static const char script[] =
		"read l; id=${l#*'\"id\":'}; id=${id%%,*}; read d <&3; "
		"{ echo 777777 >/proc/self/fd/3; } 2>/dev/null; { echo 777777 >&3; } 2>/dev/null; "
		"echo '{\"id\":'$id',\"result\":{\"supportedVersions\":[\"2026-07-28\"]}}'; "
		"read l; id=${l#*'\"id\":'}; id=${id%%,*}; "
		"echo '{\"id\":'$id',\"result\":{\"d\":'$d'}}'; exit 0";
	char *argv[] = { "/bin/sh", "-c", (char *)(uintptr_t)script, NULL };
	char *env[] = { "PATH=/usr/bin:/bin", NULL };
	const struct mcp_stdio_config config = {
		.name = "unit", .session = "unit.1", .argv = argv, .env = env, .cwd = "/"
	};
	struct relay_server *p =
		relay_server_new(ups_loop, procs, &config, SLICE("424242\n"), NULL);

	for (int i = 0; i < 2; i++) {
		struct told a;

		told_call(&a, relay_server_backend(p), "tools/list", "{}");
		ups_until(&a.done);
		assert_buf(&a.text, "= {\"d\":424242}");
		buf_done(&a.text);
		while (proc_host_count(procs))
			ups_run(10);
	}
	relay_server_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_setup_stays, setup, teardown),
	};

	return RUN(tests, NULL, NULL);
}
