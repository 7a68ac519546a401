/* create_sandbox.c - createSandbox. The caller is in a sandbox already: it gets the id of this one, and commands get
 * the variables. */
#include "tools/builtin/run/command_spec.h"

#include "base/limits.h"

struct variables {
	char *v[RUN_ENVS_MAX + 1];
	size_t n;
};

char *const *sandbox_variables(const struct toolbox *b)
{
	const struct variables *vars = toolbox_kept(b, PART_SANDBOX);

	return vars ? vars->v : NULL;
}

static void variables_free(void *p)
{
	struct variables *vars = p;

	for (size_t i = 0; i < vars->n; i++)
		free(vars->v[i]);
	free(vars);
}

static struct variables *variables_of(struct toolbox *b)
{
	struct variables *vars = toolbox_kept(b, PART_SANDBOX);

	if (vars)
		return vars;
	vars = new0(struct variables);
	toolbox_keep(b, PART_SANDBOX, vars, variables_free);
	return vars;
}

/* A later value replaces an earlier one. Owns given. */
static int variable_set(struct variables *vars, char *given, const char *field, struct err *e)
{
	/* With the "=", so that A does not match AB. */
	size_t name = strcspn(given, "=") + 1, i = 0;

	while (i < vars->n && strncmp(vars->v[i], given, name) != 0)
		i++;
	if (i == RUN_ENVS_MAX) {
		free(given);
		return err_field(e, field, "INVALID_ARGUMENT",
				 "%s: a sandbox has no more than %d variables", field,
				 RUN_ENVS_MAX);
	}
	free(vars->v[i]);
	vars->v[i] = given;
	vars->n += i == vars->n;
	return 0;
}

static int take_variables(struct builtin_call *c, const char *field, struct err *e)
{
	char **given = tool_arg_strv(c, field);
	int r = 0;

	for (char **v = given; r == 0 && v && *v; v++)
		r = variable_set(variables_of(c->box), xstrdup(*v), field, e);
	strv_free(given);
	return r;
}

static void create_sandbox(struct builtin_call *c)
{
	struct err e = { 0 };
	int r = c->dry_run ? 0 : take_variables(c, "envVars", &e);
	JW_BUF(w, out);

	if (r == 0 && !c->dry_run)
		r = take_variables(c, "envs", &e);
	if (r < 0) {
		tool_fail(c, &e, SLICE_NONE);
		return;
	}
	jw_str(&w, "sandboxId", toolbox_sandbox_id(c->box));
	tool_done(c, buf_slice(&out));
}

static const struct tool_field create_in[] = {
	TF_STRING("name", 0, "no effect", .max = 256),
	TF_MAP("labels", 0, "no effect", .max = 256),
	TF_STRING("language", 0, "no effect: runCode takes it with every call", .max = 64),
	TF_MAP("envVars", TOOL_VARIABLES, "the same as envs", .max = RUN_ENVS_MAX),
	TF_MAP("metadata", 0, "no effect", .max = 256),
	TF_MAP("envs", TOOL_VARIABLES,
	       "environment variables of all later commands, beside those of earlier calls",
	       .max = RUN_ENVS_MAX),
	TF_INT("timeoutMS", 0, "no effect", .max = INT32_MAX),
	{ 0 },
};

static const struct tool_field create_out[] = {
	TF_STRING("sandboxId", TOOL_REQUIRED, "id of this sandbox"),
	{ 0 },
};

const struct builtin_tool other_tools[] = {
	BUILTIN_TOOL(
		"createSandbox", "Get the sandbox",
		"The tools work in one sandbox, which exists: its id is returned, nothing is created. Variables hold for later commands.",
		CATEGORY_OTHER, HINT_IDEMPOTENT, create_in, create_out, .start = create_sandbox),
	{ 0 },
};
