/* front_subscriptions.c - resources/subscribe and list_changed of a legacy client, over one subscriptions/listen
 * upstream.
 *
 * When the set of wanted changes changes, a new stream is requested. The old one goes on until the new one is
 * acknowledged, so that nothing is missed in between; resources/subscribe is answered then, too. A stream that ends by
 * itself is requested again, at growing intervals. Once it is back, the client is notified to read the lists again. */
#include "json/json.h"
#include "tools/mcp/mcp_front_internal.h"

/* A resource that the client has subscribed to. Raw text goes upstream; decoded text is
 * compared, since a client may encode it in another way later. */
struct watched_resource {
	struct list link;
	char *raw; /* as the client wrote it */
	char *uri;
};

static const struct list_kind {
	const char *group, *member, *notification;
} list_kinds[] = {
	{ "tools", "toolsListChanged", "notifications/tools/list_changed" },
	{ "prompts", "promptsListChanged", "notifications/prompts/list_changed" },
	{ "resources", "resourcesListChanged", "notifications/resources/list_changed" },
};

static void front_stream_open(void *ctx);

static bool wants_list(const struct mcp_front *f, const struct list_kind *k)
{
	return f->listen.wants_lists && front_legacy_server_can(f, k->group, "listChanged");
}

/* --- watches --- */

static struct watched_resource *find_watch(const struct front_subscriptions *l, struct jval uri)
{
	list_each(w, (struct list *)&l->watches, struct watched_resource, link)
		if (jstr_is(uri, w->uri))
			return w;
	return NULL;
}

static void drop_watch(struct front_subscriptions *l, struct watched_resource *w)
{
	list_del(&w->link);
	l->watching--;
	free_each(w->raw, w->uri, w);
}

static void add_watch(struct front_subscriptions *l, struct slice raw, char *uri)
{
	struct watched_resource *w = new0(struct watched_resource);

	w->raw = xstrndup(raw.p, raw.n);
	w->uri = uri;
	list_add_tail(&l->watches, &w->link);
	l->watching++;
}

/* Several changes in one turn of the loop count as one. */
static void front_subscriptions_change(struct mcp_front *f)
{
	f->listen.wanted++;
	loop_defer(f->loop, &f->listen.change, front_stream_open, f);
}

static struct jval uri_of(const char *raw)
{
	return (struct jval){ J_STRING, slice_of(raw) };
}

static void front_watch_forget(struct mcp_front *f, struct jval uri)
{
	struct watched_resource *w = find_watch(&f->listen, uri);

	if (!w)
		return;
	drop_watch(&f->listen, w);
	front_subscriptions_change(f);
}

void front_subscriptions_forget(struct mcp_front *f, const char *uri)
{
	front_watch_forget(f, uri_of(uri));
}

/* --- requests that wait for a subscription --- */

static void refuse_waiting(struct front_request *x, struct slice error)
{
	/* First, because front_request_error frees the request, and the params with it. */
	front_subscriptions_forget(x->front, x->params);
	front_request_error(x, error);
}

/* Refuses the requests that wait for changes up to `upto`. Later ones wait for the next
 * stream. */
static void refuse_all(struct mcp_front *f, unsigned upto, struct slice error)
{
	list_each(x, &f->open, struct front_request, link)
		if (x->change && x->change <= upto)
			refuse_waiting(x, error);
}

/* A server acknowledges what it has accepted; without a list, it has accepted all. */
static bool front_subscriptions_accepted(struct slice acknowledged, struct jval uri)
{
	struct jval taken = jobj_get(acknowledged, "notifications");
	_cleanup_(freep) char *plain = NULL;

	if (taken.type != J_OBJECT)
		return true;
	if (jstr_decode(uri, MCP_URI_MAX, &plain) < 0)
		return false;
	jarr_each(v, jobj_get(taken.raw, "resourceSubscriptions"))
		if (jstr_is(v, plain))
			return true;
	return false;
}

static void front_subscriptions_answer(struct mcp_front *f, unsigned upto,
				       struct slice acknowledged)
{
	_cleanup_(buf_done) struct buf refusal = { 0 };
	struct err e;

	err_field(&e, "params.uri", "SUBSCRIPTION_REFUSED",
		  "the server does not send updates of this resource");
	mcp_put_error(&refusal, &e, SLICE_NONE);
	list_each(x, &f->open, struct front_request, link) {
		if (!x->change || x->change > upto)
			continue;
		if (front_subscriptions_accepted(acknowledged, uri_of(x->params)))
			front_request_result(x, SLICE("{}"));
		else
			refuse_waiting(x, buf_slice(&refusal));
	}
}

/* --- streams --- */

/* Cancels the call if it is open. Sends nothing to the client. */
static struct front_stream *front_stream_free(struct front_stream *s)
{
	if (!s)
		return NULL;
	if (s->call)
		mcp_call_cancel(s->call);
	loop_timer_cancel(&s->patience);
	free(s);
	return NULL;
}

