/* turn.c - the queue of prompts and the one way a turn ends. */
#include "session/internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/jenc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static void turn_free(struct turn *t)
{
	list_del(&t->link);
	while (!list_empty(&t->waiters)) {
		struct prompt_waiter *w = list_first(&t->waiters, struct prompt_waiter, link);

		list_del(&w->link);
		free(w);
	}
	account_done(&t->account);
	free(t->key);
	free(t->content);
	free(t->meta);
	free(t);
}

static void keyed_free(struct keyed *k)
{
	list_del(&k->link);
	free(k->key);
	free(k->result);
	free(k);
}

void turns_free(struct session *s)
{
	s->current = NULL;
	while (!list_empty(&s->turns))
		turn_free(list_first(&s->turns, struct turn, link));
	while (!list_empty(&s->keys))
		keyed_free(list_first(&s->keys, struct keyed, link));
}

/* --- accepting a prompt ---------------------------------------------------------------------------- */

static void turn_wait(struct turn *t, turn_done_fn done, void *ctx)
{
	struct prompt_waiter *w = new0(struct prompt_waiter);

	w->done = done;
	w->ctx = ctx;
	list_add_tail(&t->waiters, &w->link);
}

static void keyed_answer(const struct session *s, const struct keyed *k, turn_done_fn done,
			 void *ctx)
{
	struct turn_result r = { .failed = !k->result,
				 .turn = k->turn,
				 .seq = k->seq,
				 .result = slice_of(k->result),
				 .error = &k->error,
				 .session = s->id };

	done(ctx, &r);
}

/* True if the key is known: the caller is attached to its turn or has been answered. */
static bool key_known(struct session *s, const char *key, turn_done_fn done, void *ctx)
{
	list_each(t, &s->turns, struct turn, link) {
		if (!t->key || strcmp(t->key, key) != 0)
			continue;
		turn_wait(t, done, ctx);
		return true;
	}
	list_each(k, &s->keys, struct keyed, link) {
		if (strcmp(k->key, key) != 0)
			continue;
		keyed_answer(s, k, done, ctx);
		return true;
	}
	return false;
}

static int prompt_admit(const struct session *s, const struct prompt_params *p, struct err *e)
{
	if (s->store->stopping)
		return err_set(e, -ESHUTDOWN, RPC_INTERNAL_ERROR, "SHUTTING_DOWN",
			       "the daemon is shutting down");
	if (s->state != SESSION_OPEN)
		return err_set(e, -ENOENT, RPC_NOT_FOUND, "SESSION_NOT_ACTIVE",
			       "the session is not open");
	if (p->reject_if_busy && !list_empty(&s->turns))
		return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "SESSION_BUSY",
			       "a turn is running on this session");
	if (s->queued >= SESSION_QUEUE_MAX)
		return err_set(e, -ENOSPC, RPC_INVALID_REQUEST, "QUEUE_FULL",
			       "%d prompts are waiting already", SESSION_QUEUE_MAX);
	if (p->key && s->nkeys >= SESSION_KEYS_MAX)
		return err_set(e, -ENOSPC, RPC_INVALID_REQUEST, "TOO_MANY_KEYS",
			       "the session remembers %d prompt keys already", SESSION_KEYS_MAX);
	return 0;
}

int session_prompt(struct session *s, const struct prompt_params *p, turn_done_fn done, void *ctx,
		   struct err *e)
{
	struct turn *t;
	int r;

	if (p->key && key_known(s, p->key, done, ctx))
		return 0;
	r = prompt_admit(s, p, e);
	if (r < 0)
		return r;
	t = new0(struct turn);
	t->no = ++s->turn_count;
	s->store->totals.turns++;
	t->key = xstrdup(p->key);
	t->content = xstrndup(p->content.p, p->content.n);
	t->meta = p->meta.n ? xstrndup(p->meta.p, p->meta.n) : NULL;
	t->origin = p->origin;
	list_init(&t->waiters);
	list_add_tail(&s->turns, &t->link);
	s->queued++;
	turn_wait(t, done, ctx);
	session_touch(s);
	session_advance(s);
	return 0;
}

