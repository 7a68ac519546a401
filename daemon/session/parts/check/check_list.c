/*
 * check_list.c - a list of checks as clients write it, decoded and checked in full.
 *
 * A table has the members of each kind: a member of another kind is refused, not ignored, because a check that a client
 * misspelled would hold for the wrong reason. The job of a process is written here, once; a run only adds to it. So a list
 * that parses can be run, and the parse at session/new reports an error before a turn depends on the list.
 */
#include "session/parts/check/check_internal.h"

#include "base/limits.h"
#include "json/json.h"
#include "session/core/harness/session_env.h"

#define PREFIX_MAX 80 /* "_meta.acpd.checks[31]." */

/* One check as it is written; which members there may be says the table of its kind. */
struct check_args {
	char *id, *kind, *cwd, *command, *target, *format, *report;
	int64_t timeout_ms, expect_exit, min_passed;
	int64_t max_files, max_insertions, max_deletions, max_lines;
	char *since;
	struct slice argv, env, only, allow, deny;
	struct jval run;
};

#define COMMON                                                                                     \
	JF_STR(struct check_args, id, "id", JF_REQUIRED | JF_FILLED, CHECK_ID_MAX),                \
		JF_STR(struct check_args, kind, "kind", JF_REQUIRED, 16),                          \
		JF_INT(struct check_args, timeout_ms, "timeoutMs", 0, 1, CHECK_TIME_MAX)

#define PROCESS                                                                                    \
	JF_STR(struct check_args, cwd, "cwd", JF_FILLED, PATH_BYTES_MAX),                          \
		JF_OBJ(struct check_args, env, "env", 0)

static const struct jfield command_fields[] = {
	COMMON,
	PROCESS,
	JF_ARR(struct check_args, argv, "argv", 0),
	JF_STR(struct check_args, command, "command", JF_FILLED, ARG_BYTES_MAX),
	JF_INT(struct check_args, expect_exit, "expectExit", 0, 0, 255),
	JF_END,
};

static const struct jfield tests_fields[] = {
	COMMON,
	PROCESS,
	JF_STR(struct check_args, target, "target", JF_FILLED, CHECK_ID_MAX),
	JF_ARR(struct check_args, only, "only", 0),
	JF_RAW(struct check_args, run, "command", 0),
	JF_STR(struct check_args, format, "format", 0, 16),
	JF_STR(struct check_args, report, "report", JF_FILLED, PATH_BYTES_MAX),
	JF_INT(struct check_args, min_passed, "minPassed", 0, 0, CHECK_COUNT_MAX),
	JF_END,
};

static const struct jfield paths_fields[] = {
	COMMON,
	JF_STR(struct check_args, since, "since", 0, 16),
	JF_ARR(struct check_args, allow, "allow", 0),
	JF_ARR(struct check_args, deny, "deny", 0),
	JF_END,
};

static const struct jfield size_fields[] = {
	COMMON,
	JF_STR(struct check_args, since, "since", 0, 16),
	JF_INT(struct check_args, max_files, "maxFiles", 0, 0, CHECK_COUNT_MAX),
	JF_INT(struct check_args, max_insertions, "maxInsertions", 0, 0, CHECK_COUNT_MAX),
	JF_INT(struct check_args, max_deletions, "maxDeletions", 0, 0, CHECK_COUNT_MAX),
	JF_INT(struct check_args, max_lines, "maxLines", 0, 0, CHECK_COUNT_MAX),
	JF_END,
};

const char *const check_limit_names[CHECK_LIMIT_MAX] = {
	[LIMIT_FILES] = "files",
	[LIMIT_INSERTIONS] = "insertions",
	[LIMIT_DELETIONS] = "deletions",
	[LIMIT_LINES] = "lines",
};

static int refuse_check(struct err *e, const char *prefix, const char *field, const char *reason,
			const char *text)
{
	const char *path = SHORT_TEXT(96, "%s%s", prefix, field);

	return err_field(e, path, reason, "%s %s", path, text);
}

