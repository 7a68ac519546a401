#include "loop/job.h"

#include "base/limits.h"
#include "base/os/threads.h"
#include "base/util.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

static void *work(void *ctx)
{
	struct loop_job *j = ctx;

	j->run(j->ctx);
	eventfd_write(j->io.fd, 1);
	return NULL;
}

static void let_go(struct loop_job *j)
{
	if (j->threaded)
		pthread_join(j->thread, NULL);
	loop_task_cancel(&j->task);
	loop_io_close(j->loop, &j->io);
	j->busy = j->threaded = false;
}

static void ended(void *ctx)
{
	struct loop_job *j = ctx;

	let_go(j);
	j->done(j->ctx);
}

static void on_event(void *ctx, uint32_t events _unused_)
{
	ended(ctx);
}

void loop_job_start(struct loop *loop, struct loop_job *j, void (*run)(void *ctx),
		    void (*done)(void *ctx), void *ctx)
{
	*j = (struct loop_job){ .loop = loop, .run = run, .done = done, .ctx = ctx, .busy = true };
	j->io = (struct loop_io){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
				  .fn = on_event,
				  .ctx = j };
	if (j->io.fd >= 0 && loop_io_set(loop, &j->io, EPOLLIN) == 0)
		j->threaded = thread_start_sized(&j->thread, JOB_STACK, work, j) == 0;
	if (j->threaded)
		return;
	run(ctx);
	loop_defer(loop, &j->task, ended, j);
}

void loop_job_end(struct loop_job *j)
{
	if (j->busy)
		let_go(j);
}
