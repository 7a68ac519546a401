/*
 * proc.c - the life of a child: start, its three streams, the stop ladder, the sweep after its end.
 *
 * A child is done when its leader is reaped, its descendants are swept, and both output pipes are at
 * their end, in whatever order (proc_check_done). Its owner frees it in on_exit, so that runs from a
 * deferred task. A process that cannot be killed may hold a pipe open for ever: after the sweep a
 * pipe has STOP_DRAIN_MS, and then only what it contains is read.
 */
#include "proc/proc_internal.h"

#include "base/limits.h"
#include "proc/cgroup/cgroup_place.h"
#include "proc/spawn.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void proc_report(void *ctx)
{
	struct proc *p = ctx;
	bool exited = WIFEXITED(p->wait_status);
	int code = exited ? WEXITSTATUS(p->wait_status) : WTERMSIG(p->wait_status);
	struct proc_status st = { exited, code, text_tail_show(&p->tail), lines_rest(&p->lines),
				  p->signalled };

	p->ev->on_exit(p->ctx, &st);
}

/* Leader reaped, no descendant left, pipes read to their end: now the owner may know. */
static void proc_check_done(struct proc *p)
{
	if (!p->reaped || !p->swept || p->done || p->out.fd >= 0 || p->errout.fd >= 0)
		return;
	p->done = true;
	loop_timer_cancel(&p->sweep_timer);
	cgroup_seat_leave(&p->seat);
	loop_defer(p->host->loop, &p->exit_task, proc_report, p);
}

static void proc_drained(void *ctx);

/* If no other session has a living leader, a process below us without a mark belongs to this one; and what runs as its
 * uid, if nothing else of ours does. */
static void claim_strays(struct proc *self)
{
	self->sweep.target.strays = true;
	self->sweep.target.uid = self->own_uid;
	list_each(p, &self->host->procs, struct proc, link) {
		if (p == self || p->reaped)
			continue;
		self->sweep.target.strays &= p->trusted;
		self->sweep.target.uid = p->own_uid == self->own_uid ? 0 : self->sweep.target.uid;
	}
}

static void proc_sweep(void *ctx);

/* A round of killing is over; gone: it found nothing. */
static void swept_once(void *ctx, bool gone)
{
	struct proc *p = ctx;

	if (!gone && ++p->rounds < SWEEP_ROUNDS) {
		loop_timer_set(p->host->loop, &p->sweep_timer, SWEEP_ROUND_MS, proc_sweep, p);
		return;
	}
	p->swept = true;
	loop_timer_set(p->host->loop, &p->sweep_timer, STOP_DRAIN_MS, proc_drained, p);
	proc_check_done(p);
}

/* Kills the session's processes, round by round, until none is found. In a cgroup the kernel knows them all. */
static void proc_sweep(void *ctx)
{
	struct proc *p = ctx;

	if (p->seat.dir) {
		swept_once(p, cgroup_dir_kill(p->seat.dir));
		return;
	}
	sweep_set(&p->sweep, p->session, p->pid, swept_once, p);
	claim_strays(p);
	sweep_ask(p->host->sweeper, &p->sweep);
}

static void turn_swept(void *ctx _unused_, bool gone _unused_)
{
}

void proc_sweep_turn(struct proc *p, uint64_t from, uint64_t until)
{
	if (p->reaped)
		return;
	sweep_set(&p->turn_sweep, p->session, p->pid, turn_swept, p);
	p->turn_sweep.target.from = from;
	p->turn_sweep.target.until = until;
	sweep_ask(p->host->sweeper, &p->turn_sweep);
}

static void proc_reaped(struct proc *p, int status, const struct rusage *used)
{
	p->reaped = true;
	p->used = *used;
	p->wait_status = status;
	/* The ladder ends here: its signals would go to another process of that number. */
	loop_timer_cancel(&p->stop_timer);
	loop_io_close(p->host->loop, &p->in);
	/* In one scan with the sweep of the end it would exclude processes from that and answer for it. */
	sweep_forget(&p->turn_sweep);
	proc_sweep(p);
}

static void on_reaped(struct proc_host *h, pid_t pid, int status, const struct rusage *used)
{
	list_each(p, &h->procs, struct proc, link) {
		if (p->pid == pid && !p->reaped) {
			proc_reaped(p, status, used);
			return;
		}
	}
}

/* Children and orphans of agents, of which the kernel makes a subreaper the parent. A few at a time: an agent can leave
 * many, and the loop has other work. */
static void reap_children(void *ctx)
{
	struct proc_host *h = ctx;
	struct rusage used;
	int status;

	for (size_t i = 0; i < REAP_MAX; i++) {
		pid_t pid = wait4(-1, &status, WNOHANG, &used);

		if (pid <= 0)
			return;
		on_reaped(h, pid, status, &used);
	}
	loop_timer_set(h->loop, &h->reap_timer, 1, reap_children, h);
}

void proc_host_reap(struct proc_host *h)
{
	reap_children(h);
}

