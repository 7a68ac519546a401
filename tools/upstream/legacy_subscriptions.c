/*
 * legacy_subscriptions.c - subscriptions/listen at a legacy server: shared subscriptions of
 * resources, and list_changed.
 *
 * Several listens share one resources/subscribe for each URI; the last one unsubscribes. A listen
 * is acknowledged when all of its subscriptions were answered, with the granted ones only, and gets
 * no notification before. A new HTTP session of the server needs all subscriptions again.
 */
#include "base/limits.h"
#include "json/json.h"
#include "tools/upstream/upstream_legacy_internal.h"

enum legacy_watch_state { WATCH_ASKED, WATCH_SUBSCRIBED, WATCH_REFUSED };

/* A resource that the server tells changes of, for any number of listens. */
struct legacy_watch {
	struct list link;
	struct legacy *l;
	char *uri;
	unsigned users;
	enum legacy_watch_state state;
	struct upstream_rpc_request rq;
};

struct legacy_subscription {
	struct list link;
	struct legacy *l;
	struct upstream_call *c;
	bool tools, prompts, resources, acknowledged;
	struct legacy_watch **watched;
	size_t n;
	struct loop_task task;
};

/* --- the answer: what is granted ---------------------------------------------------------------------------- */

static bool all_answered(const struct legacy_subscription *li)
{
	for (size_t i = 0; i < li->n; i++)
		if (li->watched[i]->state == WATCH_ASKED)
			return false;
	return true;
}

/* Sends what is granted, first of all notifications of this listen. */
static void acknowledge(void *ctx)
{
	JW_BUF(w, b);
	struct legacy_subscription *li = ctx;

	li->acknowledged = true;
	jw_obj(&w, NULL);
	jw_obj(&w, "notifications");
	if (li->tools)
		jw_bool(&w, "toolsListChanged", true);
	if (li->prompts)
		jw_bool(&w, "promptsListChanged", true);
	if (li->resources)
		jw_bool(&w, "resourcesListChanged", true);
	if (li->n)
		jw_arr(&w, "resourceSubscriptions");
	for (size_t i = 0; i < li->n; i++)
		if (li->watched[i]->state == WATCH_SUBSCRIBED)
			jw_str(&w, NULL, li->watched[i]->uri);
	if (li->n)
		jw_end_arr(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	mcp_call_notify(&li->c->base, "notifications/subscriptions/acknowledged", buf_slice(&b));
}

/* From the loop, since the listen may still be in the call that begins it. */
static void acknowledge_if_answered(struct legacy_subscription *li)
{
	if (!li->acknowledged && all_answered(li))
		loop_defer(li->l->u->loop, &li->task, acknowledge, li);
}

/* --- resources -------------------------------------------------------------------------------------------- */

static void put_uri(struct buf *b, const char *uri)
{
	struct jw w = JW(b);

	jw_object(&w, NULL, JW_STR("uri", uri));
}

static void watch_answered(void *ctx, struct slice result _unused_, struct slice error)
{
	struct legacy_watch *wa = ctx;

	wa->state = error.n ? WATCH_REFUSED : WATCH_SUBSCRIBED;
	list_each(li, &wa->l->listens, struct legacy_subscription, link)
		acknowledge_if_answered(li);
}

/* Returns the watch with one more user. A watch that was refused stays so for new users, too. */
static struct legacy_watch *watch_get(struct legacy *l, const char *uri)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct legacy_watch *wa;

	list_each(old, &l->watched, struct legacy_watch, link) {
		if (strcmp(old->uri, uri) == 0) {
			old->users++;
			return old;
		}
	}
	wa = new0(struct legacy_watch);
	*wa = (struct legacy_watch){ .l = l, .uri = xstrdup(uri), .users = 1 };
	wa->rq = (struct upstream_rpc_request){ .reply = watch_answered, .ctx = wa };
	list_add_tail(&l->watched, &wa->link);
	put_uri(&b, uri);
	upstream_rpc_call(&l->u->rpc, &wa->rq, "resources/subscribe", buf_slice(&b));
	return wa;
}

static void watch_free(struct legacy_watch *wa)
{
	upstream_rpc_forget(&wa->rq);
	list_del(&wa->link);
	free_each(wa->uri, wa);
}

/* Drops one user. is_up: the server is connected, and gets resources/unsubscribe after the last
 * one. */
static void watch_put(struct legacy_watch *wa, bool is_up)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (--wa->users)
		return;
	put_uri(&b, wa->uri);
	if (is_up && wa->state != WATCH_REFUSED)
		legacy_request_background(wa->l, "resources/unsubscribe", buf_slice(&b));
	watch_free(wa);
}

