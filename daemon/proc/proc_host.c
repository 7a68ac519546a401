/* proc_host.c - what all children share: its life, and what others ask of it. */
#include "proc/proc_internal.h"

#include "base/limits.h"
#include "confine/watch/confine_watch.h"

#include <sys/prctl.h>

/* Our children that live: what descends from them is theirs. */
size_t proc_host_list(void *host, struct tree_own *ret, size_t max)
{
	struct proc_host *h = host;
	size_t n = 0;

	list_each(p, &h->procs, struct proc, link) {
		if (p->reaped)
			continue;
		if (n < max)
			ret[n] = (struct tree_own){ p->pid, p->session, false };
		n++;
	}
	return n;
}

struct proc_host *proc_host_new(struct loop *loop, struct owner_lock *owner)
{
	struct proc_host *h = new0(struct proc_host);

	h->loop = loop;
	list_init(&h->procs);
	list_init(&h->prescans.waiting);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	h->owner = owner;
	h->sweeper = sweeper_new(loop, proc_host_list, h);
	return h;
}

struct proc_host *proc_host_free(struct proc_host *h)
{
	if (!h)
		return NULL;
	/* all our own children are gone: any process still below us is an orphan of theirs */
	for (int i = 0; i < SWEEP_ROUNDS && tree_kill_descendants() > 0; i++)
		usleep(SWEEP_ROUND_MS * 1000);
	loop_task_cancel(&h->idle_task);
	loop_timer_cancel(&h->reap_timer);
	h->groups = cgroups_close(h->groups);
	h->sweeper = sweeper_free(h->sweeper);
	free(h);
	return NULL;
}

void proc_host_on_idle(struct proc_host *h, void (*fn)(void *ctx), void *ctx)
{
	h->idle = fn;
	h->idle_ctx = ctx;
}

unsigned proc_host_count(const struct proc_host *h)
{
	return h->count;
}

/* Before any child is started, and not earlier: to make them takes about as long as the rest of a start, and a daemon
 * that has started no child can answer without them. */
struct cgroups *proc_host_cgroups(struct proc_host *h)
{
	if (h->groups)
		return h->groups;
	h->groups = cgroups_open("", tree_owner_mark());
	if (h->owner)
		owner_write(h->owner, h->groups);
	return h->groups;
}

struct prescan_counts proc_host_prescans(const struct proc_host *h)
{
	return h->prescans.counts;
}

struct noise_counts *proc_host_noise(struct proc_host *h, enum noise_from from)
{
	return &h->noise[from];
}

/* --- bounds ---------------------------------------------------------------------------------------------- */

void proc_bounds_keep(struct proc_bounds *b)
{
	netns_ref(b->netns);
	proc_group_ref(b->group);
	refusals_ref(b->refusals);
	spaces_ref(b->spaces);
}

void proc_bounds_drop(struct proc_bounds *b)
{
	b->netns = netns_unref(b->netns);
	b->group = proc_group_unref(b->group);
	b->refusals = refusals_unref(b->refusals);
	b->spaces = spaces_unref(b->spaces);
}

bool proc_bounds_same(const struct proc_bounds *a, const struct proc_bounds *b)
{
	return a->switch_user == b->switch_user && a->may_gain == b->may_gain && a->uid == b->uid &&
	       a->gid == b->gid && a->netns == b->netns && a->confinement == b->confinement &&
	       a->group == b->group && a->spaces == b->spaces;
}

void proc_bounds_watch(const struct proc_bounds *b, int listener)
{
	confine_watch_start(listener,
			    &(struct watch_scope){ b->confinement, b->netns, b->refusals });
}
