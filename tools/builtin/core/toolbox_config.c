/*
 * toolbox_config.c - reads the configuration of the toolbox strictly, and checks every part that a
 * call would need later. Opens its roots, and applies its policy to a call before it runs: whether
 * the tool is listed, and its limits of time, number and size.
 *
 * An unknown member or tool is an error, because ignoring it could drop a restriction unnoticed.
 * server_request.c checks the settings of a client with this parser before a session starts. Names
 * of variables are compared raw, so one with an escape is refused.
 *
 * A root is its canonical path and an O_PATH descriptor, which tool_path.c gives to openat2. The
 * working directory must be in a root, and the first root is its default. Comparisons are textual:
 * both sides must be real paths.
 */
#include "base/limits.h"
#include "base/os/file.h"
#include "json/json.h"
#include "policy/policy.h"
#include "tools/builtin/core/toolbox_internal.h"

struct raw_config {
	struct toolbox_config config;
	struct slice roots, env, tools;
	struct slice kept; /* members that are read from the text when they are used */
};

static const struct jfield fields[] = {
	JF_ARR(struct raw_config, roots, "roots", JF_REQUIRED),
	JF_STR(struct raw_config, config.cwd, "cwd", 0, PATH_BYTES_MAX),
	JF_STR(struct raw_config, config.state_dir, "stateDir", 0, PATH_BYTES_MAX),
	JF_STR(struct raw_config, config.sandbox_id, "sandboxId", 0, 64),
	JF_STR(struct raw_config, config.session, "session", 0, RPC_ID_MAX),
	JF_OBJ(struct raw_config, env, "env", 0),
	JF_ARR(struct raw_config, tools, "tools", 0),
	JF_OBJ(struct raw_config, kept, "policy", 0),
	JF_OBJ(struct raw_config, kept, "tests", 0),
	JF_OBJ(struct raw_config, kept, "interpreters", 0),
	JF_BOOL(struct raw_config, config.dry_run, "dryRun", 0),
	JF_END,
};

static int strings(struct slice list, const char *name, char ***ret, struct err *e)
{
	char at[64];

	if (!list.n)
		return 0;
	/* The whole array at once: an empty list of tools is not the same as none. */
	*ret = xalloc((jarr_length((struct jval){ J_ARRAY, list }) + 1) * sizeof(char *));
	jarr_each_at(n, v, list) {
		snprintf(at, sizeof(at), "%s[%zu]", name, n);
		if (jstr_decode(v, PATH_BYTES_MAX, &(*ret)[n]) < 0)
			return err_field(e, at, "CONFIG_INVALID", "%s must be a string", at);
	}
	return 0;
}

/* An unknown one would otherwise be missing silently. */
static int tools_check(char *const *names, struct err *e)
{
	char at[64];

	for (size_t i = 0; names && names[i]; i++) {
		if (tool_find(slice_of(names[i])))
			continue;
		snprintf(at, sizeof(at), "tools[%zu]", i);
		return err_field(e, at, "TOOL_UNKNOWN", "there is no built-in tool '%.64s'",
				 names[i]);
	}
	return 0;
}

static int variables(struct slice object, char ***ret, struct err *e)
{
	jobj_each(key, v, object) {
		_cleanup_(freep) char *value = NULL;
		bool plain = key.n && !memchr(key.p, '\\', key.n) && !memchr(key.p, '=', key.n);

		if (!plain || jstr_decode(v, MESSAGE_MAX, &value) < 0)
			return err_field(e, "env", "CONFIG_INVALID",
					 "env: %.*s is no name with a string", (int)MIN(key.n, 64),
					 key.p);
		strv_add(ret, xprintf("%.*s=%s", (int)key.n, key.p, value));
	}
	return 0;
}

/* The members that belong to one tool, by its own check. */
static int settings_check(struct slice config, struct err *e)
{
	const struct builtin_tool *t;
	int r = 0;

	for (size_t i = 0; r == 0 && (t = tool_at(i)); i++)
		if (t->setting)
			r = t->setting_check(jobj_get(config, t->setting).raw, e);
	return r;
}

int toolbox_config_parse(struct slice text, struct toolbox_config *ret, struct err *e)
{
	struct raw_config raw = { 0 };
	struct jval v;
	int r;

	*ret = (struct toolbox_config){ 0 };
	if (jscan_value(text, &v) != JSCAN_OK || v.type != J_OBJECT)
		return err_field(e, "config", "CONFIG_INVALID",
				 "the configuration is no JSON object");
	r = jdec_strict(v.raw, fields, NULL, "is not known to the built-in tools", &raw, e);
	if (r < 0)
		return r;
	*ret = raw.config;
	ret->text = xstrndup(v.raw.p, v.raw.n);
	r = strings(raw.roots, "roots", &ret->roots, e);
	if (r == 0)
		r = strings(raw.tools, "tools", &ret->tools, e);
	if (r == 0)
		r = tools_check(ret->tools, e);
	if (r == 0)
		r = variables(raw.env, &ret->env, e);
	return r < 0 ? r : settings_check(v.raw, e);
}

struct slice toolbox_setting(const struct toolbox *b, const char *member)
{
	struct jval v = jobj_get(slice_of(b->config.text), member);

	return v.type == J_OBJECT ? v.raw : SLICE_NONE;
}

void toolbox_config_done(struct toolbox_config *c)
{
	c->roots = strv_free(c->roots);
	c->env = strv_free(c->env);
	c->tools = strv_free(c->tools);
	free_each(c->text, c->cwd, c->state_dir, c->sandbox_id, c->session);
	*c = (struct toolbox_config){ 0 };
}

/* --- roots ---------------------------------------------------------------------------------------------------- */

