/*
 * shim.c - `acpd mcp`: what a harness starts as an MCP server of type stdio. It carries bytes between its standard
 * input and output and the session's MCP socket, and does not parse them: the daemon at the other end speaks MCP.
 */
#include "cli/cmd.h"

#include "base/limits.h"
#include "base/os/local_sock.h"
#include "json/jenc.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

/* One direction. */
struct pipe {
	int from, to;
	bool shut_to; /* the end of the input is passed on by shutdown, not by ending */
	bool ended;
	size_t at, n;
	char data[SHIM_BYTES];
};

/* False: there is nothing more to do in this direction. */
static bool pump_in(struct pipe *p)
{
	ssize_t n = read(p->from, p->data, sizeof(p->data));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	p->at = 0;
	p->n = (size_t)n;
	return n > 0;
}

static bool pump_out(struct pipe *p)
{
	ssize_t n = write(p->to, p->data + p->at, p->n - p->at);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	p->at += (size_t)n;
	if (p->at == p->n)
		p->at = p->n = 0;
	return true;
}

static void pipe_end(struct pipe *p)
{
	p->ended = true;
	if (p->shut_to)
		shutdown(p->to, SHUT_WR);
}

/* Reads only when the bytes read before have gone out. Writes at once: mostly there is room. */
static void shim_pump(struct pipe *p, short in, short out)
{
	bool more = true;

	if (p->ended)
		return;
	if (p->n && out)
		more = pump_out(p);
	else if (!p->n && in)
		more = pump_in(p) && (!p->n || pump_out(p));
	if (!more)
		pipe_end(p);
}

static void set_events(const struct pipe *p, struct pollfd *from, struct pollfd *to)
{
	*from = (struct pollfd){ .fd = p->ended || p->n ? -1 : p->from, .events = POLLIN };
	*to = (struct pollfd){ .fd = p->ended || !p->n ? -1 : p->to, .events = POLLOUT };
}

/* Carries bytes until the daemon closes its end. */
static int shim_carry(int fd)
{
	/* static: they hold the buffers, which are too large for a stack. */
	static struct pipe up, down;
	struct pollfd p[4];

	up = (struct pipe){ .from = STDIN_FILENO, .to = fd, .shut_to = true };
	down = (struct pipe){ .from = fd, .to = STDOUT_FILENO };
	while (!down.ended) {
		set_events(&up, &p[0], &p[1]);
		set_events(&down, &p[2], &p[3]);
		if (poll(p, 4, -1) < 0 && errno != EINTR)
			return EXIT_FAILED;
		shim_pump(&down, p[2].revents, p[3].revents);
		shim_pump(&up, p[0].revents, p[1].revents);
	}
	return EXIT_DONE;
}

static bool say_hello(int fd, const char *server, const char *key)
{
	JW_BUF(w, b);

	jw_object(&w, NULL, JW_OBJ("acpd", JW_STR("server", server), JW_STR("key", key)));
	buf_putc(&b, '\n');
	return !b.failed && write(fd, b.data, b.len) == (ssize_t)b.len;
}

int shim_run(void)
{
	const char *path = getenv("ACPD_MCP_SOCKET"), *server = getenv("ACPD_MCP_SERVER"),
		   *key = getenv("ACPD_MCP_KEY");
	_cleanup_(closep) int fd = -1;

	if (!path || !server || !key)
		return fail(
			EXIT_USAGE,
			"acpd mcp is started by a harness, which is told ACPD_MCP_SOCKET, "
			"ACPD_MCP_SERVER and ACPD_MCP_KEY; to serve the built-in tools here: --builtin");
	fd = unixsock_connect(path);
	if (fd < 0)
		return fail(EXIT_UNREACHABLE, "%s: %s", path, strerror(-fd));
	signal(SIGPIPE, SIG_IGN);
	/* neither direction may block the other */
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
	if (!say_hello(fd, server, key))
		return fail(EXIT_UNREACHABLE, "%s: the connection was refused", path);
	return shim_carry(fd);
}
