#include "upstream_web.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static struct loop_io listener;
static struct list peers;
static struct step *steps;
static size_t nsteps;
unsigned web_strange;

static bool fits(const struct step *st, const char *request)
{
	for (size_t i = 0; i < ARRAY_SIZE(st->want) && st->want[i]; i++)
		if (!strstr(request, st->want[i]))
			return false;
	return !st->lacks || !strstr(request, st->lacks);
}

static void hang_up(struct peer *p)
{
	if (p->io.fd < 0)
		return;
	loop_io_set(ups_loop, &p->io, 0);
	close(p->io.fd);
	p->io.fd = -1;
}

void web_say(struct peer *p, const char *text, bool hold)
{
	assert_int_equal(send(p->io.fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	if (!hold)
		hang_up(p);
}

static bool is_whole(const char *request)
{
	const char *end = strstr(request, "\r\n\r\n"),
		   *length = strstr(request, "Content-Length: ");

	return end && (!length || strlen(end + 4) >= (size_t)atoi(length + 16));
}

static void answer(struct peer *p)
{
	for (size_t i = 0; i < nsteps && !p->step; i++)
		if (!steps[i].used && fits(&steps[i], p->in.data))
			p->step = &steps[i];
	if (!p->step) {
		print_error("not expected: %s\n", p->in.data);
		web_strange++;
		hang_up(p);
		return;
	}
	p->step->used = true;
	if (p->step->reply)
		web_say(p, p->step->reply, p->step->hold);
}

static void on_peer(void *ctx, uint32_t events _unused_)
{
	struct peer *p = ctx;
	char chunk[4096];
	ssize_t n = recv(p->io.fd, chunk, sizeof(chunk), 0);

	if (n <= 0) {
		p->gone = true;
		hang_up(p);
		return;
	}
	if (buf_len(&p->in))
		p->in.len--; /* the NUL */
	buf_add(&p->in, chunk, (size_t)n);
	buf_putc(&p->in, '\0');
	if (!p->step && is_whole(p->in.data))
		answer(p);
}

static void on_accept(void *ctx _unused_, uint32_t events _unused_)
{
	struct peer *p = new0(struct peer);

	p->io = (struct loop_io){ .fd = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC),
				  .fn = on_peer,
				  .ctx = p };
	loop_io_set(ups_loop, &p->io, EPOLLIN);
	list_add_tail(&peers, &p->link);
}

struct peer *web_peer(const struct step *st)
{
	list_each(p, &peers, struct peer, link)
		if (p->step == st)
			return p;
	return NULL;
}

void web_all_used(void)
{
	uint64_t end = clock_mono_ms() + 60000;

	for (size_t i = 0; i < nsteps; i++) {
		while (!steps[i].used && clock_mono_ms() < end)
			ups_run(5);
		if (!steps[i].used)
			fail_row(i, steps[i].want[0]);
	}
}

unsigned web_begin(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);

	list_init(&peers);
	web_strange = 0;
	listener = (struct loop_io){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
				     .fn = on_accept };
	if (bind(listener.fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(listener.fd, 64) < 0 || getsockname(listener.fd, (struct sockaddr *)&at, &n) < 0)
		return 0;
	loop_io_set(ups_loop, &listener, EPOLLIN);
	return ntohs(at.sin_port);
}

void web_script(struct step *list, size_t n)
{
	steps = list;
	nsteps = n;
}

void web_deaf(void)
{
	if (listener.fd < 0)
		return;
	loop_io_set(ups_loop, &listener, 0);
	close(listener.fd);
	listener.fd = -1;
}

void web_end(void)
{
	web_deaf();
	list_each(p, &peers, struct peer, link) {
		hang_up(p);
		buf_done(&p->in);
		list_del(&p->link);
		free(p);
	}
}
