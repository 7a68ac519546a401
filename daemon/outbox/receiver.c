/*
 * receiver.c - when the events of one receiver are sent: lanes in parallel, back-off of lanes and
 * of the receiver.
 *
 * Only receiver_run() starts requests; every change of state defers it. WEBHOOK_PARALLEL lanes send at a
 * time. After a failure one request at a time probes the receiver until one succeeds. An event is
 * sent when the spool has written it, because a daemon that dies before would not know of it. The
 * spool can drop an event whose request is running: on_gone detaches it from the request.
 */
#include "outbox/receiver_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/os/file.h"
#include "json/jenc.h"

static bool receiver_is_named(const struct receiver *r)
{
	return r->who.url && !r->gone;
}

static bool gap_is_told(const struct receiver *r)
{
	list_each(d, (struct list *)&r->deliveries, struct delivery, link)
		if (d->gap_to)
			return true;
	return false;
}

static bool has_gap(const struct receiver *r)
{
	uint64_t from, to;

	return spool_gap(r->spool, &from, &to) && !gap_is_told(r);
}

/* --- sending ---------------------------------------------------------------------------------------------- */

static void receiver_run(void *ctx);

static void receiver_go(struct receiver *r)
{
	loop_defer(r->cfg.loop, &r->task, receiver_run, r);
}

static void receiver_run_at(struct receiver *r, uint64_t due, uint64_t now)
{
	if (due > now)
		loop_timer_set(r->cfg.loop, &r->timer, due - now, receiver_run, r);
}

/* What cannot be written yet is not sent: a daemon that dies then would not know of it. */
static bool receiver_may_send(const struct receiver *r, const struct lane *lane)
{
	const struct spooled *x = lane_first(lane);

	return !x || spool_is_written(r->spool, x);
}

/* False: there is nothing to send. */
static bool receiver_send_next(struct receiver *r, uint64_t now)
{
	struct lane *lane = lanes_next(&r->lanes, has_gap(r), now);

	if (!lane)
		return false;
	/* on_receiver_written starts the next run. */
	if (!receiver_may_send(r, lane)) {
		lanes_return(&r->lanes, lane, true);
		return false;
	}
	delivery_begin(r, lane);
	return true;
}

static unsigned receiver_parallel_max(const struct receiver *r)
{
	return r->streak ? 1 : WEBHOOK_PARALLEL;
}

static void receiver_run(void *ctx)
{
	struct receiver *r = ctx;
	uint64_t now = clock_mono_ms(), next;

	/* Before the return: events of a receiver that is held, or not named any more, expire as well. */
	spool_expire(r->spool, clock_real_ms());
	if (!receiver_is_named(r) || r->held)
		return;
	next = lanes_wake(&r->lanes, now);
	if (r->due > now) {
		receiver_run_at(r, r->due, now);
		return;
	}
	while (r->due <= now && r->ndeliveries < receiver_parallel_max(r) &&
	       receiver_send_next(r, now))
		;
	receiver_run_at(r, MAX(next, r->due), now);
}

/* --- outcomes --------------------------------------------------------------------------------------------- */

/* The lane is free, and d gone. */
static void close_delivery(struct delivery *d)
{
	struct receiver *r = d->receiver;
	struct lane *lane = d->lane;
	uint64_t from, to;

	delivery_drop(d);
	lanes_return(&r->lanes, lane, spool_gap(r->spool, &from, &to));
	receiver_go(r);
}

void receiver_delivered(struct delivery *d)
{
	struct receiver *r = d->receiver;

	if (r->streak >= WEBHOOK_TRIES_APART) {
		lanes_wake_all(&r->lanes);
		log_info("outbox", "a receiver of webhooks takes them again", "host", r->who.host);
	}
	r->streak = 0;
	r->due = r->wait_ms = 0;
	r->error[0] = '\0';
	r->sent++;
	d->lane->due = d->lane->wait_ms = 0;
	/* Neither is set if the spool dropped the event during the request: it is in the gap already. */
	if (d->gap_to)
		spool_gap_told(r->spool, d->gap_to);
	else if (d->event)
		spool_done(r->spool, d->event);
	close_delivery(d);
}

static uint64_t backoff_next(uint64_t *wait_ms)
{
	*wait_ms = jitter_next(*wait_ms, WEBHOOK_RETRY_MS, WEBHOOK_RETRY_MAX_MS);
	return *wait_ms;
}

static void receiver_note_failure(struct receiver *r, const char *why)
{
	snprintf(r->error, sizeof(r->error), "%s", why);
	err_flatten(r->error);
	r->error_at = clock_real_ms();
	r->failed++;
	if (++r->streak == WEBHOOK_TRIES_APART || r->gone)
		log_warn("outbox",
			 r->gone ? "a receiver of webhooks is gone (410)" :
				   "a receiver of webhooks takes nothing",
			 "host", r->who.host, "text", r->error);
}

void receiver_failed(struct delivery *d, const char *why)
{
	struct receiver *r = d->receiver;
	uint64_t now = clock_mono_ms(), after = now + d->retry_after_ms;

	receiver_note_failure(r, why);
	d->lane->due = MAX(now + backoff_next(&d->lane->wait_ms), after);
	/* Once for each period: requests that were running at the first failure do not lengthen the wait again. */
	if ((r->streak >= WEBHOOK_TRIES_APART && r->due <= now) || d->retry_after_ms)
		r->due = MAX(now + backoff_next(&r->wait_ms), after);
	close_delivery(d);
	/* A 410 is final until receiver_name is called; by then the dropped events are in the gap. */
	if (r->gone)
		spool_clear(r->spool);
}

/* --- its spool -------------------------------------------------------------------------------------------- */