/* --- parts of a check ------------------------------------------------------------------------------------ */

/* program: the first word names one, so there must be one that is not empty. */
static int check_words(struct slice array, const char *prefix, const char *field, bool program,
		       struct err *e)
{
	size_t n = 0;

	jarr_each(v, array) {
		_cleanup_(freep) char *word = NULL;

		if (n >= RUN_ARGS_MAX)
			return refuse_check(e, prefix, field, "TOO_MANY", "has too many words");
		if (jstr_decode(v, ARG_BYTES_MAX, &word) < 0 || (program && !n && !*word))
			return refuse_check(
				e, prefix, field, "FIELD_INVALID",
				"must be an array of strings that begins with a program");
		n++;
	}
	return n || !program ?
		       0 :
		       refuse_check(e, prefix, field, "FIELD_INVALID", "must name a program");
}

static int check_spec_env(struct slice env, const char *prefix, struct err *e)
{
	size_t n = 0;
	int r;

	jobj_each(key, v, env) {
		_cleanup_(freep) char *value = NULL;

		if (n++ >= RUN_ENVS_MAX)
			return refuse_check(e, prefix, "env", "TOO_MANY", "has too many variables");
		if (!session_env_name(key))
			return refuse_check(e, prefix, "env", "ENV_NAME_INVALID",
					    "has what is no variable name, or one of the daemon's");
		r = jstr_decode(v, ARG_BYTES_MAX / 2, &value);
		if (r == -ENAMETOOLONG)
			return refuse_check(e, prefix, "env", "FIELD_TOO_LONG",
					    "has a value that is too long");
		if (r < 0)
			return refuse_check(e, prefix, "env", "FIELD_INVALID",
					    "must be an object of strings without NUL");
	}
	return 0;
}

static void put_process_args(const struct check_args *a, struct jw *w)
{
	jw_str(w, "cwd", a->cwd);
	jw_raw(w, "env", a->env);
	jw_int(w, "timeoutMs", a->timeout_ms);
}

/* --- kinds ----------------------------------------------------------------------------------------------- */

static int spec_take_command(const struct check_args *a, const char *prefix, struct check_spec *ret,
			     struct err *e)
{
	JW_BUF(w, b);
	int r = check_spec_env(a->env, prefix, e);

	if (r == 0 && !a->argv.n == !a->command)
		r = refuse_check(e, prefix, "argv", a->command ? "FIELD_INVALID" : "FIELD_MISSING",
				 "or command must be given, and not both");
	if (r == 0 && a->argv.n)
		r = check_words(a->argv, prefix, "argv", true, e);
	if (r < 0)
		return r;
	jw_obj(&w, NULL);
	jw_raw(&w, "argv", a->argv);
	jw_str(&w, "command", a->command);
	put_process_args(a, &w);
	jw_end_obj(&w);
	ret->job = xstrndup(b.data, b.len);
	ret->expect_exit = a->expect_exit;
	return 0;
}

/* A command of the check's own becomes a row of a table of targets (tests), as a project would have it: so runTests has one
 * way to find what to run. Without one it is a target of the workspace, or what is found there (auto). */
static int put_target(const struct check_args *a, const char *prefix, struct jw *w, struct err *e)
{
	if (a->run.type == J_NONE || a->run.type == J_NULL) {
		if (a->format || a->report)
			return refuse_check(e, prefix, a->format ? "format" : "report",
					    "FIELD_INVALID", "needs command");
		jw_str(w, "target", a->target ? a->target : "auto");
		return 0;
	}
	if (a->target)
		return refuse_check(e, prefix, "target", "FIELD_INVALID",
				    "and command are both given");
	jw_str(w, "target", CHECK_TESTS_ROW);
	jw_object(w, "tests",
		  JW_OBJ(CHECK_TESTS_ROW, JW_RAW("command", a->run.raw),
			 JW_STR("format", a->format), JW_STR("report", a->report)));
	return 0;
}

