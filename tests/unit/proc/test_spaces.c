/* The namespaces of a session as its processes see them. */
#include "inside_rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* --- what is seen --------------------------------------------------------------------------------------------------- */

/* Prints for each path whether it can be written. */
#define TRY "t() { (echo >> $1) 2>/dev/null && echo \"$1 yes\" || echo \"$1 no\"; }; cd ../; "

static void only_its_places_can_be_written(void **state _unused_)
{
	struct spaces *s;

	NEED_SPACES();
	s = inside_open("a");
	assert_string_equal(
		inside_tell(s, TRY "t ws/f; t state/homes/a/f; t tmp/f; t /dev/shm/f; t /dev/null"),
		"ws/f yes\nstate/homes/a/f yes\ntmp/f yes\n/dev/shm/f yes\n/dev/null yes\n");
	assert_string_equal(
		inside_tell(
			s, TRY
			"t /etc/f; t /usr/f; t /f; t f; t state/f; t state/homes/f; t run/f; t run/mcp/a/f; t /dev/f; t /home/f"),
		"/etc/f no\n/usr/f no\n/f no\nf no\nstate/f no\nstate/homes/f no\nrun/f no\nrun/mcp/a/f no\n/dev/f no\n/home/f no\n");
	assert_string_equal(
		inside_tell(
			s, TRY
			"t /proc/sys/kernel/hostname; t /proc/sysrq-trigger; t /sys/kernel/mm/ksm/run"),
		"/proc/sys/kernel/hostname no\n/proc/sysrq-trigger no\n/sys/kernel/mm/ksm/run no\n");
	inside_close(s);
}

static void others_and_the_machine_are_hidden(void **state _unused_)
{
	struct spaces *s;

	NEED_SPACES();
	inside_give("state/homes/b");
	inside_give("run/mcp/b");
	s = inside_open("a");
	assert_string_equal(
		inside_tell(
			s,
			"cd ..; echo *; ls -d state/homes/a state/homes/b run/mcp/a run/mcp/b 2>/dev/null"),
		"run state tmp ws\nrun/mcp/a\nstate/homes/a\n");
	assert_string_equal(inside_tell(s, "ls -A /home /root 2>&1 | tr '\\n' ' '; echo"),
			    "/home:  /root: \n");
	assert_string_equal(
		inside_tell(
			s,
			"cat /proc/keys /proc/timer_list /proc/kcore /proc/kallsyms 2>/dev/null | wc -c"),
		"0\n");
	assert_string_equal(
		inside_tell(
			s,
			"cd /dev; echo *; ls /dev/pts /dev/shm | tr '\\n' ' '; echo; (echo >/dev/full) 2>&1 | grep -c error"),
		"fd full null ptmx pts random shm stderr stdin stdout tty urandom zero\n"
		"/dev/pts: ptmx  /dev/shm: \n1\n");
	inside_close(s);
}

static void temporary_files_are_in_the_home(void **state _unused_)
{
	struct fsview *v;
	struct err e = { 0 };
	struct spaces *s;
	struct stat st;
	char want[256];

	NEED_SPACES();
	snprintf(want, sizeof(want), "%s /tmp/f /tmp/seen run state tmp ws state/homes/a\nno\n",
		 scratch_dir());
	v = inside_view("a");
	fsview_put(v, "/tmp", scratch_path("state/homes/a/system-tmp"), &e);
	fsview_put(v, "/var/tmp", scratch_path("state/homes/a/system-tmp"), &e);
	s = inside_try(v, &e);
	fsview_free(v);
	assert_non_null(s);
	assert_string_equal(inside_tell(s, "echo x > /tmp/seen; cat /var/tmp/seen"), "x\n");
	/* what lies below /tmp itself has its place there still, and nothing else */
	assert_string_equal(
		inside_tell(
			s,
			"cd ..; echo /tmp/* * $(ls -d state/homes/a); (echo >> run/x) 2>/dev/null || echo no"),
		want);
	assert_int_equal(stat(scratch_path("state/homes/a/system-tmp/seen"), &st), 0);
	assert_int_equal(stat("/tmp/seen", &st), -1);
	inside_close(s);
}

static void it_sees_its_own_processes_only(void **state _unused_)
{
	struct spaces *s;

	NEED_SPACES();
	s = inside_open("a");
	assert_string_equal(inside_tell(s, "echo /proc/[0-9]* $$; cat /proc/1/comm"),
			    "/proc/1 /proc/2 2\nacpd-init\n");
	assert_string_equal(
		inside_tell(
			s,
			"kill -9 1; kill -STOP 1; cat /proc/1/environ 2>/dev/null; grep -c [CS]apEff:.0*$ /proc/1/status"),
		"1\n");
	inside_close(s);
}

/* --- by hand, in there ------------------------------------------------------------------------------------------------ */

/* What fn returns, 0 to 200, in a process in there that has not become anybody else. */
static int inside(struct spaces *s, int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int in;

		if (netns_enter_users() < 0 || spaces_enter(s) < 0)
			_exit(255);
		pid = fork();
		if (pid == 0)
			_exit(fn());
		waitpid(pid, &in, 0);
		_exit(WIFEXITED(in) ? WEXITSTATUS(in) : 254);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static key_t segment;

static int finds_segment(void)
{
	return shmget(segment, 4096, 0) >= 0 ? 0 : errno;
}

static int opens_terminal(void)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY), n = -1;
	char path[32];

	if (fd < 0 || ioctl(fd, TIOCGPTN, &n) < 0)
		return errno;
	snprintf(path, sizeof(path), "/dev/pts/%d", n);
	return n == 0 && access(path, F_OK) == 0 ? 0 : 200;
}