/* --- beginning --------------------------------------------------------------------------------------- */

/* The prompt itself is part of the history: every watcher but its sender sees it. */
static void emit_prompt(struct session *s, const struct turn *t)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jval v = { J_ARRAY, slice_of(t->content) };
	struct jiter it;

	jiter_init(&it, v);
	while (jiter_next(&it, NULL, &v)) {
		struct jw w = JW(&b);

		buf_reset(&b);
		jw_obj(&w, NULL);
		jw_str(&w, "sessionUpdate", "user_message_chunk");
		jw_raw(&w, "content", v.raw);
		jw_end_obj(&w);
		session_emit(s, UPDATE_USER_CHUNK, buf_slice(&b), SLICE_NONE, t->origin);
	}
}

static void turn_begin(struct session *s)
{
	struct turn *t = s->current = list_first(&s->turns, struct turn, link);
	struct err e;

	s->queued--;
	t->state = TURN_RUNNING;
	emit_prompt(s, t);
	if (s->log.error)
		turn_fail(s, "resource", false, "the session's journal cannot be written: %s",
			  strerror(-s->log.error));
	else if (s->def->ops->prompt(s->harness, slice_of(t->content), slice_of(t->meta), &e) < 0)
		turn_fail(s, "harness_exit", true, "%s", e.msg);
}

static void launch_for(struct session *s)
{
	struct err e = { 0 };

	if (harness_launch(s, &e) < 0)
		session_opened(s, &e);
}

static void advance_open(struct session *s)
{
	bool wanted = !list_empty(&s->open_waiters);

	if (s->restart && s->hstate == H_READY && !s->current) {
		harness_stop(s);
		return;
	}
	if (s->hstate == H_READY && wanted)
		session_opened(s, NULL);
	else if (s->hstate == H_NONE && (wanted || !list_empty(&s->turns)))
		launch_for(s);
	else if (s->hstate == H_READY && !s->current && !list_empty(&s->turns))
		turn_begin(s);
}

static void advance(void *ctx)
{
	struct session *s = ctx;

	if (s->store->stopping)
		return;
	if (s->state == SESSION_OPEN) {
		advance_open(s);
	} else if (s->state == SESSION_CLOSING && !s->current) {
		if (s->hstate == H_STARTING) {
			struct err e;

			err_set(&e, -ECANCELED, RPC_INTERNAL_ERROR, "SESSION_CLOSING",
				"the session is being closed");
			session_opened(s, &e);
		}
		if (s->hstate == H_NONE)
			session_closed(s);
		else if (s->hstate != H_STOPPING)
			harness_stop(s);
	}
}

void session_advance(struct session *s)
{
	loop_defer(s->store->loop, &s->advance_task, advance, s);
}

/* --- ending ------------------------------------------------------------------------------------------ */

static void put_result(struct buf *b, const struct turn *t, const struct harness_turn_end *end,
		       uint64_t seq)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "stopReason", end->stop_reason);
	account_put_acp(&t->account, &w, "usage");
	jw_obj(&w, "_meta");
	jw_obj(&w, "acpd");
	jw_uint(&w, "seq", seq);
	jw_uint(&w, "turn", t->no);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
}

static void remember_key(struct session *s, const struct turn *t, const struct turn_result *r)
{
	struct keyed *k;

	if (!t->key)
		return;
	k = new0(struct keyed);
	k->key = xstrdup(t->key);
	k->turn = r->turn;
	k->seq = r->seq;
	if (r->failed)
		k->error = *r->error;
	else
		k->result = xstrndup(r->result.p, r->result.n);
	list_add_tail(&s->keys, &k->link);
	s->nkeys++;
}

static void idle_shrink(void *ctx)
{
	struct session *s = ctx;

	if (!s->current)
		evlog_shrink(&s->log);
}

