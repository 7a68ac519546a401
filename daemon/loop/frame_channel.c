/*
 * frame_channel.c - frames and descriptors over a UNIX socket, without blocking on either side.
 *
 * A frame is sent at once if nothing is queued. What the socket does not accept is copied to a
 * queue, which is flushed on EPOLLOUT in order. A descriptor travels with the first byte of its
 * frame and is closed here as soon as a byte was sent. The receiver queues descriptors in order of
 * arrival, and the frame that needs one consumes the oldest.
 *
 * The input buffer has the size of one maximal frame. After frames_deliver() it never contains a complete
 * one, so there is always space to read into. Buffers with keys are wiped after use.
 */
#include "loop/frame_channel.h"

#include "base/util.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define IN_MAX (FRAME_HEAD_SIZE + FRAME_PAYLOAD_MAX)
#define READ_MAX (64 * KIB) /* in one turn of the loop */

/* --- frames ---------------------------------------------------------------------------------------------- */

struct frame_head {
	uint32_t payload, number, type;
};

_Static_assert(sizeof(struct frame_head) == FRAME_HEAD_SIZE, "its length is part of the wire");

ssize_t frame_parse(struct slice in, unsigned types, struct frame *ret)
{
	struct frame_head h;

	if (in.n < sizeof(h))
		return 0;
	memcpy(&h, in.p, sizeof(h));
	if (h.payload > FRAME_PAYLOAD_MAX || h.type < 1 || h.type >= types)
		return -EPROTO;
	if (in.n - sizeof(h) < h.payload)
		return 0;
	*ret = (struct frame){ h.type, h.number, { in.p + sizeof(h), h.payload } };
	return (ssize_t)(sizeof(h) + h.payload);
}

/* What waits for the socket. */
struct piece {
	struct list link;
	int fd;
	size_t n, done;
	char bytes[];
};

static void piece_free(struct piece *p)
{
	list_del(&p->link);
	closep(&p->fd);
	explicit_bzero(p->bytes, p->n);
	free(p);
}

/* --- out ------------------------------------------------------------------------------------------------------ */

/* What the socket took, or a negative errno. */
static ssize_t send_some(const struct frame_channel *c, struct iovec *iov, size_t n, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { { 0 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = n };
	ssize_t r;

	if (fd >= 0) {
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						 .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
	}
	r = RETRY(sendmsg(c->io.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT));
	return r < 0 ? -errno : r;
}

/* The other side is gone; reading will tell. */
static void channel_give_up(struct frame_channel *c)
{
	c->broken = true;
	while (!list_empty(&c->out))
		piece_free(list_first(&c->out, struct piece, link));
	c->waiting = 0;
}

static void channel_flush(struct frame_channel *c)
{
	list_drain(p, &c->out, struct piece, link) {
		struct iovec iov = { p->bytes + p->done, p->n - p->done };
		ssize_t n = send_some(c, &iov, 1, p->fd);

		if (n == -EAGAIN)
			break;
		if (n < 0) {
			channel_give_up(c);
			break;
		}
		closep(&p->fd);
		p->done += (size_t)n;
		c->waiting -= (size_t)n;
		if (p->done == p->n)
			piece_free(p);
	}
	loop_io_set(c->loop, &c->io, EPOLLIN | (list_empty(&c->out) ? 0 : EPOLLOUT));
}

static void frame_queue(struct frame_channel *c, const struct iovec iov[2], size_t sent, int fd)
{
	size_t n = iov[0].iov_len + iov[1].iov_len;
	struct piece *p = xalloc(sizeof(*p) + n);

	list_init(&p->link);
	p->fd = fd;
	p->n = n;
	p->done = sent;
	memcpy(p->bytes, iov[0].iov_base, iov[0].iov_len);
	if (iov[1].iov_len)
		memcpy(p->bytes + iov[0].iov_len, iov[1].iov_base, iov[1].iov_len);
	list_add_tail(&c->out, &p->link);
	c->waiting += n - sent;
	loop_io_set(c->loop, &c->io, EPOLLIN | EPOLLOUT);
}

void frame_channel_send(struct frame_channel *c, unsigned type, uint32_t number,
			struct slice payload, int fd)
{
	struct frame_head head = { (uint32_t)payload.n, number, type };
	struct iovec iov[2] = { { &head, sizeof(head) }, { (void *)payload.p, payload.n } };
	ssize_t n = 0;

	if (c->io.fd < 0 || c->broken) {
		closep(&fd);
		return;
	}
	if (list_empty(&c->out))
		n = send_some(c, iov, 2, fd);
	if (n > 0)
		closep(&fd);
	if (n < 0 && n != -EAGAIN) {
		closep(&fd);
		channel_give_up(c);
	} else if (n < (ssize_t)(sizeof(head) + payload.n)) {
		frame_queue(c, iov, n > 0 ? (size_t)n : 0, fd);
	}
}

size_t frame_channel_waiting(const struct frame_channel *c)
{
	return c->waiting;
}

/* --- in ------------------------------------------------------------------------------------------------------- */

static void take_fds(struct frame_channel *c, struct msghdr *m)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		size_t n = h->cmsg_type == SCM_RIGHTS ? (h->cmsg_len - CMSG_LEN(0)) / sizeof(int) :
							0;

		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
			if (c->nfds < FRAME_CHANNEL_FDS)
				c->fds[c->nfds++] = fd;
			else
				close(fd);
		}
	}
}

