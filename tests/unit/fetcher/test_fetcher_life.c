/* The life of acpd-fetch: it dies and comes again, what it may do no more, and where keys are. */
#include "fetcher_rig.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "base/os/locked.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define KEY "sk-0123456789-canary-abcdefghij"

static struct got g;
static struct fetch_key *key;

static int setup(void **state)
{
	g = (struct got){ 0 };
	return far_setup(state);
}

static int teardown(void **state)
{
	got_done(&g);
	key = fetch_key_free(key);
	return far_teardown(state);
}

static struct fetch_key *key_new(const char *name, const char *prefix, const char *value)
{
	struct locked_text *text = locked_text_new(slice_of(value));
	struct err e = { 0 };
	struct fetch_key *k = fetch_key_new(far_fetcher, name, prefix, text, &e);

	if (!k)
		fail_msg("%s", e.msg);
	locked_text_unref(text);
	return k;
}

static void key_refused(const char *name, const char *prefix, const char *value)
{
	struct locked_text *text = locked_text_new(slice_of(value));
	struct err e = { 0 };

	assert_null(fetch_key_new(far_fetcher, name, prefix, text, &e));
	locked_text_unref(text);
}

static void with_key(const char *url)
{
	got_open(&g, &(struct fetch_request){ .method = "POST",
					      .url = url,
					      .body = SLICE("{}"),
					      .key = key,
					      .named = true,
					      .idle_ms = 30000 });
	far_until(&g.ended);
}

static void expect_key(const char *header, const char *want)
{
	struct jval v = jobj_get(jobj_get(buf_slice(&g.body), "headers").raw, header);

	if (g.how != FETCH_COMPLETE || !jstr_is(v, want))
		fail_msg("%d %s: %.*s", g.how, g.why, (int)v.raw.n, v.raw.p);
	got_done(&g);
}

static bool file_has(const char *name, const char *text)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", far_helper(), name);
	assert_int_equal(file_read(path, 1 * MIB, &b), 0);
	return memmem(b.data, b.len, text, strlen(text));
}

static void test_keys(void **state _unused_)
{
	const char *echo = far_url("https", far_side.https, "/echo");

	key = key_new("Authorization", "Bearer ", KEY);
	with_key(echo);
	expect_key("authorization", "Bearer " KEY);
	assert_false(file_has("environ", "canary"));
	assert_false(file_has("cmdline", "canary"));
	key = fetch_key_free(key);
	key = key_new("x-api-key", "", KEY "2");
	with_key(echo);
	expect_key("x-api-key", KEY "2");
}

/* A page of memory has many keys, so the little that may be locked is enough. */
static void test_many_keys(void **state _unused_)
{
	struct fetch_key *keys[500];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		keys[i] = key_new("x-api-key", "", KEY);
	key = key_new("x-api-key", "", KEY "last");
	with_key(far_url("http", far_side.http, "/echo"));
	expect_key("x-api-key", KEY "last");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		fetch_key_free(keys[i]);
	key_refused("a b", "", "x");
	key_refused("a", "\n", "x");
	key_refused("a", "", "x\r\ny: z");
	key_refused("a", "", "");
}

/* Each open request ends, and the next finds a new process that has the key. */
static void test_killed(void **state _unused_)
{
	struct got other = { 0 };
	int first;

	key = key_new("authorization", "Bearer ", KEY);
	with_key(far_url("http", far_side.http, "/echo"));
	expect_key("authorization", "Bearer " KEY);
	first = far_helper();
	assert_true(first > 0);
	got_get(&g, far_url("http", far_side.http, "/stall"));
	got_get(&other, far_url("http", far_side.http, "/hang"));
	far_until(&g.headed);
	assert_int_equal(kill(first, SIGKILL), 0);
	far_until(&g.ended);
	far_until(&other.ended);
	assert_int_equal(g.how, FETCH_GONE);
	assert_int_equal(other.how, FETCH_GONE);
	got_done(&g);
	got_done(&other);
	with_key(far_url("http", far_side.http, "/echo"));
	assert_int_not_equal(far_helper(), first);
	expect_key("authorization", "Bearer " KEY);
}

