/*
 * model_conn.c - requests of a harness: head, key, path, body; then the call is handed over.
 *
 * The other end is the agent, so every limit is checked before memory is taken: the head's size, the body's, and the sum of
 * all bodies of the daemon. Whether a call may be made is decided by the head, key first. A connection is never freed in
 * a callback of its own: what ends it sets CALL_DEAD, and on_turn frees it from the loop.
 */
#include "model/model_internal.h"

#include "base/limits.h"
#include "base/os/buf_io.h"
#include "json/jstr.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* --- life ------------------------------------------------------------------------------------------------- */

/* Nobody answers it any more; who took it hears of that. */
static void abandon_call(struct model_call *c)
{
	const struct model_call_ops *ops = c->ops;

	c->ops = NULL;
	if (ops)
		ops->gone(c->ctx);
}

static bool has_call(const struct model_call *c)
{
	return c->state == CALL_OPEN || c->state == CALL_ANSWERED;
}

static void set_call_state(struct model_call *c, enum model_call_state state)
{
	/* Both sides of the change are counted here, so no transition can miss it. */
	c->listener->ncalls -= has_call(c);
	c->state = state;
	c->listener->ncalls += has_call(c);
}

static void forget_request(struct model_call *c)
{
	c->listener->all->body_bytes -= c->counted;
	c->counted = 0;
	/* Runs twice for an answered request, at its head and at its end: every field is reset. */
	free_each(TAKE_PTR(c->method), TAKE_PTR(c->path), TAKE_PTR(c->model));
	buf_done(&c->body);
	buf_done(&c->headers);
	c->body = (struct buf){ .max = MODEL_BODY_MAX };
	c->request = (struct model_request){ 0 };
}

void model_conn_free(struct model_call *c)
{
	/* first: who took the call has slices of the request that is freed below */
	abandon_call(c);
	set_call_state(c, CALL_DEAD);
	forget_request(c);
	loop_io_close(c->listener->all->loop, &c->io);
	loop_timer_cancel(&c->timer);
	loop_task_cancel(&c->task);
	/* each request names the key */
	secret_buf_done(&c->in);
	buf_done(&c->out);
	list_del(&c->link);
	c->listener->nconns--;
	free(c);
}

/* What may not be done inside a callback of the connection, or of who takes its calls. */
static void on_turn(void *ctx)
{
	struct model_call *c = ctx;
	size_t taken = c->taken;

	/* Reset before the callbacks: bytes that they send are for the next turn of the loop. */
	c->taken = 0;
	/* Dead first: a connection that closed in this turn of the loop is not handed over. */
	if (c->state == CALL_DEAD)
		model_conn_free(c);
	else if (c->whole) {
		c->whole = false;
		c->listener->ops->call(c->listener->ctx, c);
	} else if (taken && c->ops)
		c->ops->taken(c->ctx, taken);
}

void model_conn_defer(struct model_call *c)
{
	loop_defer(c->listener->all->loop, &c->task, on_turn, c);
}

void model_conn_drop(struct model_call *c)
{
	if (c->state == CALL_DEAD)
		return;
	set_call_state(c, CALL_DEAD);
	loop_io_set(c->listener->all->loop, &c->io, 0);
	loop_timer_cancel(&c->timer);
	model_conn_defer(c);
}

static void on_call_silent(void *ctx)
{
	model_conn_drop(ctx);
}

void model_conn_limit(struct model_call *c, uint64_t ms)
{
	loop_timer_set(c->listener->all->loop, &c->timer, ms, on_call_silent, c);
}

/* Time for what is to come in this state. A call may take as long as it takes; one that ends has its time already. */
static void set_call_timer(struct model_call *c)
{
	bool between = c->state == CALL_HEAD && !buf_len(&c->in);

	if (has_call(c))
		loop_timer_cancel(&c->timer);
	else if (c->state != CALL_LAST)
		model_conn_limit(c, between ? MODEL_IDLE_MS : BODY_STALL_SECS * 1000ul);
}

void model_conn_watch(struct model_call *c)
{
	uint32_t events = EPOLLRDHUP;

	if (c->state == CALL_DEAD)
		return;
	/* A next request waits in the socket while a call is open. EPOLLRDHUP still reports a cancelled call. */
	if (!has_call(c))
		events |= EPOLLIN;
	if (buf_len(&c->out))
		events |= EPOLLOUT;
	loop_io_set(c->listener->all->loop, &c->io, events);
	set_call_timer(c);
}

/* --- what passes ------------------------------------------------------------------------------------------ */

