/*
 * toolbox.c - the built-in tools as an MCP backend: its methods, the id of its sandbox, its life.
 *
 * Every answer is an event for the loop (toolbox_call.c), because backend.h forbids an answer
 * inside the call. A call is checked in this order: tool, arguments, sandbox id, policy; then it
 * starts. The default id is a hash of boot id and host name, so all tool processes of a machine
 * agree on it.
 */
#include "base/os/file.h"
#include "base/os/sandbox.h"
#include "base/limits.h"
#include "digest/digest.h"
#include "json/json.h"
#include "tools/builtin/core/toolbox_internal.h"
#include "tree/glob.h"

#include <sys/random.h>

#define VERSION "2026-07-28"

/* --- tables of tools -------------------------------------------------------------------------------------------- */

const char *const encoding_words[] = { "utf-8", "base64", NULL };
const char *const type_words[] = {
	"file", "dir", "symlink", "fifo", "socket", "block", "char", NULL
};

/* The order of tools/list. */
static const struct builtin_tool *const families[] = {
	read_tools,    glob_tools,    write_tools,  edit_tools,	 patch_tools,
	list_tools,    grep_tools,    remove_tools, info_tools,	 watch_tools,
	command_tools, process_tools, pr_tools,	    other_tools,
};

/* Counts over all families, in the order of tools/list. NULL: there are no more. */
const struct builtin_tool *tool_at(size_t i)
{
	for (size_t f = 0; f < ARRAY_SIZE(families); f++)
		for (const struct builtin_tool *t = families[f]; t->name; t++)
			if (i-- == 0)
				return t;
	return NULL;
}

bool tool_known(const char *glob)
{
	const struct builtin_tool *t;

	for (size_t i = 0; (t = tool_at(i)); i++)
		if (glob_match(slice_of(glob), slice_of(t->name), false))
			return true;
	return false;
}

const struct builtin_tool *tool_find(struct slice name)
{
	const struct builtin_tool *t;

	for (size_t i = 0; (t = tool_at(i)); i++)
		if (slice_is(name, t->name))
			return t;
	return NULL;
}

struct toolbox_method {
	const char *name;
	void (*fn)(struct toolbox_call *c);
};

/* --- methods -------------------------------------------------------------------------------------------------- */

static void toolbox_answer(struct toolbox_call *c, struct buf *text)
{
	toolbox_call_post(c, EVENT_RESULT, text);
}

static void toolbox_on_discover(struct toolbox_call *c)
{
	struct buf out = { 0 };
	struct jw w = JW(&out);

	jw_obj(&w, NULL);
	jw_str(&w, "resultType", "complete");
	jw_raw(&w, "supportedVersions", SLICE("[\"" VERSION "\"]"));
	jw_raw(&w, "capabilities", SLICE("{\"tools\":{}}"));
	jw_str(&w, "instructions",
	       "Files and commands of this sandbox. Paths are relative to the working directory, or absolute inside its roots.");
	jw_int(&w, "ttlMs", 0);
	jw_str(&w, "cacheScope", "private");
	jw_obj(&w, "_meta");
	jw_self(&w, "io.modelcontextprotocol/serverInfo", "acpd", "acpd built-in tools");
	jw_end_obj(&w);
	jw_end_obj(&w);
	toolbox_answer(c, &out);
}

static void toolbox_on_list(struct toolbox_call *c)
{
	struct buf out = { 0 };
	struct jw w = JW(&out);
	const struct builtin_tool *t;

	jw_obj(&w, NULL);
	jw_str(&w, "resultType", "complete");
	jw_arr(&w, "tools");
	for (size_t i = 0; (t = tool_at(i)); i++)
		if (toolbox_has_tool(c->tool.box, t))
			tool_put(&w, t, !c->text_only);
	jw_end_arr(&w);
	jw_int(&w, "ttlMs", 0);
	jw_str(&w, "cacheScope", "private");
	jw_end_obj(&w);
	toolbox_answer(c, &out);
}

/* Nothing ever changes, so the list of notifications is empty. */
static void on_listen(struct toolbox_call *c)
{
	c->state = CALL_LISTENING;
	toolbox_call_listening(c);
}

/* A client with several sandboxes notices a call to the wrong one. */
static int check_sandbox(const struct toolbox_call *c, struct err *e)
{
	struct jval id = jobj_get(c->tool.args, "sandboxId");

	if (id.type != J_STRING || jstr_is(id, toolbox_sandbox_id(c->tool.box)))
		return 0;
	return err_field(e, "sandboxId", "SANDBOX_MISMATCH", "this sandbox is %s",
			 toolbox_sandbox_id(c->tool.box));
}

static void toolbox_on_call(struct toolbox_call *c)
{
	struct slice params = buf_slice(&c->params);
	_cleanup_(freep) char *name = NULL;
	struct jval args = jobj_get(params, "arguments");
	const struct builtin_tool *t = NULL;
	struct err e;

	if (jstr_decode(jobj_get(params, "name"), METHOD_NAME_MAX, &name) == 0)
		t = tool_find(slice_of(name));
	/* A denied tool is answered as one that does not exist: tools/list does not name it
	 * either. */
	if (!t || !toolbox_has_tool(c->tool.box, t)) {
		toolbox_call_error(c, RPC_INVALID_PARAMS, "UNKNOWN_TOOL", "there is no such tool");
		return;
	}
	c->tool.tool = t;
	c->tool.args = args.type == J_NONE ? SLICE("{}") : args.raw;
	if (tool_args_check(t, c->tool.args, &e) < 0 || check_sandbox(c, &e) < 0)
		tool_fail(&c->tool, &e, SLICE_NONE);
	else if (toolbox_policy_pass(c))
		toolbox_call_start(c);
}

