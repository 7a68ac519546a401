/*
 * served_server.c - the callbacks of the gate for one server: permission requests, artifacts,
 * budgets, records.
 *
 * The chain from the server to the harness is: inner, gate, text results (built-in tools only),
 * renaming. A question is freed before the gate gets its answer, because the gate may use the same
 * ask again. An artifact that cannot be stored becomes an error in the result, because the call was
 * made. Text artifacts are masked.
 */
#include "base/os/file.h"
#include "base/limits.h"
#include "digest/base64.h"
#include "json/json.h"
#include "session/parts/workspace/artifact_store.h"
#include "tools/relay/harness/tool_renaming.h"
#include "tools/relay/relay_internal.h"
#include "tools/mcp/tag_backend.h"
#include "session/parts/budget/served_calls.h"
#include "session/parts/approval/own_questions.h"
#include "session/parts/secrets/session_secrets.h"
#include "session/core/session_host.h"

/* Makes its ids differ from all others of the session's transcript. */
#define CALL_ID_BYTES 8

/* A question of the gate, put to the session's client as a permission request. */
struct served_question {
	struct list link;
	struct served_server *server;
	struct toolgate_ask *ask;
};

static const char *const vias[] = { [SERVED_ACP] = "acp",
				    [SERVED_BUILTIN] = "builtin",
				    [SERVED_HOSTED] = "hosted",
				    [SERVED_PROJECT] = "project",
				    [SERVED_CLIENT] = "client" };

/* --- what the harness listed ------------------------------------------------------------------------------- */

/* True: it has changed. */
static bool served_server_keep_raw(char **slot, struct slice raw)
{
	if (*slot ? slice_is(raw, *slot) : !raw.n)
		return false;
	free(*slot);
	*slot = raw.n ? xstrndup(raw.p, raw.n) : NULL;
	return true;
}

static void put_delivered(const struct served_server *o, struct jw *w, const char *tools,
			  const char *renamed, const char *omitted)
{
	jw_raw(w, tools, slice_of(o->delivered));
	jw_raw(w, renamed, slice_of(o->renamed));
	jw_raw(w, omitted, slice_of(o->omitted));
}

/* An event only if the lists differ from the last time: harnesses list their tools often. */
static void served_server_on_listed(void *ctx, struct slice tools, struct slice renamed,
				    struct slice omitted)
{
	JW_BUF(w, b);
	struct served_server *o = ctx;
	bool changed = served_server_keep_raw(&o->delivered, tools);

	changed |= served_server_keep_raw(&o->renamed, renamed);
	changed |= served_server_keep_raw(&o->omitted, omitted);
	if (!changed)
		return;
	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "tools_delivered");
	jw_str(&w, "server", o->name);
	put_delivered(o, &w, "tools", "renamed", "omitted");
	session_note_lifecycle(o->session, buf_slice(&b));
}

static const struct tool_renaming_ops given_ops = { served_server_on_listed };

static void served_server_on_recorded(void *ctx, const char *tool, struct slice args)
{
	JW_BUF(w, b);
	struct served_server *o = ctx;

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "tool_dry_run");
	jw_str(&w, "server", o->name);
	jw_str(&w, "tool", tool);
	jw_raw(&w, "arguments", args);
	session_note_lifecycle(o->session, buf_slice(&b));
}

/* --- files that come with results ---------------------------------------------------------------------------- */

struct returned_artifact {
	char *name, *type;
	struct jval text, base64;
};

static const struct jfield artifact_fields[] = {
	JF_STR(struct returned_artifact, name, "name", JF_REQUIRED, ARTIFACT_NAME_MAX),
	JF_STR(struct returned_artifact, type, "type", JF_REQUIRED, ARTIFACT_NAME_MAX),
	JF_RAW(struct returned_artifact, text, "text", 0),
	JF_RAW(struct returned_artifact, base64, "base64", 0),
	JF_END,
};

