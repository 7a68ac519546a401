/*
 * command_spec.c - the common part of all tools that run commands: arguments, verdict, environment,
 * start, report.
 *
 * command_start is the only way to start a command and asks the policy first, so no tool can bypass
 * it. Variables are judged with the command, because they can change what it does; the strictest
 * verdict counts. Later layers of the environment replace earlier ones. Long arguments are refused
 * here, because execve(2) reports only E2BIG.
 */
#include "tools/builtin/run/command_spec.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "tools/builtin/core/tool_path.h"
#include "policy/policy.h"

#include <signal.h>

#define SHELL "/bin/bash" /* else /bin/sh */

/* --- what is to be run --------------------------------------------------------------------------------- */

/* Either of two spellings; both at once is an error. */
static int command_either_arg(const struct builtin_call *c, const char *a, const char *b,
			      const char **ret, struct err *e)
{
	bool has_a = jobj_get(c->args, a).type > J_NULL, has_b = jobj_get(c->args, b).type > J_NULL;

	/* Without either, the first name: the argument is then absent under both. */
	*ret = has_b ? b : a;
	if (has_a && has_b)
		return err_field(e, b, "INVALID_ARGUMENT", "give %s or %s, not both", a, b);
	return 0;
}

/* The real path is used, so a link that is exchanged later leads nowhere else. */
static int take_cwd(const struct builtin_call *c, struct command_spec *ret, struct err *e)
{
	_cleanup_(tool_path_done) struct tool_path p = TOOL_PATH_NONE;
	_cleanup_(freep) char *path = NULL;
	const char *name;
	int r = command_either_arg(c, "workingDirectory", "cwd", &name, e);

	if (r < 0)
		return r;
	path = tool_arg_str(c, name);
	r = tool_path_find(c, path ? path : ".", TOOL_PATH_STAT, &p, e);
	if (r < 0)
		return r;
	if (!S_ISDIR(p.sb.st_mode))
		return err_field(e, name, "ENOTDIR", "%s is no directory", path ? path : ".");
	ret->cwd = TAKE_PTR(p.real);
	return 0;
}

static int take_envs(const struct builtin_call *c, struct command_spec *ret, struct err *e)
{
	const char *name;
	int r = command_either_arg(c, "envs", "env", &name, e);

	if (r < 0)
		return r;
	ret->envs = tool_arg_strv(c, name);
	return 0;
}

/* 0 means no limit, and so does none at all where default_ms is 0; what the policy says is the most there is. */
static int command_take_timeout(const struct builtin_call *c, uint64_t default_ms,
				struct command_spec *ret, struct err *e)
{
	int64_t most = policy_tool_limits(toolbox_policy(c->box), c->tool->name).timeout_ms, ms;
	const char *name;
	int r = command_either_arg(c, "timeoutMs", "timeoutSeconds", &name, e);

	if (r < 0)
		return r;
	ms = tool_arg_int(c, name, -1);
	if (ms > 0 && strcmp(name, "timeoutSeconds") == 0)
		ms *= 1000;
	if (ms < 0)
		ms = most > 0 ? most : (int64_t)default_ms;
	if (most > 0 && (ms == 0 || ms > most))
		ms = most;
	ret->timeout_ms = (uint64_t)ms;
	return 0;
}

int command_common(const struct builtin_call *c, uint64_t timeout_ms, size_t keep,
		   struct command_spec *ret, struct err *e)
{
	int r = take_cwd(c, ret, e);

	if (r == 0)
		r = take_envs(c, ret, e);
	if (r == 0)
		r = command_take_timeout(c, timeout_ms, ret, e);
	ret->keep = (size_t)tool_arg_int(c, "maxOutputBytes", (int64_t)keep);
	return r;
}

void command_done(struct command_spec *cmd)
{
	cmd->argv = strv_free(cmd->argv);
	cmd->judged = strv_free(cmd->judged);
	cmd->envs = strv_free(cmd->envs);
	free_each(cmd->shell, cmd->shown, cmd->cwd, cmd->own_env);
	*cmd = (struct command_spec){ 0 };
}

