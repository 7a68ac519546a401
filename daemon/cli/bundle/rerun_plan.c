/*
 * rerun_plan.c - reads from a bundle what a rerun needs: prompts, recorded ends, answers, and
 * settings.
 *
 * events.ndjson is read once, line by line; kinds[] lists the kinds of events that matter. A turn
 * without its prompt in the bundle cannot be repeated and is dropped. Answers are stored in order,
 * NUL-terminated, "" for cancelled. Answers by policy are left out, because no client was asked.
 * Settings that name programs, addresses or secrets are not reused.
 */
#include "cli/bundle/rerun.h"

#include "base/clock.h"
#include "base/limits.h"
#include "cli/bundle/bundle_files.h"
#include "digest/digest.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rerun_turn *plan_turn(struct rerun_plan *p, uint64_t no)
{
	struct rerun_turn *t;

	list_each(have, &p->turns, struct rerun_turn, link)
		if (have->no == no)
			return have;
	t = new0(struct rerun_turn);
	t->no = no;
	t->prompt.max = MESSAGE_MAX;
	t->said.max = BUF_MAX_DEFAULT;
	list_add_tail(&p->turns, &t->link);
	return t;
}

static void turn_free(struct rerun_turn *t)
{
	list_del(&t->link);
	buf_done(&t->prompt);
	buf_done(&t->said);
	free_each(t->stop_reason, t->error, t);
}

/* --- events ------------------------------------------------------------------------------------------------- */

/* 0: an event without a time. */
static uint64_t event_time_ms(struct slice event)
{
	_cleanup_(freep) char *text = NULL;
	uint64_t ret = 0;

	if (jstr_decode(jobj_get(event, "ts"), CLOCK_ISO_SIZE, &text) < 0 ||
	    !clock_iso_read(slice_of(text), &ret))
		return 0;
	return ret;
}

static int plan_take_prompt(struct rerun_plan *p, struct slice event)
{
	struct rerun_turn *t = plan_turn(p, jobj_uint(event, "turnId"));
	struct jval block = jobj_get(event, "content");

	if (block.type != J_OBJECT)
		return -EINVAL;
	/* A prompt of several blocks is one event for each. */
	if (buf_len(&t->prompt))
		buf_putc(&t->prompt, ',');
	else
		t->begun_ms = event_time_ms(event);
	return buf_add_slice(&t->prompt, block.raw);
}

/* Those of the agent itself: what its subagents say has an event of its own. */
static int plan_take_message(struct rerun_plan *p, struct slice event)
{
	struct rerun_turn *t = plan_turn(p, jobj_uint(event, "turnId"));
	struct jval text = jobj_get(jobj_get(event, "content").raw, "text");

	if (jobj_get(event, "event").type != J_NONE || text.type != J_STRING)
		return 0;
	return jstr_decode_bytes(text, &t->said);
}

static int plan_take_complete(struct rerun_plan *p, struct slice event)
{
	struct rerun_turn *t = plan_turn(p, jobj_uint(event, "turnId"));
	uint64_t ended_ms = event_time_ms(event);

	if (t->begun_ms && ended_ms > t->begun_ms)
		t->took_ms = ended_ms - t->begun_ms;
	free(TAKE_PTR(t->stop_reason));
	jstr_decode(jobj_get(event, "stopReason"), 64, &t->stop_reason);
	return 0;
}

char *rerun_error_text(struct slice error)
{
	_cleanup_(freep) char *cls = NULL, *reason = NULL;
	char *text = NULL;

	if (jstr_decode(jobj_get(error, "class"), 64, &cls) < 0)
		return NULL;
	jstr_decode(jobj_get(error, "reason"), 64, &reason);
	text = xprintf("%s%s%s", cls, reason ? " " : "", reason ? reason : "");
	return text;
}

/* Not every error is the end of a turn. */
static int plan_take_error(struct rerun_plan *p, struct slice event)
{
	struct rerun_turn *t;

	if (jobj_get(event, "final").type != J_TRUE)
		return 0;
	t = plan_turn(p, jobj_uint(event, "turnId"));
	free(t->error);
	t->error = rerun_error_text(jobj_get(event, "error").raw);
	return 0;
}

