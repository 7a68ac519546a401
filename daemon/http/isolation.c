/*
 * isolation.c - reports how agents are separated from root, from the daemon and from each other.
 *
 * The report is part of /ready, doctor and the log. Privilege escalation paths are searched at each
 * call, because images change these files after the start. Without --agent-user agents have the
 * daemon's uid, from which file modes do not protect; that is a warning in the log.
 */
#include "http/isolation.h"

#include "base/log.h"
#include "proc/spaces/netns.h"
#include "proc/users/root_access.h"
#include "session/parts/confinement/session_level.h"

#include <pwd.h>

/* Agents run as the user of the daemon: its files are not protected from them. */
static bool is_daemons_own(const struct session_store *st)
{
	const struct passwd *pw = store_agent_user(st) ? getpwnam(store_agent_user(st)) : NULL;

	return !pw || pw->pw_uid == geteuid();
}

/* Setuid programs give agents nothing. */
static bool gains_nothing(const struct session_store *st)
{
	return store_agent_user(st) && store_level(st) != LEVEL_OPEN;
}

static void isolation_find(const struct session_store *st, struct root_access *ret)
{
	const struct passwd *pw = store_agent_user(st) ? NULL : getpwuid(geteuid());

	root_access_find(ret, "/etc",
			 store_agent_user(st) ? store_agent_user(st) :
			 pw		      ? pw->pw_name :
						"");
}

void isolation_put(const struct session_store *st, struct jw *w, const char *key)
{
	struct root_access found;

	isolation_find(st, &found);
	jw_obj(w, key);
	store_put_level(st, w);
	store_put_levels(st, w);
	jw_str(w, "agentUser", store_agent_user(st));
	jw_bool(w, "noNewPrivileges", gains_nothing(st));
	jw_bool(w, "daemonUser", is_daemons_own(st));
	jw_bool(w, "sharedUser", !store_has_uids(st));
	store_put_uids(st, w, "agentUids");
	jw_bool(w, "networkNamespaces", !netns_missing());
	jw_str(w, "networkMissing", netns_missing());
	jw_arr(w, "waysToRoot");
	for (size_t i = 0; i < found.n; i++)
		jw_object(w, NULL, JW_STR("kind", found.ways[i].kind),
			  JW_STR("text", found.ways[i].text));
	jw_end_arr(w);
	if (found.unread)
		jw_bool(w, "unread", true);
	jw_end_obj(w);
}

void isolation_log(const struct session_store *st)
{
	struct root_access found;

	isolation_find(st, &found);
	log_info("serve", "how agents run", "agentUser",
		 store_agent_user(st) ? store_agent_user(st) : "none: the daemon's own user",
		 "noNewPrivileges", gains_nothing(st) ? "true" : "false", "sharedUser",
		 store_has_uids(st) ? "false" : "true");
	store_log_level(st);
	store_log_uids(st);
	if (is_daemons_own(st))
		log_warn(
			"serve",
			"agents run as the daemon's own user and can read its token, usage records and journals: start it as root with --agent-user");
	for (size_t i = 0; i < found.n; i++)
		log_warn("serve", "a way to root is open", "kind", found.ways[i].kind, "text",
			 found.ways[i].text);
	if (found.unread)
		log_warn("serve", "not all files that may open a way to root could be read");
}