const struct root *root_of(const struct toolbox *b, const char *path, const char **rest)
{
	for (size_t i = 0; i < b->nroots; i++) {
		*rest = path_below(path, b->roots[i].path);
		if (*rest)
			return &b->roots[i];
	}
	return NULL;
}

bool root_is(const struct toolbox *b, const char *real)
{
	const char *rest;

	return root_of(b, real, &rest) && !*rest;
}

static int root_add(struct toolbox *b, const char *path, struct err *e)
{
	_cleanup_(closep) int fd = path[0] == '/' ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) :
						    -1;
	_cleanup_(freep) char *real = fd < 0 ? NULL : realpath(path, NULL);
	size_t at = b->nroots;

	if (!real)
		return err_field(e, "roots", "CONFIG_INVALID",
				 "roots: %s is no directory by its absolute path", path);
	/* Longest first: root_of returns the first match, which is the innermost root. */
	while (at > 0 && strlen(b->roots[at - 1].path) < strlen(real)) {
		b->roots[at] = b->roots[at - 1];
		at--;
	}
	b->roots[at] = (struct root){ TAKE_PTR(real), TAKE_FD(fd) };
	b->nroots++;
	return 0;
}

static int cwd_set(struct toolbox *b, struct err *e)
{
	const char *rest, *want = b->config.cwd ? b->config.cwd : b->config.roots[0];
	/* root_of compares texts, so the path must have no links and no dots. */
	char *real = want[0] == '/' ? realpath(want, NULL) : NULL;

	free(b->config.cwd);
	b->config.cwd = real;
	if (!real || !root_of(b, real, &rest))
		return err_field(e, "cwd", "CONFIG_INVALID",
				 "cwd is no directory inside the roots");
	return 0;
}

static int roots_open(struct toolbox *b, struct err *e)
{
	size_t n = strv_len(b->config.roots);
	int r = 0;

	if (!n)
		return err_field(e, "roots", "CONFIG_INVALID", "roots is empty");
	b->roots = xalloc(n * sizeof(*b->roots));
	for (size_t i = 0; i < n && r == 0; i++)
		r = root_add(b, b->config.roots[i], e);
	return r < 0 ? r : cwd_set(b, e);
}

/* --- policy --------------------------------------------------------------------------------------------------- */

bool toolbox_has_tool(const struct toolbox *b, const struct builtin_tool *t)
{
	char **name = b->config.tools;

	while (name && *name && strcmp(*name, t->name) != 0)
		name++;
	return (!name || *name) &&
	       policy_tool(b->policy, t->category, t->name, NULL, NULL) != POLICY_DENY;
}

/* The text for a human: the tool, and the path or command of its arguments. */
static void title_put(struct buf *out, const struct toolbox_call *c, struct slice *paths,
		      struct slice *command)
{
	struct jval path = jobj_get(c->tool.args, "path"), text = jobj_get(c->tool.args, "command");
	struct jval shown = text.type == J_STRING ? text : path;

	buf_puts(out, c->tool.tool->title);
	if (shown.type == J_STRING)
		buf_printf(out, ": %.*s", (int)MIN(shown.raw.n, 400), shown.raw.p);
	buf_putc(out, '\0');
	if (text.type == J_STRING)
		*command = text.raw;
	if (path.type == J_STRING)
		*paths = path.raw;
}

static bool ask_first(struct toolbox_call *c)
{
	_cleanup_(buf_done) struct buf title = { 0 }, list = { 0 };
	struct slice path = SLICE_NONE, command = SLICE_NONE;

	title_put(&title, c, &path, &command);
	if (path.n)
		buf_printf(&list, "[%.*s]", (int)path.n, path.p);
	return title.failed || list.failed ?
		       false :
		       tool_allowed(&c->tool, title.data, buf_slice(&list), command);
}

static bool count_call(struct toolbox *b, const struct builtin_tool *t, int64_t most)
{
	size_t i = 0;

	/* There is one counter for each tool, in the order of tool_at. */
	while (tool_at(i) != t)
		i++;
	if (most >= 0 && b->called[i] >= most)
		return false;
	b->called[i]++;
	return true;
}

bool toolbox_policy_pass(struct toolbox_call *c)
{
	struct toolbox *b = c->tool.box;
	const struct builtin_tool *t = c->tool.tool;
	struct policy_limits limits = policy_tool_limits(b->policy, t->name);
	struct err e = { 0 };

	c->tool.dry_run = b->config.dry_run || limits.dry_run;
	c->time_ms = limits.timeout_ms;
	c->result_max = limits.max_result_bytes;
	if (policy_tool(b->policy, t->category, t->name, NULL, &e) == POLICY_ASK && !ask_first(c))
		return false;
	/* After the question: a call that needed approval comes again with the answer, and counts
	 * once. */
	if (!count_call(b, t, limits.max_calls)) {
		err_set(&e, -EDQUOT, 0, "MAX_CALLS",
			"%s was called %lld times, as often as it may be", t->name,
			(long long)limits.max_calls);
		tool_fail(&c->tool, &e, SLICE_NONE);
		return false;
	}
	return true;
}

static int policy_open(struct toolbox *b, struct err *e)
{
	struct slice policy = toolbox_setting(b, "policy");
	size_t n = 0;

	while (tool_at(n))
		n++;
	b->called = xalloc(n * sizeof(*b->called));
	return policy.n ? policy_parse(policy, tool_known, &b->policy, e) : 0;
}

int toolbox_config_open(struct toolbox *b, struct err *e)
{
	int r = policy_open(b, e);

	return r < 0 ? r : roots_open(b, e);
}

void toolbox_config_close(struct toolbox *b)
{
	for (size_t i = 0; i < b->nroots; i++) {
		free(b->roots[i].path);
		close(b->roots[i].fd);
	}
	free(b->roots);
	policy_free(b->policy);
	free(b->called);
}