static int spec_take_tests(const struct check_args *a, const char *prefix, struct check_spec *ret,
			   struct err *e)
{
	JW_BUF(w, b);
	int r = check_spec_env(a->env, prefix, e);

	if (r == 0 && a->only.n)
		r = check_words(a->only, prefix, "only", false, e);
	jw_obj(&w, NULL);
	if (r == 0)
		r = put_target(a, prefix, &w, e);
	if (r < 0)
		return r;
	jw_raw(&w, "only", a->only);
	put_process_args(a, &w);
	jw_end_obj(&w);
	ret->job = xstrndup(b.data, b.len);
	ret->min_passed = a->min_passed;
	return 0;
}

static int take_since(const struct check_args *a, const char *prefix, struct check_spec *ret,
		      struct err *e)
{
	ret->since_baseline = a->since && strcmp(a->since, "baseline") == 0;
	if (a->since && !ret->since_baseline && strcmp(a->since, "turn") != 0)
		return refuse_check(e, prefix, "since", "FIELD_INVALID",
				    "must be turn or baseline");
	return 0;
}

/* Patterns are relative to the workspace; what they match is decided by acpd-unpack. */
static int check_patterns(struct slice array, const char *prefix, const char *field, struct err *e)
{
	jarr_each_at(n, v, array) {
		_cleanup_(freep) char *one = NULL;

		if (n >= CHECK_PATTERNS_MAX)
			return refuse_check(e, prefix, field, "TOO_MANY", "has too many patterns");
		if (jstr_decode(v, PATH_BYTES_MAX, &one) < 0 || !*one || *one == '/')
			return refuse_check(
				e, prefix, field, "FIELD_INVALID",
				"must be an array of patterns of paths below the workspace");
	}
	return 0;
}

static int spec_take_paths(const struct check_args *a, const char *prefix, struct check_spec *ret,
			   struct err *e)
{
	int r = take_since(a, prefix, ret, e);

	if (r == 0 && !a->allow.n && !a->deny.n)
		r = refuse_check(e, prefix, "allow", "FIELD_MISSING", "or deny must be given");
	if (r == 0)
		r = check_patterns(a->allow, prefix, "allow", e);
	if (r == 0)
		r = check_patterns(a->deny, prefix, "deny", e);
	if (r < 0)
		return r;
	ret->allow = a->allow.n ? xstrndup(a->allow.p, a->allow.n) : NULL;
	ret->deny = a->deny.n ? xstrndup(a->deny.p, a->deny.n) : NULL;
	return 0;
}

static int spec_take_size(const struct check_args *a, const char *prefix, struct check_spec *ret,
			  struct err *e)
{
	ret->limits[LIMIT_FILES] = a->max_files;
	ret->limits[LIMIT_INSERTIONS] = a->max_insertions;
	ret->limits[LIMIT_DELETIONS] = a->max_deletions;
	ret->limits[LIMIT_LINES] = a->max_lines;
	for (int i = 0; i < CHECK_LIMIT_MAX; i++)
		if (ret->limits[i] >= 0)
			return take_since(a, prefix, ret, e);
	return refuse_check(e, prefix, "maxFiles", "FIELD_MISSING",
			    "or maxInsertions, maxDeletions, maxLines must be given");
}

static const struct {
	const char *name;
	const struct jfield *fields;
	int (*take)(const struct check_args *a, const char *prefix, struct check_spec *ret,
		    struct err *e);
} kinds[CHECK_KIND_MAX] = {
	[CHECK_COMMAND] = { "command", command_fields, spec_take_command },
	[CHECK_TESTS] = { "tests", tests_fields, spec_take_tests },
	[CHECK_PATHS] = { "paths", paths_fields, spec_take_paths },
	[CHECK_DIFF_SIZE] = { "diffSize", size_fields, spec_take_size },
};

const char *check_kind_name(enum check_kind kind)
{
	return kinds[kind].name;
}

