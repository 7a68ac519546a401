/*
 * curl_loop.c - runs the multi interface of libcurl on the loop, by curl_multi_socket_action.
 *
 * libcurl asks for descriptors and one timeout; they become sources and a timer of the loop. No
 * callback may call libcurl again, so a timeout of zero runs as a deferred task, and finished
 * transfers are read after each action. A source is freed at the end of the turn, because a later
 * event of the turn may be for it.
 */
#include "fetch/fetch.h"

#include "base/util.h"

#include <sys/epoll.h>

#define IDLE_CONNECTIONS 64L /* kept for the next request */

struct curl_loop {
	struct loop *loop;
	CURLM *multi;
	struct loop_timer timer;
	struct loop_task now;
	void (*done)(void *ctx, CURL *easy, CURLcode how);
	void *ctx;
};

/* A socket of libcurl's. */
struct curl_source {
	struct loop_io io;
	struct loop_task task; /* frees it */
	struct curl_loop *owner;
};

static void curl_report(struct curl_loop *c)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->multi, &left)))
		if (m->msg == CURLMSG_DONE)
			c->done(c->ctx, m->easy_handle, m->data.result);
}

static void curl_act(struct curl_loop *c, curl_socket_t fd, int events)
{
	int running;

	curl_multi_socket_action(c->multi, fd, events, &running);
	curl_report(c);
}

/* --- sockets -------------------------------------------------------------------------------------------------- */

static void on_source(void *ctx, uint32_t events)
{
	struct curl_source *s = ctx;

	curl_act(s->owner, s->io.fd,
		 (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
			 (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			 (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0));
}

/* Freed when the events of this turn are over: one of them may be for it. */
static void source_drop(struct curl_loop *c, struct curl_source *s)
{
	curl_multi_assign(c->multi, s->io.fd, NULL);
	loop_io_set(c->loop, &s->io, 0);
	loop_defer(c->loop, &s->task, free, s);
}

static int on_socket_wish(CURL *easy _unused_, curl_socket_t fd, int what, void *ctx, void *known)
{
	struct curl_source *s = known;
	struct curl_loop *c = ctx;

	if (what == CURL_POLL_REMOVE) {
		if (s)
			source_drop(c, s);
		return 0;
	}
	if (!s) {
		s = new0(struct curl_source);
		s->owner = c;
		s->io = (struct loop_io){ .fd = fd, .fn = on_source, .ctx = s };
		curl_multi_assign(c->multi, fd, s);
	}
	loop_io_set(c->loop, &s->io,
		    (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0));
	return 0;
}

/* --- time ----------------------------------------------------------------------------------------------------- */

static void on_curl_time(void *ctx)
{
	curl_act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer_wish(CURLM *multi _unused_, long ms, void *ctx)
{
	struct curl_loop *c = ctx;

	loop_timer_cancel(&c->timer);
	loop_task_cancel(&c->now);
	if (ms == 0) /* not at once: libcurl is busy calling us */
		loop_defer(c->loop, &c->now, on_curl_time, c);
	else if (ms > 0)
		loop_timer_set(c->loop, &c->timer, (uint64_t)ms, on_curl_time, c);
	return 0;
}

/* --- life ----------------------------------------------------------------------------------------------------- */

struct curl_loop *curl_loop_new(struct loop *loop,
				void (*done)(void *ctx, CURL *easy, CURLcode how), void *ctx)
{
	struct curl_loop *c = new0(struct curl_loop);

	c->loop = loop;
	c->done = done;
	c->ctx = ctx;
	c->multi = curl_multi_init();
	if (!c->multi)
		abort();
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket_wish);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timer_wish);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS);
	/* One request at a time on a connection of HTTP/2, too: while one is paused and others go on, libcurl 7.88 reads
	 * on for all of them and keeps up to 32 MiB of what the paused one did not want. */
	curl_multi_setopt(c->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	return c;
}

struct curl_loop *curl_loop_free(struct curl_loop *c)
{
	if (!c)
		return NULL;
	/* First: it calls back and queues the timer and the tasks that are cancelled below. */
	curl_multi_cleanup(c->multi);
	loop_timer_cancel(&c->timer);
	loop_task_cancel(&c->now);
	loop_run_deferred(c->loop); /* frees the sources */
	free(c);
	return NULL;
}

bool curl_loop_add(struct curl_loop *c, CURL *easy)
{
	return curl_multi_add_handle(c->multi, easy) == CURLM_OK;
}

void curl_loop_remove(struct curl_loop *c, CURL *easy)
{
	curl_multi_remove_handle(c->multi, easy);
}

void curl_loop_resume(struct curl_loop *c, CURL *easy)
{
	curl_easy_pause(easy, CURLPAUSE_CONT);
	curl_report(c);
}
