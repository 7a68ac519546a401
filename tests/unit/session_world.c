#include "session_world.h"

#include "base/clock.h"
#include "base/util.h"
#include "proc/proc.h"
#include "proc/table/process_tree.h"
#include "session/parts/check/check_internal.h"
#include "usage/ledger/ledger.h"

#include <errno.h>

#define SYNCS_MAX 64
#define WORLD_START 1000000
#define MS_PER_TICK 10
#define TASKS_MAX 1000 /* of one run of the loop's tasks: more of them have no end */

struct child {
	const struct proc_events *ev;
	void *ctx;
	bool stopped, faulted;
};

struct sync {
	struct ledger_wait *wait;
	void (*done)(void *ctx, int error);
	void *ctx;
};

struct write {
	const struct materialize_events *ev;
	void *ctx;
	bool aborted;
};

struct command {
	struct check_evidence *evidence;
	void (*ended)(void *ctx);
	void *ctx;
};

static struct {
	bool active, refuse;
	struct loop *loop;
	uint64_t now;
	unsigned tasks;
	struct list timers;
	struct child *child;
	struct sync syncs[SYNCS_MAX];
	unsigned nsyncs;
	struct write *write;
	struct command *command;
} world;

/* The linker's names for the product's functions, and for what stands in their place. */
#define WRAP(ret, name, ...)                                                                       \
	ret __real_##name(__VA_ARGS__);                                                            \
	ret __wrap_##name(__VA_ARGS__);                                                            \
	ret __wrap_##name(__VA_ARGS__)

void world_begin(struct loop *loop)
{
	memset(&world, 0, sizeof(world));
	list_init(&world.timers);
	world.loop = loop;
	world.now = WORLD_START;
	world.active = true;
}

void world_end(void)
{
	world.active = false;
}

/* --- time ---------------------------------------------------------------------------------------------- */

WRAP(uint64_t, clock_mono_ms, void)
{
	return world.active ? world.now : __real_clock_mono_ms();
}

WRAP(uint64_t, tree_now, void)
{
	return world.active ? world.now / MS_PER_TICK : __real_tree_now();
}

WRAP(void, loop_timer_cancel, struct loop_timer *t)
{
	if (!world.active) {
		__real_loop_timer_cancel(t);
		return;
	}
	if (t->due)
		list_del(&t->link);
	t->due = 0;
}

WRAP(void, loop_timer_set, struct loop *l, struct loop_timer *t, uint64_t ms, void (*fn)(void *ctx),
     void *ctx)
{
	struct list *at;

	if (!world.active) {
		__real_loop_timer_set(l, t, ms, fn, ctx);
		return;
	}
	__wrap_loop_timer_cancel(t);
	*t = (struct loop_timer){ .due = world.now + MAX(ms, 1u), .fn = fn, .ctx = ctx, .loop = l };
	for (at = world.timers.prev; at != &world.timers; at = at->prev)
		if (list_entry(at, struct loop_timer, link)->due <= t->due)
			break;
	list_init(&t->link);
	list_add_tail(at->next, &t->link);
}

struct loop_timer *world_next(bool (*ours)(const void *ctx, const struct loop_timer *t),
			      const void *ctx)
{
	list_each(t, &world.timers, struct loop_timer, link)
		if (ours(ctx, t))
			return t;
	return NULL;
}

void world_fire(struct loop_timer *t)
{
	world.now = MAX(world.now, t->due);
	__wrap_loop_timer_cancel(t);
	t->fn(t->ctx);
	loop_run_deferred(world.loop);
}

void world_each_timer(void (*fn)(void *ctx, const struct loop_timer *t), void *ctx)
{
	list_each(t, &world.timers, struct loop_timer, link)
		fn(ctx, t);
}

/* --- what comes next ----------------------------------------------------------------------------------- */

/* One task too many is dropped, so that its test fails instead of going on for ever. */
WRAP(void, loop_defer, struct loop *l, struct loop_task *t, void (*fn)(void *ctx), void *ctx)
{
	if (world.active && !t->fn && ++world.tasks > TASKS_MAX)
		return;
	__real_loop_defer(l, t, fn, ctx);
}

WRAP(void, loop_run_deferred, struct loop *l)
{
	world.tasks = 0;
	__real_loop_run_deferred(l);
}

unsigned world_tasks(void)
{
	return world.tasks;
}

bool world_restless(void)
{
	return world.tasks > TASKS_MAX;
}

/* --- the child ----------------------------------------------------------------------------------------- */

static struct child *child_of(const struct proc *p)
{
	return (struct child *)(uintptr_t)p;
}

/* Other programs than a harness (acpd-unpack) cannot be started. */
WRAP(struct proc *, proc_spawn, struct proc_host *h, const struct proc_spec *spec,
     const struct proc_events *ev, void *ctx, struct err *e)
{
	if (!world.active)
		return __real_proc_spawn(h, spec, ev, ctx, e);
	if (spec->trusted || world.child) {
		err_set(e, -EAGAIN, 0, "NO_CHILD", "no such child here");
		return NULL;
	}
	world.child = new0(struct child);
	world.child->ev = ev;
	world.child->ctx = ctx;
	return (struct proc *)world.child;
}

WRAP(struct proc *, proc_free, struct proc *p)
{
	if (!world.active)
		return __real_proc_free(p);
	free(child_of(p));
	return NULL;
}

WRAP(unsigned, proc_host_count, const struct proc_host *h)
{
	return world.active ? world.child != NULL : __real_proc_host_count(h);
}

/* None can be made. */
WRAP(const struct cgroups *, proc_host_cgroups, struct proc_host *h)
{
	static struct cgroups *none;

	if (!world.active)
		return __real_proc_host_cgroups(h);
	if (!none)
		none = cgroups_open("/nowhere", "world");
	return none;
}

