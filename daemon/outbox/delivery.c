/*
 * delivery.c - one request to a receiver: its body, its signature, and what its answer means.
 *
 * The body is encoded again for each attempt, from the spool, and signed with the time of the attempt. A status decides, and
 * an answer that is too long or late counts by the status that it had. 410 disables the receiver.
 */
#include "outbox/receiver_internal.h"

#include "base/clock.h"
#include "base/os/sandbox.h"
#include "digest/base64.h"
#include "digest/digest.h"
#include "json/jenc.h"
#include "json/jenc.h"

#define STATUS_GONE 410

/* --- what it says ----------------------------------------------------------------------------------------- */

static void put_envelope(struct jw *w, struct slice type, uint64_t time_ms)
{
	jw_obj(w, NULL);
	jw_slice(w, "type", type);
	jw_str(w, "timestamp", CLOCK_ISO(time_ms));
	jw_obj(w, "data");
}

static void end_envelope(struct jw *w)
{
	jw_end_obj(w);
	jw_end_obj(w);
}

static int delivery_put_event(const struct receiver *r, const struct spooled *x, struct buf *body,
			      char **id)
{
	_cleanup_(buf_done) struct buf line = { 0 };
	struct spool_record e;
	struct jval data;
	struct jw w = JW(body);
	int error = spool_read(r->spool, x, &line, &e);

	if (error < 0)
		return error;
	if (jscan_value(e.data, &data) != JSCAN_OK || data.type != J_OBJECT)
		return -EBADMSG;
	put_envelope(&w, e.type, e.time_ms);
	jw_uint(&w, "number", e.n);
	jw_members(&w, data.raw, "number");
	end_envelope(&w);
	*id = xstrndup(e.id.p, e.id.n);
	return body->failed ? -ENOMEM : 0;
}

static int delivery_put_gap(const struct receiver *r, uint64_t from, uint64_t to, struct buf *body,
			    char **id)
{
	struct jw w = JW(body);

	put_envelope(&w, SLICE(WEBHOOK_GAP), clock_real_ms());
	jw_uint(&w, "from", from);
	jw_uint(&w, "to", to);
	jw_str(&w, "sandboxId", sandbox_id());
	end_envelope(&w);
	/* The id depends on the range only: a receiver recognizes the same report when it is sent again. */
	*id = xstrdup(SHORT_TEXT(64, "gap_%s_%llu_%llu", spool_id(r->spool),
				 (unsigned long long)from, (unsigned long long)to));
	return body->failed ? -ENOMEM : 0;
}

static int delivery_put_message(struct delivery *d, struct buf *body, char **id)
{
	uint64_t from;

	if (d->event)
		return delivery_put_event(d->receiver, d->event, body, id);
	spool_gap(d->receiver->spool, &from, &d->gap_to);
	return delivery_put_gap(d->receiver, from, d->gap_to, body, id);
}

/* --- its headers: signed as Standard Webhooks has it: v1,base64(HMAC-SHA256(secret, id.timestamp.body)) --------------------- */

static void put_signed(struct buf *b, const struct webhook_message *m)
{
	buf_printf(b, "%s.%llu.", m->id, (unsigned long long)m->time_secs);
	buf_add_slice(b, m->body);
}

/* A signature for each secret, separated by spaces: receivers can rotate their secret without a failure. */
static int put_signatures(struct buf *b, const struct webhook *w, const struct webhook_message *m)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	int r = 0;

	put_signed(&text, m);
	for (size_t i = 0; r == 0 && i < w->nsecrets; i++) {
		struct sha256 d;

		hmac_sha256(locked_text_slice(w->secrets[i]), buf_slice(&text), &d);
		buf_puts(b, i ? " v1," : "v1,");
		r = base64_encode((struct slice){ (const char *)d.bytes, sizeof(d.bytes) }, b);
	}
	return text.failed || b->failed ? -ENOMEM : r;
}

