/* restored_sockets.c - after a restore: the connections that sessions had to other machines. Their far ends are gone, and
 * nobody tells: a program that waits on one would wait for a time-out of TCP, or for ever. */
#include "session/core/session_internal.h"

#include "base/log.h"
#include "egress/egress.h"
#include "proc/machine/sock_destroy.h"
#include "session/parts/users/session_user.h"

struct owners {
	const struct session_store *st;
	bool proxy;
	uid_t proxy_uid; /* of acpd-proxy: it has the connections of sessions whose network is limited */
	struct cgroup_ids
		groups; /* of sessions: a program at level open may have become another user */
};

static bool is_in_group(const struct owners *o, uint64_t cgroup)
{
	for (size_t i = 0; i < o->groups.n; i++)
		if (o->groups.v[i] == cgroup)
			return true;
	return false;
}

/* Users alone are not enough: a program at level open can have become another user, but it stays in its cgroup. */
static bool is_of_session(void *ctx, const struct sock_maker *m)
{
	const struct owners *o = ctx;
	const struct agent_uids *uids = store_users_of(o->st)->uids;

	return m->uid == o->st->user.uid || (o->proxy && m->uid == o->proxy_uid) ||
	       (uids && uid_range_has(agent_uids_range(uids), m->uid)) || is_in_group(o, m->cgroup);
}

void store_destroy_sockets(const struct session_store *st)
{
	struct owners o = { .st = st };
	int r;

	/* Sessions that run as the daemon's user cannot be told from it: its own connections must stay. */
	if (!st->user.switched) {
		log_warn(
			"restore", "sockets of sessions kept", "why",
			"they are the daemon's user's, as others may be: --agent-user tells them apart");
		return;
	}
	o.proxy = egress_user(st->egress, &o.proxy_uid);
	list_each(s, (struct list *)&st->sessions, struct session, link)
		if (s->harness.group)
			proc_group_add_ids(s->harness.group, &o.groups);
	r = sock_destroy_all(is_of_session, &o);
	free(o.groups.v);
	if (r >= 0)
		log_info("restore", "sockets of sessions destroyed", "count", NUMBER_TEXT(r));
	else
		log_warn("restore", "sockets of sessions kept", "why",
			 r == -EOPNOTSUPP ? "the kernel lacks CONFIG_INET_DIAG_DESTROY" :
					    strerror(-r));
}
