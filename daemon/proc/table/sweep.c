/*
 * sweep.c - reads the process table for rounds of killing in a thread, so that its size does not
 * block the loop.
 *
 * A scan has copies of its input and two references, the thread's and the sweeper's. A thread that
 * hangs is therefore abandoned after SWEEP_SCAN_MS, and frees the scan when it ends. A single scan
 * runs, for all sessions that wait; requests during a scan wait for the next. `scanned` has the
 * order of the targets, and lacks the requests that were forgotten.
 */
#include "proc/table/sweep.h"

#include "base/limits.h"
#include "base/os/threads.h"
#include "base/util.h"
#include "proc/spaces/spaces.h"

#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

/* What the thread works on; the last one of the two lets go of it. */
struct sweep_scan {
	atomic_int holders;
	pid_t root;
	struct tree_target *targets;
	struct tree_own *own;
	size_t ntargets, nown;
	uint64_t since;
	int event;
};

struct sweeper {
	struct loop *loop;
	size_t (*own)(void *ctx, struct tree_own *ret, size_t max);
	void *ctx;
	struct list waiting;	 /* struct sweep, for the next scan */
	struct list scanned;	 /* that the current one is for, in the order of its targets */
	struct sweep_scan *scan; /* NULL: none */
	struct loop_io io;
	struct loop_timer timer;
	struct loop_task task;
};

static void scan_drop(struct sweep_scan *c)
{
	if (atomic_fetch_sub(&c->holders, 1) > 1)
		return;
	for (size_t i = 0; i < c->ntargets; i++)
		free(c->targets[i].session);
	for (size_t i = 0; i < c->nown; i++)
		free(c->own[i].session);
	close(c->event);
	free_each(c->targets, c->own, c);
}

static void *scan_run(void *arg)
{
	struct sweep_scan *c = arg;

	tree_kill_sessions(c->root, c->targets, c->ntargets, c->own, c->nown, c->since);
	eventfd_write(c->event, 1);
	scan_drop(c);
	return NULL;
}

static void scan_begin(void *ctx);

/* The thread has ended, or is given up: the sessions it worked for are notified. */
static void scan_over(struct sweeper *s, bool ended)
{
	struct sweep_scan *c = TAKE_PTR(s->scan);
	size_t i = 0;

	loop_timer_cancel(&s->timer);
	loop_io_set(s->loop, &s->io, 0);
	/* an entry that was forgotten meanwhile has left a hole */
	list_drain(w, &s->scanned, struct sweep, link) {
		while (i < c->ntargets && strcmp(c->targets[i].session, w->target.session) != 0)
			i++;
		list_del(&w->link);
		w->asked = false;
		w->done(w->ctx, !ended || i == c->ntargets || c->targets[i].found == 0);
	}
	scan_drop(c);
	loop_defer(s->loop, &s->task, scan_begin, s);
}

static void on_scan_ended(void *ctx, uint32_t events _unused_)
{
	scan_over(ctx, true);
}

static void on_scan_timeout(void *ctx)
{
	scan_over(ctx, false);
}

static void count_init(void *ctx, pid_t init _unused_, char *session _unused_)
{
	++*(size_t *)ctx;
}

static void add_init(void *ctx, pid_t init, char *session)
{
	struct sweep_scan *c = ctx;

	c->own[c->nown++] = (struct tree_own){ .pid = init, .session = session, .init = true };
}

static struct sweep_scan *scan_new(struct sweeper *s)
{
	struct sweep_scan *c = new0(struct sweep_scan);
	size_t n = 0;

	atomic_init(&c->holders, 2);
	c->root = getpid();
	/* Before the list of children is read: a younger child is then not taken for an orphan. */
	c->since = tree_now();
	c->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	list_each(w, &s->waiting, struct sweep, link)
		n++;
	c->targets = xalloc(n * sizeof(*c->targets));
	list_each(w, &s->waiting, struct sweep, link) {
		c->targets[c->ntargets] = w->target;
		c->targets[c->ntargets++].session = xstrdup(w->target.session);
	}
	n = s->own(s->ctx, NULL, 0);
	spaces_each(count_init, &n);
	c->own = xalloc(n * sizeof(*c->own));
	c->nown = s->own(s->ctx, c->own, n);
	spaces_each(add_init, c);
	for (size_t i = 0; i < c->nown; i++)
		c->own[i].session = xstrdup(c->own[i].session);
	return c;
}

static void scan_begin(void *ctx)
{
	struct sweeper *s = ctx;
	pthread_t thread;

	if (s->scan || list_empty(&s->waiting))
		return;
	s->scan = scan_new(s);
	list_drain(w, &s->waiting, struct sweep, link) {
		list_del(&w->link);
		list_add_tail(&s->scanned, &w->link);
	}
	s->io = (struct loop_io){ .fd = s->scan->event, .fn = on_scan_ended, .ctx = s };
	/* without a descriptor or a thread it is done here: late is better than never */
	if (s->scan->event < 0 || loop_io_set(s->loop, &s->io, EPOLLIN) < 0 ||
	    thread_start_sized(&thread, SWEEP_STACK, scan_run, s->scan) < 0) {
		scan_run(s->scan);
		scan_over(s, true);
		return;
	}
	pthread_detach(thread);
	loop_timer_set(s->loop, &s->timer, SWEEP_SCAN_MS, on_scan_timeout, s);
}

struct sweeper *sweeper_new(struct loop *loop,
			    size_t (*own)(void *ctx, struct tree_own *ret, size_t max), void *ctx)
{
	struct sweeper *s = new0(struct sweeper);

	s->loop = loop;
	s->own = own;
	s->ctx = ctx;
	list_init(&s->waiting);
	list_init(&s->scanned);
	return s;
}

struct sweeper *sweeper_free(struct sweeper *s)
{
	if (!s)
		return NULL;
	loop_timer_cancel(&s->timer);
	loop_task_cancel(&s->task);
	if (s->scan) {
		loop_io_set(s->loop, &s->io, 0);
		scan_drop(s->scan);
	}
	free(s);
	return NULL;
}

void sweep_set(struct sweep *w, char *session, pid_t leader, void (*done)(void *ctx, bool gone),
	       void *ctx)
{
	w->target.session = session;
	w->target.leader = leader;
	w->done = done;
	w->ctx = ctx;
}

void sweep_ask(struct sweeper *s, struct sweep *w)
{
	if (w->asked)
		return;
	w->asked = true;
	list_add_tail(&s->waiting, &w->link);
	loop_defer(s->loop, &s->task, scan_begin, s);
}

void sweep_forget(struct sweep *w)
{
	if (w->asked)
		list_del(&w->link);
	w->asked = false;
}