static bool is_listener_key(const struct model_listener *g, struct slice text)
{
	struct sha256 have;

	/* Digests are compared: timing reveals nothing of the key. */
	return sha256_of(text, &have) == 0 && sha256_equal(&have, &g->digest);
}

/* Where the harnesses of today put their key. */
static bool request_has_key(const struct model_call *c, const struct http_request_head *r)
{
	static const struct {
		const char *name, *prefix;
	} places[] = { { "authorization", "Bearer " },
		       { "x-api-key", "" },
		       { "x-goog-api-key", "" } };
	struct slice v;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (http_field_find(r->fields, places[i].name, &v) &&
		    slice_skip(&v, places[i].prefix) && is_listener_key(c->listener, v))
			return true;
	return false;
}

static bool too_many_calls(const struct model_call *c)
{
	const struct model_listener *g = c->listener;

	return g->ncalls >= g->ops->terms(g->ctx).calls_max;
}

static bool request_has_body(const struct http_request_head *r)
{
	return r->body.chunked || r->body.length;
}

/* MODEL_REFUSAL_MAX: it may pass. */
static enum model_refusal check_request_head(const struct model_call *c,
					     const struct http_request_head *r, struct slice *path)
{
	struct slice v;

	*path = r->target;
	/* First, so that nobody else can probe which calls the session may make. */
	if (c->stranger || !request_has_key(c, r))
		return MODEL_KEY_WRONG;
	if (http_field_find(r->fields, "upgrade", &v))
		return MODEL_UPGRADE;
	if (!slice_skip(path, MODEL_PREFIX) ||
	    !model_path_passes(c->listener->api, slice_of(c->listener->paths), r->method, *path))
		return MODEL_PATH_NOT_ALLOWED;
	/* A chunked body has no length here: keep_body counts it. */
	if (r->body.length > MODEL_BODY_MAX)
		return MODEL_BODY_TOO_LARGE;
	if (slice_is(r->method, "GET") && request_has_body(r))
		return MODEL_REQUEST_INVALID;
	if (too_many_calls(c))
		return MODEL_TOO_MANY_CALLS;
	return MODEL_REFUSAL_MAX;
}

static void take_request_head(struct model_call *c, const struct http_request_head *r,
			      struct slice path)
{
	struct jw w = JW(&c->headers);
	struct slice v;

	c->method = xstrndup(r->method.p, r->method.n);
	c->path = xstrndup(path.p, path.n);
	c->stays = r->stays;
	jw_obj(&w, NULL);
	model_request_headers(c->listener->api, r->fields, &w);
	jw_end_obj(&w);
	http_body_begin_request(&c->body_end, &r->body);
	set_call_state(c, CALL_BODY);
	/* The client waits for this line before it sends the body (RFC 9110, section 10.1.1). */
	if (request_has_body(r) && http_field_find(r->fields, "expect", &v))
		model_answer_write(c, SLICE("HTTP/1.1 100 Continue\r\n\r\n"));
}

/* The model that the body names, and that it is JSON: it travels as text. */
static bool read_body(struct model_call *c)
{
	struct jslot model = { .key = "model" };
	struct slice named = model_of_path(c->listener->api, slice_of(c->path));

	if (!buf_len(&c->body))
		return strcmp(c->method, "GET") == 0;
	if (jscan_object(buf_slice(&c->body), &model, 1) != JSCAN_OK)
		return false;
	/* A model in the path (Google) wins over one in the body. */
	if (named.n)
		c->model = xstrndup(named.p, named.n);
	else if (model.v.type == J_STRING)
		return jstr_decode(model.v, MODEL_NAME_LEN, &c->model) == 0;
	return true;
}

static void hand_call_over(struct model_call *c)
{
	if (buf_len(&c->in)) { /* another request behind it: nobody does that, and it hides things */
		model_answer_refuse(c, MODEL_PATH_NOT_ALLOWED);
		return;
	}
	if (!read_body(c)) {
		model_answer_refuse(c, MODEL_REQUEST_INVALID);
		return;
	}
	if (too_many_calls(c)) { /* others were quicker */
		model_answer_refuse(c, MODEL_TOO_MANY_CALLS);
		return;
	}
	c->request = (struct model_request){ .api = c->listener->api,
					     .method = slice_of(c->method),
					     .path = slice_of(c->path),
					     .headers = buf_slice(&c->headers),
					     .body = buf_slice(&c->body),
					     .model = c->model };
	set_call_state(c, CALL_OPEN);
	c->listener->all->calls++;
	c->whole = true;
	model_conn_defer(c);
}

/* --- reading ---------------------------------------------------------------------------------------------- */