/* Read before anything else: the kind selects the table for the rest. */
static int find_check_kind(struct slice raw, const char *prefix, enum check_kind *ret,
			   struct err *e)
{
	struct jval v = jobj_get(raw, "kind");

	if (v.type == J_NONE)
		return refuse_check(e, prefix, "kind", "FIELD_MISSING", "is required");
	for (int k = 0; k < CHECK_KIND_MAX; k++) {
		if (!jstr_is(v, kinds[k].name))
			continue;
		*ret = (enum check_kind)k;
		return 0;
	}
	return refuse_check(e, prefix, "kind", "FIELD_INVALID",
			    "is not one of command, tests, paths and diffSize");
}

/* --- the list ---------------------------------------------------------------------------------------------- */

static int take_check(struct slice raw, const char *prefix, struct check_spec *ret, struct err *e)
{
	/* -1: not given, since 0 is a valid maximum. */
	struct check_args a = { .timeout_ms = CHECK_TIME_MS,
				.min_passed = 1,
				.max_files = -1,
				.max_insertions = -1,
				.max_deletions = -1,
				.max_lines = -1 };
	int r = find_check_kind(raw, prefix, &ret->kind, e);

	if (r == 0)
		r = jdec_strict(raw, kinds[ret->kind].fields, prefix,
				"a check of this kind has no such member", &a, e);
	if (r < 0)
		return r;
	r = kinds[ret->kind].take(&a, prefix, ret, e);
	ret->timeout_ms = (uint64_t)a.timeout_ms;
	ret->id = TAKE_PTR(a.id);
	jdec_free(kinds[ret->kind].fields, &a);
	return r;
}

static int add_check(struct check_list *l, struct jval v, const char *field, struct err *e)
{
	struct check_spec *c = &l->v[l->n];
	int r;
	char *prefix = SHORT_TEXT(PREFIX_MAX, "%.48s[%zu]", field, l->n);

	if (v.type != J_OBJECT)
		return refuse_check(e, prefix, "", "FIELD_INVALID", "must be an object");
	/* Counted before it is filled: check_list_free frees what a failure leaves. */
	l->n++;
	strcat(prefix, ".");
	r = take_check(v.raw, prefix, c, e);
	for (size_t i = 0; r == 0 && i + 1 < l->n; i++)
		if (strcmp(l->v[i].id, c->id) == 0)
			r = refuse_check(e, prefix, "id", "CHECK_ID_TAKEN",
					 "is the id of an earlier check");
	return r;
}

int check_list_parse(struct slice raw, const char *field, struct check_list **ret, struct err *e)
{
	struct check_list *l = new0(struct check_list);
	struct jiter it;
	struct jval v;
	int r = 0;

	*ret = NULL;
	l->v = xalloc(CHECKS_MAX * sizeof(*l->v));
	if (raw.n > CHECKS_BYTES_MAX)
		r = err_field(e, field, "FIELD_OUT_OF_RANGE", "%s may have %zu bytes", field,
			      (size_t)CHECKS_BYTES_MAX);
	if (r == 0 && !jiter_init(&it, (struct jval){ J_ARRAY, raw }))
		r = err_field(e, field, "FIELD_INVALID", "%s must be an array", field);
	while (r == 0 && jiter_next(&it, NULL, &v))
		r = l->n == CHECKS_MAX ? err_field(e, field, "TOO_MANY", "%s has more than %d",
						   field, CHECKS_MAX) :
					 add_check(l, v, field, e);
	if (r < 0)
		l = check_list_free(l);
	*ret = l;
	return r;
}

size_t check_list_count(const struct check_list *l)
{
	return l ? l->n : 0;
}

struct check_list *check_list_free(struct check_list *l)
{
	if (!l)
		return NULL;
	for (size_t i = 0; i < l->n; i++)
		free_each(l->v[i].id, l->v[i].job, l->v[i].allow, l->v[i].deny);
	free_each(l->v, l);
	return NULL;
}
