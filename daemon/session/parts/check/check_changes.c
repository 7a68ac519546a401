/*
 * check_changes.c - checks of what has changed in the workspace, and what a check itself has changed there.
 *
 * Both ask acpd-unpack, through the session's baseline. The first kind asks for changes that break a rule, or for the size of
 * the patch. The second compares two lists of all changes, from before and after the check. Each list comes with a digest of
 * the whole state (`state`): if the digests differ and the lists do not, the difference is beyond what a list can have, and
 * is reported as one change without a path.
 *
 * Paths and marks are compared as raw JSON strings: one program writes both lists, so equal texts are equal strings.
 */
#include "session/parts/check/check_internal.h"

#include "base/clock.h"
#include "json/jdec.h"
#include "session/core/session_internal.h"
#include "session/parts/workspace/baseline.h"

bool check_changes_known(const struct check_run *r)
{
	return r->session->setup.baseline;
}

void check_state_done(struct check_state *s)
{
	free(s->changes);
	*s = (struct check_state){ 0 };
}

/* Since the end of which turn: the one before the first attempt of this one. By hand it is about the last. */
static uint64_t since_turn(const struct check_run *r)
{
	uint64_t first = r->about.first ? r->about.first : r->about.turn;

	if (!first)
		first = r->session->turn.count;
	return first ? first - 1 : 0;
}

/* --- what acpd-unpack reports ------------------------------------------------------------------------------ */

struct change_report {
	struct slice changes, patch, offending;
	int64_t changed, omitted, offending_total;
	char *state;
};

static const struct jfield report_fields[] = {
	JF_INT(struct change_report, changed, "changed", JF_REQUIRED, 0, INT64_MAX),
	JF_INT(struct change_report, omitted, "omittedTotal", JF_REQUIRED, 0, INT64_MAX),
	JF_ARR(struct change_report, changes, "changes", 0),
	JF_STR(struct change_report, state, "state", 0, SHA256_HEX),
	JF_OBJ(struct change_report, patch, "patch", 0),
	JF_ARR(struct change_report, offending, "offending", 0),
	JF_INT(struct change_report, offending_total, "offendingTotal", 0, 0, INT64_MAX),
	JF_END,
};

static int read_report(struct slice raw, struct change_report *ret, struct err *e)
{
	if (jdec_object(raw, report_fields, NULL, ret, NULL) == 0)
		return 0;
	return err_set(e, -EPROTO, 0, "HELPER_FAILED", "acpd-unpack reported no changes");
}

/* A path in a result, as far as there is room. */
static void add_check_path(struct buf *list, uint64_t *total, struct slice raw)
{
	(*total)++;
	if (buf_len(list) + 1 + raw.n > CHECK_TEXT_MAX)
		return;
	if (buf_len(list))
		buf_putc(list, ',');
	buf_add_slice(list, raw);
}

/* --- checks of it --------------------------------------------------------------------------------------------- */

static void judge_paths(const struct change_report *report, struct check_evidence *v)
{
	uint64_t listed = 0;

	jarr_each(path, report->offending)
		if (path.type == J_STRING)
			add_check_path(&v->offending, &listed, path.raw);
	v->offending_total = (uint64_t)report->offending_total;
	v->ok = v->offending_total == 0;
}

static void judge_size(const struct check_spec *c, const struct change_report *report,
		       struct check_evidence *v)
{
	v->counts[LIMIT_FILES] = report->changed;
	v->counts[LIMIT_INSERTIONS] = (int64_t)jobj_uint(report->patch, "insertions");
	v->counts[LIMIT_DELETIONS] = (int64_t)jobj_uint(report->patch, "deletions");
	v->counts[LIMIT_LINES] = v->counts[LIMIT_INSERTIONS] + v->counts[LIMIT_DELETIONS];
	v->ok = true;
	for (int i = 0; i < CHECK_LIMIT_MAX; i++)
		v->ok &= c->limits[i] < 0 || v->counts[i] <= c->limits[i];
	if (report->omitted)
		err_set(&v->error, -EIO, 0, "CHECK_INCOMPLETE",
			"the lines of %lld changed paths cannot be counted",
			(long long)report->omitted);
}

static void judge_changes(const struct check_spec *c, struct slice raw, struct check_evidence *v)
{
	struct change_report report = { 0 };

	if (read_report(raw, &report, &v->error) < 0)
		return;
	v->judged = c->kind == CHECK_PATHS ? report.offending.n : report.patch.n;
	if (!v->judged)
		err_set(&v->error, -EPROTO, 0, "HELPER_FAILED", "acpd-unpack has not counted");
	if (c->kind == CHECK_PATHS)
		judge_paths(&report, v);
	else
		judge_size(c, &report, v);
	/* A change that was not examined may be of any kind. */
	v->ok &= !*v->error.reason;
	jdec_free(report_fields, &report);
}

static void end_query(struct check_run *r)
{
	r->looking = false;
	r->looked(r);
}

