/* The wall in the kernel: what a walled user reaches and what not, from the loopback to the far side of a cable, where what comes is
 * counted; who shares a rule; how it changes under load. */
#include "wall_holds.h"

#include <signal.h>
#include <sys/socket.h>

#define MPTCP 262
#define WAY "127.9.9.9"
#define ALIVE 200

/* --- rows ---------------------------------------------------------------------------------------------------- */

#define TCP SOCK_STREAM, 0
#define UDP SOCK_DGRAM, 0

/* Where to, and what comes of it without and with a wall. */
static const struct {
	struct aim aim;
	int open, walled;
	unsigned flags;
} rows[] = {
	{ { TCP, FAR4, FAR_ECHO }, 0, ECONNREFUSED, 0 },
	{ { TCP, FAR6, FAR_ECHO }, 0, ECONNREFUSED, 0 },
	{ { TCP, "::ffff:" FAR4, FAR_ECHO }, 0, ECONNREFUSED, 0 },
	{ { TCP, FAR4, 443 }, 0, ECONNREFUSED, 0 },
	{ { SOCK_STREAM, MPTCP, FAR4, FAR_ECHO }, 0, ECONNREFUSED, 0 },
	{ { SOCK_STREAM, MPTCP, FAR6, FAR_ECHO }, 0, ECONNREFUSED, 0 },
	/* DNS over UDP and TCP, QUIC */
	{ { UDP, FAR4, 53 }, 0, EPERM, 0 },
	{ { UDP, FAR6, 53 }, 0, EPERM, 0 },
	{ { TCP, FAR4, 53 }, 0, ECONNREFUSED, 0 },
	{ { TCP, FAR6, 53 }, 0, ECONNREFUSED, 0 },
	{ { UDP, FAR4, 443 }, 0, EPERM, 0 },
	{ { UDP, FAR6, 443 }, 0, EPERM, 0 },
	/* whoever has the privilege for them */
	{ { SOCK_RAW, IPPROTO_ICMP, FAR4, 0 }, 0, EPERM, BY_SOCKET_ONLY },
	{ { SOCK_RAW, IPPROTO_RAW, FAR4, 0 }, EINVAL, EINVAL, BY_SOCKET_ONLY },
	{ { SOCK_RAW, 99, FAR4, 0 }, 0, EPERM, BY_SOCKET_ONLY },
	{ { SOCK_RAW, 99, FAR6, 0 }, 0, EPERM, BY_SOCKET_ONLY },
	/* the loopback */
	{ { TCP, "127.0.0.1", NEAR_PLAIN }, 0, 0, 0 },
	{ { TCP, "::1", NEAR_PLAIN }, 0, 0, 0 },
	{ { TCP, NEAR4, NEAR_PLAIN }, 0, 0, 0 },
	{ { TCP, NEAR6, NEAR_PLAIN }, 0, 0, 0 },
	{ { UDP, "127.0.0.1", 5353 }, 0, 0, 0 },
	{ { UDP, "127.0.0.1", 53 }, 0, EPERM, 0 },
	{ { UDP, "::1", 53 }, 0, EPERM, 0 },
	{ { TCP, "127.0.0.1", 53 }, 0, ECONNREFUSED, 0 },
	{ { TCP, "::1", 53 }, 0, ECONNREFUSED, 0 },
	{ { TCP, NEAR4, 53 }, 0, ECONNREFUSED, 0 },
	/* and whatever else of the machine has a port of the privileged */
	{ { TCP, "127.0.0.1", 22 }, 0, ECONNREFUSED, 0 },
	{ { TCP, "::1", 22 }, 0, ECONNREFUSED, 0 },
	{ { TCP, NEAR4, 22 }, 0, ECONNREFUSED, 0 },
	{ { TCP, "127.0.0.1", 1023 }, 0, ECONNREFUSED, 0 },
	/* the daemon's port, listeners of other sessions, the session's own */
	{ { TCP, "127.0.0.1", NEAR_DAEMON }, 0, ECONNREFUSED, 0 },
	{ { TCP, "::1", NEAR_DAEMON }, 0, ECONNREFUSED, 0 },
	{ { TCP, NEAR4, NEAR_DAEMON }, 0, ECONNREFUSED, 0 },
	{ { TCP, "127.8.8.8", NEAR_PLAIN }, 0, ECONNREFUSED, 0 },
	{ { TCP, WAY, NEAR_PLAIN }, 0, 0, 0 },
	{ { TCP, WAY, NEAR_DAEMON }, 0, ECONNREFUSED, 0 },
	{ { UDP, WAY, 5353 }, EAGAIN, EPERM, 0 }, /* the answer comes from another address */
};

