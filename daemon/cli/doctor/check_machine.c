/*
 * check_machine.c - doctor: what kernel and network of this machine give.
 *
 * Each check asks the code that the daemon would use, for the settings that it would have. cgroups are made for a
 * moment, under a random name, and removed.
 */
#include "cli/doctor/doctor.h"
#include "cli/serve/serve.h"

#include "base/os/file.h"
#include "base/os/locked.h"
#include "confine/confine_machine.h"
#include "confine/confinement.h"
#include "confine/landlock.h"
#include "egress/nft_program.h"
#include "egress/nft_rules.h"
#include "net/tcp_listen.h"
#include "proc/cgroup/cgroups.h"
#include "proc/level_means.h"
#include "proc/spaces/netns.h"
#include "proc/spaces/spaces.h"

/* --- the network ---------------------------------------------------------------------------------------------- */

/* Who has it, for a message; "": nobody that can be seen. */
static const char *taken_by(int port, char *out, size_t size)
{
	_cleanup_(freep) struct listening *all = xalloc(DOCTOR_LISTENERS_MAX * sizeof(*all));
	size_t n = listening_find(all, DOCTOR_LISTENERS_MAX);
	char owner[64];

	*out = '\0';
	for (size_t i = 0; i < n && !*out; i++)
		if (all[i].port == port)
			snprintf(out, size, "; %s has it",
				 listening_owner(&all[i], owner, sizeof(owner)));
	return out;
}

void check_port(struct doctor *d)
{
	_cleanup_(freep) char *host = NULL;
	_cleanup_(closep) int fd = -1;
	char owner[96];
	struct err e;
	int port;

	if (serve_listen(d->c->listen, &host, &port, &e) < 0)
		return; /* that is a setting, and told there */
	fd = listen_tcp(host, port, &e);
	if (fd >= 0)
		doctor_found(d, FOUND_OK, NULL, "%s is free", d->c->listen);
	else
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL, "%s%s", e.msg,
					  taken_by(port, owner, sizeof(owner))),
			     "end who has it, or name another with --listen");
}

void check_listeners(struct doctor *d)
{
	_cleanup_(freep) struct listening *all = xalloc(DOCTOR_LISTENERS_MAX * sizeof(*all));
	size_t n = listening_find(all, DOCTOR_LISTENERS_MAX);
	char where[64], owner[64];

	for (size_t i = 0; i < n; i++) {
		bool v6 = strchr(all[i].address, ':') != NULL;

		snprintf(where, sizeof(where), "%s%s%s:%u", v6 ? "[" : "", all[i].address,
			 v6 ? "]" : "", all[i].port);
		doctor_found(d, FOUND_OK, where, "%s",
			     listening_owner(&all[i], owner, sizeof(owner)));
	}
	if (n == DOCTOR_LISTENERS_MAX)
		doctor_found(d, FOUND_OK, NULL, "there are more");
}

void check_network(struct doctor *d)
{
	found_network(d, netns_missing());
}

void check_nftables(struct doctor *d)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct nft_elements none = { 0 };
	const char *program = nft_program();
	char table[NFT_TABLE_SIZE];
	struct err e = { 0 };

	/* A check of a table that is never installed: whether nft and the kernel take our rules. */
	nft_table_name("doctor", table);
	nft_rules_put_table(&text, table, &none);
	if (geteuid() != 0)
		doctor_found(d, FOUND_WARNING, NULL, "no: only root can make walls");
	else if (!program)
		finding_hint(
			doctor_found(d, FOUND_WARNING, NULL, "no: nft is not installed"),
			"apt-get install nftables: without it a session that shares our network "
			"namespace has no wall");
	else if (nft_run_now(program, true, buf_slice(&text), &e) < 0)
		doctor_found(d, FOUND_WARNING, NULL, "no: %s", e.msg);
	else
		doctor_found(d, FOUND_OK, NULL, "yes: the network of a session can be walled in");
}

/* --- levels and cgroups ---------------------------------------------------------------------------------------------------- */

static const char *const limit_names[CGROUP_LIMITS] = {
	[CGROUP_MEMORY] = "memoryBytes", [CGROUP_PIDS] = "pids", [CGROUP_CPU] = "cpuWeight"
};

/* As a daemon that is started from here would have them. They are gone after. */
static struct cgroups *open_groups(void)
{
	return cgroups_open("", RANDOM_HEX(16));
}

struct lacks {
	char names[200], why[160];
};

static void note_lack(void *ctx, const char *what, const char *why)
{
	struct lacks *l = ctx;
	size_t n = strlen(l->names);

	snprintf(l->names + n, sizeof(l->names) - n, "%s%s", n ? ", " : "", what);
	if (!n)
		snprintf(l->why, sizeof(l->why), "%s: %s", what, why);
}

