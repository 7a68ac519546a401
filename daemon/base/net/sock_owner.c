/*
 * sock_owner.c - asks the kernel which user owns a TCP socket, by NETLINK_SOCK_DIAG (sock_diag(7)).
 *
 * The model listener and the proxy use it to accept only connections of the session's user. The
 * netlink socket is reused, so an answer to an earlier question can still be queued: the sequence
 * number selects the right one. Answers are accepted only from the kernel (port id 0), since any
 * process can send to a netlink socket.
 */
#include "base/net/sock_owner.h"

#include "base/util.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#define ANSWERS_MAX 4 /* read for one question: one may be left of an earlier one */

struct owner_question {
	struct nlmsghdr h;
	struct inet_diag_req_v2 r;
};

_Static_assert(sizeof(struct owner_question) == SOCK_OWNER_QUESTION, "no gap between the two");

int sock_owner_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

void sock_owner_put(char out[SOCK_OWNER_QUESTION], const struct sock_pair *pair, uint32_t seq)
{
	struct owner_question q = {
		.h = { .nlmsg_len = sizeof(q),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST,
		       .nlmsg_seq = seq },
		.r = { .sdiag_family = AF_INET,
		       .sdiag_protocol = IPPROTO_TCP,
		       .idiag_states = ~0u,
		       .id = { .idiag_sport = pair->own.sin_port,
			       .idiag_dport = pair->peer.sin_port,
			       .idiag_src = { pair->own.sin_addr.s_addr },
			       .idiag_dst = { pair->peer.sin_addr.s_addr },
			       .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};

	memcpy(out, &q, sizeof(q));
}

static int diag_error(const char *body, size_t n)
{
	struct nlmsgerr e;

	if (n < sizeof(e))
		return -EBADMSG;
	memcpy(&e, body, sizeof(e));
	/* Errors of the kernel are -1 to -4095 (MAX_ERRNO). */
	return e.error < 0 && e.error >= -4095 ? e.error : -EBADMSG;
}

/* An IPv6 socket may have a connection of IPv4: its addresses are then ::ffff:a.b.c.d. */
static bool is_address(const struct inet_diag_msg *m, const uint32_t *have,
		       const struct sockaddr_in *want)
{
	if (m->idiag_family == AF_INET)
		return have[0] == want->sin_addr.s_addr;
	return m->idiag_family == AF_INET6 && !have[0] && !have[1] && have[2] == htonl(0xffff) &&
	       have[3] == want->sin_addr.s_addr;
}

/* A listening socket is found for any connection to its address, so the answer is held against the question. */
static int read_socket(const char *body, size_t n, const struct sock_pair *pair, uid_t *ret)
{
	struct inet_diag_msg m;

	if (n < sizeof(m))
		return -EBADMSG;
	memcpy(&m, body, sizeof(m));
	if (m.id.idiag_sport != pair->own.sin_port || m.id.idiag_dport != pair->peer.sin_port ||
	    !is_address(&m, m.id.idiag_src, &pair->own) ||
	    !is_address(&m, m.id.idiag_dst, &pair->peer))
		return -ENOENT;
	*ret = m.idiag_uid;
	return 0;
}

int sock_owner_read(const char *msg, size_t n, const struct sock_pair *pair, uint32_t seq,
		    uid_t *ret)
{
	struct nlmsghdr h;

	if (n < sizeof(h))
		return -EBADMSG;
	memcpy(&h, msg, sizeof(h));
	if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > n)
		return -EBADMSG;
	/* Before its type: an error may belong to an earlier question, too. */
	if (h.nlmsg_seq != seq)
		return -EAGAIN;
	if (h.nlmsg_type == NLMSG_ERROR)
		return diag_error(msg + sizeof(h), h.nlmsg_len - sizeof(h));
	if (h.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -EBADMSG;
	return read_socket(msg + sizeof(h), h.nlmsg_len - sizeof(h), pair, ret);
}

int sock_owner_ask(int netlink, const struct sock_pair *pair, uid_t *ret)
{
	static uint32_t last_seq;
	char question[SOCK_OWNER_QUESTION], answer[1024];
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK }, from;
	uint32_t seq = ++last_seq;
	int r = -EAGAIN;

	sock_owner_put(question, pair, seq);
	if (sendto(netlink, question, sizeof(question), 0, (struct sockaddr *)&kernel,
		   sizeof(kernel)) < 0)
		return -errno;
	for (int i = 0; r == -EAGAIN && i < ANSWERS_MAX; i++) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(netlink, answer, sizeof(answer), 0, (struct sockaddr *)&from,
				     &len);

		if (n < 0)
			return -errno;
		if (len == sizeof(from) && from.nl_pid == 0) /* others may write to it, too */
			r = sock_owner_read(answer, (size_t)n, pair, seq, ret);
	}
	return r;
}
