/*
 * session_limits.c - the cgroup limits of a session, and the detection of out-of-memory kills.
 *
 * The limits in force are the smaller of the session's and the daemon's, computed at each use: a
 * restarted daemon can allow less than before. The kernel's kill counter covers the whole group and
 * does not identify the process. So a rise while the harness lives is reported as an event, and a
 * rise around its exit becomes the reason of that exit. oom_mono joins the two when the event was
 * reported shortly before the harness exited.
 */
#include "session/parts/confinement/session_limits.h"

#include "base/clock.h"
#include "base/limits.h"
#include "session/core/session_internal.h"
#include "session/parts/confinement/session_level.h"
#include "session/parts/session_parts.h"
#include "proc/cgroup/group_limits.h"

#include <signal.h>

/* --- the parameter ------------------------------------------------------------------------------------------- */

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

static int parse_limits(struct jval v, const char *field _unused_, void *ret, struct err *e)
{
	struct limit_args a = { 0 };
	int r = jdec_strict(v.raw, limit_fields, "_meta.acpd.limits.", "limits have no such member",
			    &a, e);

	*(struct group_limits *)ret = (struct group_limits){ .memory = (uint64_t)a.memory,
							     .pids = (uint64_t)a.pids,
							     .cpu_weight = (unsigned)a.cpu_weight };
	return r;
}

static void put_given_limits(const void *value, struct jw *w, const char *key)
{
	group_limits_put(value, w, key);
}

static void load_limits(struct jval v, void *ret)
{
	group_limits_load(v.raw, ret);
}

static void merge_limits(void *to, const void *from)
{
	group_limits_inherit(to, from);
}

const struct session_parameter limits_parameter = {
	PARAMETER("limits", OBJ, "what the processes of the session may use"),
	.order = { .checked = 100, .stored = 230 },
	.size = sizeof(struct group_limits),
	.parse = parse_limits,
	.put = put_given_limits,
	.load = load_limits,
	.merge = merge_limits,
};

/* --- what holds ---------------------------------------------------------------------------------------------- */

static uint64_t limit_within(uint64_t asked, uint64_t max)
{
	return asked ? MIN(asked, max) : max;
}

/* A daemon that was started anew may allow less than what the session was given once. */
static struct group_limits session_limits_of(const struct session *s)
{
	const struct group_limits *max = &s->store->terms.limits;
	const struct group_limits *asked = setup_value(&s->setup, &limits_parameter);

	return (struct group_limits){ .memory = limit_within(asked->memory, max->memory),
				      .pids = limit_within(asked->pids, max->pids),
				      .cpu_weight = asked->cpu_weight };
}

static int check_limit_max(uint64_t asked, uint64_t max, const char *field, struct err *e)
{
	return asked <= max ? 0 :
			      err_field(e, field, "FIELD_OUT_OF_RANGE",
					"%s: this daemon allows at most %llu", field,
					(unsigned long long)max);
}

static int check_setup_limits(const struct setup_request *r, struct err *e)
{
	const struct group_limits *max = &r->store->terms.limits;
	struct group_limits asked = { 0 };
	int ret;

	setup_given_value(r->params, &limits_parameter, &asked);
	ret = check_limit_max(asked.memory, max->memory, "_meta.acpd.limits.memoryBytes", e);
	return ret == 0 ? check_limit_max(asked.pids, max->pids, "_meta.acpd.limits.pids", e) : ret;
}

static int ceiling_check_limit(uint64_t asked, uint64_t has, uint64_t more, const char *field,
			       struct err *e)
{
	return asked <= MAX(has, more) ? 0 :
					 err_field(e, field, "FIELD_OUT_OF_RANGE",
						   "%s: this token allows the session at most %llu",
						   field, (unsigned long long)MAX(has, more));
}

static int check_limits_ceiling(const struct session *s, const struct setup_params *p,
				const struct setup_params *c, struct err *e)
{
	struct group_limits has = session_limits_of(s), asked = { 0 }, more = { 0 };
	int r;

	setup_given_value(p, &limits_parameter, &asked);
	setup_given_value(c, &limits_parameter, &more);
	r = ceiling_check_limit(asked.memory, has.memory, more.memory,
				"_meta.acpd.limits.memoryBytes", e);
	if (r == 0)
		r = ceiling_check_limit(asked.pids, has.pids, more.pids, "_meta.acpd.limits.pids",
					e);
	if (r == 0)
		r = ceiling_check_limit(asked.cpu_weight,
					has.cpu_weight ? has.cpu_weight : CPU_WEIGHT_EVEN,
					more.cpu_weight, "_meta.acpd.limits.cpuWeight", e);
	return r;
}

struct proc_group *session_limits_group(struct session *s)
{
	struct group_limits limits = session_limits_of(s);

