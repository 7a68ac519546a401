/*
 * rerun_result.c - compares a rerun with its recording: ends of turns, texts, model calls, and the
 * workspace.
 *
 * The runs are the same if turns have the same ends and texts, model calls are the recorded ones,
 * and the workspaces are equal. A workspace without a recorded state is not compared; a state that
 * the bundle has and the rerun has not is a difference.
 */
#include "cli/bundle/rerun.h"

#include "digest/digest.h"
#include "json/jenc.h"
#include "json/jstr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_word(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* What of it differs is said with how it was. */
static void result_put_turn(struct rerun_result *r, const struct rerun_turn *was,
			    const struct rerun_turn *is, bool ended, bool said)
{
	/* The list grows turn by turn; its elements are joined by commas without brackets. */
	struct jw w = { &r->turn_list, r->turns > 0 };

	jw_obj(&w, NULL);
	jw_uint(&w, "turn", was->no);
	jw_str(&w, "stopReason", is->stop_reason);
	jw_str(&w, "error", is->error);
	jw_bool(&w, "same", ended && said);
	if (!ended) {
		jw_str(&w, "stopReasonWas", was->stop_reason);
		jw_str(&w, "errorWas", was->error);
	}
	if (!said) {
		jw_slice(&w, "text", buf_slice(&is->said));
		jw_slice(&w, "textWas", buf_slice(&was->said));
	}
	jw_end_obj(&w);
}

static void put_how(struct buf *b, const struct rerun_turn *t)
{
	if (t->stop_reason)
		buf_puts(b, t->stop_reason);
	else if (t->error)
		buf_printf(b, "an error (%s)", t->error);
	else
		buf_puts(b, "no end");
}

static void explain_turn(struct buf *b, const struct rerun_turn *was, const struct rerun_turn *is,
			 bool ended, bool said)
{
	unsigned long long no = was->no;

	if (!ended) {
		buf_printf(b, "turn %llu ended with ", no);
		put_how(b, was);
		buf_puts(b, ", now with ");
		put_how(b, is);
		buf_putc(b, '\n');
	}
	if (!said)
		buf_printf(b, "turn %llu: the agent said something else\n", no);
}

void rerun_result_turn(struct rerun_result *r, const struct rerun_turn *was,
		       const struct rerun_turn *is)
{
	bool ended = same_word(was->stop_reason, is->stop_reason) &&
		     same_word(was->error, is->error);
	/* Byte for byte: the model's words come from the recording, so they have no reason to differ. */
	bool said = slice_eq(buf_slice(&was->said), buf_slice(&is->said));

	result_put_turn(r, was, is, ended, said);
	explain_turn(&r->differences, was, is, ended, said);
	r->turns++;
	r->turns_same += ended && said;
}

void rerun_result_workspace(struct rerun_result *r, struct slice diff, struct slice error)
{
	struct slice data = jobj_get(error, "data").raw;

	if (jstr_decode(jobj_get(diff, "state"), SHA256_HEX, &r->state) < 0 &&
	    jstr_decode(jobj_get(data, "reason"), 64, &r->no_state) < 0)
		r->no_state = xstrdup("NO_STATE");
}

/* What cannot be compared is no difference; what could not be had now is one. */
static bool same_workspace(const struct rerun_result *r, const struct rerun_plan *p)
{
	return !p->state || same_word(r->state, p->state);
}

static void explain_workspace(struct rerun_result *r, const struct rerun_plan *p)
{
	if (!p->state)
		buf_printf(&r->differences, "the workspaces were not compared: %s\n", p->no_state);
	else if (!r->state)
		buf_printf(&r->differences, "the workspace cannot be compared: %s\n", r->no_state);
	else if (!same_workspace(r, p))
		buf_puts(&r->differences, "the workspace differs\n");
}

static void result_put_workspace(struct jw *w, const struct rerun_result *r,
				 const struct rerun_plan *p)
{
	jw_obj(w, "workspace");
	jw_bool(w, "compared", p->state && r->state);
	if (p->state)
		jw_bool(w, "same", same_workspace(r, p));
	jw_str(w, "reason", p->state ? r->no_state : p->no_state);
	jw_str(w, "state", r->state);
	jw_str(w, "stateWas", p->state);
	jw_end_obj(w);
}

static unsigned calls_not_made(const struct recorded_calls *rec)
{
	unsigned n = 0;

	list_each(c, (struct list *)&rec->calls, struct recorded_call, link)
		n += !c->asked;
	return n;
}

bool rerun_result_end(struct rerun_result *r, const struct rerun_plan *plan,
		      const struct rerun_taker *taker)
{
	unsigned left = calls_not_made(taker->from), turns = plan->nturns;

	if (taker->refused)
		buf_printf(&r->differences, "CALL_NOT_RECORDED: %u model calls\n", taker->refused);
	if (left)
		buf_printf(&r->differences, "%u recorded model calls were not made\n", left);
	if (turns > r->turns)
		buf_printf(&r->differences, "%u of %u turns were not made\n", turns - r->turns,
			   turns);
	explain_workspace(r, plan);
	if (buf_len(&plan->servers))
		buf_printf(&r->differences, "MCP servers that are not taken over: %.*s\n",
			   (int)buf_len(&plan->servers), plan->servers.data);
	return r->turns_same == turns && !taker->refused && !left && same_workspace(r, plan);
}

static void print_rerun_json(const struct rerun_result *r, const struct rerun_plan *p,
			     const struct rerun_taker *t, bool same)
{
	_cleanup_(buf_done) struct buf b = { .max = BUF_MAX_DEFAULT };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_bool(&w, "same", same);
	jw_arr(&w, "turns");
	if (buf_len(&r->turn_list))
		jw_raw(&w, NULL, buf_slice(&r->turn_list));
	jw_end_arr(&w);
	jw_object(&w, "modelCalls", JW_UINT("recorded", t->from->n),
		  JW_UINT("answered", t->answered), JW_UINT("alike", t->alike),
		  JW_UINT("notRecorded", t->refused), JW_UINT("notMade", calls_not_made(t->from)),
		  JW_STR("stopped", t->from->stopped));
	result_put_workspace(&w, r, p);
	if (buf_len(&p->servers)) {
		jw_arr(&w, "serversLeftOut");
		jw_raw(&w, NULL, buf_slice(&p->servers));
		jw_end_arr(&w);
	}
	jw_end_obj(&w);
	print_json(buf_slice(&b));
}

void rerun_result_print(const struct rerun_result *r, const struct rerun_plan *plan,
			const struct rerun_taker *t, bool same, bool json)
{
	if (json) {
		print_rerun_json(r, plan, t, same);
		return;
	}
	printf("%.*s", (int)buf_len(&r->differences),
	       r->differences.data ? r->differences.data : "");
	printf("%s: %u of %u turns, %u of %u model calls from the recording\n",
	       same ? "the run is the same" : "the run differs", r->turns_same, r->turns,
	       t->answered, t->from->n);
}

void rerun_result_done(struct rerun_result *r)
{
	buf_done(&r->turn_list);
	buf_done(&r->differences);
	free_each(r->state, r->no_state);
}