void legacy_subscription_again(struct legacy *l)
{
	list_each(wa, &l->watched, struct legacy_watch, link) {
		_cleanup_(buf_done) struct buf b = { 0 };

		/* One in WATCH_ASKED has a request of its own, which is still open. */
		if (wa->state != WATCH_SUBSCRIBED)
			continue;
		put_uri(&b, wa->uri);
		legacy_request_background(l, "resources/subscribe", buf_slice(&b));
	}
}

void legacy_subscription_done(struct legacy *l)
{
	list_each(wa, &l->watched, struct legacy_watch, link)
		watch_free(wa);
}

/* --- listens ---------------------------------------------------------------------------------------------- */

/* -EINVAL: not strings, or too many. */
static int watch_all(struct legacy_subscription *li, struct jval uris)
{
	if (uris.type == J_NONE || uris.type == J_NULL)
		return 0;
	if (uris.type != J_ARRAY)
		return -EINVAL;
	li->watched = xalloc(MCP_WATCH_MAX * sizeof(*li->watched));
	jarr_each(v, uris) {
		_cleanup_(freep) char *uri = NULL;

		if (li->n == MCP_WATCH_MAX || jstr_decode(v, PATH_BYTES_MAX * 2, &uri) < 0)
			return -EINVAL;
		/* A server without the capability would refuse each one; the acknowledgement
		 * just leaves them out. */
		if (li->l->subscribe)
			li->watched[li->n++] = watch_get(li->l, uri);
	}
	return 0;
}

void legacy_subscription_begin(struct legacy *l, struct upstream_call *c, struct slice params)
{
	struct jval filter = jobj_get(params, "notifications");
	struct legacy_subscription *li = new0(struct legacy_subscription);
	struct err e;

	*li = (struct legacy_subscription){ .l = l, .c = c };
	li->tools = l->tools_changed && jobj_is_true(filter.raw, "toolsListChanged");
	li->prompts = l->prompts_changed && jobj_is_true(filter.raw, "promptsListChanged");
	li->resources = l->resources_changed && jobj_is_true(filter.raw, "resourcesListChanged");
	list_add_tail(&l->listens, &li->link);
	c->listen = li;
	if (filter.type == J_OBJECT &&
	    watch_all(li, jobj_get(filter.raw, "resourceSubscriptions")) == 0) {
		acknowledge_if_answered(li);
		return;
	}
	legacy_subscription_end(c, true);
	err_field(&e,
		  filter.type == J_OBJECT ? "notifications.resourceSubscriptions" : "notifications",
		  "PARAMS_INVALID", "notifications: not a filter of subscriptions/listen");
	upstream_call_refuse(c, &e);
}

void legacy_subscription_end(struct upstream_call *c, bool is_up)
{
	struct legacy_subscription *li = TAKE_PTR(c->listen);

	for (size_t i = 0; i < li->n; i++)
		watch_put(li->watched[i], is_up);
	loop_task_cancel(&li->task);
	list_del(&li->link);
	free_each(li->watched, li);
}

/* --- what changed ----------------------------------------------------------------------------------------- */

/* A server may name what is below the resource that was subscribed to. */
static bool legacy_watch_is_within(struct slice uri, const char *watched)
{
	size_t n = strlen(watched);

	if (!slice_starts(uri, watched))
		return false;
	return uri.n == n || (n && watched[n - 1] == '/') || strchr("/?#", uri.p[n]);
}

static bool watches(const struct legacy_subscription *li, struct slice uri)
{
	for (size_t i = 0; i < li->n; i++)
		if (legacy_watch_is_within(uri, li->watched[i]->uri))
			return true;
	return false;
}

static bool concerns(const struct legacy_subscription *li, const char *method, const char *uri)
{
	if (strcmp(method, "notifications/tools/list_changed") == 0)
		return li->tools;
	if (strcmp(method, "notifications/prompts/list_changed") == 0)
		return li->prompts;
	if (strcmp(method, "notifications/resources/list_changed") == 0)
		return li->resources;
	return uri && watches(li, slice_of(uri));
}

void legacy_subscription_notified(struct legacy *l, const char *method, struct slice params)
{
	_cleanup_(freep) char *uri = NULL;

	jstr_decode(jobj_get(params, "uri"), PATH_BYTES_MAX * 2, &uri);
	list_each(li, &l->listens, struct legacy_subscription, link)
		if (li->acknowledged && concerns(li, method, uri))
			mcp_call_notify(&li->c->base, method, params);
}