static int left_bytes(const struct returned_artifact *l, struct buf *ret, struct err *e)
{
	_cleanup_(buf_done) struct buf coded = { 0 };
	int r = jstr_decode_bytes(l->text.type == J_STRING ? l->text : l->base64,
				  l->text.type == J_STRING ? ret : &coded);

	if (r == 0 && l->text.type != J_STRING)
		r = base64_decode(buf_slice(&coded), ret);
	return r < 0 ? err_field(e, "text", "FIELD_INVALID", "an artifact has text or base64") : 0;
}

static int left_keep(struct served_server *o, const struct returned_artifact *l, struct jw *w,
		     struct err *e)
{
	const struct artifact_spec spec = { l->name, l->type, "tool", session_running(o->session) };
	_cleanup_(buf_done) struct buf bytes = { 0 };
	const struct artifact *a;
	int r = left_bytes(l, &bytes, e);

	/* Masking replaces bytes by others, which would break a binary file. */
	if (r == 0 && strncmp(l->type, "text/", 5) == 0)
		session_mask_bytes(o->session, &bytes);
	if (r == 0)
		r = artifact_put(o->session, &spec, buf_slice(&bytes), &a, e);
	if (r == 0)
		artifact_describe(w, NULL, a);
	return r;
}

/* {"error": {code, message}} if it cannot be kept: the call has been made nevertheless. */
static void on_artifact(void *ctx, struct slice artifact, struct buf *ret)
{
	struct returned_artifact l = { 0 };
	struct jw w = JW(ret);
	struct err e = { 0 };
	int r = jdec_object(artifact, artifact_fields, NULL, &l, &e);

	if (r == 0)
		r = left_keep(ctx, &l, &w, &e);
	jdec_free(artifact_fields, &l);
	if (r == 0)
		return;
	jw_object(&w, NULL, JW_OBJ("error", JW_STR("code", e.reason), JW_STR("message", e.msg)));
}

static void on_variables(void *ctx, struct slice env)
{
	struct served_server *o = ctx;

	session_learn_env(o->session, env);
}

/* --- budgets --------------------------------------------------------------------------------------------------- */

static void *on_begin(void *ctx, const char *tool, bool outside, uint64_t *limit)
{
	struct served_server *o = ctx;

	return served_call_begin(o->session, o->name, tool, outside, limit);
}

static void served_server_on_end(void *ctx _unused_, void *begun)
{
	served_call_end(begun);
}

/* --- permissions ----------------------------------------------------------------------------------------------- */

static void served_question_free(struct served_question *q)
{
	list_del(&q->link);
	free(q);
}

static void served_question_put_option(struct jw *w, const char *id, const char *name,
				       const char *kind)
{
	jw_object(w, NULL, JW_STR("optionId", id), JW_STR("name", name), JW_STR("kind", kind));
}

/* Returns the kind of a tool call in ACP. The categories of a policy without such a kind are
 * "other". */
