/*
 * meta.c - _meta.acpd of session/new, load, resume and fork, and ACP's systemPrompt: decoded and checked by the rows of the
 * parameters (session/core/session_parameter.h), and by the fields of the call itself.
 *
 * What a parameter may hold is a check of its row. Checks that need tools/, which the session does not see, are here.
 */
#include "acp/params.h"

#include "harnesses/adapter.h"
#include "session/parts/check/check.h"
#include "session/parts/mcp/mcp_servers.h"
#include "session/parts/rules/session_rules.h"
#include "tools/builtin/testrun/testrun.h"
#include "tools/relay/server_request.h"

/* What is put into workspace and home, for calls that start the harness. */
#define PROVISION_FIELDS                                                                           \
	JF_OBJ(struct session_args, provision.workspace, "workspace", 0),                          \
		JF_ARR(struct session_args, provision.skills, "skills", 0),                        \
		JF_RAW(struct session_args, provision.instructions, "instructions", 0),            \
		JF_ARR(struct session_args, provision.harness_files, "harnessFiles", 0)

/* Members that are no parameter of the session. */
static const struct jfield new_fields[] = {
	PROVISION_FIELDS,
	JF_STR(struct session_args, harness, "harness", 0, 64),
	JF_END,
};

static const struct jfield load_fields[] = {
	PROVISION_FIELDS,
	JF_STR(struct session_args, incarnation, "incarnation", 0, INCARNATION_MAX),
	JF_INT(struct session_args, from_seq, "fromSeq", 0, 1, INT64_MAX),
	JF_RAW(struct session_args, observe, "observe", 0),
	JF_END,
};

static const struct jfield fork_fields[] = {
	JF_END,
};

static const struct {
	const struct jfield *fields;
	unsigned calls; /* enum parameter_calls */
} call_members[] = { [CALL_NEW] = { new_fields, PARAMETER_NEW },
		     [CALL_LOAD] = { load_fields, PARAMETER_LOAD },
		     [CALL_RESUME] = { load_fields, PARAMETER_LOAD },
		     [CALL_FORK] = { fork_fields, PARAMETER_FORK } };

void meta_args_free(struct session_args *a)
{
	/* One table may have the strings of the other: jdec_free sets what it frees to NULL. */
	jdec_free(new_fields, a);
	jdec_free(load_fields, a);
	for (size_t i = 0; i < a->setup.ngiven; i++)
		free(TAKE_PTR(a->setup.given[i].text));
	request_done(&a->request);
}

/* --- decoding ---------------------------------------------------------------------------------------------- */

#define NO_PARAMETER "this daemon has no such parameter"
#define GIVEN_AT(i, member)                                                                        \
	(offsetof(struct session_args, setup.given) + (i) * sizeof(struct parameter_given) +       \
	 offsetof(struct parameter_given, member))

static struct jfield parameter_field(const struct session_parameter *row, size_t i)
{
	size_t at = row->type == JF_T_STR ? GIVEN_AT(i, text) :
		    row->type == JF_T_RAW ? GIVEN_AT(i, v) :
					    GIVEN_AT(i, v.raw);

	return (struct jfield){ row->name, row->type, row->flags, at, 0, row->max };
}

/* The fields of the call: a slot of `given` for each parameter that it accepts, and its own. */
_Static_assert(PARAMETERS_GIVEN_MAX >= 64, "every row of session_parameters.c has a slot");

static void collect_fields(struct session_args *a, enum session_call call,
			   struct jfield ret[JDEC_FIELDS_MAX + 1])
{
	const struct jfield *own = call_members[call].fields;
	size_t n = 0;

	for (const struct session_parameter *const *row = session_parameters(); *row; row++) {
		unsigned calls = (*row)->calls;

		if (!(*row)->says || (calls && !(calls & call_members[call].calls)))
			continue;
		a->setup.given[n].of = *row;
		ret[n] = parameter_field(*row, n);
		n++;
	}
	a->setup.ngiven = n;
	do {
		if (n > JDEC_FIELDS_MAX)
			abort(); /* too many parameters: a bug that every test finds */
		ret[n++] = *own;
	} while ((own++)->name);
}

/* Slots have what their type of field has decoded: from here on each has a value. */
static void name_types(struct setup_params *p)
{
	for (size_t i = 0; i < p->ngiven; i++) {
		struct parameter_given *g = &p->given[i];

		if (g->text)
			g->v = (struct jval){ J_STRING, slice_of(g->text) };
		else if (g->of->type == JF_T_OBJ && g->v.raw.n)
			g->v.type = J_OBJECT;
		else if (g->of->type == JF_T_ARR && g->v.raw.n)
			g->v.type = J_ARRAY;
	}
}

static int check_observe(struct jval v, struct err *e)
{
	if (v.type == J_NONE || v.type == J_NULL || v.type == J_TRUE || v.type == J_FALSE)
		return 0;
	return err_field(e, "_meta.acpd.observe", "FIELD_INVALID",
			 "_meta.acpd.observe must be true or false");
}