/* Only those that a person or a time-out answered were put to a client. */
static int plan_take_answer(struct rerun_plan *p, struct slice event)
{
	struct jval answer = jobj_get(event, "answer");
	_cleanup_(freep) char *option = NULL;

	if (answer.type != J_OBJECT || jstr_is(jobj_get(event, "by"), "policy") ||
	    jobj_get(event, "elicitation").type == J_TRUE)
		return 0;
	jstr_decode(jobj_get(jobj_get(answer.raw, "outcome").raw, "optionId"), 256, &option);
	buf_puts(&p->answers, option ? option : "");
	return buf_putc(&p->answers, '\0');
}

static const struct {
	const char *kind;
	int (*take)(struct rerun_plan *p, struct slice event);
} kinds[] = {
	{ "prompt", plan_take_prompt },	      { "message", plan_take_message },
	{ "complete", plan_take_complete },   { "error", plan_take_error },
	{ "ask_approval", plan_take_answer },
};

static int plan_take_event(struct rerun_plan *p, struct slice line)
{
	struct jval v;

	if (jscan_value(line, &v) != JSCAN_OK || v.type != J_OBJECT)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (jstr_is(jobj_get(v.raw, "kind"), kinds[i].kind))
			return kinds[i].take(p, v.raw);
	return 0;
}

static int plan_read_events(struct rerun_plan *p, const char *dir, struct err *e)
{
	_cleanup_(freep) char *path = bundle_file(dir, "events.ndjson"), *line = NULL;
	FILE *f = fopen(path, "re");
	size_t room = 0, no = 0;
	ssize_t n;
	int r = f ? 0 : -EINVAL;

	while (r == 0 && (n = getline(&line, &room, f)) > 0) {
		no++;
		r = plan_take_event(p, (struct slice){ line, (size_t)n - (line[n - 1] == '\n') });
	}
	if (f)
		fclose(f);
	return r < 0 ? err_set(e, -EINVAL, 0, "BUNDLE_INVALID", "events.ndjson, line %zu", no) : 0;
}

/* --- the whole ----------------------------------------------------------------------------------------------- */

/* What was said outside a turn, and turns whose beginning is not in the bundle, cannot be made again. */
static void drop_unprompted(struct rerun_plan *p)
{
	list_each(t, &p->turns, struct rerun_turn, link) {
		if (buf_len(&t->prompt))
			p->nturns++;
		else
			turn_free(t);
	}
}

/* Without a baseline nobody knows what the run has changed, and of what was left out only times. */
static void read_state(struct rerun_plan *p)
{
	struct slice workspace = jobj_get(p->facts, "workspace").raw;
	struct slice patch = jobj_get(workspace, "patch").raw;

	if (jobj_uint(workspace, "omittedTotal"))
		p->no_state = xstrdup("OMITTED");
	else if (jstr_decode(jobj_get(workspace, "state"), SHA256_HEX, &p->state) < 0 &&
		 jstr_decode(jobj_get(patch, "missing"), 64, &p->no_state) < 0)
		p->no_state = xstrdup("NO_BASELINE");
}

/* What they answered then is not in the bundle. */
static void read_servers(struct rerun_plan *p)
{
	jarr_each(v, jobj_get(p->facts, "mcp")) {
		struct jval name = jobj_get(v.raw, "name");

		if (name.type != J_STRING || jstr_is(jobj_get(v.raw, "via"), "builtin"))
			continue;
		buf_puts(&p->servers, buf_len(&p->servers) ? "," : "");
		buf_add_slice(&p->servers, name.raw);
	}
}