	if (!s->harness.group)
		s->harness.group =
			proc_group_new(proc_host_cgroups(s->store->procs), s->id, &limits);
	return s->harness.group;
}

static void apply_limits(struct session *s)
{
	struct group_limits limits = session_limits_of(s);

	if (s->harness.group)
		proc_group_limit(s->harness.group, &limits);
}

static void close_limits(struct session *s)
{
	s->harness.group = proc_group_unref(s->harness.group);
	s->harness.oom_told = 0;
}

/* Member "limits": what the processes of the session may use together, and what enforces it. */
static void put_limits(struct jw *w, const struct session *s)
{
	struct group_limits limits = session_limits_of(s);

	limits_report_put(w, "limits",
			  &(struct limits_report){ .limits = &limits,
						   .groups = proc_host_cgroups(s->store->procs),
						   .group = s->harness.group,
						   .switch_user = s->user.switched });
}

void store_put_limits(struct jw *w, const char *key, const struct session_store *st)
{
	struct group_limits limits = st->terms.limits;

	/* The report says of a weight whether it can be enforced, only where one is requested. */
	limits.cpu_weight = CPU_WEIGHT_EVEN;
	limits_report_put(w, key,
			  &(struct limits_report){ .limits = &limits,
						   .groups = proc_host_cgroups(st->procs),
						   .switch_user = st->user.switched });
}

/* --- out of memory ------------------------------------------------------------------------------------------ */

/* How many were killed since the last time. Read when a tool call ends, when a turn begins or ends, and when the harness has
 * exited. */
static uint64_t count_oom_kills(struct session *s)
{
	uint64_t kills, n;

	if (!s->harness.group)
		return 0;
	kills = proc_group_kills(s->harness.group);
	n = kills - MIN(kills, s->harness.oom_told);
	s->harness.oom_told = kills;
	if (n)
		s->harness.oom_mono = clock_mono_ms();
	return n;
}

static void note_oom_kills(struct session *s)
{
	JW_BUF(w, b);
	uint64_t n = count_oom_kills(s), peak;

	if (!n || s->turn.oom_events >= OOM_EVENTS_MAX)
		return;
	s->turn.oom_events++;
	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "out_of_memory");
	jw_uint(&w, "killed", n);
	peak = proc_group_peak(s->harness.group);
	if (peak)
		jw_uint(&w, "peakBytes", peak);
	jw_uint(&w, "limitBytes", proc_group_limits(s->harness.group)->memory);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

/* It was told already, because a tool call ended in between. */
static bool oom_was_told(const struct session *s, const struct proc_status *st)
{
	return !st->exited && st->code == SIGKILL && s->harness.oom_mono &&
	       clock_mono_ms() - s->harness.oom_mono < OOM_RECENT_MS;
}

/* Any end counts, not SIGKILL alone: what the kernel chose may be the harness proper beneath a wrapper. */
static bool explain_oom_exit(struct session *s, const struct proc_status *st,
			     struct turn_error *ret)
{
	bool killed = count_oom_kills(s) || oom_was_told(s, st);
	uint64_t peak;

	*ret = (struct turn_error){ .cls = "out_of_memory" };
	if (!killed)
		return false;
	ret->limit_bytes = proc_group_limits(s->harness.group)->memory;
	peak = proc_group_peak(s->harness.group);
	ret->peak_bytes = peak ? peak : s->turn.current ? s->turn.current->used.peak_rss : 0;
	snprintf(
		ret->message, sizeof(ret->message),
		"the harness was killed because the session was out of memory: peak %llu bytes, limit %llu bytes",
		(unsigned long long)ret->peak_bytes, (unsigned long long)ret->limit_bytes);
	/* One kill explains one exit. */
	s->harness.oom_mono = 0;
	return true;
}

/* The daemon keeps some of the memory; of a very small machine, half. */
static uint64_t memory_for_sessions(uint64_t all)
{
	return all - MIN(all / 2, (uint64_t)LIMIT_MEMORY_SPARE);
}

static void configure_limits(struct session_store *st)
{
	if (!st->terms.limits.memory)
		st->terms.limits.memory = memory_for_sessions(memory_limit());
}

static int open_limits(struct session *s, struct err *e _unused_)
{
	session_limits_group(s);
	return 0;
}

static void put_limits_bounds(const struct session *s, struct proc_bounds *b)
{
	b->group = s->harness.group;
}

const struct session_part limits_part = {
	.name = "limits",
	.parameters = PARAMETERS(&limits_parameter),
	.put_status = put_limits,
	.shut = close_limits,
	.store_configure = configure_limits,
	.setup_changed = apply_limits,
	.open_bounds = open_limits,
	.put_bounds = put_limits_bounds,
	.explain_exit = explain_oom_exit,
	.check_setup = check_setup_limits,
	.check_ceiling = check_limits_ceiling,
	.watch = note_oom_kills,
};
