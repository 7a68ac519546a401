#include "proc/bounds.h"

#include "confine/watch/confine_watch.h"

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