/* Quotes for a shell, with single quotes. Characters outside of `plain` may mean something to
 * one. */
static void quote(struct buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=./:,@%^";

	if (*word && !word[strspn(word, plain)]) {
		buf_puts(b, word);
		return;
	}
	buf_putc(b, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_puts(b, "'\\''");
		else
			buf_putc(b, *word);
	buf_putc(b, '\'');
}

char *command_quote(char *const *argv)
{
	struct buf b = { 0 };

	for (char *const *word = argv; *word; word++) {
		if (word != argv)
			buf_putc(&b, ' ');
		quote(&b, *word);
	}
	buf_putc(&b, '\0');
	return b.failed ? xstrdup("") : b.data;
}

/* --- judge and start ------------------------------------------------------------------------------------------- */

/* The stricter of v and what holds for these variables. */
static enum policy_verdict with_variables(const struct policy *p, char *const *env,
					  enum policy_verdict v, struct err *e)
{
	for (; env && *env && v != POLICY_DENY; env++) {
		_cleanup_(freep) char *name = xstrndup(*env, strcspn(*env, "="));
		struct err why = { 0 };
		enum policy_verdict more = policy_variable(p, name, &why);

		if (more != v && policy_stricter(v, more) == more) {
			v = more;
			*e = why;
		}
	}
	return v;
}

static enum policy_verdict verdict(const struct builtin_call *c, const struct command_spec *cmd,
				   struct err *e)
{
	const struct policy *p = toolbox_policy(c->box);
	enum policy_verdict v =
		cmd->shell ? policy_shell(p, cmd->shell, NULL, e) :
			     policy_argv(p, cmd->judged ? cmd->judged : cmd->argv, NULL, e);

	/* Also those that a client set for the whole sandbox: they hold for this command. */
	v = with_variables(p, cmd->envs, v, e);
	return with_variables(p, sandbox_variables(c->box), v, e);
}

static void command_json(const struct command_spec *cmd, struct buf *out)
{
	struct jw w = JW(out);

	if (cmd->shell) {
		jw_str(&w, NULL, cmd->shell);
		return;
	}
	jw_arr(&w, NULL);
	for (char **word = cmd->judged ? cmd->judged : cmd->argv; *word; word++)
		jw_str(&w, NULL, *word);
	jw_end_arr(&w);
}

int command_judge(struct builtin_call *c, const struct command_spec *cmd, struct err *e)
{
	_cleanup_(buf_done) struct buf json = { 0 };
	enum policy_verdict v = verdict(c, cmd, e);

	/* A dry run starts nothing, so no human is asked. */
	if (v == POLICY_ALLOW || (v == POLICY_ASK && c->dry_run))
		return 0;
	if (v == POLICY_DENY)
		return -EACCES;
	command_json(cmd, &json);
	return tool_allowed(c, e->msg, SLICE_NONE, buf_slice(&json)) ? 0 : 1;
}

/* Adds the variables of v; those of the same name go. */
static size_t overlay(char **env, size_t n, char *const *v)
{
	for (; v && *v; v++) {
		/* With the "=", so that A does not match AB. */
		size_t name = strcspn(*v, "=") + 1, i = 0;

		while (i < n && strncmp(env[i], *v, name) != 0)
			i++;
		env[i] = *v;
		n += i == n;
	}
	return n;
}

/* Returns an array of borrowed strings: the caller frees the array alone. */
char **command_environment(const struct toolbox *b, const struct command_spec *cmd)
{
	char *const *more = toolbox_config(b)->env, *const *given = sandbox_variables(b);
	char *own[] = { cmd->own_env, NULL };
	size_t n = 0, room = strv_len(environ) + strv_len(more) + strv_len(given) +
			     strv_len(cmd->envs) + 2;
	char **env = xalloc(room * sizeof(*env));

	n = overlay(env, n, environ);
	n = overlay(env, n, more);
	n = overlay(env, n, given);
	n = overlay(env, n, own);
	n = overlay(env, n, cmd->envs);
	env[n] = NULL;
	return env;
}

/* The kernel refuses longer ones, and reports only that the list is too long. */
static int command_check_words(char *const *words, const char *field, struct err *e)
{
	for (; *words; words++)
		if (strlen(*words) > ARG_BYTES_MAX)
			return err_field(
				e, field, "TOO_LARGE",
				"%s: a command, word or variable may have %zu bytes; longer text "
				"goes into a file or to stdin (input)",
				field, (size_t)ARG_BYTES_MAX);
	return 0;
}

const char *command_shell(void)
{
	return access(SHELL, X_OK) == 0 ? SHELL : "/bin/sh";
}

int command_start(struct builtin_call *c, const struct command_spec *cmd,
		  const struct command_run_events *ev, void *ctx, struct command_run **ret,
		  struct err *e)
{
	_cleanup_(freep) char **env = command_environment(c->box, cmd);
	_cleanup_(freep) char **argv = NULL;
	_cleanup_(freep) char *program = NULL;
	struct command_run_spec spec = { .env = env,
					 .cwd = cmd->cwd,
					 .input = cmd->input,
					 .timeout_ms = cmd->timeout_ms,
					 .keep = cmd->keep,
					 .remove = cmd->remove };
	int r = command_judge(c, cmd, e);

	if (r != 0)
		return r;
	argv = xalloc((strv_len(cmd->argv) + 4) * sizeof(*argv));
	if (cmd->shell) {
		argv[0] = (char *)(uintptr_t)command_shell();
		argv[1] = (char *)(uintptr_t) "-c";
		argv[2] = cmd->shell;
	} else {
		memcpy(argv, cmd->argv, strv_len(cmd->argv) * sizeof(*argv));
		/* By the PATH that the command itself will have. */
		program = command_run_which(cmd->argv[0], env, cmd->cwd, e);
		if (!program)
			return -ENOENT;
		argv[0] = program;
	}
	spec.argv = argv;
	r = command_check_words(argv, cmd->shell ? "command" : "argv", e);
	if (r == 0)
		r = command_check_words(env, "envs", e);
	if (r < 0)
		return r;
	*ret = command_run_start(background_procs_host(c->box), &spec, ev, ctx, e);
	return *ret ? 0 : -EIO;
}

/* --- how it is reported -------------------------------------------------------------------------------------- */

static void command_put_text(struct jw *w, const char *key, const struct command_output *o,
			     size_t lines)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	command_output_text(o, lines, &text);
	jw_slice(w, key, buf_slice(&text));
}

