/*
 * meta_bounds.c - members of _meta.acpd that stand in several places: level, network and limits, which bound what a session
 * may reach and use (also in the ceiling of a token, access/grant.h), and checks with their retry.
 */
#include "acp/params.h"

#include "base/limits.h"
#include "egress/wire/egress_rules.h"
#include "json/jstr.h"
#include "session/parts/check/check.h"
#include "session/parts/confinement/session_level.h"
#include "tools/builtin/testrun/testrun.h"

#include <errno.h>
#include <stdio.h>

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

static int parse_level_name(const char *name, const char *field, struct level_wish *ret,
			    struct err *e)
{
	if (level_parse(name, &ret->level) < 0)
		return err_field(e, field, "FIELD_INVALID", "a level is " LEVEL_NAMES);
	return 0;
}

static int parse_level_object(struct slice raw, struct level_wish *ret, struct err *e)
{
	struct level_args a = { .at_least = true };
	int r = jdec_strict(raw, level_fields, "_meta.acpd.level.", "a level has no such member",
			    &a, e);

	if (r < 0)
		return r;
	ret->at_least = a.at_least;
	ret->log = a.log;
	r = parse_level_name(a.name, "_meta.acpd.level.name", ret, e);
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
		return parse_level_object(v.raw, ret, e);
	if (jstr_decode(v, LEVEL_WORD_MAX, &name) < 0)
		return err_field(e, "_meta.acpd.level", "FIELD_INVALID",
				 "level must be " LEVEL_NAMES ", or an object with that name");
	return parse_level_name(name, "_meta.acpd.level", ret, e);
}

int meta_network_check(struct slice raw, const char *field, struct err *e)
{
	struct egress_rules *r = NULL;
	int ret = raw.n ? egress_rules_parse(raw, field, &r, e) : 0;

	/* Parsed for its errors only. */
	egress_rules_free(r);
	return ret;
}

struct limit_args {
	int64_t memory, pids, cpu_weight;
};

/* Their upper bounds are the daemon's settings: session_limits.c. */
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

/* --- the ceiling of a token that is limited to sessions -------------------------------------------------- */

static int ceiling_parse(struct slice raw, struct session_ceiling *ret, struct err *e)
{
	struct slice network = jobj_get(raw, "network").raw;
	int r;

	*ret = (struct session_ceiling){ .network = NULL };
	r = meta_level_check(jobj_get(raw, "level"), &ret->level, e);
	/* The caller frees ret, also after an error. */
	if (r == 0 && network.n)
		r = egress_rules_parse(network, "_meta.acpd.network", &ret->network, e);
	return r == 0 ? meta_limits_check(jobj_get(raw, "limits").raw, &ret->limits, e) : r;
}

static void ceiling_done(struct session_ceiling *c)
{
	egress_rules_free(c->network);
}

int acp_ceiling_check(struct slice raw, struct err *e)
{
	_cleanup_(ceiling_done) struct session_ceiling c = { .network = NULL };
	int r = ceiling_parse(raw, &c, e);

	if (r < 0)
		err_unprefix(e, "_meta.acpd.");
	return r;
}

int check_ceiling(const struct acp_conn *c, const struct session *s, const struct setup_params *p,
		  struct err *e)
{
	_cleanup_(ceiling_done) struct session_ceiling ceiling = { .network = NULL };
	int r;

	if (!grant_limited(c->transport.grant))
		return 0;
	r = ceiling_parse(grant_ceiling(c->transport.grant), &ceiling, e);
	return r == 0 ? session_ceiling_check(s, p, &ceiling, e) : r;
}

/* --- checks ---------------------------------------------------------------------------------------------- */

/* A check's own command for its tests, as runTests will read it. */
static int check_tests(struct slice check, const char *field, size_t n, struct err *e)
{
	static const char *const names[] = { "command", "format", "report" };
	JW_BUF(w, b);
	char path[sizeof(e->field)];
	struct err why;

	if (!jstr_is(jobj_get(check, "kind"), "tests") || jobj_get(check, "command").type <= J_NULL)
		return 0;
	jw_obj(&w, NULL);
	jw_obj(&w, "check");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (jobj_get(check, names[i]).type > J_NULL)
			jw_raw(&w, names[i], jobj_get(check, names[i]).raw);
	jw_end_obj(&w);
	jw_end_obj(&w);
	if (test_rows_check(buf_slice(&b), &why) == 0)
		return 0;
	/* The error must name the member as the client sent it, not as runTests reads it. */
	err_unprefix(&why, "tests.check.");
	snprintf(path, sizeof(path), "%.48s[%zu].%.24s", field, n, why.field);
	return err_field(e, path, why.reason, "%.60s[%zu].%.150s", field, n, why.msg);
}

int checks_check(struct slice raw, const char *field, struct err *e)
{
	struct check_list *l = NULL;
	int r = raw.n ? check_list_parse(raw, field, &l, e) : 0;

	/* Parsed for its errors only: each check may also have rows for runTests. */
	check_list_free(l);
	if (r < 0)
		return r;
	jarr_each_at(n, v, raw)
		if (check_tests(v.raw, field, n, e) < 0)
			return -EINVAL;
	return 0;
}

struct retry_args {
	int64_t max;
};

static const struct jfield retry_fields[] = {
	JF_INT(struct retry_args, max, "max", JF_REQUIRED, 0, RETRY_MAX),
	JF_END,
};

int retry_check(struct slice raw, const char *field, struct err *e)
{
	char prefix[sizeof(e->field)];
	struct retry_args a;

	if (!raw.n)
		return 0;
	snprintf(prefix, sizeof(prefix), "%.80s.", field);
	return jdec_strict(raw, retry_fields, prefix, "a retry has no such member", &a, e);
}
