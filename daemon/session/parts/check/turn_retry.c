/*
 * turn_retry.c - sends failed checks back to the harness: the next attempt at a prompt, and its text.
 *
 * An attempt is a turn of its own, queued before all others. It takes over the waiters, the key and the budgets of the
 * prompt; the turn before keeps a copy of the key for its record, and is `retried`. So whatever ends a queued prompt
 * (a cancel, a close, a harness that fails, the end of the daemon) ends a prompt between two attempts as well, and once.
 *
 * The text is made from the results, which are masked and bounded already (check_evidence.c). It lists failed checks only,
 * with the rules that they were compared with: the model cannot follow a rule that it does not know.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "json/json.h"
#include "session/parts/budget/turn_budget.h"
#include "session/parts/check/turn_proof.h"

/* --- what the harness is told ------------------------------------------------------------------------------- */

/* The end of a longer text, from a whole character on. */
static struct slice text_end(const char *text, size_t max)
{
	size_t n = strlen(text), from = n > max ? n - max : 0;

	while (from && from < n && ((unsigned char)text[from] & 0xc0) == 0x80)
		from++;
	return (struct slice){ text + from, n - from };
}

static void say_text(struct buf *b, const char *what, struct jval v)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_decode_shown(v, RETRY_TEXT_MAX, &text) < 0 || !*text)
		return;
	buf_printf(b, "%s ends with:\n```\n", what);
	buf_add_slice(b, text_end(text, RETRY_TAIL_MAX));
	buf_puts(b, text[strlen(text) - 1] == '\n' ? "```\n" : "\n```\n");
}

static void say_word(struct buf *b, const char *before, struct jval v)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_decode_shown(v, RETRY_TAIL_MAX, &text) == 0 && *text)
		buf_printf(b, "%s%s", before, text);
}

static void say_stdout(struct buf *b, struct jval v)
{
	say_text(b, "Its output", v);
}

static void say_stderr(struct buf *b, struct jval v)
{
	say_text(b, "Its error output", v);
}

static void say_exit(struct buf *b, struct jval v)
{
	buf_printf(b, "It ended with exit code %.*s.\n", (int)v.raw.n, v.raw.p);
}

static void say_signal(struct buf *b, struct jval v)
{
	say_word(b, "It was ended by ", v);
	buf_puts(b, ".\n");
}

static void say_error(struct buf *b, struct jval v)
{
	say_word(b, "It could not be carried out: ", jobj_get(v.raw, "message"));
	buf_putc(b, '\n');
}

static void say_tests(struct buf *b, struct jval v)
{
	struct jval failures = jobj_get(v.raw, "failures");

	buf_printf(b, "Tests: %llu failed, %llu passed.\n",
		   (unsigned long long)jobj_uint(v.raw, "failed"),
		   (unsigned long long)jobj_uint(v.raw, "passed"));
	jarr_each(f, failures) {
		say_word(b, "- ", jobj_get(f.raw, "name"));
		say_word(b, " in ", jobj_get(f.raw, "suite"));
		say_word(b, ": ", jobj_get(f.raw, "message"));
		buf_putc(b, '\n');
	}
}

static void say_paths(struct buf *b, struct jval v)
{
	buf_puts(b, "Changed against its rules:\n");
	jarr_each(path, v) {
		say_word(b, "- ", path);
		buf_putc(b, '\n');
	}
}

static void say_counts(struct buf *b, struct jval v)
{
	buf_printf(b, "Changed: %.*s\n", (int)MIN(v.raw.n, (size_t)RETRY_TAIL_MAX), v.raw.p);
}

static void say_nothing(struct buf *b _unused_, struct jval v _unused_)
{
}

/* What a result may have; the rest is shown as it stands. */
static const struct {
	const char *name;
	void (*say)(struct buf *b, struct jval v);
} members[] = {
	{ "id", say_nothing },
	{ "kind", say_nothing },
	{ "ok", say_nothing },
	{ "durationMs", say_nothing },
	{ "leftBehind", say_nothing },
	{ "changed", say_nothing },
	{ "offendingTotal", say_nothing },
	{ "offending", say_paths },
	{ "counts", say_counts },
	{ "outputTruncated", say_nothing },
	{ "stdoutTruncated", say_nothing },
	{ "stderrTruncated", say_nothing },
	{ "exitCode", say_exit },
	{ "signal", say_signal },
	{ "error", say_error },
	{ "tests", say_tests },
	{ "outputTail", say_stdout },
	{ "stdoutTail", say_stdout },
	{ "stderrTail", say_stderr },
};

/* A member that the table does not have is of a newer check: the model gets it as it is, bounded. */
static void say_member(struct buf *b, struct slice key, struct jval v)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (!jkey_is(key, members[i].name))
			continue;
		members[i].say(b, v);
		return;
	}
	buf_printf(b, "%.*s: %.*s\n", (int)MIN(key.n, 64u), key.p,
		   (int)MIN(v.raw.n, (size_t)RETRY_TAIL_MAX), v.raw.p);
}

/* The check as its client wrote it; empty: there is none of that id. */
static struct slice check_of(struct slice checks, struct slice result)
{
	struct slice id = jobj_get(result, "id").raw;

	jarr_each(v, checks)
		if (slice_eq(jobj_get(v.raw, "id").raw, id))
			return v.raw;
	return SLICE_NONE;
}

/* The rules of the check, as its client wrote them. */
static void say_rules(struct buf *b, struct slice check)
{
	static const char *const rules[] = { "allow",	      "deny",	      "maxFiles",
					     "maxInsertions", "maxDeletions", "maxLines",
					     "minPassed" };

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct slice v = jobj_get(check, rules[i]).raw;

		if (v.n)
			buf_printf(b, "Its rule %s: %.*s\n", rules[i],
				   (int)MIN(v.n, (size_t)RETRY_TAIL_MAX), v.p);
	}
}