static void proc_close_stdout(struct proc *p, const char *fault)
{
	bool told = p->faulted;

	p->faulted |= fault != NULL;
	loop_io_close(p->host->loop, &p->out);
	if (!told && !p->reaped && p->ev->on_closed)
		p->ev->on_closed(p->ctx, fault);
	proc_check_done(p);
}

static void deliver_lines(struct proc *p)
{
	struct slice line;
	int r = 0;

	while (!p->faulted && (r = lines_next(&p->lines, &line)) > 0) {
		if (prescan_take(p, line))
			return;
		p->faulted = p->ev->on_line && p->ev->on_line(p->ctx, line) < 0;
	}
	lines_trim(&p->lines);
	if (p->faulted) {
		loop_io_close(p->host->loop, &p->out);
		proc_check_done(p);
	} else if (r < 0) {
		proc_close_stdout(p, "a line is longer than the limit");
	}
}

static void stdout_eof(struct proc *p)
{
	struct slice rest = lines_rest(&p->lines);

	/* Its LF did not come: a CR at the end is no part of the line, as in lines_next. */
	rest.n -= rest.n && rest.p[rest.n - 1] == '\r';
	if (rest.n && !p->faulted && p->ev->on_rest)
		p->ev->on_rest(p->ctx, rest);
	proc_close_stdout(p, NULL);
}

/* True: the pipe may hold more. */
static bool read_stdout(struct proc *p)
{
	char *space = lines_space(&p->lines, CHILD_READ_BYTES);
	ssize_t n;

	if (!space) {
		proc_close_stdout(p, "a line is longer than the limit");
		return false;
	}
	n = read(p->out.fd, space, CHILD_READ_BYTES);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		stdout_eof(p);
		return false;
	}
	lines_filled(&p->lines, (size_t)n);
	deliver_lines(p);
	return p->out.fd >= 0 && !p->prescan.work;
}

static void on_child_stdout(void *ctx, uint32_t events _unused_)
{
	read_stdout(ctx);
}

static bool read_stderr(struct proc *p)
{
	static char chunk[CHILD_READ_BYTES];
	ssize_t n = read(p->errout.fd, chunk, sizeof(chunk));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n > 0) {
		text_tail_add(&p->tail, chunk, (size_t)n);
		return true;
	}
	loop_io_close(p->host->loop, &p->errout);
	proc_check_done(p);
	return false;
}

static void on_child_stderr(void *ctx, uint32_t events _unused_)
{
	read_stderr(ctx);
}

void proc_go_on(struct proc *p)
{
	deliver_lines(p);
	if (p->prescan.work)
		return;
	if (p->out.fd >= 0)
		loop_io_set(p->host->loop, &p->out, EPOLLIN);
	if (p->prescan.drain_due)
		proc_drained(p);
}

/* Something that cannot be killed still holds a pipe. What the pipe has now is the last that is read: a loop that was
 * busy until this timer has not seen it yet. */
static void proc_drained(void *ctx)
{
	struct proc *p = ctx;

	p->prescan.drain_due = p->prescan.work;
	if (p->prescan.drain_due)
		return; /* proc_go_on calls this again */
	for (int i = 0; i < STOP_DRAIN_READS && p->out.fd >= 0 && read_stdout(p); i++)
		;
	for (int i = 0; i < STOP_DRAIN_READS && p->errout.fd >= 0 && read_stderr(p); i++)
		;
	if (p->out.fd >= 0 && !p->prescan.work)
		stdout_eof(p);
	p->prescan.drain_due = p->prescan.work;
	if (p->prescan.drain_due)
		return;
	loop_io_close(p->host->loop, &p->errout);
	proc_check_done(p);
}

static void flush_stdin(struct proc *p)
{
	while (buf_len(&p->in_buf)) {
		ssize_t n =
			RETRY(write(p->in.fd, p->in_buf.data + p->in_buf.pos, buf_len(&p->in_buf)));

		/* The rest is sent on EPOLLOUT. */
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) { /* the reader is gone; its exit tells the story */
			loop_io_close(p->host->loop, &p->in);
			return;
		}
		buf_consume(&p->in_buf, (size_t)n);
	}
	buf_trim(&p->in_buf, IO_KEEP_BYTES);
	if (!buf_len(&p->in_buf) && p->state != PROC_RUNNING)
		loop_io_close(p->host->loop, &p->in);
	else
		loop_io_set(p->host->loop, &p->in, buf_len(&p->in_buf) ? EPOLLOUT : 0);
}

static void on_child_stdin(void *ctx, uint32_t events _unused_)
{
	flush_stdin(ctx);
}

int proc_send(struct proc *p, struct slice line)
{
	bool idle = buf_len(&p->in_buf) == 0;
	int r;

	if (p->in.fd < 0 || p->state != PROC_RUNNING)
		return -EPIPE;
	r = buf_reserve(&p->in_buf, line.n + 1);
	if (r < 0)
		return r;
	buf_add_slice(&p->in_buf, line);
	buf_putc(&p->in_buf, '\n');
	if (idle)
		flush_stdin(p);
	return 0;
}