/* What came; 0: nothing now; -EPIPE: nothing will come any more; or another errno. */
static ssize_t channel_receive(struct frame_channel *c)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec iov = { c->in + c->len, MIN(IN_MAX - c->len, READ_MAX) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (c->takes_fds) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
	}
	n = recvmsg(c->io.fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (c->takes_fds)
		take_fds(c, &m);
	return n == 0 ? -EPIPE : n;
}

static void channel_end(struct frame_channel *c, const char *why)
{
	if (c->over)
		return;
	c->over = true;
	frame_channel_close(c);
	c->ops->closed(c->ctx, why);
}

static int frame_hand_over(struct frame_channel *c, const struct frame *f)
{
	int fd = c->nfds ? c->fds[0] : -1;
	bool had = fd >= 0;
	int r = c->ops->frame(c->ctx, f, &fd);

	if (had && fd < 0 && c->nfds)
		memmove(c->fds, c->fds + 1, --c->nfds * sizeof(*c->fds));
	return r;
}

/* Moves what is left to the front. A secret must not stay where it was. */
static void channel_compact(struct frame_channel *c, size_t used)
{
	if (!used)
		return;
	c->len -= used;
	memmove(c->in, c->in + used, c->len);
	if (c->takes_fds)
		explicit_bzero(c->in + c->len, used);
}

static void frames_deliver(struct frame_channel *c)
{
	size_t used = 0;
	struct frame f;
	ssize_t n;

	while ((n = frame_parse((struct slice){ c->in + used, c->len - used }, c->ops->types, &f)) >
	       0) {
		int r = frame_hand_over(c, &f);

		if (c->io.fd < 0)
			return; /* closed meanwhile */
		used += (size_t)n;
		if (r < 0) {
			n = r;
			break;
		}
	}
	channel_compact(c, used);
	if (n < 0)
		channel_end(c, "what it says is against the rules of their socket");
}

static void on_channel(void *ctx, uint32_t events)
{
	struct frame_channel *c = ctx;
	ssize_t n;

	if (events & EPOLLOUT)
		channel_flush(c);
	/* HUP and errors are read, too: recvmsg then reports the end after the last bytes. */
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	n = channel_receive(c);
	if (n < 0) {
		channel_end(c, NULL);
	} else if (n > 0) {
		c->len += (size_t)n;
		frames_deliver(c);
	}
}

/* --- life ----------------------------------------------------------------------------------------------------- */

void frame_channel_open(struct frame_channel *c, struct loop *loop, int fd, bool takes_fds,
			const struct frame_channel_ops *ops, void *ctx)
{
	*c = (struct frame_channel){ .loop = loop, .ops = ops, .ctx = ctx, .takes_fds = takes_fds };
	c->io = (struct loop_io){ .fd = fd, .fn = on_channel, .ctx = c };
	c->in = malloc(IN_MAX); /* its pages come as they are used */
	if (!c->in)
		abort();
	list_init(&c->out);
	loop_io_set(loop, &c->io, EPOLLIN);
}

void frame_channel_close(struct frame_channel *c)
{
	if (!c->loop || c->io.fd < 0)
		return;
	loop_io_close(c->loop, &c->io);
	channel_give_up(c);
	while (c->nfds)
		close(c->fds[--c->nfds]);
	if (c->takes_fds)
		explicit_bzero(c->in, IN_MAX);
	free(TAKE_PTR(c->in));
	c->len = 0;
}
