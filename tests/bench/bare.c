/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare.c - the least a program between a WebSocket and an agent can be, as a floor to compare with: poll(2), no
 * library, no JSON, no checks. One agent, one client at a time that gets its bytes.
 *
 *	bare PORT [AGENT ARG…]
 *
 * Answers GET /health; an upgrade joins that connection to the agent: frame -> line, line -> frame.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEERS 600
#define ROOM 65536

static struct pollfd fds[PEERS + 2]; /* the listener, the agent, then clients */
static int nfds = 2;
static int agent_in = -1, joined = -1;
static unsigned char in[ROOM], lines[2 * ROOM], frames[4 * ROOM];
static size_t nin, nlines;

static void start_agent(char **argv)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		exit(1);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], 0);
		dup2(from[1], 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	agent_in = to[1];
	fds[1] = (struct pollfd){ .fd = from[0], .events = POLLIN };
}

static int listen_on(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 128) < 0)
		exit(1);
	return fd;
}

static void add_client(void)
{
	int fd = accept4(fds[0].fd, NULL, NULL, SOCK_CLOEXEC), on = 1;

	if (fd < 0 || nfds == PEERS + 2)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	fds[nfds++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static void put(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0)
			return;
		p += w;
		n -= (size_t)w;
	}
}

static void serve_http(struct pollfd *c)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
	static const char upgrade[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
				      "Connection: Upgrade\r\nSec-WebSocket-Accept: "
				      "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
	char request[4096];
	ssize_t n = read(c->fd, request, sizeof(request) - 1);

	if (n <= 0) {
		close(c->fd);
		*c = fds[--nfds];
		return;
	}
	request[n] = '\0';
	if (!strstr(request, "websocket")) {
		put(c->fd, ok, sizeof(ok) - 1);
		return;
	}
	joined = c->fd;
	nin = 0;
	put(c->fd, upgrade, sizeof(upgrade) - 1);
}

/* Whole masked frames of at most 64 KiB, from `in` to the agent. */
static void frames_to_agent(void)
{
	size_t at = 0;

	while (nin - at >= 6) {
		unsigned char *p = in + at;
		size_t len = p[1] & 0x7f, h = len == 126 ? 8 : 6;

		if (len == 126)
			len = (size_t)p[2] << 8 | p[3];
		if (nin - at < h + len)
			break;
		for (size_t i = 0; i < len; i++)
			p[h + i] ^= p[h - 4 + (i & 3)];
		p[h - 1] = '\n'; /* nothing is needed of the header any more */
		memmove(p + h - 1, p + h, len);
		p[h - 1 + len] = '\n';
		put(agent_in, p + h - 1, len + 1);
		at += h + len;
	}
	memmove(in, in + at, nin - at);
	nin -= at;
}

static void from_client(struct pollfd *c)
{
	ssize_t n = read(c->fd, in + nin, ROOM - nin);

	if (n <= 0) {
		joined = -1;
		close(c->fd);
		*c = fds[--nfds];
		return;
	}
	nin += (size_t)n;
	frames_to_agent();
}

/* Lines of less than 64 KiB, all that are whole in one write. */
static void from_agent(void)
{
	ssize_t n = read(fds[1].fd, lines + nlines, ROOM);
	size_t at = 0, made = 0;
	unsigned char *nl;

	if (n <= 0)
		exit(0);
	nlines += (size_t)n;
	while ((nl = memchr(lines + at, '\n', nlines - at))) {
		size_t len = (size_t)(nl - (lines + at));

		frames[made++] = 0x81;
		frames[made++] = (unsigned char)(len < 126 ? len : 126);
		if (len >= 126) {
			frames[made++] = (unsigned char)(len >> 8);
			frames[made++] = (unsigned char)len;
		}
		memcpy(frames + made, lines + at, len);
		made += len;
		at += len + 1;
	}
	memmove(lines, lines + at, nlines - at);
	nlines -= at;
	if (joined >= 0)
		put(joined, frames, made);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fds[0] = (struct pollfd){ .fd = listen_on(argc > 1 ? atoi(argv[1]) : 0), .events = POLLIN };
	fds[1].fd = -1;
	if (argc > 2)
		start_agent(argv + 2);
	while (poll(fds, (nfds_t)nfds, -1) > 0 || errno == EINTR) {
		if (fds[1].revents)
			from_agent();
		for (int i = nfds - 1; i >= 2; i--)
			if (fds[i].revents)
				fds[i].fd == joined ? from_client(&fds[i]) : serve_http(&fds[i]);
		if (fds[0].revents)
			add_client();
	}
	return 1;
}