/* False: more has to come, or it was refused. */
static bool feed_head(struct model_call *c)
{
	struct http_request_head r;
	enum model_refusal why = MODEL_REQUEST_INVALID;
	struct slice path;
	ssize_t n;

	n = http_request_parse(buf_slice(&c->in), MODEL_HEAD_MAX, &r);
	if (n == 0)
		return false;
	if (n > 0)
		why = check_request_head(c, &r, &path);
	else if (n == -EMSGSIZE)
		why = MODEL_HEAD_TOO_LARGE;
	if (why != MODEL_REFUSAL_MAX) {
		model_answer_refuse(c, why);
		return false;
	}
	/* Copied before the bytes are consumed: r and path point into them. */
	take_request_head(c, &r, path);
	buf_consume(&c->in, (size_t)n);
	return true;
}

/* MODEL_REFUSAL_MAX: it fits. */
static enum model_refusal keep_body(struct model_call *c, struct slice data)
{
	struct model_listeners *all = c->listener->all;

	if (buf_len(&c->body) + data.n > MODEL_BODY_MAX)
		return MODEL_BODY_TOO_LARGE;
	if (all->body_bytes + data.n > MODEL_BODIES_MAX || buf_add_slice(&c->body, data) < 0)
		return MODEL_NO_MEMORY;
	/* Also counted per connection: forget_request subtracts exactly this sum. */
	all->body_bytes += data.n;
	c->counted += data.n;
	return MODEL_REFUSAL_MAX;
}

static void feed_body(struct model_call *c)
{
	struct slice data;
	enum model_refusal why = MODEL_REFUSAL_MAX;
	int r;

	while (why == MODEL_REFUSAL_MAX && (r = http_body_take(&c->body_end, &c->in, &data)) > 0)
		why = keep_body(c, data);
	if (r < 0)
		why = MODEL_REQUEST_INVALID;
	if (why != MODEL_REFUSAL_MAX)
		model_answer_refuse(c, why);
	else if (http_body_has_ended(&c->body_end))
		hand_call_over(c);
}

static void feed_call(struct model_call *c)
{
	if (c->state == CALL_LAST) { /* dropped */
		buf_reset(&c->in);
		return;
	}
	if (c->state == CALL_HEAD && !feed_head(c))
		return;
	if (c->state == CALL_BODY)
		feed_body(c);
}

/* False: it has ended, or is broken. */
static bool read_call_bytes(struct model_call *c)
{
	ssize_t n = buf_receive(&c->in, c->io.fd, BODY_READ_BYTES);

	return n > 0 || n == -EAGAIN;
}

static void on_call_io(void *ctx, uint32_t events)
{
	struct model_call *c = ctx;
	bool calls = has_call(c);

	/* Written first: a failed write ends the connection, and then nothing may be read. */
	if (events & EPOLLOUT)
		model_answer_flush(c);
	if (c->state == CALL_DEAD)
		return;
	/* a harness that has closed its end of a call has cancelled it: none of them half-closes */
	if ((calls && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))) ||
	    (!calls && (events & ~(uint32_t)EPOLLOUT) && !read_call_bytes(c))) {
		model_conn_drop(c);
		return;
	}
	if (!calls)
		feed_call(c);
	model_conn_watch(c);
}

void model_conn_next(struct model_call *c)
{
	/* First: the call has ended, so nothing more is reported of it. */
	c->ops = NULL;
	forget_request(c);
	set_call_state(c, CALL_HEAD);
	model_conn_watch(c);
}

void model_conn_last(struct model_call *c)
{
	c->ops = NULL;
	forget_request(c);
	set_call_state(c, CALL_LAST);
	/* In this time the harness must read the rest. */
	model_conn_limit(c, MODEL_IDLE_MS);
	model_answer_flush(c);
	model_conn_watch(c);
}

void model_conn_answered(struct model_call *c)
{
	forget_request(c);
	set_call_state(c, CALL_ANSWERED);
}

void model_conn_accept(struct model_listener *g, int fd, bool stranger)
{
	struct model_call *c = new0(struct model_call);
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* tokens come in small pieces */
	c->listener = g;
	/* Accepted all the same, so that the refusal is answered and counted. */
	c->stranger = stranger;
	c->io = (struct loop_io){ .fd = fd, .fn = on_call_io, .ctx = c };
	c->body.max = MODEL_BODY_MAX;
	list_add_tail(&g->conns, &c->link);
	g->nconns++;
	model_conn_watch(c);
}

/* --- for who takes it --------------------------------------------------------------------------------------- */

const struct model_request *model_call_request(const struct model_call *c)
{
	return &c->request;
}

void model_call_follow(struct model_call *c, const struct model_call_ops *ops, void *ctx)
{
	c->ops = ops;
	c->ctx = ctx;
}