/* Doubles the interval with each try, from MCP_LISTEN_RETRY_MS to MCP_LISTEN_RETRY_MAX_MS. */
static void retry_later(struct mcp_front *f)
{
	struct front_subscriptions *l = &f->listen;
	uint64_t ms = (uint64_t)MCP_LISTEN_RETRY_MS << MIN(l->tries, 16u);

	l->tries++;
	loop_timer_set(f->loop, &l->retry, MIN(ms, MCP_LISTEN_RETRY_MAX_MS), front_stream_open, f);
}

/* After a stream has ended, or is acknowledged: requests the changes wanted since. */
static void list_changed(struct mcp_front *f, unsigned covered)
{
	struct front_subscriptions *l = &f->listen;

	if (l->wanted != covered)
		loop_defer(f->loop, &l->change, front_stream_open, f);
	else if (l->lost)
		retry_later(f);
}

/* Changes while no stream was live are unknown, so the client must read every list that it
 * follows. */
static void announce_lists(struct mcp_front *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(list_kinds); i++)
		if (wants_list(f, &list_kinds[i]))
			front_notify(f, list_kinds[i].notification, SLICE_NONE, SLICE_NONE);
}

/* True if the server acknowledged an empty set. It may end such a stream, and a retry would
 * only repeat that. */
static bool takes_nothing(struct slice acknowledgement)
{
	struct jval taken = jobj_get(acknowledgement, "notifications");

	return taken.type == J_OBJECT && !jobj_has_members(taken);
}

static void acknowledged(struct front_stream *s, struct slice params)
{
	struct mcp_front *f = s->front;
	struct front_subscriptions *l = &f->listen;
	bool was_lost = l->lost;

	loop_timer_cancel(&s->patience);
	s->idle = takes_nothing(params);
	front_stream_free(l->live);
	l->live = TAKE_PTR(l->next);
	l->lost = false;
	l->tries = 0;
	front_subscriptions_answer(f, s->covers, params);
	if (was_lost)
		announce_lists(f);
	list_changed(f, s->covers);
}

/* A list_changed or resources/updated, without the members for the upstream side. */
static void front_stream_on_notify(void *ctx, const char *method, struct slice params)
{
	static const char *const tag[] = { MCP_META_SUBSCRIPTION, NULL };
	_cleanup_(buf_done) struct buf b = { 0 };
	struct front_stream *s = ctx;
	bool live = s == s->front->listen.live;

	if (strcmp(method, "notifications/subscriptions/acknowledged") == 0) {
		if (!live)
			acknowledged(s, params);
		return;
	}
	if (!live) /* before its acknowledgement: not allowed */
		return;
	mcp_meta_strip(&b, params, tag);
	if (slice_is(buf_slice(&b), "{}"))
		buf_done(&b);
	front_notify(s->front, method, buf_slice(&b), SLICE_NONE);
}

/* Ends a stream that was never acknowledged. The live one, if any, stays: it still delivers
 * what was accepted before. */
static void front_stream_failed(struct front_stream *s, struct slice error)
{
	struct mcp_front *f = s->front;
	unsigned covers = s->covers;

	refuse_all(f, covers, error);
	f->listen.next = front_stream_free(s);
	list_changed(f, f->listen.lost ? f->listen.wanted : covers);
}

static void front_stream_on_done(void *ctx, struct slice result _unused_, struct slice error)
{
	struct front_stream *s = ctx;
	struct mcp_front *f = s->front;

	/* The call has ended, so front_stream_free must not cancel it. */
	s->call = NULL;
	if (s == f->listen.next) {
		front_stream_failed(
			s, error.n ? error :
				     SLICE("{\"code\":-32603,\"message\":\"the server ended the "
					   "subscription\"}"));
		return;
	}
	f->listen.lost = !s->idle;
	f->listen.live = front_stream_free(s);
	if (f->listen.lost && !f->listen.next)
		retry_later(f);
}

static void on_impatient(void *ctx)
{
	front_stream_failed(
		ctx,
		SLICE("{\"code\":-32603,\"message\":\"the server has not taken the subscription in "
		      "time\",\"data\":{\"reason\":\"LISTEN_TIMEOUT\"}}"));
}

static const struct mcp_reply_ops replies = { .notify = front_stream_on_notify,
					      .done = front_stream_on_done };

static bool put_filter(const struct mcp_front *f, struct buf *out)
{
	const struct front_subscriptions *l = &f->listen;
	struct jw w = JW(out);
	bool any = l->watching > 0;

	jw_obj(&w, NULL);
	jw_obj(&w, "notifications");
	for (size_t i = 0; i < ARRAY_SIZE(list_kinds); i++) {
		if (!wants_list(f, &list_kinds[i]))
			continue;
		jw_bool(&w, list_kinds[i].member, true);
		any = true;
	}
	if (l->watching) {
		jw_arr(&w, "resourceSubscriptions");
		list_each(watch, (struct list *)&l->watches, struct watched_resource, link)
			jw_raw(&w, NULL, slice_of(watch->raw));
		jw_end_arr(&w);
	}
	jw_end_obj(&w);
	jw_end_obj(&w);
	return any;
}

