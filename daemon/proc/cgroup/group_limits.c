/*
 * group_limits.c - limits as values, as JSON, and as the report that clients see.
 *
 * A limit of 0 was not requested, so it is inherited and left out of every object. The report names
 * for each limit what enforces it: a machine without cgroups enforces processes by an rlimit, and
 * only for a user other than the daemon's.
 */
#include "proc/cgroup/group_limits.h"

#include "base/util.h"
#include "json/json.h"
#include "proc/cgroup/proc_group.h"

static uint64_t first_or_second(uint64_t first, uint64_t second)
{
	return first ? first : second;
}

void group_limits_inherit(struct group_limits *to, const struct group_limits *from)
{
	to->memory = first_or_second(to->memory, from->memory);
	to->pids = first_or_second(to->pids, from->pids);
	to->cpu_weight = (unsigned)first_or_second(to->cpu_weight, from->cpu_weight);
}

static void put_said(struct jw *w, const char *key, uint64_t n)
{
	if (n)
		jw_uint(w, key, n);
}

static void group_limits_put_members(const struct group_limits *l, struct jw *w)
{
	put_said(w, "memoryBytes", l->memory);
	put_said(w, "pids", l->pids);
	put_said(w, "cpuWeight", l->cpu_weight);
}

void group_limits_put(const struct group_limits *l, struct jw *w, const char *key)
{
	if (!l->memory && !l->pids && !l->cpu_weight)
		return;
	jw_obj(w, key);
	group_limits_put_members(l, w);
	jw_end_obj(w);
}

void group_limits_load(struct slice object, struct group_limits *ret)
{
	*ret = (struct group_limits){ 0 };
	if (!object.n)
		return;
	ret->memory = jobj_uint(object, "memoryBytes");
	ret->pids = jobj_uint(object, "pids");
	ret->cpu_weight = (unsigned)MIN(jobj_uint(object, "cpuWeight"), (uint64_t)CPU_WEIGHT_MAX);
}

/* --- the report ------------------------------------------------------------------------------------------ */

static const char *const names[CGROUP_LIMITS] = {
	[CGROUP_MEMORY] = "memoryBytes",
	[CGROUP_PIDS] = "pids",
	[CGROUP_CPU] = "cpuWeight",
};

static uint64_t limit_number(const struct group_limits *l, enum cgroup_use use)
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

static const char *limit_why_not(const struct limits_report *r, enum cgroup_use use)
{
	if (strcmp(held_by(r, use), "rlimit") == 0)
		return "";
	return r->group ? proc_group_why(r->group, use) : cgroups_why(r->groups, use);
}

static void put_by(struct jw *w, const struct limits_report *r)
{
	jw_obj(w, "by");
	for (unsigned use = 0; use < CGROUP_LIMITS; use++)
		if (limit_number(r->limits, use))
			jw_str(w, names[use], held_by(r, use));
	jw_end_obj(w);
}

static void limits_put_missing(struct jw *w, const struct limits_report *r)
{
	bool any = false;

	for (unsigned use = 0; use < CGROUP_LIMITS; use++) {
		if (!limit_number(r->limits, use) || !*limit_why_not(r, use))
			continue;
		if (!any)
			jw_arr(w, "missing");
		any = true;
		jw_object(w, NULL, JW_STR("what", names[use]),
			  JW_STR("why", limit_why_not(r, use)));
	}
	if (any)
		jw_end_arr(w);
}

void limits_report_put(struct jw *w, const char *key, const struct limits_report *r)
{
	jw_obj(w, key);
	group_limits_put_members(r->limits, w);
	put_by(w, r);
	limits_put_missing(w, r);
	jw_end_obj(w);
}
