/* meta_bounds.c - the members of _meta.acpd that say what a session may reach and use: level, network,
 * limits. */
#include "acp/params.h"

#include "base/limits.h"
#include "egress/wire/egress_rules.h"
#include "json/jstr.h"

#define LEVEL_WORD_MAX 32

struct level_args {
	char *name;
	bool at_least, log;
};

static const struct jfield level_fields[] = {
	JF_STR(struct level_args, name, "name", JF_REQUIRED, LEVEL_WORD_MAX),
	JF_BOOL(struct level_args, at_least, "atLeast", 0),
	JF_BOOL(struct level_args, log, "log", 0),
	JF_END,
};

static int name_level(const char *name, const char *field, struct level_wish *ret, struct err *e)
{
	if (level_parse(name, &ret->level) < 0)
		return err_field(e, field, "FIELD_INVALID", "a level is " LEVEL_NAMES);
	return 0;
}

static int read_object(struct slice raw, struct level_wish *ret, struct err *e)
{
	struct level_args a = { .at_least = true };
	int r = jdec_strict(raw, level_fields, "_meta.acpd.level.", "a level has no such member",
			    &a, e);

	if (r < 0)
		return r;
	ret->at_least = a.at_least;
	ret->log = a.log;
	r = name_level(a.name, "_meta.acpd.level.name", ret, e);
	jdec_free(level_fields, &a);
	return r;
}

/* A name, or {name, atLeast?, log?}. */
int meta_level_check(struct jval v, struct level_wish *ret, struct err *e)
{
	_cleanup_(freep) char *name = NULL;

	*ret = (struct level_wish){ .at_least = true };
	if (v.type == J_NONE || v.type == J_NULL)
		return 0;
	ret->named = true;
	if (v.type == J_OBJECT)
		return read_object(v.raw, ret, e);
	if (jstr_decode(v, LEVEL_WORD_MAX, &name) < 0)
		return err_field(e, "_meta.acpd.level", "FIELD_INVALID",
				 "level must be " LEVEL_NAMES ", or an object with that name");
	return name_level(name, "_meta.acpd.level", ret, e);
}

int meta_network_check(struct slice raw, const char *field, struct err *e)
{
	struct egress_rules *r = NULL;
	int ret = raw.n ? egress_rules_parse(raw, field, &r, e) : 0;

	egress_rules_free(r);
	return ret;
}

struct limit_args {
	int64_t memory, pids, cpu_weight;
};

/* Their upper bounds are the daemon's settings: session_limits_check. */
static const struct jfield limit_fields[] = {
	JF_INT(struct limit_args, memory, "memoryBytes", 0, LIMIT_MEMORY_MIN, INT64_MAX),
	JF_INT(struct limit_args, pids, "pids", 0, LIMIT_PIDS_MIN, INT64_MAX),
	JF_INT(struct limit_args, cpu_weight, "cpuWeight", 0, 1, CPU_WEIGHT_MAX),
	JF_END,
};

int meta_limits_check(struct slice raw, struct group_limits *ret, struct err *e)
{
	struct limit_args a = { 0 };
	int r;

	*ret = (struct group_limits){ 0 };
	if (!raw.n)
		return 0;
	r = jdec_strict(raw, limit_fields, "_meta.acpd.limits.", "limits have no such member", &a,
			e);
	*ret = (struct group_limits){ .memory = (uint64_t)a.memory,
				      .pids = (uint64_t)a.pids,
				      .cpu_weight = (unsigned)a.cpu_weight };
	return r;
}
