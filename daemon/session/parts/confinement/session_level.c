/*
 * session_level.c - compares a confinement level with the means of the machine, in one table.
 *
 * `needs` lists the requirements that depend on the daemon's configuration; proc/level_means.h has
 * those of the kernel. The same table answers the check of a request, the reply to the client,
 * /ready, doctor and the log, so they cannot differ. A requested level never falls below
 * --level-min, also for sessions recovered from a journal.
 */
#include "session/parts/confinement/session_level.h"

#include "base/log.h"
#include "confine/confine_machine.h"
#include "confine/confinement.h"
#include "egress/egress.h"
#include "json/json.h"
#include "proc/level_means.h"
#include "proc/spaces/spaces.h"
#include "session/core/session_internal.h"
#include "session/parts/confinement/session_spaces.h"
#include "session/parts/confinement/session_refusals.h"

/* --- what a level needs -------------------------------------------------------------------------------------- */

/* For whom a row of the table is asked. */
struct level_facts {
	const struct session_store *store;
	enum confine_level level;
	bool log;
};

static const char *why_no_uid(const struct level_facts *f)
{
	/* namespaces keep sessions of one user apart */
	if (geteuid() != 0 && f->level == LEVEL_STRICT && !spaces_missing())
		return NULL;
	if (geteuid() != 0)
		return "the daemon is not root: sessions run as its own user";
	if (!f->store->user.switched)
		return "there is no --agent-user: sessions run as root";
	return store_has_uids(f->store) ?
		       NULL :
		       "all sessions run as one user: --agent-uids gives each its own";
}

static const char *why_no_proxy(const struct level_facts *f)
{
	return egress_missing(f->store->egress);
}

static const char *why_no_limit(const struct level_facts *f, enum cgroup_use use)
{
	const char *why = cgroups_why(proc_host_cgroups(f->store->procs), use);

	return *why ? why : NULL;
}

static const char *why_no_memory_limit(const struct level_facts *f)
{
	return why_no_limit(f, CGROUP_MEMORY);
}

/* Of a uid that is not ours an rlimit will do. */
static const char *why_no_process_limit(const struct level_facts *f)
{
	return f->store->user.switched ? NULL : why_no_limit(f, CGROUP_PIDS);
}

static const char *why_no_cpu_weight(const struct level_facts *f)
{
	return why_no_limit(f, CGROUP_CPU);
}

/* Besides proc/level_means.h. what is a word of the protocol; why says NULL if it can be had. */
static const struct {
	const char *what;
	enum confine_level from;
	const char *(*why)(const struct level_facts *f);
} needs[] = {
	{ "uid", LEVEL_GUARDED, why_no_uid },
	{ "memoryBytes", LEVEL_GUARDED, why_no_memory_limit },
	{ "pids", LEVEL_GUARDED, why_no_process_limit },
	{ "cpuWeight", LEVEL_GUARDED, why_no_cpu_weight },
	{ "proxy", LEVEL_STRICT, why_no_proxy },
};

/* Calls fn for each need of the level that is not met, and says how many there are. */
static size_t each_missing(const struct level_facts *f, enum confine_level level, level_lack_fn fn,
			   void *ctx)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		const char *why = needs[i].from <= level ? needs[i].why(f) : NULL;

		if (why && fn)
			fn(ctx, needs[i].what, why);
		n += why != NULL;
	}
	return n + level_means_lack(&(struct level_ask){ level, f->log, f->store->user.switched },
				    fn, ctx);
}

/* Where calls can be handed to nobody, the level is worth more than the record. */
const struct confinement *level_confinement(enum confine_level level, unsigned flags)
{
	if (confine_machine_missing(MACHINE_LISTENER))
		flags &= ~(unsigned)CONFINE_LOG;
	return confine_machine_missing(MACHINE_FILTER) ? NULL : confinement_get(level, flags, NULL);
}

/* --- the parameter -------------------------------------------------------------------------------------------- */

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
static int parse_level(struct jval v, const char *field, void *ret, struct err *e)
{
	_cleanup_(freep) char *name = NULL;
	struct level_wish *w = ret;

	*w = (struct level_wish){ .named = true, .at_least = true };
	if (v.type == J_OBJECT)
		return parse_level_object(v.raw, w, e);
	if (jstr_decode(v, LEVEL_WORD_MAX, &name) < 0)
		return err_field(e, field, "FIELD_INVALID",
				 "level must be " LEVEL_NAMES ", or an object with that name");
	return parse_level_name(name, field, w, e);
}

static void put_level(const void *value, struct jw *w, const char *key)
{
	const struct level_wish *wish = value;

	if (wish->named)
		jw_object(w, key, JW_STR("name", level_name(wish->level)),
			  JW_BOOL("atLeast", wish->at_least), JW_BOOL("log", wish->log));
}

