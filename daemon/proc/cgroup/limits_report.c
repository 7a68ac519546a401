#include "proc/cgroup/limits_report.h"

#include "json/jenc.h"

static const char *const names[CGROUP_LIMITS] = {
	[CGROUP_MEMORY] = "memoryBytes",
	[CGROUP_PIDS] = "pids",
	[CGROUP_CPU] = "cpuWeight",
};

static uint64_t number_of(const struct group_limits *l, enum cgroup_use use)
{
	return use == CGROUP_MEMORY ? l->memory : use == CGROUP_PIDS ? l->pids : l->cpu_weight;
}

/* An rlimit of processes counts those of a uid, ours as well if it is not another. There is none of memory that would
 * do: address space and data are counted as reserved, which JavaScript engines do by the terabyte. */
static const char *held_by(const struct limits_report *r, enum cgroup_use use)
{
	enum cgroup_kind kind = cgroups_kind(r->groups, use);

	if (kind != CGROUP_NONE)
		return kind == CGROUP_V2 ? "cgroup v2" : "cgroup v1";
	return use == CGROUP_PIDS && r->switch_user ? "rlimit" : "none";
}

static const char *why_not(const struct limits_report *r, enum cgroup_use use)
{
	if (strcmp(held_by(r, use), "rlimit") == 0)
		return "";
	return r->group ? proc_group_why(r->group, use) : cgroups_why(r->groups, use);
}

static void put_by(struct jw *w, const struct limits_report *r)
{
	jw_obj(w, "by");
	for (unsigned use = 0; use < CGROUP_LIMITS; use++)
		if (number_of(r->limits, use))
			jw_str(w, names[use], held_by(r, use));
	jw_end_obj(w);
}

static void put_missing(struct jw *w, const struct limits_report *r)
{
	bool any = false;

	for (unsigned use = 0; use < CGROUP_LIMITS; use++) {
		if (!number_of(r->limits, use) || !*why_not(r, use))
			continue;
		if (!any)
			jw_arr(w, "missing");
		any = true;
		jw_obj(w, NULL);
		jw_str(w, "what", names[use]);
		jw_str(w, "why", why_not(r, use));
		jw_end_obj(w);
	}
	if (any)
		jw_end_arr(w);
}

void limits_report_put(struct jw *w, const char *key, const struct limits_report *r)
{
	jw_obj(w, key);
	group_limits_put_members(r->limits, w);
	put_by(w, r);
	put_missing(w, r);
	jw_end_obj(w);
}
