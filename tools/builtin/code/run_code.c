/* run_code.c - runCode: runs code of a language from a file of its own, which is removed at the end. */
#include "tools/builtin/code/run_code.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "tools/builtin/run/command_job.h"

/*
 * node runs TypeScript from 22.6 on. Some versions can translate what is more than types (enums, namespaces) too; one
 * that does not know an option says so and runs nothing, and the next is tried. tsx, where installed, knows it all.
 */
static const char *const ts_options[] = { "--experimental-transform-types",
					  "--experimental-strip-types" };
#define QUIET "--disable-warning=ExperimentalWarning"

struct language {
	const char *const names[3];    /* as calls name it; the configuration uses the first one */
	const char *const programs[3]; /* looked for in this order */
	const char *const options[3];
	const char *whole; /* a program that is preferred, if there is one */
	const char *suffix;
	const char *module, *script; /* by what it is, if it lies in the tree; NULL: it does not */
	const char *search;  /* variable of the directories that modules are looked for in */
	const char *modules; /* where they are, in the working directory */
	const char *
		inline_option; /* how the same code would be given in an argument: what the policy judges */
};

/* clang-format off */
static const struct language languages[] = {
	{ { "python" }, { "python3", "python" }, { NULL },
	  NULL, ".py", NULL, NULL, "PYTHONPATH", "", "-c" },
	{ { "js", "javascript" }, { "node", "nodejs" }, { NULL },
	  NULL, ".js", ".mjs", ".cjs", "NODE_PATH", "/node_modules", "-e" },
	{ { "ts", "typescript" }, { "node", "nodejs" }, { "--experimental-transform-types", QUIET },
	  "tsx", ".ts", ".mts", ".cts", "NODE_PATH", "/node_modules", "-e" },
};
/* clang-format on */

struct code {
	const struct language *language;
	char *file;
	bool has_whole;	    /* it is run by the better program */
	bool is_configured; /* the interpreter is of the configuration */
	size_t tried;	    /* of ts_options */
};

static void code_free(void *own)
{
	struct code *code = own;

	if (code->file)
		unlink(code->file);
	free_each(code->file, code);
}

static const struct language *language_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
		for (size_t k = 0; languages[i].names[k]; k++)
			if (strcmp(languages[i].names[k], name) == 0)
				return &languages[i];
	return NULL;
}

/* --- the interpreter ------------------------------------------------------------------------------------ */

/* From the configuration: {"python": ["/opt/python/bin/python3", "-I"]}. False if it does not name the language. */
static bool language_is_configured(const struct toolbox *b, const struct language *l, char ***v)
{
	jarr_each(el, jobj_get(toolbox_setting(b, "interpreters"), l->names[0])) {
		char *word = NULL;

		if (jstr_decode(el, PATH_BYTES_MAX, &word) == 0)
			strv_add(v, word);
	}
	return *v != NULL;
}

static int interpreter_check_words(struct jval list, const char *path, struct err *e)
{
	size_t n = 0;

	jarr_each(v, list) {
		_cleanup_(freep) char *word = NULL;
		const char *at = SHORT_TEXT(96, "%s[%zu]", path, n++);

		if (jstr_decode(v, PATH_BYTES_MAX, &word) < 0 || !*word)
			return err_field(e, at, "FIELD_INVALID", "%s must be a word", at);
	}
	return n ? 0 : err_field(e, path, "FIELD_INVALID", "%s must be words", path);
}