static const struct toolbox_method methods[] = {
	{ "server/discover", toolbox_on_discover },
	{ "tools/list", toolbox_on_list },
	{ "tools/call", toolbox_on_call },
	{ "subscriptions/listen", on_listen },
};

static struct mcp_call *toolbox_backend_call(struct mcp_backend *base, const char *method,
					     struct slice params, const struct mcp_reply_ops *ops,
					     void *ctx)
{
	struct toolbox *b = container_of(base, struct toolbox, base);
	struct mcp_call *base_call = toolbox_call_new(b, params, ops, ctx);
	struct toolbox_call *c = container_of(base_call, struct toolbox_call, base);

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(methods[i].name, method) == 0) {
			methods[i].fn(c);
			return base_call;
		}
	toolbox_call_error(c, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND",
			   "the built-in tools have no such method");
	return base_call;
}

static void toolbox_backend_free(struct mcp_backend *base)
{
	toolbox_free(container_of(base, struct toolbox, base));
}

static const struct mcp_backend_ops backend_ops = { toolbox_backend_call, toolbox_call_cancel,
						    toolbox_backend_free };

/* --- the box ---------------------------------------------------------------------------------------------------- */

/* The same for all processes of this machine since it was started: a client may talk to several. */
static void id_of_machine(char *ret)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	_cleanup_(closep) int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char host[256] = "";
	struct sha256 sum;

	/* Without these the id is random: then it is at least not that of another machine. */
	if (fd < 0 || file_read_fd(fd, 4096, &text) < 0 ||
	    gethostname(host, sizeof(host) - 1) < 0) {
		random_hex(ret, 10);
		return;
	}
	buf_puts(&text, host);
	if (sha256_of(buf_slice(&text), &sum) < 0)
		random_hex(ret, 10);
	else
		for (size_t i = 0; i < 10; i++)
			sprintf(ret + 2 * i, "%02x", sum.bytes[i]);
}

/* The id of the configuration, else E2B's, else one of our own. */
static void choose_id(struct toolbox *b)
{
	const char *id = b->config.sandbox_id;

	if (id && *id)
		snprintf(b->sandbox_id, sizeof(b->sandbox_id), "%s", id);
	else if (!id && (sandbox_id_refresh(), sandbox_id()))
		snprintf(b->sandbox_id, sizeof(b->sandbox_id), "%s", sandbox_id());
	else
		id_of_machine(b->sandbox_id);
}

static void toolbox_make_key(struct toolbox *b)
{
	if (getrandom(b->key, sizeof(b->key), 0) != (ssize_t)sizeof(b->key))
		abort();
}

/* A directory for what tools keep, the user's own. */
static int state_open(const struct toolbox *b, struct err *e)
{
	const char *dir = b->config.state_dir;
	int r = dir ? file_mkdirs(dir, 0700) : 0;

	return r < 0 ? err_field(e, "stateDir", "OPTION_INVALID", "%s: %s", dir, strerror(-r)) : 0;
}

struct toolbox *toolbox_new(struct loop *loop, struct toolbox_config *c, struct err *e)
{
	struct toolbox *b = new0(struct toolbox);

	b->base.ops = &backend_ops;
	b->loop = loop;
	b->config = *c;
	*c = (struct toolbox_config){ 0 };
	/* umask(2) returns the mask only when it sets one, so the old one is restored at once. */
	b->umask = umask(022);
	umask(b->umask);
	choose_id(b);
	toolbox_make_key(b);
	if (toolbox_calls_open(b) < 0) {
		err_set(e, -ENOMEM, 0, "INTERNAL", "cannot make an event descriptor");
		return toolbox_free(b);
	}
	return state_open(b, e) < 0 || toolbox_config_open(b, e) < 0 ? toolbox_free(b) : b;
}

/* Boxes that a thread still uses: a leak check finds them here. */
static struct toolbox *unfreed;

struct toolbox *toolbox_free(struct toolbox *b)
{
	if (!b)
		return NULL;
	/* First: threads use the kept state, the roots and the policy. */
	if (!toolbox_calls_close(b)) {
		b->earlier = unfreed;
		unfreed = b;
		return NULL;
	}
	for (size_t i = 0; i < PARTS; i++)
		if (b->kept[i].p)
			b->kept[i].release(b->kept[i].p);
	toolbox_config_close(b);
	toolbox_config_done(&b->config);
	free(b);
	return NULL;
}

struct mcp_backend *toolbox_backend(struct toolbox *b)
{
	return &b->base;
}

const struct toolbox_config *toolbox_config(const struct toolbox *b)
{
	return &b->config;
}

const char *toolbox_state_dir(const struct toolbox *b)
{
	const char *tmp = getenv("TMPDIR");

	if (b->config.state_dir)
		return b->config.state_dir;
	return tmp && *tmp == '/' ? tmp : "/tmp";
}

struct loop *toolbox_loop(const struct toolbox *b)
{
	return b->loop;
}

unsigned toolbox_umask(const struct toolbox *b)
{
	return b->umask;
}

const struct policy *toolbox_policy(const struct toolbox *b)
{
	return b->policy;
}

const char *toolbox_sandbox_id(const struct toolbox *b)
{
	return b->sandbox_id;
}

void *toolbox_kept(const struct toolbox *b, enum toolbox_part part)
{
	return b->kept[part].p;
}

void toolbox_keep(struct toolbox *b, enum toolbox_part part, void *p, void (*release)(void *p))
{
	b->kept[part].p = p;
	b->kept[part].release = release;
}
