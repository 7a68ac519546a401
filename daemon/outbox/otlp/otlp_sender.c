/*
 * otlp_sender.c - the queue and the request of one signal: batches, retries, and counters.
 *
 * The first on_way records of the queue are the batch of the current request. They are removed when
 * its outcome is known, so a retry sends them again. A signal has one request at a time. otlp_sender_run() is
 * deferred or called by a timer, so no caller waits and no callback starts a request itself. The
 * queue is bounded by queue_max and OTLP_QUEUE_BYTES; new records are dropped and counted above
 * that.
 */
#include "outbox/otlp/otlp_sender.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "json/jenc.h"
#include "outbox/otlp/otlp_body.h"

struct waiting {
	struct list link;
	size_t n;
	char bytes[];
};

struct otlp_sender {
	struct otlp_sender_config cfg;
	struct list queue; /* struct waiting, oldest first; the first of them may be on their way */
	size_t n, bytes, on_way;
	bool held, now,
		told; /* now: without a delay; told: the log has it that nothing gets through */
	uint64_t due; /* of the batch; 0: none is due */
	uint64_t retry_at, wait_ms;
	unsigned streak;
	struct loop_timer timer, deadline;
	struct loop_task task;
	struct fetch *fetch;
	int status;
	uint64_t retry_after_ms;
	struct buf answer;
	struct otlp_counts counts;
};

/* --- what waits -------------------------------------------------------------------------------------------- */

static void otlp_sender_drop_first(struct otlp_sender *s)
{
	struct waiting *w = list_first(&s->queue, struct waiting, link);

	list_del(&w->link);
	s->n--;
	s->bytes -= w->n;
	free(w);
}

static void drop_batch(struct otlp_sender *s)
{
	for (; s->on_way; s->on_way--)
		otlp_sender_drop_first(s);
}

static void otlp_sender_run(void *ctx);

static void otlp_sender_schedule(struct otlp_sender *s)
{
	loop_defer(s->cfg.loop, &s->task, otlp_sender_run, s);
}

void otlp_sender_add(struct otlp_sender *s, struct slice record)
{
	struct waiting *w;

	if (s->n >= s->cfg.to->queue_max || s->bytes + record.n > OTLP_QUEUE_BYTES) {
		otlp_sender_lose(s);
		return;
	}
	w = xalloc(sizeof(*w) + record.n);
	w->n = record.n;
	memcpy(w->bytes, record.p, record.n);
	list_add_tail(&s->queue, &w->link);
	s->n++;
	s->bytes += record.n;
	/* The delay counts from the first record of a batch: a steady flow does not postpone it. */
	if (!s->due)
		s->due = clock_mono_ms() + s->cfg.to->delay_ms;
	otlp_sender_schedule(s);
}

void otlp_sender_lose(struct otlp_sender *s)
{
	s->counts.dropped++;
}

/* --- outcomes ---------------------------------------------------------------------------------------------- */

static void otlp_sender_end_request(struct otlp_sender *s)
{
	loop_timer_cancel(&s->deadline);
	s->fetch = fetch_close(s->fetch);
	otlp_sender_schedule(s);
}

static void otlp_sender_warn(struct otlp_sender *s, const char *msg, const char *text)
{
	log_warn("otlp", msg, "signal", otlp_signal_words[s->cfg.signal], "host", s->cfg.to->host,
		 "text", text);
}

/* What the receiver says of it is its own text: short, and a line. */
static void take_rejected(struct otlp_sender *s)
{
	struct slice message;
	uint64_t n = otlp_answer_rejected(buf_slice(&s->answer), s->cfg.to->json, &message);
	char text[160];

	if (!n)
		return;
	s->counts.rejected += MIN(n, s->on_way);
	s->counts.sent -= MIN(n, s->on_way);
	snprintf(text, sizeof(text), "%.*s", (int)MIN(message.n, sizeof(text) - 1), message.p);
	err_flatten(text);
	otlp_sender_warn(s, "a receiver of telemetry has rejected a part", text);
}