bool command_succeeded(const struct command_run_status *st)
{
	return !st || (st->exited && st->code == 0);
}

void command_put_end(struct jw *w, const struct command_run_status *st)
{
	char name[24];
	const char *abbrev;

	jw_bool(w, "running", !st);
	jw_bool(w, "timedOut", st && st->timed_out);
	jw_bool(w, "killed", st && st->killed);
	if (!st) {
		jw_null(w, "exitCode");
		jw_null(w, "signal");
		return;
	}
	/* Of a signal as shells report it. */
	jw_int(w, "exitCode", st->exited ? st->code : 128 + st->code);
	abbrev = st->exited ? NULL : sigabbrev_np(st->code);
	if (abbrev)
		snprintf(name, sizeof(name), "SIG%s", abbrev);
	else
		snprintf(name, sizeof(name), "SIG%d", st->code);
	if (st->exited)
		jw_null(w, "signal");
	else
		jw_str(w, "signal", name);
}

void command_put(struct jw *w, const char *shown, const struct command_run *r,
		 const struct command_run_status *st, size_t lines, bool capture)
{
	static const char *const names[][3] = {
		{ "stdout", "stdoutTruncated", "stdoutDroppedBytes" },
		{ "stderr", "stderrTruncated", "stderrDroppedBytes" },
	};

	jw_bool(w, "success", command_succeeded(st));
	command_put_end(w, st);
	for (enum command_run_stream s = 0; s < RUN_STREAMS; s++) {
		const struct command_output *o = command_run_output(r, s);

		if (capture)
			command_put_text(w, names[s][0], o, lines);
		else
			jw_str(w, names[s][0], "");
		jw_bool(w, names[s][1], command_output_dropped(o) > 0);
		jw_uint(w, names[s][2], command_output_dropped(o));
	}
	jw_str(w, "command", shown);
	jw_uint(w, "executionTime", command_run_elapsed(r));
	if (st && st->left)
		jw_uint(w, "leftBehind", st->left);
}

