/* Cgroups: where they are, what serves for what, limits as the kernel's files have them, what was counted. The files of v1 and v2 are
 * ordinary ones; then the same in the hierarchies of the machine, where they are v1 and ours to write. */
#include "base/os/file.h"
#include "proc/cgroup/cgroup_place.h"
#include "proc/cgroup/proc_group.h"
#include "unit.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void put(const char *name, const char *text)
{
	_cleanup_(freep) char *path = file_join(scratch_dir(), name);

	*strrchr(path, '/') = '\0';
	assert_int_equal(file_mkdirs(path, 0755), 0);
	scratch_write(name, text, strlen(text));
}

static void assert_file(const char *name, const char *want)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(file_read(scratch_path(name), 4096, &b), 0);
	if (!slice_is(buf_slice(&b), want))
		fail_msg("%s: %.*s", name, (int)b.len, b.data);
}

/* --- places ------------------------------------------------------------------------------------------------- */

static const char hybrid_mounts[] =
	"31 23 0:28 / /cg rw shared:1 - tmpfs tmpfs rw\n"
	"32 31 0:29 / /cg/cpuacct rw shared:2 master:1 - cgroup cgroup rw,cpuacct\n"
	"33 31 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
	"34 31 0:31 /docker/x /cg/memory rw - cgroup cgroup rw,memory\n"
	"35 31 0:32 / /cg/both rw - cgroup none rw,pids,freezer\n"
	"36 31 0:33 / /cg/unified rw - cgroup2 none rw,nsdelegate\n";
static const char hybrid_own[] =
	"9:pids,freezer:/a/b\n8:cpuacct:/other\n7:cpu:/\n6:memory:/docker/x/in\n"
	"1:name=systemd:/sys:tem\n0::/u:nit\n";

static void test_places(void **state _unused_)
{
	struct cgroup_view view;
	static const struct {
		enum cgroup_kind kind;
		const char *controller, *want;
	} rows[] = {
		{ CGROUP_V1, "cpu", "/cg/cpu" },
		{ CGROUP_V1, "cpuacct", "/cg/cpuacct/other" },
		{ CGROUP_V1, "memory", "/cg/memory/in" },
		{ CGROUP_V1, "pids", "/cg/both/a/b" },
		{ CGROUP_V1, "freezer", "/cg/both/a/b" },
		{ CGROUP_V1, "blkio", NULL },
		{ CGROUP_V2, "memory", "/cg/unified/u:nit" },
	};

	put("proc/self/mountinfo", hybrid_mounts);
	put("proc/self/cgroup", hybrid_own);
	cgroup_view_read(scratch_dir(), &view);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = strlen(scratch_dir());
		_cleanup_(freep) char *got =
			cgroup_place_find(&view, rows[i].kind, rows[i].controller, NULL);

		if (!got != !rows[i].want || (got && strcmp(got + n, rows[i].want) != 0))
			fail_row(i, got ? got : "(none)");
	}
	cgroup_view_done(&view);
	put("proc/self/cgroup", "6:memory:/elsewhere\n");
	cgroup_view_read(scratch_dir(), &view);
	assert_null(cgroup_place_find(&view, CGROUP_V1, "memory", NULL));
	cgroup_view_done(&view);
	assert_int_equal(remove(scratch_path("proc/self/cgroup")), 0);
	cgroup_view_read(scratch_dir(), &view);
	assert_null(cgroup_place_find(&view, CGROUP_V1, "cpu", NULL));
	cgroup_view_done(&view);
}

/* --- ordinary files ------------------------------------------------------------------------------------------- */

static const struct group_limits limits = { .memory = 1 << 30, .pids = 77, .cpu_weight = 50 };

static void take_seat(struct cgroups *c, struct proc_group *g, const char *name, unsigned files,
		      struct cgroup_seat *s)
{
	struct cgroup_join join;

	assert_int_equal(cgroup_seat_take(c, g, name, s, &join), 0);
	assert_int_equal(join.n, files);
	for (unsigned i = 0; i < join.n; i++)
		assert_int_equal(write(join.fds[i], "0", 1), 1);
	cgroup_join_close(&join);
}