static void otlp_batch_taken(struct otlp_sender *s)
{
	s->counts.sent += s->on_way;
	/* Before drop_batch, which sets on_way to 0: rejected records move from `sent` to `rejected`. */
	take_rejected(s);
	drop_batch(s);
	if (s->told)
		log_info("otlp", "a receiver of telemetry takes it again", "signal",
			 otlp_signal_words[s->cfg.signal], "host", s->cfg.to->host);
	s->told = false;
	s->streak = 0;
	s->retry_at = s->wait_ms = 0;
	otlp_sender_end_request(s);
}

/* It gets the same again, or nothing of it any more. */
static void otlp_batch_failed(struct otlp_sender *s, bool again, const char *why)
{
	s->counts.failed++;
	s->streak++;
	if (!s->told)
		otlp_sender_warn(s, "a receiver of telemetry does not take it", why);
	s->told = true;
	s->wait_ms = jitter_next(s->wait_ms, OTLP_RETRY_MS, OTLP_RETRY_MAX_MS);
	s->retry_at = clock_mono_ms() + MAX(s->wait_ms, s->retry_after_ms);
	if (!again) {
		s->counts.dropped += s->on_way;
		drop_batch(s);
	}
	/* Records that are to be sent again stay at the head of the queue. */
	s->on_way = 0;
	otlp_sender_end_request(s);
}

/* The statuses that OTLP/HTTP defines as retryable. */
static bool is_retryable(int status)
{
	return status == 429 || (status >= 502 && status <= 504);
}

static void otlp_sender_finish(struct otlp_sender *s, const char *why)
{
	const char *text = SHORT_TEXT(64, "it answered %d", s->status);

	if (s->status >= 200 && s->status < 300)
		otlp_batch_taken(s);
	else
		otlp_batch_failed(s, !s->status || is_retryable(s->status), s->status ? text : why);
}

/* --- callbacks --------------------------------------------------------------------------------------------- */

static void on_otlp_sender_head(void *ctx, int status, struct slice headers)
{
	struct otlp_sender *s = ctx;

	s->status = status;
	if (is_retryable(status))
		s->retry_after_ms = fetch_retry_after(headers, OTLP_RETRY_AFTER_MAX_MS);
}

static void on_otlp_sender_data(void *ctx, struct slice bytes)
{
	struct otlp_sender *s = ctx;

	fetch_taken(s->fetch, bytes.n);
	if (buf_len(&s->answer) + bytes.n > OTLP_ANSWER_MAX)
		otlp_batch_failed(s, is_retryable(s->status), "its answer is too long");
	else
		buf_add_slice(&s->answer, bytes);
}

/* A batch whose answer broke off has been taken, or not: it is not sent twice. */
static void on_otlp_sender_end(void *ctx, enum fetch_end how _unused_, const char *why)
{
	otlp_sender_finish(ctx, why);
}

/* A status that has arrived counts, as where the answer broke off. */
static void on_otlp_sender_deadline(void *ctx)
{
	otlp_sender_finish(ctx, "it did not answer in time");
}

/* --- requests ---------------------------------------------------------------------------------------------- */

static void otlp_sender_put_headers(const struct otlp_sender *s, struct buf *b)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "content-type", s->cfg.to->json ? "application/json" : "application/x-protobuf");
	if (s->cfg.to->gzip)
		jw_str(&w, "content-encoding", "gzip");
	jw_user_agent(&w);
	if (s->cfg.to->headers)
		jw_members(&w, locked_text_slice(s->cfg.to->headers), NULL);
	jw_end_obj(&w);
}

/* The oldest, up to a batch; it holds them until it is known what became of them. */
static void make_body(struct otlp_sender *s, struct buf *body)
{
	_cleanup_(freep) struct slice *records = NULL;
	size_t n = 0, bytes = 0, max = MIN(s->n, s->cfg.to->batch_max);

	records = xalloc((max + 1) * sizeof(*records));
	list_each(w, &s->queue, struct waiting, link) {
		/* At least one record, even if it is larger than a batch. */
		if (n == max || (n && bytes + w->n > OTLP_BATCH_BYTES))
			break;
		records[n++] = (struct slice){ w->bytes, w->n };
		bytes += w->n;
	}
	s->on_way = n;
	s->cfg.wrap(s->cfg.ctx, s->cfg.signal, records, n, body);
}