/* A parameter of ours beside acpd would be ignored. Other names are other programs' and pass; so does systemPrompt, which
 * some harnesses have there. */
static int refuse_misplaced(struct slice meta, const struct jfield *fields, struct err *e)
{
	char at[96];

	for (const struct jfield *f = fields; f->name; f++) {
		if (strcmp(f->name, "systemPrompt") == 0 || jobj_get(meta, f->name).type == J_NONE)
			continue;
		snprintf(at, sizeof(at), "_meta.%s", f->name);
		return err_field(e, at, "PARAM_UNSUPPORTED",
				 "_meta.%s: acpd reads this parameter as _meta.acpd.%s only",
				 f->name, f->name);
	}
	return 0;
}

int meta_args_decode(struct session_args *a, enum session_call call, struct err *e)
{
	struct jfield fields[JDEC_FIELDS_MAX + 1];
	struct jval acpd = jobj_get(a->meta, "acpd");
	int r;

	collect_fields(a, call, fields);
	r = refuse_misplaced(a->meta, fields, e);
	if (r == 0 && acpd.type > J_NULL && acpd.type != J_OBJECT)
		r = err_field(e, "_meta.acpd", "FIELD_INVALID", "_meta.acpd must be an object");
	if (r == 0 && acpd.type == J_OBJECT)
		r = jdec_strict(acpd.raw, fields, "_meta.acpd.", NO_PARAMETER, a, e);
	name_types(&a->setup);
	/* ACP's own member wins over the one in _meta. */
	if (a->system_prompt.type > J_NULL)
		setup_give(&a->setup, &system_prompt_parameter, a->system_prompt)->field =
			"systemPrompt";
	return r == 0 ? check_observe(a->observe, e) : r;
}

/* --- checks that need tools/ --------------------------------------------------------------------------------- */

/* All of it reaches a harness as a server of type stdio. */
static int check_server_request(const struct server_request *asked, const struct harness_caps *caps,
				struct err *e)
{
	const struct {
		bool on;
		const char *field;
	} rows[] = {
		{ asked->builtin, "_meta.acpd.mcp.builtin" },
		{ asked->project, "_meta.acpd.mcp.project" },
		{ asked->hosted.n, "_meta.acpd.mcp.hosted" },
	};

	for (size_t i = 0; caps->no_stdio && i < ARRAY_SIZE(rows); i++)
		if (rows[i].on)
			return err_field(e, rows[i].field, "MCP_TRANSPORT_UNSUPPORTED",
					 "this harness takes no MCP servers that are programs");
	return 0;
}

/* Both objects at once: each may say what the other must not. */
static int check_policy(const struct parameter_check *c, struct err *e)
{
	struct server_request asked = { 0 };
	int r = server_request_parse(setup_given_text(c->params, &mcp_parameter), &asked, e);

	if (r == 0)
		r = check_server_request(&asked, c->caps, e);
	return r == 0 ? server_request_check_policy(
				asked.policy, setup_given_text(c->params, &policy_parameter), e) :
			r;
}

/* A check's own command for its tests, as runTests will read it. */
static int check_tests(struct slice check, const char *field, size_t n, struct err *e)
{
	static const char *const names[] = { "command", "format", "report" };
	JW_BUF(w, b);
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
	return err_field(e, SHORT_TEXT(sizeof(e->field), "%.48s[%zu].%.24s", field, n, why.field),
			 why.reason, "%.60s[%zu].%.150s", field, n, why.msg);
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

static int check_checks(const struct parameter_check *c, struct err *e)
{
	return checks_check(setup_given_text(c->params, &checks_parameter), "_meta.acpd.checks", e);
}

static const struct {
	const struct session_parameter *after; /* its own check */
	int (*check)(const struct parameter_check *c, struct err *e);
} tool_checks[] = {
	{ &mcp_parameter, check_policy },
	{ &checks_parameter, check_checks },
};

/* --- all of it ----------------------------------------------------------------------------------------------- */

static int check_parameter(const struct session_parameter *row, const struct parameter_check *c,
			   struct err *e)
{
	int r = parameter_check(row, c, e);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(tool_checks); i++)
		if (tool_checks[i].after == row)
			r = tool_checks[i].check(c, e);
	return r;
}

int meta_args_check(struct session_args *a, const struct harness_caps *caps,
		    struct session_params *p, struct err *e)
{
	const struct parameter_check c = { &a->setup, caps, p->model_apis, NULL };
	int r = 0;

	for (const struct session_parameter *const *row = session_parameters(); r == 0 && *row;
	     row++)
		r = check_parameter(*row, &c, e);
	if (r == 0)
		r = request_parse(&a->provision, "_meta.acpd.", &a->request, e);
	if (r < 0)
		return r;
	/* p borrows from a, and is only valid as long as a is. */
	p->request = &a->request;
	p->setup = a->setup;
	return 0;
}