/* A level that is not known here is the highest, and an absent atLeast is true: the stricter value. */
static void load_level(struct jval v, void *ret)
{
	_cleanup_(freep) char *name = NULL;
	struct level_wish *w = ret;

	w->level = LEVEL_STRICT;
	w->named = v.type == J_OBJECT;
	if (jstr_decode(jobj_get(v.raw, "name"), LEVEL_WORD_MAX, &name) == 0)
		(void)level_parse(name, &w->level);
	w->at_least = jobj_get(v.raw, "atLeast").type != J_FALSE;
	w->log = jobj_get(v.raw, "log").type == J_TRUE;
}

const struct session_parameter level_parameter = {
	PARAMETER("level", RAW, "how far the session is confined"),
	.order = { .checked = 80, .stored = 210 },
	.change = SETUP_RESTARTS(10),
	.size = sizeof(struct level_wish),
	.parse = parse_level,
	.put = put_level,
	.load = load_level,
};

const struct level_wish *level_wish_of(const struct setup *s)
{
	return setup_value(s, &level_parameter);
}

/* What p gives; else what s has (NULL: nothing). */
static struct level_wish level_wish_with(const struct setup *s, const struct setup_params *p)
{
	struct level_wish w = s ? *level_wish_of(s) : (struct level_wish){ 0 };

	setup_given_value(p, &level_parameter, &w);
	return w;
}

/* --- which one ------------------------------------------------------------------------------------------------ */

/* What the client names, else what the operator does; never below --level-min. */
static struct level_wish wish_of(const struct session_store *st, const struct level_wish *said)
{
	struct level_wish w = said && said->named ? *said : st->terms.level.wish;

	w.level = MAX(w.level, st->terms.level.min);
	return w;
}

enum confine_level session_level(const struct session *s)
{
	return wish_of(s->store, level_wish_of(&s->setup)).level;
}

bool session_level_logs(const struct session *s)
{
	return wish_of(s->store, level_wish_of(&s->setup)).log;
}

enum confine_level level_for(const struct session_store *st, const struct setup *have,
			     const struct setup_params *p)
{
	struct level_wish w = level_wish_with(have, p);

	return wish_of(st, &w).level;
}

enum confine_level store_level(const struct session_store *st)
{
	return wish_of(st, NULL).level;
}

/* The highest level that has to be met whole. */
static enum confine_level required_level(const struct session_store *st, const struct level_wish *w)
{
	return w->named && w->at_least ? w->level : st->terms.level.min;
}

/* Returns the field in which asked is less than than; NULL: none. A wish that is not named is the operator's. */
static const char *level_less(const struct session_store *st, const struct level_wish *asked,
			      const struct level_wish *than)
{
	struct level_wish a = wish_of(st, asked), t = wish_of(st, than);

	if (a.level < t.level)
		return "_meta.acpd.level";
	if (required_level(st, &a) < required_level(st, &t))
		return "_meta.acpd.level.atLeast";
	return t.log && !a.log ? "_meta.acpd.level.log" : NULL;
}

static void add_reason(void *ctx, const char *what, const char *why)
{
	struct buf *b = ctx;

	buf_printf(b, "%s%s: %s", buf_len(b) ? "; " : "", what, why);
}

static enum inner_choice inner_of(const struct setup *have, const struct setup_params *p)
{
	enum inner_choice inner = have ? setup_inner(have) : INNER_UNSAID;

	setup_given_value(p, &inner_sandbox_parameter, &inner);
	return inner;
}

/* Of a namespace of users in which root outside is somebody root needs a capability, and a level leaves him none. */
static int check_inner_sandbox(const struct session_store *st, enum inner_choice inner,
			       enum confine_level level, struct err *e)
{
	if (inner != INNER_ON || level == LEVEL_OPEN || geteuid() != 0 || st->user.switched)
		return 0;
	return err_field(e, "_meta.acpd.innerSandbox", "CONFINEMENT_UNSUPPORTED",
			 "sessions run as root, and at level %s root can make no user namespace: "
			 "the daemon needs --agent-user",
			 level_name(level));
}

static int check_setup_level(const struct setup_request *r, struct err *e)
{
	const struct session_store *st = r->store;
	const struct setup *have = r->have;
	const struct setup_params *p = r->params;
	struct level_wish asked = level_wish_with(have, p), w = wish_of(st, &asked);
	struct level_facts f = { st, w.level, w.log };
	_cleanup_(buf_done) struct buf why = { 0 };
	enum confine_level whole = required_level(st, &w);

	if (setup_given(p, &level_parameter) && asked.level < st->terms.level.min)
		return err_field(e, "_meta.acpd.level", "LEVEL_NOT_ALLOWED",
				 "the operator allows no level below %s",
				 level_name(st->terms.level.min));
	if (!each_missing(&f, whole, add_reason, &why))
		return check_inner_sandbox(st, inner_of(have, p), w.level, e);
	buf_putc(&why, '\0');
	return err_field(e, "_meta.acpd.level", "CONFINEMENT_UNSUPPORTED",
			 "%s cannot be had here: %s", level_name(whole), why.data);
}

