#include "proc/own_groups.h"

#include "proc/owner.h"
#include "proc/table/process_tree.h"

struct cgroups *own_groups_get(struct own_groups *g)
{
	if (g->made)
		return g->made;
	g->made = cgroups_open("", tree_owner_mark());
	if (g->owner)
		owner_write(g->owner, g->made);
	return g->made;
}

void own_groups_done(struct own_groups *g)
{
	g->made = cgroups_close(g->made);
}
