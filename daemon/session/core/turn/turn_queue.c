/* turn_queue.c - the queue of prompts, and how the first of them begins. How a turn ends: turn_end.c. */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/json.h"
#include "proc/table/process_tree.h"
#include "session/core/session_states.h"
#include "session/core/turn/prompt_content.h"
#include "session/core/session_part.h"

void turn_free(struct session_turn *t)
{
	list_del(&t->link);
	PARTS_CALL(turn_free, t);
	/* The ledger would call on_recorded with a freed turn. */
	ledger_wait_cancel(&t->recorded);
	list_drain(w, &t->waiters, struct prompt_waiter, link) {
		list_del(&w->link);
		free(w);
	}
	account_done(&t->account);
	account_done(&t->reported);
	free_each(t->tries, t->incarnation, t->key, t->content, t->meta);
	trace_context_done(&t->trace);
	free(t);
}

void turns_free(struct session *s)
{
	s->turn.current = NULL;
	while (!list_empty(&s->turn.queue))
		turn_free(list_first(&s->turn.queue, struct session_turn, link));
	keyed_results_free(s);
}

/* --- accepting a prompt ---------------------------------------------------------------------------- */

static void turn_wait(struct session_turn *t, turn_done_fn done, void *ctx)
{
	struct prompt_waiter *w = new0(struct prompt_waiter);

	w->done = done;
	w->ctx = ctx;
	list_add_tail(&t->waiters, &w->link);
}

/* True if the key is known: the caller is attached to its turn or has been answered. */
static bool is_key_known(struct session *s, const char *key, turn_done_fn done, void *ctx)
{
	list_each(t, &s->turn.queue, struct session_turn, link) {
		/* The key of a turn that continues in another one is found with that one. */
		if (!t->key || t->goes_on || strcmp(t->key, key) != 0)
			continue;
		turn_wait(t, done, ctx);
		return true;
	}
	return keyed_result_answer(s, key, done, ctx);
}

static int check_key(const char *have, const char *digest, struct err *e)
{
	if (!*have || strcmp(have, digest) == 0)
		return 0;
	return err_field(e, "_meta.acpd.key", "KEY_REUSED",
			 "another prompt of this session has this key");
}

/* A key stands for one prompt: what came of another is no answer to this one. */
static int key_admit(const struct session *s, const char *key, const char *digest, struct err *e)
{
	/* Of a turn in the queue, and of a turn that has ended. */
	const struct keyed_result *k = keyed_result_find(s, key);

	list_each(t, (struct list *)&s->turn.queue, struct session_turn, link)
		if (t->key && strcmp(t->key, key) == 0)
			return check_key(t->digest, digest, e);
	return k ? check_key(k->digest, digest, e) : 0;
}

static void digest_prompt(struct slice content, char out[SHA256_HEX])
{
	struct sha256 d;

	*out = '\0';
	if (sha256_of(content, &d) == 0)
		sha256_hex(&d, out);
}

static int prompt_admit(const struct session *s, const struct prompt_params *p, struct err *e)
{
	if (store_admit(s->store, e) < 0 || session_refuse_imported(s, e) < 0)
		return -ESHUTDOWN;
	if (s->state != SESSION_OPEN)
		return err_set(e, -ENOENT, RPC_NOT_FOUND, "SESSION_NOT_ACTIVE",
			       "the session is closed; session/load opens it");
	if (p->reject_if_busy && !list_empty(&s->turn.queue))
		return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "SESSION_BUSY",
			       "a turn is running on this session");
	if (s->turn.queued >= SESSION_QUEUE_MAX)
		return err_set(e, -ENOSPC, RPC_INVALID_REQUEST, "QUEUE_FULL",
			       "%d prompts are waiting already", SESSION_QUEUE_MAX);
	if (PARTS_FIRST(check_prompt, s, p, e) < 0)
		return -EINVAL;
	if (p->key && s->turn.nkeys >= SESSION_KEYS_MAX && !keyed_result_find(s, p->key))
		return err_set(e, -ENOSPC, RPC_INVALID_REQUEST, "TOO_MANY_KEYS",
			       "the session remembers %d prompt keys already", SESSION_KEYS_MAX);
	return 0;
}

struct session_turn *turn_blank(struct session *s)
{
	/* The states of the parts lie behind the turn in the same block: free(t) frees them, too. */
	struct session_turn *t = PARTS_ALLOC(session_turn, turn_size);

	t->session = s;
	list_init(&t->link);
	list_init(&t->waiters);
	return t;
}

struct session_turn *turn_new(struct session *s)
{
	struct session_turn *t = turn_blank(s);

	t->queued_mono = clock_mono_ms();
	s->turn.queued++;
	return t;
}

int session_prompt(struct session *s, const struct prompt_params *p, turn_done_fn done, void *ctx,
		   struct err *e)
{
	char digest[SHA256_HEX] = "";
	struct session_turn *t;
	int r;

	if (p->key)
		digest_prompt(p->content, digest);
	/* Before prompt_admit: a client that repeats a known prompt gets its answer even when no new prompt is
	 * accepted. */
	if (p->key && key_admit(s, p->key, digest, e) < 0)
		return -EINVAL;
	if (p->key && is_key_known(s, p->key, done, ctx))
		return 0;
	r = prompt_admit(s, p, e);
	if (r < 0)
		return r;
	t = turn_new(s);
	t->incarnation = xstrdup(s->store->incarnation);
	t->key = xstrdup(p->key);
	t->content = xstrndup(p->content.p, p->content.n);
	memcpy(t->digest, digest, sizeof(t->digest));
	t->meta = p->meta.n ? xstrndup(p->meta.p, p->meta.n) : NULL;
	t->origin = p->origin;
	PARTS_CALL(turn_queued, t, p);
	trace_context_read(&t->trace, p->meta);
	list_add_tail(&s->turn.queue, &t->link);
	turn_wait(t, done, ctx);
	turn_log(t, LOG_INFO, "prompt taken", t->key ? "key" : NULL, t->key, NULL);
	session_touch(s);
	session_advance(s);
	return 0;
}