int webhook_headers_put(struct buf *b, const struct webhook *w, const struct webhook_message *m)
{
	_cleanup_(buf_done) struct buf signatures = { 0 };
	struct jw out = JW(b);
	int r = put_signatures(&signatures, w, m);

	if (r < 0)
		return r;
	jw_obj(&out, NULL);
	jw_str(&out, "content-type", "application/json");
	jw_user_agent(&out);
	jw_str(&out, "webhook-id", m->id);
	jw_str(&out, "webhook-timestamp", NUMBER_TEXT(m->time_secs));
	jw_slice(&out, "webhook-signature", buf_slice(&signatures));
	jw_end_obj(&out);
	return b->failed ? -ENOMEM : 0;
}

/* --- what its answer means -------------------------------------------------------------------------------- */

static void delivery_finish(struct delivery *d, const char *why)
{
	if (d->status >= 200 && d->status < 300) {
		receiver_delivered(d);
		return;
	}
	/* Without a status no answer arrived, and `why` is the cause. */
	d->receiver->gone = d->receiver->gone || d->status == STATUS_GONE;
	receiver_failed(d, d->status ? SHORT_TEXT(64, "it answered %d", d->status) : why);
}

static void on_delivery_head(void *ctx, int status, struct slice headers)
{
	struct delivery *d = ctx;

	d->status = status;
	if (status == 429 || status == 503)
		d->retry_after_ms = fetch_retry_after(headers, WEBHOOK_RETRY_AFTER_MAX_MS);
}

static void on_delivery_data(void *ctx, struct slice bytes)
{
	struct delivery *d = ctx;

	d->body += bytes.n;
	/* Nothing reads the body, so its bytes are acknowledged at once. */
	fetch_taken(d->fetch, bytes.n);
	if (d->body > WEBHOOK_ANSWER_MAX)
		delivery_finish(d, "");
}

static void on_delivery_end(void *ctx, enum fetch_end how _unused_, const char *why)
{
	delivery_finish(ctx, why);
}

static void on_delivery_time(void *ctx)
{
	delivery_finish(ctx, "it did not answer in time");
}

/* --- the request ------------------------------------------------------------------------------------------ */

static int send_message(struct delivery *d, struct err *e)
{
	static const struct fetch_ops ops = { on_delivery_head, on_delivery_data, on_delivery_end };
	struct receiver *r = d->receiver;
	_cleanup_(buf_done) struct buf body = { 0 }, headers = { 0 };
	_cleanup_(freep) char *id = NULL;
	struct webhook_message m;
	int error = delivery_put_message(d, &body, &id);

	if (error == 0) {
		m = (struct webhook_message){ id, clock_real_ms() / 1000, buf_slice(&body) };
		error = webhook_headers_put(&headers, &r->who, &m);
	}
	if (error < 0)
		return err_set(e, error, 0, "WEBHOOK_UNREADABLE", "it cannot be read from disk: %s",
			       strerror(-error));
	d->fetch = fetch_open(r->cfg.fetcher,
			      &(struct fetch_request){ .method = "POST",
						       .url = locked_text_str(r->who.url),
						       .headers = buf_slice(&headers),
						       .body = buf_slice(&body),
						       .idle_ms = WEBHOOK_ATTEMPT_MS },
			      &ops, d, e);
	return d->fetch ? 0 : -EAGAIN;
}

void delivery_begin(struct receiver *r, struct lane *lane)
{
	struct delivery *d = new0(struct delivery);
	struct spooled *x = lane_first(lane);
	struct err e = { 0 };
	int error;

	d->receiver = r;
	d->lane = lane;
	d->event = x;
	list_add_tail(&r->deliveries, &d->link);
	r->ndeliveries++;
	/* idle_ms of the request limits silence only; the timer limits the whole attempt. */
	loop_timer_set(r->cfg.loop, &d->timer, WEBHOOK_ATTEMPT_MS, on_delivery_time, d);
	error = send_message(d, &e);
	if (error == 0)
		return;
	/* A damaged record can never be sent; other errors may pass. */
	if (error == -EBADMSG && x)
		spool_drop(r->spool, x);
	receiver_failed(d, e.msg);
}

void delivery_drop(struct delivery *d)
{
	loop_timer_cancel(&d->timer);
	d->fetch = fetch_close(d->fetch);
	list_del(&d->link);
	d->receiver->ndeliveries--;
	free(d);
}