/* One that dies again and again is not started in a loop. */
static void test_back_off(void **state _unused_)
{
	unsigned refused = 0;

	for (int i = 0; i < 200; i++) {
		got_get(&g, far_url("http", far_side.http, "/hang"));
		far_run(1);
		if (!g.ended && far_helper())
			kill(far_helper(), SIGKILL);
		far_until(&g.ended);
		refused += g.how == FETCH_UNAVAILABLE && strstr(g.why, "not started for");
		got_done(&g);
	}
	assert_in_range(refused, 100, 199);
}

static void script(const char *text)
{
	static char path[256];

	scratch_write("program", text, strlen(text));
	snprintf(path, sizeof(path), "%s", scratch_path("program"));
	chmod(path, 0755);
	far_again(&(struct fetcher_config){ .program = path });
	got_get(&g, far_url("http", far_side.http, "/echo"));
	far_until(&g.ended);
	assert_true(g.how == FETCH_GONE || g.how == FETCH_UNAVAILABLE);
	assert_true(g.why[0] && !g.headed);
	got_done(&g);
}

#define READY "\\0\\0\\0\\0\\0\\0\\0\\0\\007\\0\\0\\0"

/* What another program says on the socket does not harm us: it is ended. */
static void test_hostile(void **state _unused_)
{
	script("#!/bin/sh\nexit 3\n");
	script("#!/bin/sh\necho no >&2\nexit 3\n");
	script("#!/bin/sh\nhead -c 100000 /dev/zero >&3\nsleep 60\n");
	script("#!/bin/sh\nprintf '" READY READY "' >&3\nexec sleep 60\n");
	/* data of the first request before its head */
	script("#!/bin/sh\nprintf '" READY
	       "\\001\\0\\0\\0\\001\\0\\0\\0\\011\\0\\0\\0x' >&3\nexec sleep 60\n");
	/* complete without a head; a head that is no object */
	script("#!/bin/sh\nprintf '" READY
	       "\\001\\0\\0\\0\\001\\0\\0\\0\\012\\0\\0\\0\\0' >&3\nexec sleep 60\n");
	script("#!/bin/sh\nprintf '" READY
	       "\\004\\0\\0\\0\\001\\0\\0\\0\\010\\0\\0\\0\\310\\0[]' >&3\nexec sleep 60\n");
}

/* So many, and no more. */
static void test_most(void **state _unused_)
{
	static struct fetch *all[FETCHES_MAX];
	static const struct fetch_ops none;
	const struct fetch_request r = { .method = "GET",
					 .url = far_url("http", far_side.http, "/hang"),
					 .named = true,
					 .idle_ms = 30000 };
	struct err e;

	for (size_t i = 0; i < FETCHES_MAX; i++)
		assert_non_null(all[i] = fetch_open(far_fetcher, &r, &none, NULL, &e));
	assert_null(fetch_open(far_fetcher, &r, &none, NULL, &e));
	assert_string_equal(e.reason, "TOO_MANY_FETCHES");
	for (size_t i = 0; i < FETCHES_MAX; i++)
		fetch_close(all[i]);
	got_all(&g, far_url("http", far_side.http, "/echo"));
	assert_int_equal(g.how, FETCH_COMPLETE);
}

static struct fetch *with_body(size_t n, struct err *e)
{
	static const char bytes[FETCH_BODY_MAX];
	static const struct fetch_ops none;

	return fetch_open(far_fetcher,
			  &(struct fetch_request){ .method = "POST",
						   .url = "http://127.0.0.1:1/",
						   .body = { bytes, n },
						   .named = true,
						   .idle_ms = 30000 },
			  &none, NULL, e);
}

/* The bodies of all open requests have a limit. A closed request no longer counts. */
static void test_most_bodies(void **state _unused_)
{
	struct fetch *all[FETCH_BODIES_MAX / FETCH_BODY_MAX];
	struct err e;

	/* without a program, no body stays in memory */
	far_again(&(struct fetcher_config){ .program = "/nonexistent/acpd-fetch" });
	for (unsigned round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(all); i++)
			assert_non_null(all[i] = with_body(FETCH_BODY_MAX, &e));
		assert_null(with_body(1, &e));
		assert_string_equal(e.reason, "TOO_MANY_FETCHES");
		fetch_close(all[0]);
		assert_non_null(all[0] = with_body(FETCH_BODY_MAX, &e));
		for (size_t i = 0; i < ARRAY_SIZE(all); i++)
			fetch_close(all[i]);
	}
}