static int otlp_sender_open_request(struct otlp_sender *s, struct err *e)
{
	static const struct fetch_ops ops = { on_otlp_sender_head, on_otlp_sender_data,
					      on_otlp_sender_end };
	_cleanup_(buf_done) struct buf body = { 0 }, packed = { 0 };
	_cleanup_(secret_buf_done) struct buf headers = { 0 };
	struct fetch_request rq = { .method = "POST",
				    .url = s->cfg.to->url,
				    .named = true,
				    .idle_ms = s->cfg.to->timeout_ms };

	make_body(s, &body);
	if (s->cfg.to->gzip && otlp_gzip(buf_slice(&body), &packed) < 0)
		return err_set(e, -ENOMEM, 0, "OTLP", "it cannot be compressed");
	otlp_sender_put_headers(s, &headers);
	rq.body = buf_slice(s->cfg.to->gzip ? &packed : &body);
	rq.headers = buf_slice(&headers);
	s->fetch = fetch_open(s->cfg.fetcher, &rq, &ops, s, e);
	return s->fetch ? 0 : -EAGAIN;
}

static void begin_request(struct otlp_sender *s)
{
	struct err e = { 0 };

	s->status = 0;
	s->retry_after_ms = 0;
	buf_reset(&s->answer);
	s->due = 0;
	/* idle_ms of the request limits silence only; the deadline limits the whole request. */
	loop_timer_set(s->cfg.loop, &s->deadline, s->cfg.to->timeout_ms, on_otlp_sender_deadline,
		       s);
	if (otlp_sender_open_request(s, &e) < 0)
		otlp_batch_failed(s, true, e.msg);
}

/* When something may be sent; 0: now. */
static uint64_t due_at(const struct otlp_sender *s)
{
	/* Also for a flush: it does not shorten the back-off. */
	if (s->retry_at)
		return s->retry_at;
	return s->now || s->n >= s->cfg.to->batch_max || s->bytes >= OTLP_BATCH_BYTES ? 0 : s->due;
}

static void otlp_sender_run(void *ctx)
{
	struct otlp_sender *s = ctx;
	uint64_t now = clock_mono_ms(), at = due_at(s);

	if (!s->n)
		s->now = false;
	if (s->fetch || s->held || !s->n)
		return;
	if (at > now)
		loop_timer_set(s->cfg.loop, &s->timer, at - now, otlp_sender_run, s);
	else
		begin_request(s);
}

/* --- its life ---------------------------------------------------------------------------------------------- */

struct otlp_sender *otlp_sender_new(const struct otlp_sender_config *cfg)
{
	struct otlp_sender *s = new0(struct otlp_sender);

	s->cfg = *cfg;
	list_init(&s->queue);
	return s;
}

struct otlp_sender *otlp_sender_free(struct otlp_sender *s)
{
	if (!s)
		return NULL;
	otlp_sender_clear(s);
	loop_timer_cancel(&s->timer);
	loop_task_cancel(&s->task);
	buf_done(&s->answer);
	free(s);
	return NULL;
}

void otlp_sender_hold(struct otlp_sender *s, bool held)
{
	s->held = held;
	if (held)
		return;
	s->retry_at = s->wait_ms = 0;
	otlp_sender_schedule(s);
}

void otlp_sender_flush(struct otlp_sender *s)
{
	s->now = true;
	otlp_sender_schedule(s);
}

void otlp_sender_clear(struct otlp_sender *s)
{
	loop_timer_cancel(&s->deadline);
	s->fetch = fetch_close(s->fetch);
	s->on_way = 0;
	s->counts.dropped += s->n;
	while (s->n)
		otlp_sender_drop_first(s);
	s->due = s->retry_at = 0;
}

bool otlp_sender_busy(const struct otlp_sender *s)
{
	return !s->streak && !s->held && s->n;
}

void otlp_sender_count(const struct otlp_sender *s, struct otlp_counts *ret)
{
	*ret = s->counts;
	ret->waiting = s->n;
	ret->bytes = s->bytes;
}
