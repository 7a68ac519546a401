/*
 * notices.c - what Codex reports about itself: retries, warnings, a title, the plan. Never as text of the agent.
 *
 * A warning is shown once in a session, though Codex repeats it; those that only concern a sandbox which is not used are not
 * shown. An error that Codex does not try again is left to the end of the turn, which reports it.
 */
#include "harnesses/codex/internal.h"

#define WARNINGS_MAX 64 /* kept to be shown once only */

bool codex_name_known(char *const *names, const char *text)
{
	for (; names && *names; names++)
		if (strcmp(*names, text) == 0)
			return true;
	return false;
}

static void codex_notice(struct harness *h, const char *severity, const char *title,
			 const char *more)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	if (!title || !*title)
		return;
	buf_puts(&text, title);
	if (more && *more) {
		buf_puts(&text, ": ");
		buf_puts(&text, more);
	}
	codex_emit(h, UPDATE_NOTICE, JW_STR("severity", severity),
		   JW_SLICE("title", buf_slice(&text)));
}

/* An error that is not tried again ends the turn, and is reported with that. */
void codex_on_error(struct harness *h, struct slice params)
{
	struct slice error = jobj_get(params, "error").raw;
	_cleanup_(freep) char *text = codex_str(error, "message");
	_cleanup_(freep) char *more = codex_str(error, "additionalDetails");

	if (jobj_get(params, "willRetry").type != J_TRUE)
		return;
	codex_notice(h, "warning", text, more);
	codex_answer_awaited(h, true);
}

/* Where its own sandbox is not used. */
static const char *const not_told[] = { "bubblewrap" };

static bool seen(struct harness *h, const char *text)
{
	if (codex_name_known(h->warned, text))
		return true;
	/* When the list is full, further warnings are shown each time: too many are better than none. */
	if (strv_len(h->warned) < WARNINGS_MAX)
		strv_add(&h->warned, xstrdup(text));
	return false;
}

/* Codex repeats some of them at every turn. */
static void warn_once(struct harness *h, const char *severity, struct slice params, const char *key)
{
	_cleanup_(freep) char *text = codex_str(params, key), *more = codex_str(params, "details");

	for (size_t i = 0; text && !h->inner_sandbox && i < ARRAY_SIZE(not_told); i++)
		if (strstr(text, not_told[i]))
			return;
	if (text && !seen(h, text))
		codex_notice(h, severity, text, more);
}

void codex_on_warning(struct harness *h, struct slice params)
{
	warn_once(h, "warning", params,
		  jobj_get(params, "message").type == J_STRING ? "message" : "summary");
}

void codex_on_deprecation(struct harness *h, struct slice params)
{
	warn_once(h, "info", params, "summary");
}

void codex_on_rerouted(struct harness *h, struct slice params)
{
	_cleanup_(freep) char *to = codex_str(params, "toModel");

	if (!to)
		return;
	codex_notice(h, "warning", "The provider answers with another model", to);
	/* Until the end of the turn: its usage is that model's. */
	xstrset(&h->used_model, to);
}

void codex_on_renamed(struct harness *h, struct slice params)
{
	struct jval name = jobj_get(params, "threadName");

	codex_emit(h, UPDATE_INFO,
		   JW_RAW("title", name.type == J_STRING ? name.raw : SLICE("null")));
}

void codex_on_mcp_status(struct harness *h, struct slice params)
{
	_cleanup_(freep) char *name = codex_str(params, "name"),
			      *error = codex_str(params, "error");
	_cleanup_(buf_done) struct buf b = { 0 };

	if (jstr_is(jobj_get(params, "status"), "starting")) {
		h->mcp_starting++;
	} else if (h->mcp_starting) {
		h->mcp_starting--;
		/* Codex calls the model only after its servers have started, so the wait for an answer
		 * starts again. */
		codex_answer_delayed(h);
	}
	if (!name || !jstr_is(jobj_get(params, "status"), "failed"))
		return;
	buf_printf(&b, "MCP server %s did not start", name);
	buf_putc(&b, '\0');
	codex_notice(h, "warning", b.data, error);
}

static const struct {
	const char *native, *acp;
} steps[] = { { "pending", "pending" },
	      { "inProgress", "in_progress" },
	      { "completed", "completed" } };

static const char *step_status(struct jval native)
{
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (jstr_is(native, steps[i].native))
			return steps[i].acp;
	return "pending";
}

static void put_plan_step(struct jw *w, struct slice step)
{
	struct jval text = jobj_get(step, "step"), status = jobj_get(step, "status");

	if (text.type != J_STRING)
		return;
	jw_obj(w, NULL);
	jw_raw(w, "content", text.raw);
	jw_str(w, "priority", "medium"); /* Codex knows no priorities */
	jw_str(w, "status", step_status(status));
	jw_end_obj(w);
}

void codex_on_plan(struct harness *h, struct slice params)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (harness_plan_update(jobj_get(params, "plan"), put_plan_step, &b))
		codex_event(h, &b);
}