static void test_memory(void **state _unused_)
{
	static struct got streams[16];
	unsigned idle;

	got_all(&g, far_url("https", far_side.https, "/echo"));
	idle = far_memory();
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		got_get(&streams[i], far_url("https", far_side.https, "/drip?n=60&ms=10"));
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		far_until(&streams[i].headed);
	far_run(200);
	print_message("acpd-fetch: %u KiB of its own after a request, %u with 16 streams\n", idle,
		      far_memory());
	assert_in_range(far_memory(), 0, 5 * 1024);
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		far_until(&streams[i].ended);
		assert_int_equal(streams[i].how, FETCH_COMPLETE);
		got_done(&streams[i]);
	}
}

/* --- what it may do no more ----------------------------------------------------------------------------------- */

static void expect_probe(struct slice answer, const char *what, const char *want)
{
	struct jval v = jobj_get(answer, what);

	if (!jstr_is(v, want))
		fail_msg("%s: %.*s", what, (int)v.raw.n, v.raw.p);
}

static void test_confined(void **state _unused_)
{
	static const char *const denied[] = { "execve", "fork",	 "openWrite", "openCreate",
					      "unlink", "chmod", "listen",    "unixSocket",
					      "ptrace", "kill",	 "dumpable",  "setuid",
					      "core" };
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *program = NULL;
	char command[5000];
	FILE *f;

	program = realpath("/proc/self/exe", NULL);
	*strstr(program, "/tests/unit/") = '\0';
	snprintf(command, sizeof(command), "exec %s/acpd-fetch probe %d %d", program,
		 geteuid() ? (int)geteuid() : 65534, getegid() ? (int)getegid() : 65534);
	f = popen(command, "re");
	assert_non_null(f);
	assert_int_equal(file_read_fd(fileno(f), 1 * MIB, &b), 0);
	assert_int_equal(pclose(f), 0);
	for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
		expect_probe(buf_slice(&b), denied[i], "EPERM");
	expect_probe(buf_slice(&b), "tcpSocket", "done");
	expect_probe(buf_slice(&b), "resolver", "done");
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0)
		expect_probe(buf_slice(&b), "openEnviron", "EACCES");
	assert_int_not_equal(jobj_uint(buf_slice(&b), "uid"), 0);
}

static unsigned status_of(const char *name)
{
	char path[64], line[256];
	size_t length = strlen(name);
	unsigned n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", far_helper());
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			n = (unsigned)strtoul(line + length + 1, NULL, 16);
	fclose(f);
	return n;
}

/* The same of the process that serves. */
static void test_status(void **state _unused_)
{
	got_all(&g, far_url("http", far_side.http, "/echo"));
	assert_int_equal(status_of("Seccomp"), 2);
	assert_int_equal(status_of("NoNewPrivs"), 1);
	assert_int_equal(status_of("CapEff"), 0);
	assert_true(geteuid() != 0 || (status_of("Uid") != 0 && status_of("Gid") != 0));
}

/* Never root, never the agent's. */
static void test_user(void **state _unused_)
{
	struct err e;
	uid_t uid, nobody;
	gid_t gid;

	assert_int_equal(fetcher_user("nobody", NULL, &nobody, &gid, &e), 0);
	assert_int_equal(fetcher_user(NULL, "nobody", &uid, &gid, &e), 0);
	assert_true(uid != 0 && uid != nobody);
	assert_int_equal(fetcher_user("nobody", "nobody", &uid, &gid, &e), -EINVAL);
	assert_string_equal(e.field, "fetch-user");
	assert_int_equal(fetcher_user("root", NULL, &uid, &gid, &e), -EINVAL);
	assert_int_equal(fetcher_user("no-such-user", NULL, &uid, &gid, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_keys),     TEST(test_many_keys),	  TEST(test_killed),
		TEST(test_back_off), TEST(test_hostile),	  TEST(test_most),
		TEST(test_memory),   TEST(test_most_bodies),	  TEST(test_status),
		TEST(test_confined), cmocka_unit_test(test_user),
	};

	return RUN(tests, far_begin, far_end);
}