/* The same members as command_put, for a command that was not started. */
void command_put_unrun(struct jw *w, const char *shown, int code, const char *why)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	if (why)
		buf_printf(&text, "%s\n", why);
	jw_bool(w, "success", code == 0);
	jw_int(w, "exitCode", code);
	jw_null(w, "signal");
	jw_str(w, "stdout", "");
	jw_slice(w, "stderr", buf_slice(&text));
	jw_str(w, "command", shown);
	jw_int(w, "executionTime", 0);
	jw_bool(w, "running", false);
	jw_bool(w, "timedOut", false);
	jw_bool(w, "killed", false);
	jw_bool(w, "stdoutTruncated", false);
	jw_bool(w, "stderrTruncated", false);
	jw_int(w, "stdoutDroppedBytes", 0);
	jw_int(w, "stderrDroppedBytes", 0);
	if (!why)
		jw_bool(w, "dryRun", true);
}

void command_pid(const struct command_run *r, char text[PID_TEXT])
{
	snprintf(text, PID_TEXT, "%d", (int)command_run_pid(r));
}

/* A piece of one stream, by its place in it. */
static void answer_piece(struct builtin_call *c, const struct command_run *r, bool running,
			 struct jw *w)
{
	_cleanup_(buf_done) struct buf piece = { 0 }, text = { 0 };
	enum command_run_stream s = tool_arg_is(c, "stream", "stderr") ? RUN_STDERR : RUN_STDOUT;
	size_t most = (size_t)tool_arg_int(c, "length", (int64_t)tool_room(c));
	const struct command_output *o = command_run_output(r, s);
	/* The piece may begin later than requested: older bytes are dropped. */
	uint64_t at = command_output_piece(o, (uint64_t)tool_arg_int(c, "offset", 0), most, &piece);

	jw_slice(w, "piece", buf_slice(&piece));
	jw_uint(w, "offset", at);
	if (at + buf_len(&piece) < o->total)
		jw_uint(w, "nextOffset", at + buf_len(&piece));
	command_text_piece(&text, o, buf_slice(&piece), at, running);
	tool_answer(c,
		    &(struct tool_result){ .members = buf_slice(w->b), .text = buf_slice(&text) });
}

void command_answer(struct builtin_call *c, const char *shown, const struct command_run *r,
		    const struct command_run_status *st)
{
	_cleanup_(buf_done) struct buf out = { 0 }, text = { .max = RUN_KEEP_MAX };
	bool piece = tool_arg(c, "offset").type == J_NUMBER;
	struct jw w = JW(&out);
	char pid[PID_TEXT];
	struct command_text how = { .pid = pid,
				    .room = tool_room(c),
				    .lines = (size_t)tool_arg_int(c, "tail", 0),
				    .capture = true };

	command_pid(r, pid);
	jw_str(&w, "pid", pid);
	command_put(&w, shown, r, st, how.lines, !piece);
	if (piece) {
		answer_piece(c, r, !st, &w);
		return;
	}
	command_text(&text, r, st, &how);
	tool_answer(c,
		    &(struct tool_result){ .members = buf_slice(&out), .text = buf_slice(&text) });
}
