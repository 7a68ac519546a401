/*
 * agui.c - serves POST /v1/agui/{harness}: checks the head, reads the body, and starts the run as
 * the reply's stream.
 *
 * A request that is refused before agui_run_begin gets an HTTP error; later errors are events of
 * the stream. The profile is read here only to refuse early; its text can contain keys and is
 * wiped. The grant is referenced while the body arrives: if the token is revoked in that time, the
 * answer is 401. AGUI_RUNS_MAX and AGUI_BODY_MAX bound the memory of runs.
 */
#include "agui/agui.h"

#include "agui/agui_run.h"
#include "base/limits.h"
#include "base/log.h"
#include "http/request_parts.h"
#include "json/jstr.h"

#include <errno.h>

struct agui *agui_new(const struct agui_config *cfg)
{
	struct agui *a = new0(struct agui);

	a->loop = cfg->loop;
	a->store = cfg->store;
	a->acp = cfg->acp;
	a->profiles = xstrdup(cfg->profiles);
	a->threads = agui_threads_new(cfg->state, cfg->store);
	list_init(&a->links);
	return a;
}

struct agui *agui_free(struct agui *a)
{
	if (!a)
		return NULL;
	/* Links refer to threads and save them, so they are freed first. */
	while (!list_empty(&a->links))
		agui_link_free(list_first(&a->links, struct agui_link, link));
	agui_threads_free(a->threads);
	free_each(a->profiles, a);
	return NULL;
}

/* --- the request ---------------------------------------------------------------------------------------------------- */

/* The body of a request, and then its run. */
struct agui_ask {
	struct http_sink base;
	struct agui_run *run; /* NULL: it is the answer's */
	struct grant_hold hold;
	bool over; /* its token is */
	bool too_large;
};

static enum http_take run_request_take(struct http_sink *base, struct slice piece)
{
	struct agui_ask *k = container_of(base, struct agui_ask, base);

	k->too_large = buf_add_slice(&k->run->body, piece) < 0;
	return k->too_large ? HTTP_TAKE_ANSWER : HTTP_TAKE_MORE;
}

static enum http_take run_request_end(struct http_sink *base _unused_)
{
	return HTTP_TAKE_ANSWER;
}

static void run_request_answer(struct http_sink *base, struct http_reply *ret)
{
	struct agui_ask *k = container_of(base, struct agui_ask, base);
	struct err e = { 0 };

	if (k->too_large || k->over) {
		http_reply_error(ret, k->over ? 401 : 413,
				 k->over ? "UNAUTHORIZED" : "BODY_TOO_LARGE",
				 k->over ? "the token is over" : "the body is too large");
		return;
	}
	/* In place: halves of surrogate pairs are repaired. Bytes that are not UTF-8 remain an error. */
	jstr_repair_halves(k->run->body.data + k->run->body.pos, buf_len(&k->run->body));
	if (agui_input_parse(buf_slice(&k->run->body), &k->run->in, &e) < 0) {
		http_reply_err(ret, 400, &e);
		return;
	}
	agui_run_begin(k->run, k->hold.grant);
	ret->content_type = "text/event-stream";
	http_reply_header(ret, "Cache-Control:", "no-cache");
	ret->stream = &TAKE_PTR(k->run)->base;
}

static void run_request_free(struct http_sink *base)
{
	struct agui_ask *k = container_of(base, struct agui_ask, base);

	if (k->run)
		agui_run_free(k->run);
	grant_let_go(&k->hold);
	free(k);
}

static void on_run_request_cut(void *ctx, const char *why _unused_)
{
	struct agui_ask *k = ctx;

	grant_let_go(&k->hold);
	k->over = true;
}

static int check_run_head(const struct agui *a, const struct http_request *rq, const char *harness,
			  struct http_reply *ret)
{
	if (!route_accepts(rq->content_type, "application/json"))
		http_reply_error(ret, 415, "CONTENT_TYPE_UNSUPPORTED",
				 "Content-Type must be application/json");
	else if (!acp_server_harness(a->acp, harness))
		http_reply_error(ret, 404, "HARNESS_UNKNOWN", "there is no such harness");
	else if (a->runs >= AGUI_RUNS_MAX)
		http_reply_error(ret, 503, "TOO_MANY_RUNS", "too many runs are open");
	else
		return 0;
	return -EINVAL;
}

static int check_profile(const struct agui *a, const char *profile, struct http_reply *ret)
{
	_cleanup_(secret_buf_done) struct buf text = { 0 };
	struct err e = { 0 };
	int r = profile ? agui_profile_read(a->profiles, profile, &text, &e) : 0;

	if (r < 0)
		http_reply_err(ret, r == -EINVAL && *e.field ? 404 : 500, &e);
	return r;
}

void agui_ask(void *ctx, const struct http_request *rq, struct slice harness, struct slice profile,
	      struct http_reply *ret)
{
	static const struct http_sink_ops ops = { run_request_take, run_request_end,
						  run_request_end, run_request_answer,
						  run_request_free };
	_cleanup_(freep) char *id = xstrndup(harness.p, harness.n),
			      *name = profile.n ? xstrndup(profile.p, profile.n) : NULL;
	struct agui *a = ctx;
	struct agui_ask *k;

	if (check_run_head(a, rq, id, ret) < 0 || check_profile(a, name, ret) < 0)
		return;
	k = new0(struct agui_ask);
	k->base.ops = &ops;
	/* The run counts against AGUI_RUNS_MAX from here on, while its body arrives. */
	k->run = agui_run_new(a);
	agui_run_trace(k->run, rq->traceparent, rq->tracestate);
	/* Without an id until the body has been read (find_run_thread). */
	k->run->thread = agui_thread_add(a->threads, NULL, id, name);
	grant_keep(&k->hold, rq->grant, on_run_request_cut, k);
	ret->sink = &k->base;
}
