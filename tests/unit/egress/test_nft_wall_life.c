/* What becomes of the wall: somebody removes it, the daemon dies or ends, and where there can be none. */
#include "wall_holds.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static const struct aim outside = { SOCK_STREAM, 0, FAR4, FAR_ECHO };

/* --- what becomes of it -------------------------------------------------------------------------------------- */

static void a_table_that_somebody_removed_is_made_anew(void **state _unused_)
{
	struct nft_hold *a, *b;

	if (!near_possible())
		skip();
	a = hold_take(AGENT, network_off);
	near_shell("nft flush ruleset");
	assert_int_equal(as_user(AGENT, 0, try_aim, &outside), 0);
	b = hold_take(OTHER, network_off);
	assert_int_equal(as_user(AGENT, 0, try_aim, &outside), ECONNREFUSED);
	assert_int_equal(as_user(OTHER, 0, try_aim, &outside), ECONNREFUSED);
	hold_drop(a);
	hold_drop(b);
}

static void wall_and_wait(int up)
{
	struct nft_hold *h;

	near_again(); /* the loop is shared over a fork */
	wall = nft_wall_new(near_loop, near_procs, scratch_dir());
	h = hold_take(AGENT, network_off);
	assert_int_equal(write(up, "u", 1), 1);
	while (h)
		pause();
}

static void the_table_of_a_killed_daemon_is_found_again(void **state _unused_)
{
	struct nft_wall *second;
	char byte, foreign[] = "nft add table inet acpd_00000000";
	int up[2];
	pid_t pid;

	if (!near_possible())
		skip();
	near_shell(foreign); /* of another daemon */
	assert_int_equal(pipe(up), 0);
	pid = fork();
	if (pid == 0)
		wall_and_wait(up[1]);
	assert_int_equal(read(up[0], &byte, 1), 1);
	kill(pid, SIGKILL);
	finish(pid);
	assert_int_equal(as_user(AGENT, 0, try_aim, &outside), ECONNREFUSED);
	second = nft_wall_new(near_loop, near_procs, scratch_dir());
	for (int i = 0; i < 100 && as_user(AGENT, 0, try_aim, &outside) != 0; i++)
		near_run(50); /* it is not in a hurry */
	assert_int_equal(as_user(AGENT, 0, try_aim, &outside), 0);
	nft_wall_free(second);
	assert_non_null(strstr(near_shell("nft list tables"), "acpd_00000000"));
	near_shell("nft delete table inet acpd_00000000");
	assert_null(strstr(near_shell("nft list tables"), "acpd_"));
	close(up[0]);
	close(up[1]);
}

static void the_end_removes_it_in_the_midst_of_a_change(void **state _unused_)
{
	struct egress_rules *r = rules_of_network(network_off);
	struct nft_hold *held, *changing;
	struct told told = { 0 };

	if (!near_possible())
		skip();
	held = hold_take(AGENT, network_off);
	changing = nft_hold_take(wall, OTHER, &(struct nft_rule){ .network = r }, on_told, &told,
				 NULL);
	near_run(1);
	nft_hold_drop(held);
	nft_hold_drop(changing);
	egress_rules_free(r);
	/* end() looks for what is left */
}

/* --- where it cannot be -------------------------------------------------------------------------------------- */

static const char *missing_now(void)
{
	static char said[256];
	struct nft_wall *w = nft_wall_new(near_loop, near_procs, "/nonexistent");
	const char *why = nft_wall_missing(w);

	snprintf(said, sizeof(said), "%s", why ? why : "");
	nft_wall_free(w);
	return said;
}

static int not_root(const void *arg _unused_)
{
	const char *why = missing_now();

	return strstr(why, "not root") ? 0 : 1;
}

static int without_net_admin(const void *arg _unused_)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	const char *why;

	syscall(SYS_capget, &head, caps);
	caps[0].effective &= ~(1u << CAP_NET_ADMIN);
	caps[0].permitted &= ~(1u << CAP_NET_ADMIN);
	syscall(SYS_capset, &head, caps);
	why = missing_now();
	return strstr(why, "CAP_NET_ADMIN") ? 0 : 1;
}

static void it_says_why_it_cannot_be(void **state _unused_)
{
	if (!near_possible())
		skip();
	assert_null(nft_wall_missing(wall));
	assert_null(strstr(near_shell("nft list tables"), "acpd_"));
	assert_int_equal(as_user(AGENT, 0, not_root, NULL), 0);
	assert_int_equal(as_user(0, 0, without_net_admin, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_table_that_somebody_removed_is_made_anew,
						wall_begin, wall_end),
		cmocka_unit_test_setup_teardown(the_table_of_a_killed_daemon_is_found_again,
						wall_begin, wall_end),
		cmocka_unit_test_setup_teardown(the_end_removes_it_in_the_midst_of_a_change,
						wall_begin, wall_end),
		cmocka_unit_test_setup_teardown(it_says_why_it_cannot_be, wall_begin, wall_end),
	};

	return RUN(tests, near_begin, near_end);
}
