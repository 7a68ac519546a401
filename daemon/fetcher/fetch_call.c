/*
 * fetch_call.c - the requests of the daemon to acpd-fetch: admission, order, window, end.
 *
 * A request is stored at its number modulo FETCHES_MAX, and numbers grow, so a delayed frame of a
 * closed request matches none. The body is a sealed memfd, which acpd-fetch maps. acpd-fetch reads
 * untrusted answers: a frame beyond the window (untaken + owed) or in the wrong state is a breach.
 * Errors of an opened request arrive from the loop, never inside fetch_open.
 */
#include "fetcher/fetcher_internal.h"

#include "base/format/digits.h"
#include "base/http/http_fields.h"
#include "base/os/file.h"
#include "fetcher/wire/fetch_frame.h"
#include "json/jstr.h"

#define TELL_BYTES (FETCH_WINDOW / 4) /* that were taken, until acpd-fetch is told */

/* --- callbacks ------------------------------------------------------------------------------------------------ */

static void fetch_call_end(struct fetch *x, enum fetch_end how, const char *why)
{
	if (x->ended)
		return;
	x->ended = true;
	x->run = NULL;
	loop_task_cancel(&x->task);
	/* Last: the callback can close x, which frees it. */
	x->ops->end(x->ctx, how, why);
}

static void fetch_end_later(void *ctx)
{
	struct fetch *x = ctx;

	fetch_call_end(x, x->verdict.how, x->verdict.why);
}

static void defer_end(struct fetch *x, enum fetch_end how, const char *why)
{
	x->run = NULL;
	x->verdict.how = how;
	snprintf(x->verdict.why, sizeof(x->verdict.why), "%s", why);
	loop_defer(x->fetcher->loop, &x->task, fetch_end_later, x);
}

void fetch_end_all(struct fetcher *f, struct standing_run *run, enum fetch_end how, const char *why)
{
	for (size_t i = 0; i < FETCHES_MAX; i++) {
		struct fetch *x = f->places[i];

		if (x && x->run == run)
			defer_end(x, how, why);
	}
}

static int on_fetch_head(struct fetch *x, struct slice payload)
{
	struct slice headers;
	int status;

	if (x->has_head || fetch_answer_parse(payload, &status, &headers) < 0)
		return -EPROTO;
	x->has_head = true;
	x->ops->head(x->ctx, status, headers);
	return 0;
}

static int on_fetch_data(struct fetch *x, struct slice bytes)
{
	if (!x->has_head || !bytes.n || x->untaken + x->owed + bytes.n > FETCH_WINDOW)
		return -EPROTO;
	/* Before the callback, which may report them as taken at once, or close x. */
	x->untaken += bytes.n;
	x->ops->data(x->ctx, bytes);
	return 0;
}

static int on_fetch_end(struct fetch *x, struct slice payload)
{
	struct fetch_verdict v;

	if (fetch_verdict_parse(payload, &v) < 0 || (v.how == FETCH_COMPLETE && !x->has_head))
		return -EPROTO;
	fetch_call_end(x, v.how, v.why);
	return 0;
}

int fetch_take_frame(void *fetcher, struct standing_run *run, const struct frame *f)
{
	static int (*const takes[FRAME_MAX])(struct fetch * x, struct slice payload) = {
		[FRAME_HEAD] = on_fetch_head, [FRAME_DATA] = on_fetch_data, [FRAME_END] = on_fetch_end
	};
	struct fetch *x = ((struct fetcher *)fetcher)->places[f->number % FETCHES_MAX];

	if (!takes[f->type])
		return -EPROTO;
	/* what was closed meanwhile may still be on its way */
	return x && x->number == f->number && x->run == run ? takes[f->type](x, f->payload) : 0;
}

/* --- opening -------------------------------------------------------------------------------------------------- */

/* Headers that frame a message or belong to one connection: libcurl's own. */
static bool fetch_is_framing(const char *name)
{
	struct slice s = slice_of(name);

	return (s.n > 6 && http_word_is((struct slice){ s.p, 6 }, "proxy-")) ||
	       http_word_among(s, "host content-length transfer-encoding connection upgrade "
				  "keep-alive te trailer expect");
}

static int fetch_check_headers(struct slice headers, struct err *e)
{
	struct fetch_headers h;
	int r = -EINVAL;

	if (headers.n > FETCH_HEAD_MAX)
		return err_field(e, "headers", "PARAM_INVALID", "more than %lu bytes",
				 FETCH_HEAD_MAX);
	if (fetch_headers_begin(&h, headers))
		while ((r = fetch_headers_next(&h)) > 0)
			if (fetch_is_framing(h.name)) {
				r = err_field(e, "headers", "PARAM_INVALID",
					      "%.64s cannot be chosen", h.name);
				fetch_headers_done(&h);
				return r;
			}
	fetch_headers_done(&h);
	return r < 0 ? err_field(e, "headers", "PARAM_INVALID", "not an object of headers") : 0;
}