static void test_v2(void **state _unused_)
{
	struct group_limits none = { 0 };
	struct proc_group *g, *other;
	struct cgroup_seat s, s2;
	struct cgroups *c;

	put("proc/self/mountinfo", "36 31 0:33 / /cg rw - cgroup2 none rw\n");
	put("proc/self/cgroup", "0::/svc\n");
	put("cg/svc/cgroup.controllers", "cpu memory pids\n");
	put("cg/svc/cgroup.subtree_control", "cpu memory pids\n");
	put("cg/svc/acpd-abc/cgroup.subtree_control", "");
	for (size_t i = 0; i < 5; i++) {
		static const char *const names[] = { "memory.max", "memory.swap.max", "pids.max",
						     "cpu.weight", "cgroup.procs" };
		char name[64];

		snprintf(name, sizeof(name), "cg/svc/acpd-abc/s1.all/%s", names[i]);
		put(name, "before");
	}
	put("cg/svc/acpd-abc/cpu.weight", "before");
	put("cg/svc/acpd-abc/s1.all/memory.events", "low 0\noom 9\noom_kill 2\noom_group_kill 7\n");
	put("cg/svc/acpd-abc/s1.all/memory.peak", "4096\n");
	put("cg/svc/acpd-abc/s1.all/s1/cgroup.procs", "");
	c = cgroups_open(scratch_dir(), "abc");
	for (unsigned use = 0; use < CGROUP_USES; use++) {
		assert_int_equal(cgroups_kind(c, use), CGROUP_V2);
		assert_string_equal(cgroups_why(c, use), "");
	}
	assert_null(cgroups_tree(c, 1));
	assert_file("cg/svc/cgroup.subtree_control", "cpu memory pids\n"); /* what is on is left */
	assert_file("cg/svc/acpd-abc/cgroup.subtree_control", "+cpu");

	g = proc_group_new(c, "s1", &limits);
	take_seat(c, g, "s1", 1, &s);
	assert_file("cg/svc/acpd-abc/s1.all/memory.max", "1073741824");
	assert_file("cg/svc/acpd-abc/s1.all/memory.swap.max", "0");
	assert_file("cg/svc/acpd-abc/s1.all/pids.max", "77");
	assert_file("cg/svc/acpd-abc/s1.all/cpu.weight", "50");
	assert_file("cg/svc/acpd-abc/cpu.weight", "50");
	other = proc_group_new(c, "s2", &none);
	put("cg/svc/acpd-abc/s2.all/memory.max", "");
	put("cg/svc/acpd-abc/s2.all/pids.max", "");
	put("cg/svc/acpd-abc/s2.all/cpu.weight", "");
	put("cg/svc/acpd-abc/s2.all/s2/cgroup.procs", "");
	take_seat(c, other, "s2", 1, &s2);
	assert_file("cg/svc/acpd-abc/cpu.weight",
		    "150"); /* each session beside what is not the daemon's */
	cgroup_seat_leave(&s2);
	assert_file("cg/svc/acpd-abc/cpu.weight", "50");
	proc_group_unref(other);
	assert_file("cg/svc/acpd-abc/s1.all/s1/cgroup.procs", "0");
	assert_file("cg/svc/acpd-abc/s1.all/cgroup.procs",
		    "before"); /* a group of v2 has members or children */

	put("cg/svc/acpd-abc/s1.all/memory.events", "oom_kill 5\n");
	assert_int_equal(proc_group_kills(g), 3); /* two were counted before it was ours */
	put("cg/svc/acpd-abc/s1.all/memory.events", "oom_kill 6\n");
	assert_int_equal(proc_group_kills(g), 4);
	assert_int_equal(proc_group_peak(g), 4096);
	proc_group_limit(g, &none);
	assert_file("cg/svc/acpd-abc/s1.all/memory.max", "max");
	assert_file("cg/svc/acpd-abc/s1.all/memory.swap.max", "max");
	assert_file("cg/svc/acpd-abc/s1.all/pids.max", "max");
	assert_file("cg/svc/acpd-abc/s1.all/cpu.weight", "100");
	unlink(scratch_path("cg/svc/acpd-abc/s1.all/pids.max"));
	proc_group_limit(g, &limits);
	assert_string_equal(proc_group_why(g, CGROUP_PIDS), "No such file or directory");
	assert_string_equal(proc_group_why(g, CGROUP_MEMORY), "");
	assert_file("cg/svc/acpd-abc/cpu.weight", "50");
	cgroup_seat_leave(&s);
	assert_file("cg/svc/acpd-abc/cpu.weight", "100");
	assert_int_equal(proc_group_kills(g), 4); /* kept */
	assert_int_equal(proc_group_peak(g), 4096);
	assert_null(proc_group_unref(g));
	cgroups_close(c);
	put("cg/svc/cgroup.subtree_control", "");
	cgroups_close(cgroups_open(scratch_dir(), "abc"));
	assert_file("cg/svc/cgroup.subtree_control",
		    "+cpu"); /* the last; and nobody had to move, so it stays */
}