static void on_added(void *ctx, struct spooled *x, struct slice session)
{
	struct receiver *r = ctx;

	lanes_add(&r->lanes, x, session);
}

/* The answer to one that is sent just then changes nothing any more. */
static void on_receiver_gone(void *ctx, struct spooled *x)
{
	struct receiver *r = ctx;
	bool sending = false;

	list_each(d, &r->deliveries, struct delivery, link) {
		if (d->lane == x->owner)
			sending = true;
		if (d->event == x)
			d->event = NULL;
	}
	lanes_remove(&r->lanes, x, sending);
}

static void on_receiver_written(void *ctx)
{
	receiver_go(ctx);
}

/* --- its life --------------------------------------------------------------------------------------------- */

struct receiver *receiver_new(const struct receiver_config *cfg, const char *key, struct err *e)
{
	static const struct spool_ops ops = { on_added, on_receiver_gone, on_receiver_written };
	_cleanup_(freep) char *dir = file_join(cfg->dir, key);
	struct receiver *r = new0(struct receiver);

	r->cfg = *cfg;
	r->cfg.dir = NULL;
	snprintf(r->key, sizeof(r->key), "%s", key);
	list_init(&r->deliveries);
	lanes_init(&r->lanes);
	r->spool = spool_open(cfg->loop, dir, &cfg->bounds, &ops, r, e);
	if (!r->spool)
		return receiver_free(r);
	/* Until receiver_name is called, the types of the earlier daemon apply. */
	r->who.events = webhook_types_parse(slice_of(spool_events(r->spool)));
	return r;
}

static void receiver_stop(struct receiver *r)
{
	list_each(d, &r->deliveries, struct delivery, link)
		delivery_drop(d);
	loop_timer_cancel(&r->timer);
	loop_task_cancel(&r->task);
}

static void receiver_release(struct receiver *r)
{
	lanes_done(&r->lanes);
	webhook_done(&r->who);
	free(r);
}

struct receiver *receiver_free(struct receiver *r)
{
	if (!r)
		return NULL;
	/* First: the deliveries refer to events of the spool. */
	receiver_stop(r);
	r->spool = spool_close(r->spool);
	receiver_release(r);
	return NULL;
}

struct receiver *receiver_remove(struct receiver *r)
{
	receiver_stop(r);
	r->spool = spool_remove(r->spool);
	receiver_release(r);
	return NULL;
}

const char *receiver_key(const struct receiver *r)
{
	return r->key;
}

const char *receiver_sandbox(const struct receiver *r)
{
	return spool_sandbox(r->spool);
}

/* All that waits may try now. */
static void receiver_retry(struct receiver *r)
{
	r->due = r->wait_ms = 0;
	lanes_wake_all(&r->lanes);
	receiver_go(r);
}

void receiver_name(struct receiver *r, struct webhook *w, const char *sandbox)
{
	_cleanup_(buf_done) struct buf events = { 0 };

	webhook_done(&r->who);
	r->who = *w;
	*w = (struct webhook){ .key = "" };
	webhook_types_put(r->who.events, &events);
	buf_putc(&events, '\0');
	r->gone = false;
	spool_describe(r->spool, sandbox, events.data);
	receiver_retry(r);
}

void receiver_bound(struct receiver *r, const struct spool_bounds *bounds)
{
	r->cfg.bounds = *bounds;
	spool_bound(r->spool, bounds);
}

void receiver_hold(struct receiver *r, bool held)
{
	r->held = held;
	if (!held)
		receiver_retry(r);
}

bool receiver_wants(const struct receiver *r, enum webhook_type type)
{
	return r->who.events & (1u << type);
}

void receiver_add(struct receiver *r, enum webhook_type type, const struct spool_record *record)
{
	if (!receiver_wants(r, type))
		return;
	if (r->gone)
		spool_lose(r->spool);
	else
		spool_add(r->spool, record);
}

void receiver_flush(struct receiver *r)
{
	(void)spool_flush(r->spool);
}

bool receiver_busy(const struct receiver *r)
{
	struct spool_counts c;

	spool_count(r->spool, &c);
	return receiver_is_named(r) && !r->streak && (c.waiting || r->ndeliveries);
}

/* --- what is known of it ---------------------------------------------------------------------------------- */

static void receiver_put_error(const struct receiver *r, struct jw *w)
{
	if (!r->error[0])
		return;
	jw_object(w, "lastError", JW_STR("at", CLOCK_ISO(r->error_at)),
		  JW_STR("message", r->error));
}

static void receiver_put_gap(const struct receiver *r, struct jw *w)
{
	uint64_t from, to;

	if (!spool_gap(r->spool, &from, &to))
		return;
	jw_object(w, "gap", JW_UINT("from", from), JW_UINT("to", to));
}

void receiver_put_status(const struct receiver *r, struct jw *w)
{
	struct spool_counts c;

	spool_count(r->spool, &c);
	jw_obj(w, NULL);
	jw_str(w, "id", r->who.id);
	jw_str(w, "host", r->who.host);
	jw_str(w, "state", !r->who.url ? "unknown" : r->gone ? "gone" : "active");
	jw_uint(w, "pending", c.waiting);
	jw_uint(w, "bytes", c.bytes);
	receiver_put_error(r, w);
	receiver_put_gap(r, w);
	if (c.damaged)
		jw_uint(w, "damaged", c.damaged);
	if (c.error)
		jw_str(w, "diskError", strerror(-c.error));
	jw_end_obj(w);
}

void receiver_count(const struct receiver *r, struct receiver_totals *add)
{
	struct spool_counts c;

	spool_count(r->spool, &c);
	add->sent += r->sent;
	add->failed += r->failed;
	add->dropped += c.dropped;
	add->waiting += c.waiting;
	add->bytes += c.bytes;
	add->unwritten += c.error != 0;
}