static void say_result(struct buf *b, struct slice result, struct slice check)
{
	say_word(b, "\nCheck ", jobj_get(result, "id"));
	say_word(b, " (", jobj_get(result, "kind"));
	buf_puts(b, ") failed.\n");
	say_rules(b, check);
	jobj_each(key, v, result)
		say_member(b, key, v);
}

/* A result that does not fit into RETRY_TEXT_MAX is left out whole: half of one would mislead. A later, shorter one may
 * still fit. */
static void say_results(struct buf *b, struct slice results, struct slice checks, unsigned *left)
{
	jarr_each(v, results) {
		_cleanup_(buf_done) struct buf one = { 0 };

		if (jobj_get(v.raw, "ok").type == J_TRUE)
			continue;
		say_result(&one, v.raw, check_of(checks, v.raw));
		if (buf_len(b) + buf_len(&one) <= RETRY_TEXT_MAX)
			buf_add_slice(b, buf_slice(&one));
		else
			++*left;
	}
}

void turn_retry_put(const struct turn_proof *p, struct slice checks, struct buf *ret)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(ret);
	unsigned left = 0;

	buf_printf(&b,
		   "What you did was checked, and it does not hold yet. This is attempt %u of %u. "
		   "Mend what is found wrong below; it will be checked again when you are done.\n",
		   p->attempt + 1, p->attempts);
	say_results(&b, slice_of(p->results), checks, &left);
	if (left)
		buf_printf(&b, "\n%u more checks failed.\n", left);
	jw_arr(&w, NULL);
	jw_object(&w, NULL, JW_STR("type", "text"), JW_SLICE("text", buf_slice(&b)));
	jw_end_arr(&w);
}

/* --- what the attempts used ------------------------------------------------------------------------------- */

static void put_try(const struct session_turn *t, struct jw *w)
{
	jw_obj(w, NULL);
	jw_uint(w, "turn", t->no);
	account_put_acp(&t->account, NULL, w, "usage");
	jw_end_obj(w);
}

void turn_tries_put(const struct session_turn *t, struct jw *w)
{
	if (!t->tries)
		return;
	jw_arr(w, "attempts");
	jw_raw(w, NULL, slice_of(t->tries));
	put_try(t, w);
	jw_end_arr(w);
	account_put_acp(&t->account, &t->tried, w, "promptUsage");
}

/* tries has the elements of all earlier attempts, tried the sum of what they used. */
static void turn_tries_pass(const struct session_turn *from, struct session_turn *to)
{
	JW_BUF(w, b);

	to->tried = from->tried;
	account_add_to(&from->account, &to->tried);
	if (from->tries)
		jw_raw(&w, NULL, slice_of(from->tries));
	put_try(from, &w);
	free(to->tries);
	to->tries = xstrndup(b.data, b.len);
}

/* --- the next attempt --------------------------------------------------------------------------------------- */

/* False: a check cannot hold, whatever the harness does, because there is no baseline to compare with. */
static bool is_repairable(const struct turn_proof *p)
{
	jarr_each(v, slice_of(p->results))
		if (jstr_is(jobj_get(jobj_get(v.raw, "error").raw, "reason"), "NO_BASELINE"))
			return false;
	return true;
}

bool turn_retry_is_due(const struct session *s, const struct session_turn *t)
{
	const struct turn_proof *p = proof_of(t);

	return !t->end.failed && p->verdict == CHECK_FAILED && p->attempt < p->attempts &&
	       s->state == SESSION_OPEN && !s->store->stopping && is_repairable(p);
}

/* The clients that wait for the prompt wait for the next attempt from now on. */
static void pass_waiters(struct session_turn *from, struct session_turn *to)
{
	while (!list_empty(&from->waiters)) {
		struct list *w = from->waiters.next;

		list_del(w);
		list_add_tail(&to->waiters, w);
	}
}

/* Until it begins, what is in the journal of the attempts before stays: a later daemon ends it by that. */
void turn_retry_add(struct session *s, struct session_turn *t)
{
	_cleanup_(buf_done) struct buf content = { 0 };
	struct session_turn *next;

	if (!t->goes_on)
		return;
	next = turn_new(s);
	next->again = true;
	/* Copies: the turn before is still recorded with its own. */
	turn_retry_put(proof_of(t), slice_of(proof_of(t)->checks), &content);
	next->content = xstrndup(content.data, content.len);
	next->key = xstrdup(t->key);
	memcpy(next->digest, t->digest, sizeof(next->digest));
	trace_context_copy(&next->trace, &t->trace);
	next->incarnation = xstrdup(t->incarnation);
	next->meta = xstrdup(t->meta);
	proof_of(next)->checks = xstrdup(proof_of(t)->checks);
	next->first_seq = t->first_seq;
	proof_of(next)->attempt = proof_of(t)->attempt + 1;
	proof_of(next)->attempts = proof_of(t)->attempts;
	proof_of(next)->first = proof_of(t)->first;
	pass_waiters(t, next);
	turn_budget_pass(t, next);
	turn_tries_pass(t, next);
	/* Directly behind t, which is still the first: before all turns that wait. */
	list_add_tail(t->link.next, &next->link);
	turn_log(t, LOG_INFO, "another attempt follows", NULL);
}

void turn_retry_fail(struct session *s, struct session_turn *t)
{
	if (!t->goes_on)
		return;
	/* It is the only queued one that has the same first attempt. */
	list_each(next, &s->turn.queue, struct session_turn, link) {
		if (next->state != TURN_QUEUED || proof_of(next)->first != proof_of(t)->first)
			continue;
		turn_end_queued(s, next, &t->end);
		return;
	}
}