struct proc *proc_spawn(struct proc_host *h, const struct proc_spec *spec,
			const struct proc_events *ev, void *ctx, struct err *e)
{
	_cleanup_(cgroup_join_close) struct cgroup_join join = { .n = 0 };
	const struct cgroups *groups = proc_host_cgroups(h);
	struct cgroup_seat seat;
	struct spawned s;
	struct proc *p;
	int r = cgroup_seat_take(groups, spec->bounds.group, spec->session, &seat, &join);

	if (r < 0) {
		err_set(e, r, RPC_INTERNAL_ERROR, "HARNESS_SPAWN_FAILED",
			"no cgroup can be made for %s: %s", spec->argv[0], strerror(-r));
		return NULL;
	}
	if (spawn_child(spec, &join, &s, e) < 0) {
		cgroup_seat_leave(&seat);
		return NULL;
	}
	if (confinement_logs(spec->bounds.confinement))
		proc_bounds_watch(&spec->bounds, s.listener);
	p = new0(struct proc);
	p->host = h;
	p->ev = ev;
	p->ctx = ctx;
	p->session = xstrdup(spec->session);
	p->trusted = spec->trusted;
	p->own_uid = spec->bounds.own_uid ? spec->bounds.uid : 0;
	p->standing = spec->standing;
	p->seat = seat;
	measure_open(&p->measure,
		     cgroups_kind(groups, CGROUP_KILLING) == CGROUP_V2 ? seat.dir : NULL);
	p->pid = s.pid;
	p->pidfd = s.pidfd;
	p->in_buf.max = CHILD_IN_MAX;
	lines_init(&p->lines, spec->line_max ? spec->line_max : LINE_MAX_BYTES);
	p->in = (struct loop_io){ .fd = s.in, .fn = on_child_stdin, .ctx = p };
	p->out = (struct loop_io){ .fd = s.out, .fn = on_child_stdout, .ctx = p };
	p->errout = (struct loop_io){ .fd = s.errout, .fn = on_child_stderr, .ctx = p };
	loop_io_set(h->loop, &p->out, EPOLLIN);
	loop_io_set(h->loop, &p->errout, EPOLLIN);
	list_add_tail(&h->procs, &p->link);
	h->count += !p->standing;
	return p;
}

struct proc *proc_free(struct proc *p)
{
	if (!p)
		return NULL;
	prescan_forget(p);
	list_del(&p->link);
	if (!p->standing && !--p->host->count && p->host->idle)
		loop_defer(p->host->loop, &p->host->idle_task, p->host->idle, p->host->idle_ctx);
	loop_timer_cancel(&p->stop_timer);
	loop_timer_cancel(&p->sweep_timer);
	sweep_forget(&p->sweep);
	sweep_forget(&p->turn_sweep);
	loop_task_cancel(&p->exit_task);
	loop_io_close(p->host->loop, &p->in);
	loop_io_close(p->host->loop, &p->out);
	loop_io_close(p->host->loop, &p->errout);
	closep(&p->pidfd);
	measure_close(&p->measure);
	buf_done(&p->in_buf);
	lines_done(&p->lines);
	free_each(p->session, p);
	return NULL;
}

pid_t proc_pid(const struct proc *p)
{
	return p->pid;
}

static void send_signal(struct proc *p, int signo)
{
	if (p->reaped)
		return;
	p->signalled = true;
	/* not reaped yet, so the pid is still ours even where no pidfd could be had */
	if (p->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, p->pidfd, signo, NULL, 0);
	else
		kill(p->pid, signo);
}

static void stop_next(void *ctx)
{
	struct proc *p = ctx;

	if (p->reaped)
		return;
	if (p->state == PROC_STOPPING) {
		p->state = PROC_TERMINATED;
		send_signal(p, SIGTERM);
		loop_timer_set(p->host->loop, &p->stop_timer, STOP_TERM_MS, stop_next, p);
	} else {
		proc_kill(p);
	}
}

void proc_stop(struct proc *p)
{
	if (p->state != PROC_RUNNING || p->reaped)
		return;
	p->state = PROC_STOPPING;
	if (p->in.fd >= 0)
		flush_stdin(p);
	loop_timer_set(p->host->loop, &p->stop_timer, STOP_EOF_MS, stop_next, p);
}

void proc_kill(struct proc *p)
{
	if (p->reaped)
		return;
	p->state = PROC_KILLED;
	loop_timer_cancel(&p->stop_timer);
	send_signal(p, SIGKILL);
	/* descendants may sit in uninterruptible sleep; the sweep after the reap goes on killing */
	cgroup_dir_kill(p->seat.dir);
}

struct proc *proc_end(struct proc *p)
{
	if (!p)
		return NULL;
	proc_kill(p);
	if (!p->reaped)
		RETRY(waitpid(p->pid, NULL, 0));
	if (!p->done)
		cgroup_seat_leave(&p->seat);
	return proc_free(p);
}

void proc_measure(const struct proc *p, bool peak, struct proc_usage *ret)
{
	if (p->reaped)
		measure_dead(&p->used, ret);
	else
		measure_tree(&p->measure, p->pid, peak, ret);
}