static bool is_level_named(const char *option, enum confine_level level)
{
	enum confine_level named;

	return option && level_parse(option, &named) == 0 && named == level;
}

/* Agents of one user are not kept from each other, but by namespaces. */
static const char *why_no_uids(const struct doctor *d, enum confine_level level)
{
	if (geteuid() != 0)
		return level == LEVEL_STRICT && !spaces_missing() ? NULL :
								    "the daemon would not be root";
	return !d->c->agent_user ? "there is no --agent-user" :
	       !d->c->agent_uids ? "there are no --agent-uids" :
				   NULL;
}

/* Besides the machine: what a daemon with these settings, started from here, would find (session/parts/confinement/session_level.c). */
static void note_settings(const struct doctor *d, enum confine_level level, struct lacks *l)
{
	static const enum cgroup_use uses[] = { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU };
	_cleanup_(freep) char *proxy = file_program("ACPD_PROXY", "acpd-proxy");
	struct cgroups *c = open_groups();

	if (level >= LEVEL_GUARDED && why_no_uids(d, level))
		note_lack(l, "uid", why_no_uids(d, level));
	for (size_t i = 0; level >= LEVEL_GUARDED && i < ARRAY_SIZE(uses); i++) {
		/* RLIMIT_NPROC takes the place of a cgroup where sessions have a user of their own. */
		bool rlimit = uses[i] == CGROUP_PIDS && d->c->agent_user && geteuid() == 0;

		if (*cgroups_why(c, uses[i]) && !rlimit)
			note_lack(l, limit_names[uses[i]], cgroups_why(c, uses[i]));
	}
	if (level == LEVEL_STRICT && !proxy)
		note_lack(l, "proxy", "acpd-proxy is not there");
	cgroups_close(c);
}

void check_levels(struct doctor *d)
{
	for (enum confine_level level = LEVEL_OPEN; level < LEVEL_MAX; level++) {
		/* what is named is met whole, or every session is refused */
		bool must = is_level_named(d->c->level, level) ||
			    is_level_named(d->c->level_min, level);
		struct lacks l = { { 0 }, { 0 } };
		struct level_ask ask = { .level = level,
					 .switched = d->c->agent_user && geteuid() == 0 };

		level_means_lack(&ask, note_lack, &l);
		note_settings(d, level, &l);
		if (!*l.names)
			doctor_found(d, FOUND_OK, level_name(level), "can be had whole");
		else
			finding_hint(doctor_found(d, must ? FOUND_TROUBLE : FOUND_WARNING,
						  level_name(level), "not whole: no %s", l.names),
				     "%s", l.why);
	}
}

void check_landlock(struct doctor *d)
{
	const char *why = confine_machine_missing(MACHINE_LANDLOCK);

	if (why)
		finding_hint(doctor_found(d, FOUND_WARNING, NULL, "no: %s", why),
			     "the helpers are confined by their user and system calls alone");
	else
		doctor_found(d, FOUND_OK, NULL, "version %d", landlock_abi());
}

/* Of requests that the daemon makes. Without acpd-fetch it makes none. */
void check_key_memory(struct doctor *d)
{
	_cleanup_(freep) char *program = file_program("ACPD_FETCH", "acpd-fetch");
	char why[LOCKED_WHY_SIZE] = "";
	int r = locked_probe(why);

	if (r == 0)
		doctor_found(d, FOUND_OK, NULL, "locked: keys are never swapped out");
	else
		finding_hint(doctor_found(d,
					  program && !d->c->unlocked_keys ? FOUND_TROUBLE :
									    FOUND_WARNING,
					  NULL, "cannot lock memory for keys: %s", strerror(-r)),
			     "%s, or use --unlocked-keys", why);
}

void check_cgroup(struct doctor *d)
{
	struct cgroups *c = open_groups();
	enum cgroup_kind kind = cgroups_kind(c, CGROUP_KILLING);

	found_cgroup(d, kind == CGROUP_NONE ? NULL : cgroup_kind_name(kind));
	cgroups_close(c);
}

void check_limits(struct doctor *d)
{
	struct cgroups *c = open_groups();

	for (unsigned use = 0; use < CGROUP_LIMITS; use++) {
		enum cgroup_kind kind = cgroups_kind(c, use);

		if (kind == CGROUP_NONE)
			doctor_found(d, FOUND_WARNING, limit_names[use], "none: %s",
				     cgroups_why(c, use));
		else
			doctor_found(d, FOUND_OK, limit_names[use], "cgroup %s",
				     cgroup_kind_name(kind));
	}
	cgroups_close(c);
}
