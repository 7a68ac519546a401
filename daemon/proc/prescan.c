/*
 * prescan.c - long lines of children, read by one thread before the loop works on them.
 *
 * The thread works on one line at a time, for all children; the others wait in order of arrival. A
 * child is not read while its line waits or is in work, so the line stays valid and lines stay in
 * order. The thread calls only prescan->run; begin, on_line and free run on the loop.
 * prescan_forget waits for the thread if it works on that child's line.
 */
#include "proc/proc_internal.h"

#include "base/limits.h"

static void start_next(struct proc_host *h);

static void prescan_run(void *ctx)
{
	struct prescan *s = ctx;

	s->proc->ev->prescan->run(s->work);
}

static void prescan_free(struct prescan *s)
{
	s->proc->ev->prescan->free(s->work);
	s->work = NULL;
	s->proc->host->prescans.counts.in_work--;
}

static void prescan_ended(void *ctx)
{
	struct prescan *s = ctx;
	struct proc *p = s->proc;
	int r;

	p->host->prescans.now = NULL;
	start_next(p->host);
	r = p->ev->prescan->on_line(p->ctx, s->line, s->work);
	p->faulted |= r < 0;
	s->kept = r == PRESCAN_KEPT;
	if (s->kept)
		return;
	prescan_free(s);
	proc_go_on(p);
}

void proc_line_done(struct proc *p)
{
	struct prescan *s = &p->prescan;

	if (!s->kept)
		return;
	s->kept = false;
	prescan_free(s);
	proc_go_on(p);
}

static void start_next(struct proc_host *h)
{
	struct prescan_queue *q = &h->prescans;

	if (q->now || list_empty(&q->waiting))
		return;
	q->now = list_first(&q->waiting, struct prescan, link);
	list_del(&q->now->link);
	loop_job_start(h->loop, &q->job, prescan_run, prescan_ended, q->now);
}

bool prescan_take(struct proc *p, struct slice line)
{
	struct prescan *s = &p->prescan;

	if (line.n < PRESCAN_MIN || !p->ev->prescan)
		return false;
	s->work = p->ev->prescan->begin(p->ctx, line);
	if (!s->work)
		return false;
	s->proc = p;
	s->line = line;
	loop_io_set(p->host->loop, &p->out, 0);
	list_add_tail(&p->host->prescans.waiting, &s->link);
	p->host->prescans.counts.lines++;
	p->host->prescans.counts.in_work++;
	start_next(p->host);
	return true;
}

void prescan_forget(struct proc *p)
{
	struct prescan *s = &p->prescan;
	struct prescan_queue *q = &p->host->prescans;

	if (!s->work)
		return;
	if (q->now == s) {
		loop_job_end(&q->job);
		q->now = NULL;
		start_next(p->host);
	} else if (!s->kept) {
		list_del(&s->link);
	}
	s->kept = false;
	prescan_free(s);
}