/* Without no_new_privs: it is the mount that takes the bit's effect. */
static int runs_setuid_copy(void)
{
	if (geteuid() == 0 && setresuid(INSIDE_AGENT, INSIDE_AGENT, INSIDE_AGENT) < 0)
		return errno;
	execl(scratch_path("ws/id"), "id", "-u", NULL);
	return errno;
}

static int all_mounts_are_nosuid(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "r");
	char line[4096];
	int bad = 0, n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		n++;
		bad += !strstr(line, "nosuid");
	}
	/* those that are covered are seen too, from before: they are part of the whole that was changed */
	return n < 5 ? 200 : MIN(bad, 100);
}

static void ipc_and_terminals_are_its_own(void **state _unused_)
{
	struct spaces *s;
	int id;

	NEED_SPACES();
	s = inside_open("a");
	segment = (key_t)getpid();
	id = shmget(segment, 4096, IPC_CREAT | 0600);
	assert_true(id >= 0);
	assert_int_equal(finds_segment(), 0);
	assert_int_equal(inside(s, finds_segment), ENOENT);
	shmctl(id, IPC_RMID, NULL);
	assert_int_equal(inside(s, opens_terminal), 0);
	inside_close(s);
}

static void no_mount_lets_a_program_change_its_user(void **state _unused_)
{
	struct spaces *s;

	NEED_SPACES();
	s = inside_open("a");
	assert_int_equal(inside(s, all_mounts_are_nosuid), 0);
	if (geteuid() == 0) {
		char command[256];

		snprintf(command, sizeof(command), "cp /usr/bin/id %s && chmod 4755 %s",
			 scratch_path("ws/id"), scratch_path("ws/id"));
		assert_int_equal(system(command), 0);
		assert_int_equal(inside(s, runs_setuid_copy), 0); /* it prints */
		assert_string_equal(inside_tell(s, "../ws/id -u"), "61500\n");
	}
	inside_close(s);
}

/* --- a workspace with mounts and links ------------------------------------------------------------------------------ */

static void mounts_below_the_workspace_come_along(void **state _unused_)
{
	struct spaces *s;

	NEED_SPACES();
	if (geteuid() != 0)
		skip(); /* he cannot mount */
	inside_give("ws/rw");
	inside_give("ws/ro");
	assert_int_equal(mount("x", scratch_path("ws/rw"), "tmpfs", 0, "mode=777"), 0);
	assert_int_equal(mount("x", scratch_path("ws/ro"), "tmpfs", MS_RDONLY, "mode=777"), 0);
	s = inside_open("a");
	assert_string_equal(inside_tell(s, TRY "t ws/rw/f; t ws/ro/f"),
			    "ws/rw/f yes\nws/ro/f no\n");
	inside_close(s);
	assert_int_equal(umount(scratch_path("ws/rw")), 0);
	assert_int_equal(umount(scratch_path("ws/ro")), 0);
}

/* It was a directory when the view was made. */
static void a_link_is_not_followed(void **state _unused_)
{
	struct fsview *v;
	struct err e = { 0 };

	NEED_SPACES();
	v = inside_view("a");
	assert_int_equal(rename(scratch_path("ws"), scratch_path("ws.old")), 0);
	assert_int_equal(symlink("/etc", scratch_path("ws")), 0);
	assert_null(inside_try(v, &e));
	assert_string_equal(e.reason, "CONFINEMENT_UNSUPPORTED");
	assert_true(strstr(e.msg, "/ws cannot be mounted"));
	assert_int_equal(unlink(scratch_path("ws")), 0);
	assert_int_equal(rename(scratch_path("ws.old"), scratch_path("ws")), 0);
	fsview_free(v);
}

static void a_workspace_in_a_hidden_directory_is_reached(void **state _unused_)
{
	struct fsview *v;
	struct err e = { 0 };
	struct spaces *s;

	NEED_SPACES();
	inside_give("ws");
	v = fsview_new();
	fsview_add(v, FSVIEW_HIDDEN, scratch_dir(), &e);
	fsview_add(v, FSVIEW_WRITABLE, scratch_path("ws"), &e);
	s = inside_try(v, &e);
	assert_non_null(s);
	assert_string_equal(inside_tell(s, TRY "echo *; t ws/f; t f"), "ws\nws/f yes\nf no\n");
	inside_close(s);
	fsview_free(v);
}

static int run_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_its_places_can_be_written),
		cmocka_unit_test(others_and_the_machine_are_hidden),
		cmocka_unit_test(temporary_files_are_in_the_home),
		cmocka_unit_test(it_sees_its_own_processes_only),
		cmocka_unit_test(ipc_and_terminals_are_its_own),
		cmocka_unit_test(no_mount_lets_a_program_change_its_user),
		cmocka_unit_test(mounts_below_the_workspace_come_along),
		cmocka_unit_test(a_link_is_not_followed),
		cmocka_unit_test(a_workspace_in_a_hidden_directory_is_reached),
	};

	return RUN(tests, inside_begin, inside_end);
}

int main(void)
{
	return inside_run(run_group);
}