static void test_v2_without_controllers(void **state _unused_)
{
	struct cgroups *c;

	put("proc/self/mountinfo", "36 31 0:33 / /cg rw - cgroup2 none rw\n");
	put("proc/self/cgroup", "0::/\n");
	put("cg/cgroup.controllers", "hugetlb\n");
	c = cgroups_open(scratch_dir(), "abc");
	assert_int_equal(cgroups_kind(c, CGROUP_KILLING), CGROUP_V2);
	assert_int_equal(cgroups_kind(c, CGROUP_MEMORY), CGROUP_NONE);
	assert_string_equal(cgroups_why(c, CGROUP_MEMORY),
			    "our cgroup has no controller \"memory\"");
	cgroups_close(c);
}

static void test_none(void **state _unused_)
{
	struct group_limits some = limits;
	struct cgroup_join join;
	struct cgroup_seat s;
	struct proc_group *g;
	struct cgroups *c;

	put("proc/self/mountinfo", "31 23 0:28 / / rw - ext4 /dev/vda rw\n");
	put("proc/self/cgroup", "");
	c = cgroups_open(scratch_dir(), "abc");
	for (unsigned use = 0; use < CGROUP_USES; use++) {
		assert_int_equal(cgroups_kind(c, use), CGROUP_NONE);
		assert_true(*cgroups_why(c, use));
	}
	g = proc_group_new(c, "s1", &some);
	assert_int_equal(cgroup_seat_take(c, g, "s1", &s, &join), 0);
	assert_int_equal(join.n, 0);
	assert_null(s.dir);
	cgroup_seat_leave(&s);
	proc_group_unref(g);
	cgroups_close(c);
}

