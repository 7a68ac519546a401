/* Whose a TCP socket is: what is asked, what counts as an answer, and the kernel's own. */
#include "base/net/sock_owner.h"
#include "base/util.h"
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/fsuid.h>
#include <sys/socket.h>

#define SEQ 7

static struct sockaddr_in at(const char *host, unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	inet_pton(AF_INET, host, &a.sin_addr);
	return a;
}

static struct sock_pair pair(void)
{
	return (struct sock_pair){ at("127.0.0.1", 40001), at("127.20.3.4", 5005) };
}

struct answer {
	struct nlmsghdr h;
	union {
		struct inet_diag_msg m;
		struct nlmsgerr e;
	};
};

static struct answer good(void)
{
	struct sock_pair p = pair();

	return (struct answer){
		.h = { .nlmsg_len = NLMSG_HDRLEN + sizeof(struct inet_diag_msg),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_seq = SEQ },
		.m = { .idiag_family = AF_INET,
		       .idiag_uid = 1234,
		       .id = { .idiag_sport = p.own.sin_port,
			       .idiag_dport = p.peer.sin_port,
			       .idiag_src = { p.own.sin_addr.s_addr },
			       .idiag_dst = { p.peer.sin_addr.s_addr } } },
	};
}

static void the_question_names_one_socket(void **state _unused_)
{
	char out[SOCK_OWNER_QUESTION];
	struct sock_pair p = pair();
	struct inet_diag_req_v2 r;
	struct nlmsghdr h;

	sock_owner_put(out, &p, SEQ);
	memcpy(&h, out, sizeof(h));
	memcpy(&r, out + sizeof(h), sizeof(r));
	assert_int_equal(h.nlmsg_len, sizeof(out));
	assert_int_equal(h.nlmsg_type, SOCK_DIAG_BY_FAMILY);
	assert_int_equal(h.nlmsg_flags, NLM_F_REQUEST);
	assert_int_equal(h.nlmsg_seq, SEQ);
	assert_int_equal(r.sdiag_protocol, IPPROTO_TCP);
	assert_int_equal(ntohs(r.id.idiag_sport), 40001);
	assert_int_equal(ntohs(r.id.idiag_dport), 5005);
	assert_int_equal(ntohl(r.id.idiag_src[0]), 0x7f000001);
	assert_int_equal(ntohl(r.id.idiag_dst[0]), 0x7f140304);
	assert_int_equal(r.id.idiag_cookie[0], INET_DIAG_NOCOOKIE);
}

static int read_answer(const struct answer *a, size_t n, uid_t *uid)
{
	_cleanup_(slice_freep) struct slice exactly =
		exact_copy((struct slice){ (const char *)a, n });
	struct sock_pair p = pair();

	*uid = 0;
	return sock_owner_read(exactly.p, exactly.n, &p, SEQ, uid);
}

static void set_type(struct answer *a)
{
	a->h.nlmsg_type = NLMSG_DONE;
}

static void set_seq(struct answer *a)
{
	a->h.nlmsg_seq = SEQ - 1;
}

static void set_length_short(struct answer *a)
{
	a->h.nlmsg_len = NLMSG_HDRLEN - 1;
}

static void set_length_long(struct answer *a)
{
	a->h.nlmsg_len++;
}

static void set_length_of_body(struct answer *a)
{
	a->h.nlmsg_len--;
}

static void set_family(struct answer *a)
{
	a->m.idiag_family = AF_INET6;
}

static void set_mapped(struct answer *a)
{
	struct sock_pair p = pair();

	a->m.idiag_family = AF_INET6;
	a->m.id.idiag_src[0] = a->m.id.idiag_dst[0] = 0;
	a->m.id.idiag_src[2] = a->m.id.idiag_dst[2] = htonl(0xffff);
	a->m.id.idiag_src[3] = p.own.sin_addr.s_addr;
	a->m.id.idiag_dst[3] = p.peer.sin_addr.s_addr;
}

/* Not an address of IPv4, but one that ends like it. */
static void set_six(struct answer *a)
{
	set_mapped(a);
	a->m.id.idiag_src[0] = htonl(0x20010db8);
	a->m.id.idiag_src[2] = 0;
}

static void set_own_port(struct answer *a)
{
	a->m.id.idiag_sport = htons(40002);
}

static void set_own_address(struct answer *a)
{
	a->m.id.idiag_src[0] = htonl(0x7f000002);
}

/* What is found where there is no such connection, but a listener at its address. */
static void set_listening(struct answer *a)
{
	a->m.id.idiag_dport = 0;
	a->m.id.idiag_dst[0] = 0;
}

static void set_error(struct answer *a)
{
	a->h.nlmsg_type = NLMSG_ERROR;
	a->h.nlmsg_len = NLMSG_HDRLEN + sizeof(a->e);
	a->e = (struct nlmsgerr){ .error = -ENOENT };
}

/* An acknowledgement is no answer. */
static void set_no_error(struct answer *a)
{
	set_error(a);
	a->e.error = 0;
}

static void set_strange_error(struct answer *a)
{
	set_error(a);
	a->e.error = 5;
}

