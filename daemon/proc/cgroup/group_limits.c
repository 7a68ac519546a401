#include "proc/cgroup/group_limits.h"

#include "base/util.h"
#include "json/jdec.h"
#include "json/jenc.h"

static uint64_t either(uint64_t first, uint64_t second)
{
	return first ? first : second;
}

void group_limits_inherit(struct group_limits *to, const struct group_limits *from)
{
	to->memory = either(to->memory, from->memory);
	to->pids = either(to->pids, from->pids);
	to->cpu_weight = (unsigned)either(to->cpu_weight, from->cpu_weight);
}

bool group_limits_replace(struct group_limits *have, const struct group_limits *want)
{
	struct group_limits before = *have;

	*have = *want;
	group_limits_inherit(have, &before);
	return have->memory != before.memory || have->pids != before.pids ||
	       have->cpu_weight != before.cpu_weight;
}

static void put_said(struct jw *w, const char *key, uint64_t n)
{
	if (n)
		jw_uint(w, key, n);
}

void group_limits_put_members(const struct group_limits *l, struct jw *w)
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