/* Ends t for everybody: log, waiters, stored key. t is gone after. */
static void turn_end(struct session *s, struct turn *t, const struct harness_turn_end *end)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct turn_result r = {
		.failed = end->failed, .turn = t->no, .error = &end->error, .session = s->id
	};

	r.cancelled = !end->failed && strcmp(end->stop_reason, "cancelled") == 0;
	r.seq = s->log.last + 1;
	if (!end->failed)
		put_result(&b, t, end, r.seq);
	r.result = buf_slice(&b);
	session_emit_turn_end(s, t, &r);
	evlog_flush(&s->log);
	remember_key(s, t, &r);
	list_del(&t->link);
	list_each(w, &t->waiters, struct prompt_waiter, link)
		w->done(w->ctx, &r);
	turn_free(t);
	session_touch(s);
	loop_timer_set(s->store->loop, &s->idle_timer, SESSION_IDLE_MS, idle_shrink, s);
}

/* A success without a single event is none: the harness swallowed an error. */
static void refuse_empty(const struct turn *t, struct harness_turn_end *end)
{
	if (end->failed || t->outputs || strcmp(end->stop_reason, "end_turn") != 0)
		return;
	end->failed = true;
	end->error = (struct turn_error){ .cls = "empty_turn", .retryable = true };
	snprintf(end->error.message, sizeof(end->error.message),
		 "the harness ended the turn without any output");
}

void turn_finish(struct session *s, const struct harness_turn_end *given)
{
	struct harness_turn_end end = *given;
	struct turn *t = s->current;

	if (t->state == TURN_CANCELLING)
		end = (struct harness_turn_end){ .stop_reason = "cancelled" };
	else if (t->state == TURN_RUNNING)
		refuse_empty(t, &end);
	if (t->state == TURN_QUEUED)
		s->queued--;
	loop_timer_cancel(&s->cancel_timer);
	session_cancel_asks(s);
	session_close_calls(s);
	s->current = NULL;
	err_flatten(end.error.message);
	s->store->totals.failed += end.failed;
	if (end.failed)
		log_warn("session", "turn failed", "session", s->id, "class", end.error.cls, "text",
			 end.error.message);
	turn_end(s, t, &end);
	session_advance(s);
}

void turn_fail(struct session *s, const char *cls, bool retryable, const char *fmt, ...)
{
	struct harness_turn_end end = { .failed = true,
					.error = { .cls = cls, .retryable = retryable } };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(end.error.message, sizeof(end.error.message), fmt, ap);
	va_end(ap);
	turn_finish(s, &end);
}

/* --- cancelling ---------------------------------------------------------------------------------------- */

static void on_cancel_overdue(void *ctx)
{
	struct session *s = ctx;

	if (!s->current)
		return;
	log_warn("session", "harness did not end a cancelled turn, stopping it", "session", s->id);
	turn_finish(s, &(struct harness_turn_end){ .stop_reason = "cancelled" });
	if (s->proc && s->hstate == H_READY) {
		s->hstate = H_STOPPING;
		proc_kill(s->proc);
	}
}

static void cancel_running(struct session *s)
{
	if (!s->current || s->current->state != TURN_RUNNING)
		return;
	s->current->state = TURN_CANCELLING;
	if (s->harness)
		s->def->ops->cancel(s->harness);
	session_cancel_asks(s);
	loop_timer_set(s->store->loop, &s->cancel_timer, CANCEL_GRACE_MS, on_cancel_overdue, s);
}

static void cancel_queued(struct session *s, struct turn *t)
{
	s->queued--;
	turn_end(s, t, &(struct harness_turn_end){ .stop_reason = "cancelled" });
}

void turns_cancel_all(struct session *s)
{
	list_each(t, &s->turns, struct turn, link)
		if (t->state == TURN_QUEUED)
			cancel_queued(s, t);
	cancel_running(s);
}

void session_cancel(struct session *s)
{
	turns_cancel_all(s);
}

static bool turn_has(const struct turn *t, const void *ctx)
{
	list_each(w, (struct list *)&t->waiters, struct prompt_waiter, link)
		if (w->ctx == ctx)
			return true;
	return false;
}

bool session_cancel_prompt(struct session *s, void *ctx)
{
	list_each(t, &s->turns, struct turn, link) {
		if (!turn_has(t, ctx))
			continue;
		if (t->state == TURN_QUEUED)
			cancel_queued(s, t);
		else
			cancel_running(s);
		return true;
	}
	return false;
}