static int fetch_check(const struct fetch_request *r, struct err *e)
{
	size_t n = strlen(r->url);

	if (!header_name_ok(slice_of(r->method)) || strcmp(r->method, "CONNECT") == 0)
		return err_field(e, "method", "PARAM_INVALID", "not a method");
	if (n > FETCH_URL_MAX || !header_value_ok(r->url))
		return err_field(e, "url", "PARAM_INVALID", "not a url, or longer than %d bytes",
				 FETCH_URL_MAX);
	if (!slice_starts(slice_of(r->url), "http://") &&
	    !slice_starts(slice_of(r->url), "https://"))
		return err_field(e, "url", "PARAM_INVALID", "neither http:// nor https://");
	if (r->body.n > FETCH_BODY_MAX)
		return err_field(e, "body", "BODY_TOO_LARGE", "more than %lu bytes",
				 FETCH_BODY_MAX);
	if (!r->idle_ms || r->idle_ms > FETCH_IDLE_MAX_MS)
		return err_field(e, "idle_ms", "PARAM_INVALID", "not from 1 to %d",
				 FETCH_IDLE_MAX_MS);
	return fetch_check_headers(r->headers, e);
}

static int fetch_check_room(const struct fetcher *f, size_t body, struct err *e)
{
	if (f->nfetches == FETCHES_MAX)
		return err_set(e, -EBUSY, RPC_INTERNAL_ERROR, "TOO_MANY_FETCHES",
			       "%d requests to other machines are open", FETCHES_MAX);
	if (f->body_bytes + body > FETCH_BODIES_MAX)
		return err_set(e, -EBUSY, RPC_INTERNAL_ERROR, "TOO_MANY_FETCHES",
			       "the bodies of the open requests take %zu bytes", f->body_bytes);
	return 0;
}

/* Numbers come in turn, so a frame for one that was closed finds nobody. */
static void take_place(struct fetcher *f, struct fetch *x)
{
	do
		f->last_number++;
	while (f->places[f->last_number % FETCHES_MAX]);
	x->number = f->last_number;
	f->places[x->number % FETCHES_MAX] = x;
	f->nfetches++;
	f->body_bytes += x->body_n;
}

static void send_order(struct fetch *x, const struct fetch_request *r, int body)
{
	struct fetch_order o = { .method = (char *)r->method,
				 .url = (char *)r->url,
				 .headers = r->headers,
				 .key = r->key ? r->key->number : 0,
				 .body = (int64_t)r->body.n,
				 .idle_ms = r->idle_ms,
				 .named = r->named };
	/* Headers of the order may be secrets. */
	_cleanup_(secret_buf_done) struct buf b = { 0 };

	if (r->key)
		fetch_key_give((struct fetch_key *)r->key, x->run);
	fetch_order_put(&b, &o);
	frame_channel_send(&x->run->channel, FRAME_OPEN, x->number, buf_slice(&b), body);
}

struct fetch *fetch_open(struct fetcher *f, const struct fetch_request *r,
			 const struct fetch_ops *ops, void *ctx, struct err *e)
{
	char why[STANDING_WHY_SIZE];
	struct fetch *x;
	int body = -1;

	if (fetch_check(r, e) < 0 || fetch_check_room(f, r->body.n, e) < 0)
		return NULL;
	/* acpd-fetch maps the body: it is copied once, and waits for no socket. */
	if (r->body.n && (body = file_sealed("acpd-body", r->body)) < 0) {
		err_set(e, body, RPC_INTERNAL_ERROR, "NO_MEMORY", "no memory for the body: %s",
			strerror(-body));
		return NULL;
	}
	x = new0(struct fetch);
	*x = (struct fetch){ .fetcher = f, .ops = ops, .ctx = ctx, .body_n = r->body.n };
	take_place(f, x);
	x->run = standing_get(&f->helper, why);
	if (x->run) {
		send_order(x, r, body);
	} else {
		closep(&body);
		defer_end(x, FETCH_UNAVAILABLE, why);
	}
	return x;
}

void fetch_taken(struct fetch *x, size_t n)
{
	uint32_t tell;

	/* A caller that counts too much must not widen the window. */
	n = MIN(n, x->untaken);
	x->untaken -= n;
	x->owed += n;
	if (!x->run || x->owed < TELL_BYTES)
		return;
	tell = (uint32_t)x->owed;
	x->owed = 0;
	frame_channel_send(&x->run->channel, FRAME_TAKEN, x->number,
			   (struct slice){ (const char *)&tell, sizeof(tell) }, -1);
}

struct fetch *fetch_close(struct fetch *x)
{
	struct fetcher *f;

	if (!x)
		return NULL;
	f = x->fetcher;
	if (x->run)
		frame_channel_send(&x->run->channel, FRAME_CLOSE, x->number, SLICE_NONE, -1);
	loop_task_cancel(&x->task);
	f->places[x->number % FETCHES_MAX] = NULL;
	f->nfetches--;
	f->body_bytes -= x->body_n;
	free(x);
	return NULL;
}

uint64_t fetch_retry_after(struct slice headers, uint64_t max_ms)
{
	_cleanup_(freep) char *text = NULL;
	uint64_t secs = 0;

	if (jstr_decode(jobj_get(headers, "retry-after"), 16, &text) == 0)
		u64_parse(slice_of(text), &secs);
	/* Limited in seconds first: the product cannot overflow. A date (RFC 9110, section 10.2.3) counts as 0. */
	return MIN(secs, max_ms / 1000) * 1000;
}
