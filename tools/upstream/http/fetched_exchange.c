/*
 * fetched_exchange.c - an HTTP exchange by acpd-fetch with the interface of http_exchange.c.
 *
 * The request arrives as HTTP/1.1 text and is split into method, URL, headers and body; libcurl
 * writes the framing headers itself. Headers may hold secrets, so both forms of them are wiped. A
 * failure to open is reported from the loop, and close defers the free, because the owner may close
 * inside any callback.
 */
#include "tools/upstream/http/http_exchange.h"

#include "base/limits.h"
#include "base/util.h"
#include "fetcher/fetcher.h"
#include "fetcher/wire/fetch_frame.h"
#include "json/jenc.h"

struct fetched_exchange {
	struct loop *loop;
	const struct http_exchange_ops *ops;
	void *ctx;
	struct fetch *fetch;
	struct err why; /* it could not be opened */
	struct loop_task task, free_task;
	bool closed;
};

/* --- the request ---------------------------------------------------------------------------------------------- */

/* What frames a message is libcurl's. */
static bool fetched_exchange_is_framing(struct slice name)
{
	return http_word_is(name, "host") || http_word_is(name, "connection") ||
	       http_word_is(name, "content-length");
}

static void fetched_exchange_put_headers(struct buf *json, struct slice lines)
{
	struct slice line, name, value;
	struct jw w = JW(json);

	jw_obj(&w, NULL);
	while (http_line_next(&lines, &line)) {
		_cleanup_(freep) char *key = NULL;

		if (!http_field_split(line, &name, &value) || fetched_exchange_is_framing(name))
			continue;
		key = xstrndup(name.p, name.n);
		jw_lead_key(&w, key);
		jw_slice(&w, NULL, value);
	}
	jw_end_obj(&w);
}

static void fetched_exchange_fetch(struct fetched_exchange *x, const struct http_route *route,
				   struct slice request, const struct fetch_ops *ops)
{
	_cleanup_(secret_buf_done) struct buf headers = { 0 };
	_cleanup_(buf_done) struct buf url = { 0 };
	ssize_t end = http_lines_end(request, request.n);
	struct slice lines = { request.p, end > 0 ? (size_t)end : 0 }, first = SLICE_NONE;
	_cleanup_(freep) char *method = NULL;
	size_t n;

	http_line_next(&lines, &first); /* "POST /path HTTP/1.1" */
	n = first.n ? strcspn(first.p, " ") : 0;
	method = xstrndup(first.p, n);
	fetched_exchange_put_headers(&headers, lines);
	buf_printf(&url, "%s://%s%s", route->secure ? "https" : "http", route->authority,
		   route->path);
	buf_putc(&url, '\0');
	x->fetch = fetch_open(route->fetcher,
			      &(struct fetch_request){
				      .method = method,
				      .url = url.data,
				      .headers = buf_slice(&headers),
				      .body = { request.p + end + 2, request.n - (size_t)end - 2 },
				      .named = route->named,
				      .idle_ms = FETCH_IDLE_MAX_MS },
			      ops, x, &x->why);
}

/* --- the answer ----------------------------------------------------------------------------------------------- */

static void fetched_exchange_on_head(void *ctx, int status, struct slice headers)
{
	_cleanup_(buf_done) struct buf lines = { 0 };
	struct fetched_exchange *x = ctx;
	struct fetch_headers h;
	struct http_head head = { .status = status };

	fetch_headers_begin(&h, headers);
	while (fetch_headers_next(&h) > 0)
		buf_printf(&lines, "%s: %s\r\n", h.name, h.value);
	fetch_headers_done(&h);
	head.fields = buf_slice(&lines);
	x->ops->head(x->ctx, &head);
}

static void fetched_exchange_on_data(void *ctx, struct slice bytes)
{
	struct fetched_exchange *x = ctx;

	x->ops->data(x->ctx, bytes);
	/* The owner may have closed the exchange in its callback, and the fetch with it. */
	if (!x->closed)
		fetch_taken(x->fetch, bytes.n);
}

static void fetched_exchange_on_end(void *ctx, enum fetch_end how, const char *why)
{
	static const enum http_exchange_end ends[FETCH_END_MAX] = {
		[FETCH_COMPLETE] = HTTP_EXCHANGE_COMPLETE,
		[FETCH_REFUSED] = HTTP_EXCHANGE_UNREACHABLE,
		[FETCH_UNREACHABLE] = HTTP_EXCHANGE_UNREACHABLE,
		[FETCH_CUT] = HTTP_EXCHANGE_CUT,
		[FETCH_SILENT] = HTTP_EXCHANGE_CUT,
		[FETCH_GONE] = HTTP_EXCHANGE_CUT,
		[FETCH_UNAVAILABLE] = HTTP_EXCHANGE_UNREACHABLE,
		[FETCH_NO_LOCK] = HTTP_EXCHANGE_UNREACHABLE,
	};
	struct fetched_exchange *x = ctx;

	x->ops->end(x->ctx, ends[how], how == FETCH_COMPLETE ? NULL : why);
}

static const struct fetch_ops fetch_ops = { fetched_exchange_on_head, fetched_exchange_on_data,
					    fetched_exchange_on_end };

static void not_opened(void *ctx)
{
	struct fetched_exchange *x = ctx;

	x->ops->end(x->ctx, HTTP_EXCHANGE_UNREACHABLE, x->why.msg);
}

/* --- life ----------------------------------------------------------------------------------------------------- */

struct fetched_exchange *fetched_exchange_open(struct loop *loop, const struct http_route *route,
					       struct buf *request,
					       const struct http_exchange_ops *ops, void *ctx)
{
	struct fetched_exchange *x = new0(struct fetched_exchange);

	x->loop = loop;
	x->ops = ops;
	x->ctx = ctx;
	fetched_exchange_fetch(x, route, buf_slice(request), &fetch_ops);
	/* Consumed as by http_exchange_open, and wiped, because its headers may hold secrets. */
	secret_buf_done(request);
	if (!x->fetch)
		loop_defer(loop, &x->task, not_opened, x);
	return x;
}

struct fetched_exchange *fetched_exchange_close(struct fetched_exchange *x)
{
	if (!x || x->closed)
		return NULL;
	x->closed = true;
	x->fetch = fetch_close(x->fetch);
	loop_task_cancel(&x->task);
	loop_defer(x->loop, &x->free_task, free, x);
	return NULL;
}