/* v2 is better at killing, v1 has the controllers; one hierarchy has two of them. */
static void test_hybrid(void **state _unused_)
{
	struct proc_group *g;
	struct cgroup_seat s;
	struct cgroups *c;

	put("proc/self/mountinfo", "33 31 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
				   "34 31 0:31 / /cg/two rw - cgroup cgroup rw,pids,memory\n"
				   "36 31 0:33 / /cg/unified rw - cgroup2 none rw\n");
	put("proc/self/cgroup", "7:cpu,cpuacct:/\n6:pids,memory:/in\n0::/\n");
	put("cg/unified/cgroup.controllers", "");
	put("cg/unified/acpd-abc/s1.all/s1/cgroup.procs", "");
	put("cg/unified/acpd-abc/fetch/cgroup.procs", "");
	put("cg/cpu/acpd-abc/s1.all/cgroup.procs", "");
	put("cg/cpu/acpd-abc/s1.all/cpu.shares", "");
	put("cg/two/in/acpd-abc/s1.all/cgroup.procs", "");
	put("cg/two/in/acpd-abc/s1.all/pids.max", "");
	put("cg/two/in/acpd-abc/s1.all/memory.limit_in_bytes", "");
	put("cg/two/in/acpd-abc/s1.all/memory.oom_control",
	    "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
	c = cgroups_open(scratch_dir(), "abc");
	assert_int_equal(cgroups_kind(c, CGROUP_KILLING), CGROUP_V2);
	for (unsigned use = 0; use < CGROUP_LIMITS; use++)
		assert_int_equal(cgroups_kind(c, use), CGROUP_V1);
	assert_string_equal(cgroups_path(c, CGROUP_MEMORY), cgroups_path(c, CGROUP_PIDS));
	assert_non_null(cgroups_tree(c, 2));
	assert_null(cgroups_tree(c, 3));
	g = proc_group_new(c, "s1", &limits);
	take_seat(c, g, "s1", 3, &s);
	assert_file("cg/cpu/acpd-abc/s1.all/cpu.shares", "512");
	assert_file("cg/two/in/acpd-abc/s1.all/memory.limit_in_bytes", "1073741824");
	assert_file("cg/two/in/acpd-abc/s1.all/pids.max", "77");
	assert_file("cg/two/in/acpd-abc/s1.all/cgroup.procs", "0");
	assert_string_equal(proc_group_why(g, CGROUP_MEMORY), ""); /* memsw need not be there */
	cgroup_seat_leave(&s);
	take_seat(c, NULL, "fetch", 1, &s);
	cgroup_seat_leave(&s);
	proc_group_unref(g);
	cgroups_close(c);
}

/* --- the machine's -------------------------------------------------------------------------------------------- */

/* As if there were no v2. */
static void hide_v2(void)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char *line, *save = NULL;
	_cleanup_(buf_done) struct buf kept = { 0 };

	assert_int_equal(symlink("/sys", scratch_path("sys")), 0);
	assert_int_equal(file_read("/proc/self/cgroup", 65536, &b), 0);
	assert_int_equal(buf_putc(&b, '\0'), 0);
	for (line = strtok_r(b.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strncmp(line, "0::", 3) != 0)
			buf_printf(&kept, "%s\n", line);
	buf_putc(&kept, '\0');
	put("proc/self/cgroup", kept.data);
	buf_reset(&b);
	assert_int_equal(file_read("/proc/self/mountinfo", 1 << 20, &b), 0);
	buf_putc(&b, '\0');
	put("proc/self/mountinfo", b.data);
}

/* In all groups of the seat when it returns, and `more` children of it; they sleep until they are killed. */
static pid_t start_member(const struct cgroup_join *join, unsigned more)
{
	int told[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(told), 0);
	pid = fork();
	if (pid == 0) {
		for (unsigned i = 0; i < join->n; i++)
			if (write(join->fds[i], "0", 1) != 1)
				_exit(1);
		for (unsigned i = 0; i < more; i++)
			if (fork() == 0)
				break;
		if (write(told[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(told[1]);
	for (unsigned i = 0; i < 1 + more; i++)
		assert_int_equal(read(told[0], &byte, 1), 1);
	close(told[0]);
	return pid;
}

static void wait_gone(struct cgroup_seat *s)
{
	for (int i = 0; i < 500 && !cgroup_dir_kill(s->dir); i++)
		usleep(10000);
	assert_true(cgroup_dir_kill(s->dir));
}

static void test_machine_v1(void **state _unused_)
{
	struct group_limits lower = { .memory = 16 << 20, .pids = 4, .cpu_weight = 200 };
	_cleanup_(freep) char *memory = NULL;
	struct cgroup_join join;
	struct cgroup_seat s;
	struct proc_group *g;
	struct cgroups *c;
	char name[40];
	pid_t pid;

	hide_v2();
	snprintf(name, sizeof(name), "unit%d", (int)getpid());
	c = cgroups_open(scratch_dir(), name);
	if (cgroups_kind(c, CGROUP_MEMORY) != CGROUP_V1 ||
	    cgroups_kind(c, CGROUP_PIDS) != CGROUP_V1) {
		cgroups_close(c);
		skip(); /* no root, or no v1 */
	}
	assert_int_equal(cgroups_kind(c, CGROUP_KILLING), CGROUP_V1);
	g = proc_group_new(c, "s1", &limits);
	assert_int_equal(cgroup_seat_take(c, g, "s1", &s, &join), 0);
	memory = file_join(cgroups_path(c, CGROUP_MEMORY), "s1.all");
	assert_int_equal(cgroup_dir_number(memory, "memory.limit_in_bytes", NULL), limits.memory);
	pid = start_member(&join, 10);
	cgroup_join_close(&join);
	assert_false(cgroup_dir_kill(s.dir)); /* the first round only finds them */
	proc_group_limit(g, &lower);	      /* live */
	assert_int_equal(cgroup_dir_number(memory, "memory.limit_in_bytes", NULL), lower.memory);
	assert_string_equal(proc_group_why(g, CGROUP_MEMORY), "");
	proc_group_limit(g, &limits); /* and back: memsw and memory in the other order */
	assert_int_equal(cgroup_dir_number(memory, "memory.limit_in_bytes", NULL), limits.memory);
	wait_gone(&s);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	cgroup_seat_leave(&s);
	assert_int_equal(access(memory, F_OK), -1);
	proc_group_unref(g);

	/* what a daemon that was killed leaves */
	g = proc_group_new(c, "s2", &limits);
	assert_int_equal(cgroup_seat_take(c, g, "s2", &s, &join), 0);
	pid = start_member(&join, 3);
	cgroup_join_close(&join);
	for (unsigned i = 0; cgroups_tree(c, i); i++) {
		_cleanup_(freep) char *tree = xstrdup(cgroups_tree(c, i));

		cgroup_dir_sweep(tree);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	cgroup_dir_sweep(cgroups_path(c, CGROUP_KILLING)); /* its zombie was in the way */
	for (unsigned i = 0; cgroups_tree(c, i); i++)
		if (access(cgroups_tree(c, i), F_OK) == 0)
			fail_msg("%s is still there", cgroups_tree(c, i));
	cgroup_seat_leave(&s);
	proc_group_unref(g);
	cgroups_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_places, scratch_setup, scratch_done),
		cmocka_unit_test_setup_teardown(test_v2, scratch_setup, scratch_done),
		cmocka_unit_test_setup_teardown(test_v2_without_controllers, scratch_setup,
						scratch_done),
		cmocka_unit_test_setup_teardown(test_none, scratch_setup, scratch_done),
		cmocka_unit_test_setup_teardown(test_hybrid, scratch_setup, scratch_done),
		cmocka_unit_test_setup_teardown(test_machine_v1, scratch_setup, scratch_done),
	};

	return RUN(tests, NULL, NULL);
}