static void try_rows(uid_t uid, unsigned flags, bool walled)
{
	unsigned before = far_packets(), bad = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct aim *a = &rows[i].aim;
		int want = walled ? rows[i].walled : rows[i].open, got;

		if ((flags & IN_USERNS) && rows[i].flags)
			continue;
		got = as_user(uid, flags | rows[i].flags, try_aim, a);
		if (got == EPROTONOSUPPORT && a->protocol == MPTCP)
			continue; /* a kernel without it */
		if (got == want)
			continue;
		print_error("row %zu, uid %u, %s %u type %d/%d: want %d, got %d\n", i, uid, a->host,
			    a->port, a->type, a->protocol, want, got);
		bad++;
	}
	assert_int_equal(bad, 0);
	if (walled)
		assert_int_equal(far_packets(), before);
	else
		assert_true(far_packets() > before);
}

static void a_walled_user_stays_in_and_the_others_do_not(void **state _unused_)
{
	static const struct nft_way way = { WAY, NEAR_PLAIN };
	struct nft_hold *h;

	if (!near_possible())
		skip();
	try_rows(AGENT, 0, false);
	h = hold_take_with(AGENT, network_some, &way, 1, NULL);
	assert_non_null(h);
	try_rows(AGENT, 0, true);
	try_rows(AGENT, IN_USERNS, true);
	try_rows(OTHER, 0, false);
	try_rows(0, 0, false);
	assert_non_null(strstr(near_shell("nft list ruleset"), "1500 counter packets"));
	assert_null(strstr(near_shell("nft list ruleset"), "1500 counter packets 0 "));
	hold_drop(h);
	try_rows(AGENT, 0, false);
}

/* --- connections --------------------------------------------------------------------------------------------- */

static void its_servers_are_reached(void **state _unused_)
{
	static const struct aim from_far[] = { { TCP, NEAR4, 8081 }, { TCP, NEAR6, 8082 } };
	static const struct aim from_near = { TCP, "127.0.0.1", 8083 };
	struct nft_hold *h;
	pid_t pid;

	if (!near_possible())
		skip();
	h = hold_take(AGENT, network_off);
	for (size_t i = 0; i < ARRAY_SIZE(from_far); i++) {
		pid = serve_as_user(AGENT, from_far[i].port);
		assert_int_equal(try_from_far(&from_far[i]), 0);
		assert_int_equal(finish(pid), 0);
	}
	pid = serve_as_user(AGENT, from_near.port);
	assert_int_equal(as_user(AGENT, 0, try_aim, &from_near), 0);
	assert_int_equal(finish(pid), 0);
	hold_drop(h);
}

struct flow {
	struct aim aim;
	bool writes;
	int up[2];
};

/* errno of its end, or ALIVE after half a second. */
static int watch_flow(const struct flow *f, int fd)
{
	char byte = 'x';

	for (int i = 0; i < 50; i++) {
		if (f->writes && send(fd, &byte, 1, MSG_NOSIGNAL) < 0)
			return errno;
		if (recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno != EAGAIN)
			return errno;
		usleep(10000);
	}
	return ALIVE;
}

/* Says when it is open, and what has become of it. The loop may collect the process before its test does. */
static int keep_open(const void *arg)
{
	const struct flow *f = arg;
	int fd = aim_open(&f->aim);
	char byte = 'x';

	if (fd < 0 || send(fd, &byte, 1, 0) != 1 || recv(fd, &byte, 1, 0) != 1 ||
	    write(f->up[1], "u", 1) != 1)
		return 1;
	byte = (char)watch_flow(f, fd);
	return write(f->up[1], &byte, 1) == 1 ? 0 : 1;
}

static int end_of_flow(struct flow f, struct nft_hold **h)
{
	char byte;
	pid_t pid;

	assert_int_equal(pipe(f.up), 0);
	pid = start_as_user(AGENT, 0, keep_open, &f);
	assert_int_equal(read(f.up[0], &byte, 1), 1);
	*h = hold_take(AGENT, network_off);
	assert_int_equal(read(f.up[0], &byte, 1), 1);
	close(f.up[0]);
	close(f.up[1]);
	finish(pid);
	return (unsigned char)byte;
}

/* Also where conntrack sees it for the first time after that, and the far side speaks first. */
static void what_is_open_to_the_outside_dies(void **state _unused_)
{
	struct nft_hold *h, *other;

	if (!near_possible())
		skip();
	for (int tracked = 0; tracked < 2; tracked++) {
		other = tracked ? hold_take(OTHER, network_off) : NULL;
		assert_int_equal(end_of_flow((struct flow){ { TCP, FAR4, FAR_ECHO }, true, { 0 } },
					     &h),
				 ECONNRESET);
		hold_drop(h);
		assert_int_equal(end_of_flow((struct flow){ { TCP, FAR6, FAR_PUSH }, false, { 0 } },
					     &h),
				 ECONNRESET);
		hold_drop(h);
		assert_int_equal(end_of_flow((struct flow){ { UDP, FAR4, 443 }, true, { 0 } }, &h),
				 EPERM);
		hold_drop(h);
		assert_int_equal(
			end_of_flow((struct flow){ { TCP, "127.0.0.1", NEAR_PLAIN }, true, { 0 } },
				    &h),
			ALIVE);
		hold_drop(h);
		nft_hold_drop(other);
	}
}