static struct front_stream *front_stream_new(struct mcp_front *f, struct slice filter)
{
	_cleanup_(buf_done) struct buf members = { 0 }, params = { 0 };
	struct front_stream *s = new0(struct front_stream);

	s->front = f;
	/* The filter is of this moment. Later changes are above this number, and need another
	 * stream. */
	s->covers = f->listen.wanted;
	front_legacy_members(f, &members);
	mcp_meta_merge(&params, filter, buf_slice(&members));
	loop_timer_set(f->loop, &s->patience, MCP_LISTEN_ACK_MS, on_impatient, s);
	s->call = mcp_backend_call(f->backend, "subscriptions/listen", buf_slice(&params), &replies,
				   s);
	return s;
}

static void front_stream_open(void *ctx)
{
	_cleanup_(buf_done) struct buf filter = { 0 };
	struct mcp_front *f = ctx;
	struct front_subscriptions *l = &f->listen;

	if (l->next) /* again when that one is acknowledged */
		return;
	loop_timer_cancel(&l->retry);
	if (put_filter(f, &filter)) {
		l->next = front_stream_new(f, buf_slice(&filter));
		return;
	}
	l->live = front_stream_free(l->live);
	l->lost = false;
}

/* --- what the client sends --- */

void front_subscriptions_lists(struct mcp_front *f)
{
	if (f->listen.wants_lists || !f->server_capabilities)
		return;
	f->listen.wants_lists = true;
	front_subscriptions_change(f);
}

/* The uri of params, decoded; NULL: it is answered. */
static char *take_uri(struct front_request *x, const struct rpc_msg *m, struct jval *raw)
{
	char *uri = NULL;
	struct err e;

	if (!front_legacy_server_can(x->front, "resources", "subscribe")) {
		err_set(&e, -EINVAL, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND",
			"%s is not a method of this server", m->method);
		front_request_refuse(x, &e, SLICE_NONE);
		return NULL;
	}
	*raw = jobj_get(m->params, "uri");
	if (jstr_decode(*raw, MCP_URI_MAX, &uri) == 0)
		return uri;
	err_field(&e, "params.uri", "URI_INVALID",
		  "params.uri must be a string of at most %d bytes", MCP_URI_MAX);
	front_request_refuse(x, &e, SLICE_NONE);
	return NULL;
}

void front_subscriptions_subscribe(struct front_request *x, const struct rpc_msg *m)
{
	struct front_subscriptions *l = &x->front->listen;
	_cleanup_(freep) char *uri = NULL;
	struct jval raw;
	struct err e;

	uri = take_uri(x, m, &raw);
	if (!uri)
		return;
	/* The server has acknowledged this resource already, and no change is under way. */
	if (find_watch(l, raw) && l->live && l->live->covers == l->wanted) {
		front_request_result(x, SLICE("{}"));
		return;
	}
	if (l->watching >= MCP_WATCH_MAX) {
		err_set(&e, -EBUSY, RPC_INTERNAL_ERROR, "TOO_MANY_SUBSCRIPTIONS",
			"this client has %u subscriptions", l->watching);
		front_request_refuse(x, &e, SLICE_NONE);
		return;
	}
	if (front_request_keep(x, raw.raw, &e) < 0) {
		front_request_refuse(x, &e, SLICE_NONE);
		return;
	}
	if (!find_watch(l, raw))
		add_watch(l, raw.raw, TAKE_PTR(uri));
	front_subscriptions_change(x->front);
	/* The number after the change: only a stream that covers it answers this request. */
	x->change = l->wanted;
}

void front_subscriptions_unsubscribe(struct front_request *x, const struct rpc_msg *m)
{
	_cleanup_(freep) char *uri = NULL;
	struct jval raw;

	uri = take_uri(x, m, &raw);
	if (!uri)
		return;
	/* Answered at once: at worst the server sends an update that no client wants. */
	front_watch_forget(x->front, raw);
	front_request_result(x, SLICE("{}"));
}

/* --- life --- */

void front_subscriptions_init(struct mcp_front *f)
{
	list_init(&f->listen.watches);
}

void front_subscriptions_done(struct mcp_front *f)
{
	struct front_subscriptions *l = &f->listen;

	front_stream_free(l->live);
	front_stream_free(l->next);
	loop_timer_cancel(&l->retry);
	loop_task_cancel(&l->change);
	list_each(w, &l->watches, struct watched_resource, link)
		drop_watch(l, w);
}
