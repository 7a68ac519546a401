/*
 * client_backend.c - forwards calls to an MCP server of the session's client, with a trace context
 * and a span.
 *
 * Every tools/list result updates which tools are safe to repeat, and each call passes that to
 * upcall.h, which decides after a lost connection. client_backend_on_done frees the call before it
 * calls the caller: backend.h defines the call as ended by then.
 */
#include "tools/relay/client/client_backend.h"

#include "base/buf.h"
#include "session/parts/trace/tool_trace.h"
#include "base/limits.h"
#include "base/strv.h"
#include "base/util.h"
#include "json/jstr.h"
#include "session/parts/mcp/mcp_servers.h"
#include "session/parts/mcp/upcall.h"
#include "tools/mcp/msg.h"

/* --- what may be repeated --------------------------------------------------------------------------------- */

/*
 * Which requests may safely be carried out twice. When a connection breaks while it has a request, it is unknown
 * whether the request was carried out. So it is sent once more only if that makes no difference. That holds for the
 * methods of MCP that only read, and for the tools that the server, in its last tools/list, declared read-only or
 * idempotent and not destructive. An undeclared tool counts as unsafe, as MCP requires, and so does one above
 * TOOLGATE_TOOLS_MAX, which is not stored. Annotations are claims of the server: they permit a repetition and nothing
 * else. Only the server's answers decide, never the harness's messages.
 */
struct repeatable_tools {
	char **tools; /* names of those that may be repeated */
	size_t n;
};

static const char *const reads[] = {
	"server/discover",	"tools/list",	"resources/list", "resources/templates/list",
	"resources/read",	"prompts/list", "prompts/get",	  "completion/complete",
	"subscriptions/listen", "tasks/get",	"tasks/list",	  "tasks/result",
};

static void repeatable_done(struct repeatable_tools *r)
{
	strv_free_n(r->tools, r->n);
	*r = (struct repeatable_tools){ 0 };
}

static size_t repeatable_find(const struct repeatable_tools *r, const char *name)
{
	size_t i = 0;

	while (i < r->n && strcmp(r->tools[i], name) != 0)
		i++;
	return i;
}

static void repeatable_drop(struct repeatable_tools *r, const char *name)
{
	size_t i = repeatable_find(r, name);

	if (i == r->n)
		return;
	free(r->tools[i]);
	r->tools[i] = r->tools[--r->n];
}

static bool repeatable_is_harmless(struct slice tool)
{
	struct slice a = jobj_get(tool, "annotations").raw;

	return (jobj_is_true(a, "readOnlyHint") || jobj_is_true(a, "idempotentHint")) &&
	       !jobj_is_true(a, "destructiveHint");
}

static void repeatable_take(struct repeatable_tools *r, struct slice tool)
{
	char *name = NULL;

	if (jstr_decode(jobj_get(tool, "name"), POLICY_NAME_MAX, &name) < 0)
		return;
	repeatable_drop(r, name);
	if (!repeatable_is_harmless(tool) || r->n >= TOOLGATE_TOOLS_MAX) {
		free(name);
		return;
	}
	*GROW(r->tools, r->n) = name;
}

/* A result of tools/list; first: of the first page, which replaces what was known. A later entry of the same name
 * replaces the earlier one, so a tool that becomes destructive is removed. */
static void repeatable_note(struct repeatable_tools *r, struct slice result, bool first)
{
	if (first)
		repeatable_done(r);
	jarr_each(tool, jobj_get(result, "tools"))
		if (tool.type == J_OBJECT)
			repeatable_take(r, tool.raw);
}

static bool repeatable_allowed(const struct repeatable_tools *r, const char *method,
			       struct slice params)
{
	_cleanup_(freep) char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(reads); i++)
		if (strcmp(reads[i], method) == 0)
			return true;
	return strcmp(method, "tools/call") == 0 &&
	       jstr_decode(jobj_get(params, "name"), POLICY_NAME_MAX, &name) == 0 &&
	       repeatable_find(r, name) < r->n;
}

/* --- the backend ------------------------------------------------------------------------------------------- */

struct client_backend {
	struct mcp_backend backend;
	struct session *session;
	char *name;
	struct repeatable_tools repeat;
};

struct client_backend_call {
	struct mcp_call call;
	bool is_list, first_page; /* of tools/list */
	struct relay_span *span;
	struct upcall *up;
};

static void client_backend_on_done(void *ctx, struct slice result, struct slice error)
{
	/* A copy, because the receiver is called after the call is freed. */
	struct client_backend_call c = *(struct client_backend_call *)ctx;
	struct client_backend *b = (struct client_backend *)c.call.backend;

	free(ctx);
	relay_span_end(c.span, result, error);
	if (c.is_list && result.n)
		repeatable_note(&b->repeat, result, c.first_page);
	mcp_call_done(&c.call, result, error);
}

static const struct upcall_ops upcall_ops = { mcp_call_pass, client_backend_on_done };

/* The caller's trace context goes before the turn's. */
static bool add_trace(const struct client_backend *b, const struct relay_span *span,
		      struct slice params, struct buf *out)
{
	_cleanup_(buf_done) struct buf members = { 0 };

	session_trace_put(b->session, span, jobj_get(params, "_meta").raw, &members);
	if (!buf_len(&members))
		return false;
	mcp_meta_merge(out, params, buf_slice(&members));
	return true;
}

static struct mcp_call *client_backend_call(struct mcp_backend *backend, const char *method,
					    struct slice params, const struct mcp_reply_ops *ops,
					    void *ctx)
{
	_cleanup_(buf_done) struct buf traced = { 0 };
	struct client_backend *b = (struct client_backend *)backend;
	struct client_backend_call *c = new0(struct client_backend_call);

	c->span = relay_span_begin(b->session, b->name, method, params);
	/* upcall_new copies the params, so they may end with this function. */
	if (add_trace(b, c->span, params, &traced))
		params = buf_slice(&traced);
	c->call = (struct mcp_call){ backend, ops, ctx };
	c->is_list = strcmp(method, "tools/list") == 0;
	c->first_page = jobj_get(params, "cursor").type == J_NONE;
	c->up = upcall_new(b->session,
			   &(struct upcall_spec){ b->name, method, params,
						  repeatable_allowed(&b->repeat, method, params) },
			   &upcall_ops, c);
	return &c->call;
}

static void client_backend_cancel(struct mcp_call *call)
{
	struct client_backend_call *c = (struct client_backend_call *)call;

	upcall_cancel(c->up);
	relay_span_end(c->span, SLICE_NONE, SLICE_NONE);
	free(c);
}

static void client_backend_free(struct mcp_backend *backend)
{
	struct client_backend *b = (struct client_backend *)backend;

	repeatable_done(&b->repeat);
	free_each(b->name, b);
}

static const struct mcp_backend_ops acp_ops = { client_backend_call, client_backend_cancel,
						client_backend_free };

struct mcp_backend *client_backend_new(struct session *s, const char *name)
{
	struct client_backend *b = new0(struct client_backend);

	b->backend.ops = &acp_ops;
	b->session = s;
	b->name = xstrdup(name);
	return &b->backend;
}