/* --- changes ------------------------------------------------------------------------------------------------- */

/* Datagrams and connections as fast as it can, until it is killed. */
static int press(const void *arg _unused_)
{
	static const struct aim tcp = { SOCK_STREAM | SOCK_NONBLOCK, 0, FAR4, FAR_ECHO };
	int fd = aim_open(&(struct aim){ UDP, FAR4, 443 });

	for (;;) {
		for (int i = 0; i < 50; i++)
			send(fd, "x", 1, MSG_DONTWAIT);
		close(aim_open(&tcp));
	}
	return 0;
}

static void no_change_opens_it_for_a_moment(void **state _unused_)
{
	static const struct nft_way ways[] = { { WAY, 1000 }, { WAY, 1001 }, { "::1", 1002 } };
	struct nft_hold *h, *other;
	unsigned before;
	pid_t pid[2];

	if (!near_possible())
		skip();
	h = hold_take_with(AGENT, network_some, ways, 1, NULL);
	before = far_packets();
	for (int i = 0; i < 2; i++)
		pid[i] = start_as_user(AGENT, 0, press, NULL);
	for (unsigned i = 0; i < stride(10) ? 60u / stride(10) : 0; i++) {
		hold_change(h, i % 2 ? network_some : network_off, ways + i % 2, 1 + i % 2);
		other = hold_take_with(OTHER, network_some, ways, 3, NULL);
		hold_drop(other);
	}
	assert_int_equal(far_packets(), before);
	hold_change(h, network_on, NULL, 0);
	near_run(50);
	assert_true(far_packets() > before);
	for (int i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		finish(pid[i]);
	}
	hold_drop(h);
}

static void sessions_of_one_user_share_one_rule(void **state _unused_)
{
	static const struct nft_way ways[] = { { WAY, NEAR_PLAIN }, { "127.8.8.8", NEAR_PLAIN } };
	static const struct aim aims[] = { { TCP, WAY, NEAR_PLAIN },
					   { TCP, "127.8.8.8", NEAR_PLAIN } };
	struct nft_hold *a, *b;
	struct egress_rules *r;
	struct err e = { 0 };

	if (!near_possible())
		skip();
	a = hold_take_with(AGENT, network_some, &ways[0], 1, NULL);
	assert_null(hold_take_with(AGENT, network_off, NULL, 0, &e));
	assert_string_equal(e.reason, "NETWORK_POLICY_UNSUPPORTED");
	assert_string_equal(e.field, "_meta.acpd.network");
	assert_null(hold_take_with(AGENT, network_on, NULL, 0, &e));
	b = hold_take_with(AGENT, network_some, &ways[1], 1, NULL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(as_user(AGENT, 0, try_aim, &aims[i]), 0);
	r = rules_of_network(network_on);
	assert_int_equal(nft_hold_change(a, &(struct nft_rule){ .network = r }, on_told, NULL, &e),
			 -EBUSY);
	hold_drop(b);
	assert_int_equal(as_user(AGENT, 0, try_aim, &aims[0]), 0);
	assert_int_equal(as_user(AGENT, 0, try_aim, &aims[1]), ECONNREFUSED);
	hold_change(a, network_on, NULL, 0);
	assert_null(hold_take_with(AGENT, network_some, NULL, 0, &e));
	egress_rules_free(r);
	hold_drop(a);
	assert_null(strstr(near_shell("nft list tables"), "acpd_"));
}

static void an_unusable_rule_is_refused(void **state _unused_)
{
	static const struct nft_way nowhere = { "localhost", 1 };
	struct err e = { 0 };

	if (!near_possible())
		skip();
	assert_null(hold_take_with(AGENT, network_off, &nowhere, 1, &e));
	assert_string_equal(e.reason, "NETWORK_POLICY_UNSUPPORTED");
	e = (struct err){ 0 };
	assert_null(hold_take_with(0, network_off, NULL, 0, &e)); /* the daemon's own user */
	assert_string_equal(e.reason, "NETWORK_POLICY_UNSUPPORTED");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_walled_user_stays_in_and_the_others_do_not,
						wall_begin, wall_end),
		cmocka_unit_test_setup_teardown(its_servers_are_reached, wall_begin, wall_end),
		cmocka_unit_test_setup_teardown(what_is_open_to_the_outside_dies, wall_begin,
						wall_end),
		cmocka_unit_test_setup_teardown(no_change_opens_it_for_a_moment, wall_begin,
						wall_end),
		cmocka_unit_test_setup_teardown(sessions_of_one_user_share_one_rule, wall_begin,
						wall_end),
		cmocka_unit_test_setup_teardown(an_unusable_rule_is_refused, wall_begin, wall_end),
	};

	return RUN(tests, near_begin, near_end);
}