int code_interpreters_check(struct slice interpreters, struct err *e)
{
	int r;

	jobj_each(key, v, interpreters) {
		size_t i = 0;
		const char *path = SHORT_TEXT(80, "interpreters.%.*s", (int)MIN(key.n, 40u), key.p);

		while (i < ARRAY_SIZE(languages) && !jkey_is(key, languages[i].names[0]))
			i++;
		if (i == ARRAY_SIZE(languages))
			return err_field(e, path, "PARAM_UNSUPPORTED",
					 "there is no such language; known are python, js, ts");
		r = interpreter_check_words(v, path, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int no_interpreter(const struct language *l, struct err *e)
{
	return err_field(e, "language", "INTERPRETER_NOT_FOUND", "there is no %s to run %s with",
			 l->programs[0], l->names[0]);
}

/* In node_modules of the working directory or above, else by PATH. */
static char *language_find_whole(const struct language *l, char *const *env, const char *cwd)
{
	_cleanup_(freep) char *at = xstrdup(cwd);

	for (char *slash = at; slash; *slash = '\0') {
		_cleanup_(freep) char *path = NULL;

		path = xprintf("%s/node_modules/.bin/%s", at, l->whole);
		if (access(path, X_OK) == 0)
			return TAKE_PTR(path);
		slash = strrchr(at, '/');
		if (!slash || slash == at)
			break;
	}
	return command_run_which(l->whole, env, cwd, NULL);
}

/* The words before the file. */
static int interpreter(const struct builtin_call *c, struct code *code,
		       const struct command_spec *cmd, char ***v, struct err *e)
{
	_cleanup_(freep) char **env = command_environment(c->box, cmd);
	const struct language *l = code->language;
	char *found = NULL;

	code->is_configured = language_is_configured(c->box, l, v);
	if (code->is_configured) {
		found = command_run_which((*v)[0], env, cmd->cwd, NULL);
		/* Only a check that it exists: command_start looks the program up itself. */
		free(found);
		return found ? 0 : no_interpreter(l, e);
	}
	found = l->whole ? language_find_whole(l, env, cmd->cwd) : NULL;
	code->has_whole = found;
	for (size_t i = 0; l->programs[i] && !found; i++)
		found = command_run_which(l->programs[i], env, cmd->cwd, NULL);
	if (!found)
		return no_interpreter(l, e);
	strv_add(v, found);
	for (size_t i = 0; !code->has_whole && l->options[i]; i++)
		strv_add(v, xstrdup(l->options[i]));
	return 0;
}

/* A node that does not know an option says so on its first line, and runs nothing. */
static bool option_unknown(const struct command_job *j, const struct command_run_status *st)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	/* node exits with 9 for an invalid argument (Node.js, process exit codes). */
	if (!st->exited || st->code != 9)
		return false;
	command_output_text(command_run_output(j->run, RUN_STDERR), 0, &text);
	return text.len && memmem(text.data, text.len, "bad option: --", 14);
}

static bool with_less(struct command_job *j, const struct command_run_status *st)
{
	struct code *code = j->own;
	char *const *argv = j->cmd.argv;

	/* interpreter() puts the options directly behind the program, so argv[1] is the first of
	 * them. */
	if (code->is_configured || code->tried + 1 >= ARRAY_SIZE(ts_options) || !argv[1] ||
	    strcmp(argv[1], ts_options[code->tried]) != 0 || !option_unknown(j, st))
		return false;
	xstrset(&j->cmd.argv[1], ts_options[++code->tried]);
	free(j->cmd.shown);
	j->cmd.shown = command_quote(j->cmd.argv);
	return true;
}

static bool runtime_is_too_old(struct command_job *j, const struct command_run_status *st,
			       struct err *e)
{
	const struct code *code = j->own;

	if (!option_unknown(j, st))
		return false;
	err_field(e, "language", "INTERPRETER_NOT_FOUND",
		  "node is too old to run %s: 22.6 or newer is needed", code->language->names[0]);
	return true;
}

/* --- the file ------------------------------------------------------------------------------------------- */

/* In the tree, if it is to lie there and can; an interpreter of the configuration may know only the plain suffix. */
static int write_code(const struct toolbox *b, struct code *code, const char *cwd,
		      struct slice text, struct err *e)
{
	const struct language *l = code->language;
	const char *suffix = !l->module || code->is_configured ? l->suffix :
			     code_is_module(text)	       ? l->module :
								 l->script;
	int r = l->module ? code_file_write(b, cwd, suffix, text, &code->file) : -ENOTSUP;

	if (r < 0)
		r = code_file_write(b, NULL, suffix, text, &code->file);
	if (r < 0)
		return err_set(e, r, 0, "EXECUTION_FAILED", "cannot write the code: %s",
			       strerror(-r));
	return 0;
}

/* --- its result ----------------------------------------------------------------------------------------- */

static void code_put_stream(struct jw *w, const char *key, const struct command_output *o)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	if (o)
		command_output_text(o, 0, &text);
	jw_arr(w, key);
	if (text.len)
		jw_slice(w, NULL, buf_slice(&text));
	jw_end_arr(w);
}

/* What E2B's code interpreter answers, as JSON in a string. */
static void more(struct command_job *j, const struct command_run_status *st, struct jw *w)
{
	JW_BUF(in, json);
	char value[40];

	jw_obj(&in, NULL);
	jw_raw(&in, "results", SLICE("[]"));
	jw_obj(&in, "logs");
	code_put_stream(&in, "stdout", st ? command_run_output(j->run, RUN_STDOUT) : NULL);
	code_put_stream(&in, "stderr", st ? command_run_output(j->run, RUN_STDERR) : NULL);
	jw_end_obj(&in);
	if (st && (!st->exited || st->code)) {
		snprintf(value, sizeof(value), "%s %d", st->exited ? "exit code" : "signal",
			 st->code);
		jw_object(&in, "error",
			  JW_STR("name", st->timed_out ? "TimeoutError" : "ExecutionError"),
			  JW_STR("value", value), JW_STR("traceback", ""));
	}
	jw_end_obj(&in);
	jw_slice(w, "execution", buf_slice(&json));
	jw_str(w, "language", ((struct code *)j->own)->language->names[0]);
}

/* If the file lies elsewhere, it can still import modules of the working directory. */
static char *code_search_path(const struct builtin_call *c, const struct language *l,
			      const struct command_spec *cmd)
{
	_cleanup_(freep) char **env = command_environment(c->box, cmd);
	const char *before = strv_env(env, l->search);
	return xprintf("%s=%s%s%s%s", l->search, cmd->cwd, l->modules, before && *before ? ":" : "",
		       before ? before : "");
}

/* E2B's template nests some arguments. If both places have a value and they differ, the call is refused. */
static const struct {
	const char *nested, *as, *others[3];
} twice[] = {
	{ "language", "language", { "language" } },
	{ "envs", "envs", { "envs", "env" } },
	{ "timeoutMs", "timeoutMs", { "timeoutMs", "timeoutSeconds" } },
	{ "timeoutMS", "timeoutMs", { "timeoutMs", "timeoutSeconds" } },
};

static int nested_refuse(const char *nested, const char *other, struct err *e)
{
	const char *field = SHORT_TEXT(64, "runCodeOpts.%s", nested);

	return err_field(e, field, "INVALID_ARGUMENT", "give %s or %s, not both", other, field);
}

/* 1: use it; 0: the outer argument has the same value. */
static int nested_check(const struct builtin_call *c, size_t row, struct slice nested,
			struct jval v, struct err *e)
{
	for (const char *const *other = twice[row].others; *other; other++) {
		struct jval outside = jobj_get(c->args, *other);

		if (outside.type <= J_NULL)
			continue;
		if (strcmp(*other, twice[row].as) == 0 && slice_eq(outside.raw, v.raw))
			return 0;
		return nested_refuse(twice[row].nested, *other, e);
	}
	if (strcmp(twice[row].nested, "timeoutMS") == 0 &&
	    jobj_get(nested, "timeoutMs").type > J_NULL)
		return nested_refuse("timeoutMS", "runCodeOpts.timeoutMs", e);
	return 1;
}

static int code_args_flatten(const struct builtin_call *c, struct buf *out, struct err *e)
{
	struct jval nested = jobj_get(c->args, "runCodeOpts");
	struct jw w = JW(out);
	int r = 0;

	jw_obj(&w, NULL);
	jw_members(&w, c->args, "runCodeOpts");
	for (size_t i = 0; nested.type == J_OBJECT && r >= 0 && i < ARRAY_SIZE(twice); i++) {
		struct jval v = jobj_get(nested.raw, twice[i].nested);

		r = v.type > J_NULL ? nested_check(c, i, nested.raw, v, e) : 0;
		if (r > 0)
			jw_member_raw(&w, slice_of(twice[i].as), v.raw);
	}
	jw_end_obj(&w);
	return MIN(r, 0);
}

/* --- the call ------------------------------------------------------------------------------------------- */

static const struct language *language_of(const struct builtin_call *c, struct err *e)
{
	_cleanup_(freep) char *name = tool_arg_str(c, "language");
	const struct language *l = language_find(name ? name : "python");

	if (!l)
		err_field(e, "language", "INVALID_ARGUMENT", "language must be python, js or ts");
	return l;
}

/* Asks the policy about the code, as if it were an argument of its interpreter. */
static void judged_words(struct command_job *j, const struct code *code, struct slice text)
{
	for (char **word = j->cmd.argv; *word; word++)
		strv_add(&j->cmd.judged,
			 xstrdup(code->has_whole ? code->language->programs[0] : *word));
	strv_add(&j->cmd.judged, xstrdup(code->language->inline_option));
	strv_add(&j->cmd.judged, xstrndup(text.p, strnlen(text.p, text.n)));
}

/* 1: a human is asked first. */
static int code_prepare(struct command_job *j, struct code *code, struct slice text, struct err *e)
{
	struct builtin_call *c = j->call;
	char **argv = tool_arg_strv(c, "argv"), *file = NULL;
	int r = interpreter(c, code, &j->cmd, &j->cmd.argv, e);

	if (r == 0) {
		judged_words(j, code, text);
		r = command_judge(c, &j->cmd, e);
	}
	/* Only after the verdict: code that is denied leaves no file. */
	if (r == 0 && !c->dry_run)
		r = write_code(c->box, code, j->cmd.cwd, text, e);
	/* The reaper process removes the file if this process is killed. */
	j->cmd.remove = code->file;
	if (r == 0) {
		if (code->file)
			file = xstrdup(code->file);
		else
			file = xprintf("code%s", code->language->suffix);
		strv_add(&j->cmd.argv, file);
	}
	for (char **word = argv; word && *word; word++)
		if (r == 0)
			strv_add(&j->cmd.argv, xstrdup(*word));
	strv_free(argv);
	if (r == 0)
		j->cmd.shown = command_quote(j->cmd.argv);
	j->cmd.own_env = code_search_path(c, code->language, &j->cmd);
	return r;
}

void code_start(struct builtin_call *c)
{
	_cleanup_(buf_done) struct buf text = { 0 }, args = { 0 };
	struct slice given = c->args;
	struct command_job *j = command_job_new(c);
	struct code *code = new0(struct code);
	struct err e = { 0 };
	int r;

	j->own = code;
	j->release = code_free;
	j->more = more;
	j->again = with_less;
	j->refuse = runtime_is_too_old;
	r = code_args_flatten(c, &args, &e);
	c->args = buf_slice(&args);
	code->language = r == 0 ? language_of(c, &e) : NULL;
	r = code->language ? 0 : -EINVAL;
	tool_arg_bytes(c, "code", &text);
	tool_arg_bytes(c, "input", &j->input);
	if (r == 0)
		r = command_common(c, CODE_TIME_MS, CODE_KEEP_BYTES, &j->cmd, &e);
	c->args = given; /* an approval is for the call as it came */
	if (r == 0)
		r = code_prepare(j, code, text.data ? buf_slice(&text) : SLICE(""), &e);
	if (r < 0)
		command_job_fail(j, &e);
	else if (r > 0)
		command_job_drop(j);
	else
		command_job_run(j);
}

static const char *const language_words[] = {
	"python", "js", "ts", "javascript", "typescript", NULL
};

static const struct tool_field opts_in[] = {
	TF_STRING("language", 0, "the same as outside", .words = language_words),
	TF_MAP("envs", 0, "the same as outside", .max = RUN_ENVS_MAX),
	TF_INT("timeoutMs", 0, "the same as outside", .max = RUN_TIME_MAX),
	TF_INT("timeoutMS", 0, "the same as timeoutMs, as E2B spells it", .max = RUN_TIME_MAX),
	TF_INT("requestTimeoutMs", 0, "no effect", .max = RUN_TIME_MAX),
	{ 0 },
};

const struct tool_field code_in[] = {
	TF_STRING("code", TOOL_REQUIRED | TOOL_BYTES,
		  "what is run: a program; it can import what the working directory has",
		  .max = CODE_MAX),
	TF_STRING(
		"language", 0,
		"js and ts are run by node, ts by tsx where that is installed; types are not checked",
		.fallback = "\"python\"", .words = language_words),
	TF_STRINGS("argv", 0, "arguments of the program", .max = RUN_ARGS_MAX),
	TF_STRING("input", TOOL_BYTES, "text for its stdin"),
	COMMAND_IN_COMMON,
	TF_OBJECT("runCodeOpts", 0, "language, envs and timeoutMs may stand here instead",
		  .sub = opts_in),
	{ 0 },
};

const struct tool_field code_out[] = {
	COMMAND_OUT_COMMON,
	TF_STRING("execution", TOOL_REQUIRED,
		  "JSON: {results, logs: {stdout[], stderr[]}, error?}"),
	TF_STRING("language", TOOL_REQUIRED, "python, js or ts"),
	{ 0 },
};