int rerun_plan_read(struct rerun_plan *p, const char *dir, struct err *e)
{
	list_init(&p->turns);
	p->answers.max = MESSAGE_MAX;
	if (!bundle_session_read(dir, &p->session, &p->facts) ||
	    jstr_decode(jobj_get(p->facts, "cwd"), PATH_BYTES_MAX, &p->cwd) < 0 ||
	    jstr_decode(jobj_get(p->facts, "harness"), 128, &p->harness) < 0)
		return err_set(e, -EINVAL, 0, "BUNDLE_INVALID", "session.json");
	jstr_decode(jobj_get(p->facts, "model"), MODEL_NAME_LEN, &p->model);
	read_state(p);
	read_servers(p);
	if (plan_read_events(p, dir, e) < 0)
		return -EINVAL;
	drop_unprompted(p);
	/* Not before: the buffer moves while it grows. */
	p->next_answer = p->answers.data;
	return list_empty(&p->turns) ?
		       err_set(e, -ENODATA, 0, "NO_PROMPT", "the bundle has no prompt") :
		       0;
}

void rerun_plan_done(struct rerun_plan *p)
{
	while (p->turns.next && !list_empty(&p->turns))
		turn_free(list_first(&p->turns, struct rerun_turn, link));
	buf_done(&p->session);
	buf_done(&p->answers);
	buf_done(&p->servers);
	free_each(p->cwd, p->harness, p->model, p->state, p->no_state);
}

/* Settings that session/new takes as a bundle has them. What names programs, addresses or secrets of then is left out. */
static const char *const kept[] = { "mode",    "checks",     "limits",
				    "budgets", "draftAfter", "innerSandbox" };

static void plan_put_level(struct slice level, struct jw *w)
{
	struct jval requested = jobj_get(level, "requested");

	if (requested.type != J_STRING)
		return;
	jw_object(w, "level", JW_RAW("name", requested.raw), JW_BOOL("atLeast", false));
}

static void plan_put_system_prompt(struct slice settings, struct jw *w)
{
	struct jval text = jobj_get(settings, "systemPrompt");

	if (text.type != J_STRING)
		return;
	jw_obj(w, "systemPrompt");
	jw_str(w, "mode",
	       jobj_get(settings, "systemOverride").type == J_TRUE ? "override" : "append");
	jw_arr(w, "content");
	jw_object(w, NULL, JW_STR("type", "text"), JW_RAW("text", text.raw));
	jw_end_arr(w);
	jw_end_obj(w);
}

/* The built-in tools are the daemon's own; other servers are programs, addresses or clients of then. */
static void plan_put_builtin(struct slice settings, struct jw *w)
{
	struct jval builtin = jobj_get(jobj_get(settings, "mcp").raw, "builtin");

	if (builtin.type == J_NONE)
		return;
	jw_object(w, "mcp", JW_RAW("builtin", builtin.raw));
}

static void plan_put_policy(struct slice settings, struct jw *w)
{
	struct jval policy = jobj_get(settings, "policy");

	jw_obj(w, "policy");
	if (policy.type == J_OBJECT)
		jw_members(w, policy.raw, "approval");
	jw_raw(w, "approval", jobj_get(settings, "approval").raw);
	jw_end_obj(w);
}

void rerun_plan_put(const struct rerun_plan *p, bool own_cwd, struct jw *w)
{
	struct slice settings = jobj_get(p->facts, "settings").raw;
	struct jval source = jobj_get(settings, "source");

	jw_str(w, "harness", p->harness);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		jw_raw(w, kept[i], jobj_get(settings, kept[i]).raw);
	plan_put_policy(settings, w);
	plan_put_system_prompt(settings, w);
	plan_put_builtin(settings, w);
	plan_put_level(jobj_get(p->facts, "level").raw, w);
	jw_obj(w, "workspace");
	if (source.type == J_OBJECT && !own_cwd)
		jw_members(w, source.raw, NULL);
	if (!own_cwd)
		jw_bool(w, "ephemeral", true);
	jw_bool(w, "baseline", jobj_get(settings, "baseline").type == J_TRUE);
	jw_end_obj(w);
}

const char *rerun_plan_answer(struct rerun_plan *p)
{
	const char *ret = p->next_answer;

	if (!ret || ret >= p->answers.data + p->answers.len)
		return NULL;
	p->next_answer += strlen(ret) + 1;
	return ret;
}