static void take_failure(const struct err *e, struct err *ret)
{
	*ret = *e;
	if (strcmp(e->reason, "TIME_LIMIT") == 0)
		err_set(ret, -ETIMEDOUT, 0, "CHECK_TIMED_OUT", "its time was over");
}

static void on_judged(void *ctx, struct slice report, const struct err *e)
{
	struct check_run *r = ctx;

	r->evidence.ms = clock_mono_ms() - r->began;
	if (e)
		take_failure(e, &r->evidence.error);
	else
		judge_changes(&r->list->v[r->at], report, &r->evidence);
	end_query(r);
}

static void query_changes(struct check_run *r, const struct change_query *q, session_set_fn done)
{
	struct err e = { 0 };

	r->looking = true;
	if (baseline_changes(r->session, q, done, r, &e) < 0)
		done(r, SLICE_NONE, &e);
}

void check_changes_judge(struct check_run *r, const struct check_spec *c,
			 void (*ended)(struct check_run *r))
{
	struct change_query q = { .since = c->since_baseline ? 0 : since_turn(r),
				  .lines = c->kind == CHECK_DIFF_SIZE,
				  .allow = slice_of(c->allow),
				  .deny = slice_of(c->deny),
				  .ms = c->timeout_ms };

	/* baseline_changes may fail at once: then ended is called from inside. */
	r->looked = ended;
	r->began = clock_mono_ms();
	query_changes(r, &q, on_judged);
}

/* --- what a check changes ------------------------------------------------------------------------------------- */

/* Raw strings. */
struct change {
	struct slice path, mark;
};

static bool change_read(struct jval raw, struct change *ret)
{
	struct jiter parts;
	struct jval v[2];

	if (!jiter_init(&parts, raw))
		return false;
	for (int i = 0; i < 2; i++)
		if (!jiter_next(&parts, NULL, &v[i]) || v[i].type != J_STRING)
			return false;
	*ret = (struct change){ v[0].raw, v[1].raw };
	return true;
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int r = memcmp(x->path.p, y->path.p, MIN(x->path.n, y->path.n));

	return r ? r : x->path.n < y->path.n ? -1 : x->path.n > y->path.n;
}

/* Sorted by path, so that two lists can be merged. Stops at an element that is not a change. The caller frees. */
static size_t take_changes(struct slice raw, struct change **ret)
{
	struct change *v = xalloc((CHANGES_MAX + 1) * sizeof(*v));
	size_t n = 0;

	jarr_each(one, raw) {
		if (n == CHANGES_MAX || !change_read(one, &v[n]))
			break;
		n++;
	}
	qsort(v, n, sizeof(*v), compare_changes);
	*ret = v;
	return n;
}

/* Paths that one list has and the other has not, or with another mark. Both lists are sorted: one pass, in the order of the
 * paths, so that the same change is always reported in the same way. */
static void compare_lists(struct slice before, struct slice after, struct check_evidence *v)
{
	_cleanup_(freep) struct change *a = NULL, *b = NULL;
	size_t na = take_changes(before, &a), nb = take_changes(after, &b), i = 0, k = 0;

	while (i < na || k < nb) {
		int order = i == na ? 1 : k == nb ? -1 : compare_changes(&a[i], &b[k]);

		if (order || !slice_eq(a[i].mark, b[k].mark))
			add_check_path(&v->changed, &v->changed_total,
				       order < 0 ? a[i].path : b[k].path);
		i += order <= 0;
		k += order >= 0;
	}
}

static void take_state(struct check_run *r, struct slice raw)
{
	struct check_state *s = &r->before;
	struct change_report report = { 0 };
	struct check_evidence *v = &r->evidence;

	/* Without a state the next check has nothing to be compared with, and says so (changed: null). */
	if (read_report(raw, &report, NULL) < 0 || !report.state) {
		check_state_done(s);
		return;
	}
	if (s->known) {
		v->compared = true;
		if (strcmp(s->state, report.state) != 0)
			compare_lists(slice_of(s->changes), report.changes, v);
		/* beyond what is listed */
		if (strcmp(s->state, report.state) != 0 && !v->changed_total)
			v->changed_total = 1;
	}
	check_state_done(s);
	s->known = true;
	s->changes = xstrndup(report.changes.p, report.changes.n);
	snprintf(s->state, sizeof(s->state), "%s", report.state);
	jdec_free(report_fields, &report);
}

/* Without it nothing is known of what the check has changed: said, not claimed. */
static void on_looked(void *ctx, struct slice report, const struct err *e)
{
	struct check_run *r = ctx;

	if (e)
		check_state_done(&r->before);
	else
		take_state(r, report);
	end_query(r);
}

void check_changes_look(struct check_run *r, void (*ended)(struct check_run *r))
{
	r->looked = ended;
	query_changes(r, &(struct change_query){ .since = since_turn(r), .list = true }, on_looked);
}