static void set_short_error(struct answer *a)
{
	set_error(a);
	a->h.nlmsg_len--;
}

static const struct {
	void (*set)(struct answer *a);
	int want;
} others[] = {
	{ set_type, -EBADMSG },		  { set_seq, -EAGAIN },
	{ set_length_short, -EBADMSG },	  { set_length_long, -EBADMSG },
	{ set_length_of_body, -EBADMSG }, { set_family, -ENOENT },
	{ set_own_port, -ENOENT },	  { set_own_address, -ENOENT },
	{ set_listening, -ENOENT },	  { set_error, -ENOENT },
	{ set_no_error, -EBADMSG },	  { set_strange_error, -EBADMSG },
	{ set_short_error, -EBADMSG },	  { set_six, -ENOENT },
};

static void only_the_answer_to_the_question_counts(void **state _unused_)
{
	struct answer a = good();
	uid_t uid;

	assert_int_equal(read_answer(&a, a.h.nlmsg_len, &uid), 0);
	assert_int_equal(uid, 1234);
	set_mapped(&a);
	assert_int_equal(read_answer(&a, a.h.nlmsg_len, &uid), 0);
	a = good();
	for (size_t n = 0; n < a.h.nlmsg_len; n++)
		assert_int_equal(read_answer(&a, n, &uid), -EBADMSG);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		a = good();
		others[i].set(&a);
		if (read_answer(&a, good().h.nlmsg_len, &uid) != others[i].want || uid)
			fail_row(i, "another answer");
	}
}

/* Every bit of it changed: no crash, and no user for another socket. */
static void an_answer_with_a_changed_bit_is_held_against_the_question(void **state _unused_)
{
	const struct answer whole = good();

	for (size_t bit = 0; bit < 8u * whole.h.nlmsg_len; bit++) {
		struct answer a = whole;
		uid_t uid;

		((unsigned char *)&a)[bit / 8] ^= (unsigned char)(1u << bit % 8);
		if (read_answer(&a, whole.h.nlmsg_len, &uid) != 0)
			continue;
		assert_memory_equal(&a.m.id.idiag_sport, &whole.m.id.idiag_sport, 4);
		assert_int_equal(a.m.id.idiag_src[0], whole.m.id.idiag_src[0]);
		assert_int_equal(a.m.id.idiag_dst[0], whole.m.id.idiag_dst[0]);
	}
}

struct connection {
	int listener, client, server;
	struct sock_pair pair;
};

/* A socket of either family, connected to that address. */
static int connect_by(int family, const struct sockaddr_in *to)
{
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6, .sin6_port = to->sin_port };
	int fd = socket(family, SOCK_STREAM, 0);
	bool six = family == AF_INET6;

	mapped.sin6_addr.s6_addr32[2] = htonl(0xffff);
	mapped.sin6_addr.s6_addr32[3] = to->sin_addr.s_addr;
	assert_int_equal(
		connect(fd, six ? (const struct sockaddr *)&mapped : (const struct sockaddr *)to,
			six ? sizeof(mapped) : sizeof(*to)),
		0);
	return fd;
}

static void connect_as(struct connection *c, uid_t uid, int family)
{
	socklen_t n = sizeof(c->pair.peer);

	c->pair = (struct sock_pair){ .peer = at("127.77.0.1", 0) };
	c->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(c->listener, (struct sockaddr *)&c->pair.peer, n), 0);
	assert_int_equal(listen(c->listener, 4), 0);
	getsockname(c->listener, (struct sockaddr *)&c->pair.peer, &n);
	setfsuid(uid);
	c->client = connect_by(family, &c->pair.peer);
	setfsuid(geteuid());
	c->server = accept(c->listener, (struct sockaddr *)&c->pair.own, &n);
	assert_true(c->server >= 0);
}

static void disconnect(struct connection *c)
{
	close(c->client);
	close(c->server);
	close(c->listener);
}

static void the_kernel_knows_whose_it_is(void **state _unused_)
{
	uid_t mine = geteuid(), users[] = { mine, mine == 0 ? 4321 : mine }, uid;
	int netlink = sock_owner_open();

	assert_true(netlink >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		struct connection c;
		struct sock_pair listening, none;

		connect_as(&c, users[i], i ? AF_INET6 : AF_INET);
		assert_int_equal(sock_owner_ask(netlink, &c.pair, &uid), 0);
		assert_int_equal(uid, users[i]);
		listening = (struct sock_pair){ .own = c.pair.peer };
		assert_int_equal(sock_owner_ask(netlink, &listening, &uid), 0);
		assert_int_equal(uid, mine);
		none = (struct sock_pair){ .own = c.pair.peer, .peer = at("127.0.0.9", 9) };
		assert_int_equal(sock_owner_ask(netlink, &none, &uid), -ENOENT);
		disconnect(&c);
	}
	close(netlink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_question_names_one_socket),
		cmocka_unit_test(only_the_answer_to_the_question_counts),
		cmocka_unit_test(an_answer_with_a_changed_bit_is_held_against_the_question),
		cmocka_unit_test(the_kernel_knows_whose_it_is),
	};

	return RUN(tests, NULL, NULL);
}