/* --- beginning --------------------------------------------------------------------------------------- */

/* What the user says is part of the history: every watcher but its sender sees it. */
void turn_emit_prompt(struct session *s, struct slice content, uint64_t origin, bool again)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	jarr_each(v, content) {
		struct jw w = JW(&b);

		buf_reset(&b);
		jw_object(&w, NULL, JW_STR("sessionUpdate", "user_message_chunk"),
			  JW_RAW("content", v.raw));
		event_emit_prompt(s, buf_slice(&b), origin, again);
	}
}

struct session_turn *turn_first_queued(const struct session *s)
{
	list_each(t, (struct list *)&s->turn.queue, struct session_turn, link)
		if (t->state == TURN_QUEUED)
			return t;
	return NULL;
}

void turn_take_number(struct session *s, struct session_turn *t)
{
	if (t->no)
		return;
	t->no = ++s->turn.count;
	s->store->totals.turns++;
	PARTS_CALL(turn_numbered, s, t);
}

/* What no event of the turn contains, and a later daemon needs if this one is killed before the end. */
static void note_begin(struct session *s, const struct session_turn *t)
{
	const char *model = s->harness.model ? s->harness.model : s->setup.gateway.model;
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_uint(&w, "turn", t->no);
	/* A later daemon searches the ledger for this turn from here on, and not from its first record. */
	jw_uint(&w, "ledger", ledger_last(s->store->ledger));
	jw_str(&w, "key", t->key);
	/* The event of the end has the key only. The digest detects a later use of the key for another prompt. */
	if (t->key)
		jw_str(&w, "prompt", t->digest);
	jw_str(&w, "model", model);
	jw_str(&w, "harnessVersion", s->harness.version);
	if (*t->trace.parent)
		jw_str(&w, "traceparent", t->trace.parent);
	jw_str(&w, "requestId", t->trace.request_id);
	PARTS_CALL(put_begun, t, &w);
	jw_end_obj(&w);
	evlog_note(&s->log.events, "turn", buf_slice(&b));
}

/* What the adapter cannot tell its harness it cannot tell it at the next try either; else the harness takes no input. */
static void fail_prompt(struct session *s, const struct err *e)
{
	bool content = e->rpc == RPC_INVALID_PARAMS;

	turn_fail_as(s,
		     &(struct turn_error){ .cls = content ? "harness_error" : "harness_exit",
					   .reason = content ? e->reason : NULL,
					   .retryable = !content },
		     e->msg);
}

/* As the client gave it, unless a part adds to it. */
static struct slice prompt_meta(const struct session_turn *t, struct buf *b)
{
	for (const struct session_part *const *p = PARTS_WITH(prompt_meta); *p; p++) {
		struct slice meta = (*p)->prompt_meta(t, b);

		if (meta.n)
			return meta;
	}
	return slice_of(t->meta);
}

void turn_begin(struct session *s, struct session_turn *t)
{
	_cleanup_(buf_done) struct buf meta = { 0 }, content = { 0 };
	struct err e;

	evlog_try_again(&s->log.events); /* the disk may have room again since the last try */
	unknown_updates_tell_more(s);
	s->turn.current = t; /* from here on turn_finish is the only way out */
	s->turn.queued--;
	s->harness.began = true;
	turn_take_number(s, t); /* before its first event, log line and span, which name it */
	turn_set_state(s, t, TURN_RUNNING);
	t->started_ms = clock_real_ms();
	t->started_mono = clock_mono_ms();
	t->started_ticks = tree_now();
	/* Before the prompt: its costs are the turn's. */
	proc_measure(s->harness.proc, false, &t->before);
	s->turn.oom_events = 0;
	PARTS_CALL(watch, s); /* after the reset: the events of a turn are limited */
	/* Before the log, which names the span of the turn. */
	PARTS_CALL(turn_begin, s, t);
	turn_log(t, LOG_INFO, "turn begun", NULL);
	evlog_hold(&s->log.events); /* keeps the journal open for the events that follow */
	/* If the journal cannot be written, the turn fails below, and its prompt does not enter the log. */
	if (!s->log.events.error) {
		t->first_seq = s->log.events.last + 1;
		note_begin(s, t);
		turn_emit_prompt(s, slice_of(t->content), t->origin, t->again);
	}
	if (PARTS_FIRST(turn_start, s, t))
		return; /* it has been ended */
	if (s->log.events.error)
		turn_fail(s, "resource", true, "the session's journal cannot be written: %s",
			  strerror(-s->log.events.error));
	else if (s->def->ops->prompt(s->harness.adapter,
				     prompt_content_for(slice_of(t->content), &s->harness.caps,
							&content),
				     prompt_meta(t, &meta), &e) < 0)
		fail_prompt(s, &e);
}

struct session_turn *turn_in_harness(const struct session *s)
{
	struct session_turn *t = s->turn.current;
	bool at_it = t && (t->state == TURN_RUNNING || t->state == TURN_CANCELLING);

	return at_it && !t->held ? t : NULL;
}

void turn_output(struct session_turn *t)
{
	if (!t->outputs++)
		t->first_output_mono = clock_mono_ms();
}