int session_ceiling_check(const struct session *s, const struct setup_params *p,
			  const struct setup_params *c, struct err *e)
{
	return PARTS_FIRST(check_ceiling, s, p, c, e);
}

static int check_level_ceiling(const struct session *s, const struct setup_params *p,
			       const struct setup_params *c, struct err *e)
{
	struct level_wish asked, more;
	const char *field;

	if (!setup_given_value(p, &level_parameter, &asked))
		return 0;
	field = level_less(s->store, &asked, level_wish_of(&s->setup));
	if (!field ||
	    (setup_given_value(c, &level_parameter, &more) && !level_less(s->store, &asked, &more)))
		return 0;
	return err_field(
		e, field, "LEVEL_NOT_ALLOWED",
		"%s: this token allows the session no less than it has: level %s, with its "
		"atLeast and log",
		field, level_name(session_level(s)));
}

/* --- what is told --------------------------------------------------------------------------------------------- */

static void put_missing(void *ctx, const char *what, const char *why)
{
	struct jw *w = ctx;

	jw_object(w, NULL, JW_STR("what", what), JW_STR("why", why));
}

static void put_all_missing(struct jw *w, const struct level_facts *f)
{
	jw_arr(w, "missing");
	each_missing(f, f->level, put_missing, w);
	jw_end_arr(w);
}

/* Member "level": how far a session with this wish is confined. */
static void put_wish_level(struct jw *w, const struct session_store *st,
			   const struct level_wish *said)
{
	struct level_wish wish = wish_of(st, said);
	struct level_facts f = { st, wish.level, wish.log };
	bool whole = !each_missing(&f, f.level, NULL, NULL);

	jw_obj(w, "level");
	jw_str(w, "requested", level_name(f.level));
	jw_str(w, "achieved", whole ? level_name(f.level) : "partial");
	put_all_missing(w, &f);
	if (wish.log)
		jw_bool(w, "log", true);
	jw_end_obj(w);
}

static void put_session_level(struct jw *w, const struct session *s)
{
	put_wish_level(w, s->store, level_wish_of(&s->setup));
}

void store_put_level(const struct session_store *st, struct jw *w)
{
	put_wish_level(w, st, NULL);
}

void store_log_level(const struct session_store *st)
{
	struct level_wish wish = wish_of(st, NULL);
	struct level_facts f = { st, wish.level, wish.log };
	_cleanup_(buf_done) struct buf missing = { 0 };
	size_t n = each_missing(&f, f.level, add_reason, &missing);

	buf_putc(&missing, '\0');
	log_info("serve", "level of confinement", "requested", level_name(f.level), "achieved",
		 n ? "partial" : level_name(f.level), "missing", n ? missing.data : "");
}

void store_put_levels(const struct session_store *st, struct jw *w)
{
	jw_arr(w, "levels");
	for (int level = st->terms.level.min; level < LEVEL_MAX; level++) {
		struct level_facts f = { st, (enum confine_level)level, false };

		jw_obj(w, NULL);
		jw_str(w, "name", level_name(f.level));
		jw_bool(w, "whole", !each_missing(&f, f.level, NULL, NULL));
		put_all_missing(w, &f);
		jw_end_obj(w);
	}
	jw_end_arr(w);
}

/* They have no session whose view and network they could share. */
struct proc_bounds store_bounds(const struct session_store *st)
{
	enum confine_level level = MIN(store_level(st), LEVEL_GUARDED);

	return (struct proc_bounds){ .switch_user = st->user.switched,
				     .uid = st->user.uid,
				     .gid = st->user.gid,
				     .may_gain = level == LEVEL_OPEN,
				     .confinement = level_confinement(level, 0) };
}

static void put_level_bounds(const struct session *s, struct proc_bounds *b)
{
	enum confine_level level = session_level(s);
	unsigned flags = (harness_nests(s->def, &s->setup) ? CONFINE_NESTS : 0) |
			 (refusals_of(s)->record ? CONFINE_LOG : 0);

	b->may_gain = level == LEVEL_OPEN;
	b->confinement = level_confinement(level, flags);
	b->refusals = refusals_of(s)->record;
	b->spaces = s->harness.spaces;
}

const struct session_part level_part = {
	.name = "level",
	.parameters = PARAMETERS(&level_parameter),
	.put_status = put_session_level,
	.shut = session_spaces_close,
	.put_bounds = put_level_bounds,
	.check_setup = check_setup_level,
	.check_ceiling = check_level_ceiling,
};