WRAP(void, proc_host_on_idle, struct proc_host *h, void (*fn)(void *ctx), void *ctx)
{
	if (!world.active)
		__real_proc_host_on_idle(h, fn, ctx);
}

WRAP(pid_t, proc_pid, const struct proc *p)
{
	return world.active ? 1 : __real_proc_pid(p);
}

WRAP(void, proc_stop, struct proc *p)
{
	if (world.active)
		child_of(p)->stopped = true;
	else
		__real_proc_stop(p);
}

WRAP(void, proc_kill, struct proc *p)
{
	if (world.active)
		child_of(p)->stopped = true;
	else
		__real_proc_kill(p);
}

WRAP(void, proc_sweep_turn, struct proc *p, uint64_t from, uint64_t until)
{
	if (!world.active)
		__real_proc_sweep_turn(p, from, until);
}

WRAP(void, proc_measure, const struct proc *p, bool peak, struct proc_usage *ret)
{
	if (world.active)
		*ret = (struct proc_usage){ 0 };
	else
		__real_proc_measure(p, peak, ret);
}

bool world_alive(void)
{
	return world.child;
}

bool world_stopped(void)
{
	return world.child && world.child->stopped;
}

void world_line(const char *line)
{
	if (!world.child->faulted)
		world.child->faulted = world.child->ev->on_line(world.child->ctx, slice_of(line)) <
				       0;
	loop_run_deferred(world.loop);
}

void world_exit(int code)
{
	struct child *c = TAKE_PTR(world.child);

	c->ev->on_exit(c->ctx, &(struct proc_status){ true, code, "", SLICE_NONE, false });
	loop_run_deferred(world.loop);
}

/* --- the ledger's disk ----------------------------------------------------------------------------------- */

WRAP(void, ledger_wait_cancel, struct ledger_wait *w)
{
	if (!world.active) {
		__real_ledger_wait_cancel(w);
		return;
	}
	for (unsigned i = 0; i < world.nsyncs; i++)
		if (world.syncs[i].wait == w)
			world.syncs[i].wait = NULL;
}

WRAP(void, ledger_sync, struct ledger *l, struct ledger_wait *w, void (*done)(void *ctx, int error),
     void *ctx)
{
	if (world.active)
		world.syncs[world.nsyncs++ % SYNCS_MAX] = (struct sync){ w, done, ctx };
	else
		__real_ledger_sync(l, w, done, ctx);
}

unsigned world_unsynced(void)
{
	return world.nsyncs;
}

void world_sync(int error)
{
	unsigned n = world.nsyncs;

	for (unsigned i = 0; i < n; i++)
		if (world.syncs[i].wait)
			world.syncs[i].done(world.syncs[i].ctx, error);
	world.nsyncs -= n;
	memmove(world.syncs, world.syncs + n, world.nsyncs * sizeof(*world.syncs));
	loop_run_deferred(world.loop);
}

/* --- the workspace --------------------------------------------------------------------------------------- */

WRAP(struct materialize *, materialize_start, struct workspaces *ws,
     const struct materialize_spec *spec, const struct materialize_events *ev, void *ctx,
     struct err *e)
{
	if (!world.active)
		return __real_materialize_start(ws, spec, ev, ctx, e);
	if (world.refuse) {
		err_set(e, -EINVAL, RPC_INVALID_PARAMS, "REFUSED", "not now");
		return NULL;
	}
	world.write = new0(struct write);
	world.write->ev = ev;
	world.write->ctx = ctx;
	return (struct materialize *)world.write;
}

WRAP(void, materialize_abort, struct materialize *m)
{
	if (world.active)
		world.write->aborted = true;
	else
		__real_materialize_abort(m);
}

WRAP(struct materialize *, materialize_free, struct materialize *m)
{
	if (!world.active)
		return __real_materialize_free(m);
	if (m == (struct materialize *)world.write)
		world.write = NULL;
	free(m);
	return NULL;
}

bool world_writing(void)
{
	return world.write;
}

bool world_write_aborted(void)
{
	return world.write && world.write->aborted;
}

void world_written(const char *reason)
{
	struct materialized m = { .members = SLICE("\"workspace\":{}") };
	struct write *w = world.write;
	struct err e;

	err_set(&e, -EINVAL, RPC_INVALID_PARAMS, reason ? reason : "", "not written");
	w->ev->done(w->ctx, &m, reason ? &e : NULL, SLICE_NONE);
	loop_run_deferred(world.loop);
}

void world_refuse_write(bool refuse)
{
	world.refuse = refuse;
}

/* --- checks ------------------------------------------------------------------------------------------------ */

WRAP(struct check_process *, check_process_start, struct session *s, const struct check_spec *spec,
     struct slice message, struct check_evidence *ret, void (*ended)(void *ctx), void *ctx,
     struct err *e)
{
	if (!world.active)
		return __real_check_process_start(s, spec, message, ret, ended, ctx, e);
	world.command = new0(struct command);
	*world.command = (struct command){ ret, ended, ctx };
	return (struct check_process *)world.command;
}

WRAP(void, check_process_stop, struct check_process *p)
{
	if (!world.active)
		__real_check_process_stop(p);
}

WRAP(struct check_process *, check_process_free, struct check_process *p)
{
	if (!world.active)
		return __real_check_process_free(p);
	if (p == (struct check_process *)world.command)
		world.command = NULL;
	free(p);
	return NULL;
}

bool world_checking(void)
{
	return world.command;
}

void world_checked(bool ok)
{
	struct command *c = world.command;

	c->evidence->ok = ok;
	c->ended(c->ctx);
	loop_run_deferred(world.loop);
}