static const char *served_question_kind(struct slice permission)
{
	static const char *const kinds[][2] = { { "read", "read" },
						{ "edit", "edit" },
						{ "execute", "execute" } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (jstr_is(jobj_get(permission, "category"), kinds[i][0]))
			return kinds[i][1];
	return "other";
}

/* The params of ACP's session/request_permission; the call is ours, so it is announced with its own id. */
static void served_question_put(struct jw *w, const struct served_server *o,
				const struct toolgate_question *asked)
{
	char id[sizeof("mcp_") + 2 * CALL_ID_BYTES] = "mcp_";

	random_hex(id + 4, CALL_ID_BYTES);
	jw_obj(w, NULL);
	jw_object(w, "toolCall", JW_STR("toolCallId", id), JW_SLICE("title", asked->title),
		  JW_STR("kind", served_question_kind(asked->permission)),
		  JW_STR("status", "pending"), JW_RAW("rawInput", asked->args),
		  JW_OBJ("_meta",
			 JW_OBJ("acpd", JW_STR("server", o->name), JW_STR("tool", asked->tool),
				JW_RAW("permission", asked->permission))));
	jw_arr(w, "options");
	served_question_put_option(w, "allow", "Allow", "allow_once");
	served_question_put_option(w, "reject", "Reject", "reject_once");
	jw_end_arr(w);
	jw_end_obj(w);
}

static void served_question_on_answer(void *ctx, struct slice result)
{
	struct served_question *q = ctx;
	struct toolgate_ask *ask = q->ask;
	/* A cancelled request has no optionId (ACP, session/request_permission), and counts as a
	 * rejection. */
	bool allow = jstr_is(jobj_get(jobj_get(result, "outcome").raw, "optionId"), "allow");

	served_question_free(q);
	toolgate_answer(ask, allow ? TOOLGATE_ALLOW : TOOLGATE_REJECT);
}

static void served_server_on_ask(void *ctx, struct toolgate_ask *a,
				 const struct toolgate_question *asked)
{
	JW_BUF(w, b);
	struct served_server *o = ctx;
	struct served_question *q = new0(struct served_question);

	q->server = o;
	q->ask = a;
	list_add_tail(&o->questions, &q->link);
	served_question_put(&w, o, asked);
	question_ask_own(o->session, buf_slice(&b), served_question_on_answer, q);
}

/* Withdraws the question from the session's client; no answer comes after. */
static void served_server_on_unask(void *ctx, struct toolgate_ask *a)
{
	struct served_server *o = ctx;

	list_each(q, &o->questions, struct served_question, link) {
		if (q->ask != a)
			continue;
		question_unask_own(o->session, q);
		served_question_free(q);
		return;
	}
}

static const struct toolgate_ops gate_ops = { .ask = served_server_on_ask,
					      .unask = served_server_on_unask,
					      .artifact = on_artifact,
					      .variables = on_variables,
					      .begin = on_begin,
					      .end = served_server_on_end,
					      .recorded = served_server_on_recorded };

/* --- life ---------------------------------------------------------------------------------------------------- */

struct served_server *served_server_new(struct loop *loop, struct session *s,
					const struct served_server_spec *spec)
{
	struct toolgate_config gc = { .server = spec->name,
				      .rules = spec->rules,
				      .fallback = spec->fallback,
				      .builtin = spec->via == SERVED_BUILTIN,
				      .upward = spec->via == SERVED_ACP };
	struct served_server *o = new0(struct served_server);

	o->session = s;
	o->name = xstrdup(spec->name);
	o->via = spec->via;
	o->inner = spec->inner;
	o->is_own = spec->is_own;
	o->for_harness = spec->for_harness;
	list_init(&o->link);
	list_init(&o->questions);
	o->gate = toolgate_new(loop, spec->inner, &gc, &gate_ops, o);
	if (gc.builtin)
		o->plain = text_results_new(toolgate_backend(o->gate),
					    session_harness(s)->caps.tool_text);
	o->front = tool_renaming_new(o->plain ? o->plain : toolgate_backend(o->gate), o->name,
				     spec->names, &given_ops, o);
	return o;
}

struct served_server *served_server_free(struct served_server *o)
{
	/* From the harness to the server: each backend borrows the next one. */
	mcp_backend_free(o->front);
	mcp_backend_free(o->plain);
	toolgate_free(o->gate); /* withdraws its questions */
	if (o->is_own)
		mcp_backend_free(o->inner);
	list_del(&o->link);
	free_each(o->name, o->delivered, o->renamed, o->omitted, o);
	return NULL;
}

void served_server_put(const struct served_server *o, struct jw *w)
{
	jw_obj(w, NULL);
	jw_str(w, "name", o->name);
	jw_str(w, "via", vias[o->via]);
	put_delivered(o, w, "toolsDelivered", "toolsRenamed", "toolsOmitted");
	jw_end_obj(w);
}
