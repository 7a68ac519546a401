/*
 * sock_destroy.c - finds TCP connections by sock_diag(7) and ends them with SOCK_DESTROY.
 *
 * After a restore the far ends of such connections are dead, so their owners get an error instead
 * of waiting. Connections within the machine survive, because both ends were suspended together.
 * The dump precedes the first SOCK_DESTROY: a connection that ends in between is not an error.
 * Messages are accepted from the kernel only (nl_pid 0) and checked for length.
 */
#include "proc/machine/sock_destroy.h"

#include "base/util.h"
#include "base/limits.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define ANSWER_SIZE (32 * KIB)
/* Those that have a far end. */
#define CONNECTED                                                                                  \
	(1u << TCP_ESTABLISHED | 1u << TCP_SYN_SENT | 1u << TCP_FIN_WAIT1 | 1u << TCP_FIN_WAIT2 |  \
	 1u << TCP_CLOSE_WAIT | 1u << TCP_LAST_ACK | 1u << TCP_CLOSING)

struct found {
	uint8_t family;
	struct inet_diag_sockid id;
};

struct search {
	bool (*of)(void *ctx, const struct sock_maker *m);
	void *ctx;
	struct found *found;
	size_t n;
};

/* 127.0.0.0/8, ::1, and ::ffff:127.0.0.0/104. */
static bool is_loopback_address(uint8_t family, const uint32_t *a)
{
	if (family == AF_INET)
		return ntohl(a[0]) >> 24 == 127;
	if (a[0] || a[1])
		return false;
	return a[2] ? a[2] == htonl(0xffff) && ntohl(a[3]) >> 24 == 127 : a[3] == htonl(1);
}

/* What is in the sandbox at both ends was away with it. A connection to another address of the machine comes from the
 * same address. */
static bool is_within_machine(const struct inet_diag_msg *m)
{
	size_t n = m->idiag_family == AF_INET ? sizeof(m->id.idiag_dst[0]) :
						sizeof(m->id.idiag_dst);

	return is_loopback_address(m->idiag_family, m->id.idiag_dst) ||
	       memcmp(m->id.idiag_src, m->id.idiag_dst, n) == 0;
}

/* The attributes of a socket follow it. */
static uint64_t cgroup_in(const char *at, size_t n)
{
	struct nlattr a;
	uint64_t id;

	for (size_t step; n >= sizeof(a); at += step, n -= step) {
		memcpy(&a, at, sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > n)
			return 0;
		if (a.nla_type == INET_DIAG_CGROUP_ID && a.nla_len == sizeof(a) + sizeof(id)) {
			memcpy(&id, at + sizeof(a), sizeof(id));
			return id;
		}
		step = MIN((size_t)NLMSG_ALIGN(a.nla_len), n);
	}
	return 0;
}

static void search_note(struct search *s, const struct inet_diag_msg *m, uint64_t cgroup)
{
	const struct sock_maker maker = { m->idiag_uid, cgroup };

	if (s->n < SOCKETS_DESTROYED_MAX && !is_within_machine(m) && s->of(s->ctx, &maker))
		*GROW(s->found, s->n) = (struct found){ m->idiag_family, m->id };
}

static int diag_ask(int fd, uint16_t type, uint16_t flags, uint8_t family,
		    const struct inet_diag_sockid *id)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 r;
	} q = { .h = { .nlmsg_len = sizeof(q),
		       .nlmsg_type = type,
		       .nlmsg_flags = NLM_F_REQUEST | flags },
		.r = { .sdiag_family = family,
		       .sdiag_protocol = IPPROTO_TCP,
		       .idiag_states = CONNECTED } };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (id)
		q.r.id = *id;
	return sendto(fd, &q, sizeof(q), 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0 ?
		       -errno :
		       0;
}

/* 1: there is more to come; 0: it was the last; -errno as the kernel says. */
static int read_message(struct search *s, const struct nlmsghdr *h, const char *body, size_t n)
{
	struct inet_diag_msg m;
	struct nlmsgerr e;

	if (h->nlmsg_type == NLMSG_DONE)
		return 0;
	if (h->nlmsg_type == NLMSG_ERROR) {
		if (n < sizeof(e))
			return -EBADMSG;
		memcpy(&e, body, sizeof(e));
		return e.error;
	}
	if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || n < sizeof(m) || !s)
		return -EBADMSG;
	memcpy(&m, body, sizeof(m));
	search_note(s, &m, cgroup_in(body + sizeof(m), n - sizeof(m)));
	return 1;
}

/* What one datagram holds. */
static int read_messages(struct search *s, const char *at, size_t n)
{
	struct nlmsghdr h;
	int r = 1;

	while (r == 1 && n >= sizeof(h)) {
		size_t step;

		memcpy(&h, at, sizeof(h));
		if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > n)
			return -EBADMSG;
		r = read_message(s, &h, at + sizeof(h), h.nlmsg_len - sizeof(h));
		step = MIN((size_t)NLMSG_ALIGN(h.nlmsg_len), n);
		at += step;
		n -= step;
	}
	return r;
}

/* The kernel answers within the call that asks. */
static int diag_take_answer(int fd, struct search *s)
{
	_cleanup_(freep) char *answer = xalloc(ANSWER_SIZE);
	int r = 1;

	while (r == 1) {
		struct sockaddr_nl from = { 0 };
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, answer, ANSWER_SIZE, MSG_DONTWAIT,
				     (struct sockaddr *)&from, &len);

		if (n < 0)
			return -errno;
		if (from.nl_pid == 0) /* others may write to it, too */
			r = read_messages(s, answer, (size_t)n);
	}
	return r;
}

static int destroy_socket(int fd, const struct found *f)
{
	int r = diag_ask(fd, SOCK_DESTROY, NLM_F_ACK, f->family, &f->id);

	return r < 0 ? r : diag_take_answer(fd, NULL);
}

static int destroy_all_found(int fd, const struct search *s)
{
	int ended = 0, r = 0;

	for (size_t i = 0; i < s->n; i++) {
		r = destroy_socket(fd, &s->found[i]);
		if (r == -EOPNOTSUPP || r == -EPERM)
			return r;
		ended += r == 0; /* else it has ended by itself */
	}
	return ended;
}

int sock_destroy_all(bool (*of)(void *ctx, const struct sock_maker *m), void *ctx)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	_cleanup_(closep) int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct search s = { .of = of, .ctx = ctx };
	int r = fd < 0 ? -errno : 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(families); i++) {
		r = diag_ask(fd, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, families[i], NULL);
		if (r == 0)
			r = diag_take_answer(fd, &s);
	}
	if (r >= 0)
		r = destroy_all_found(fd, &s);
	free(s.found);
	return r;
}
