/*
 * session_model.c - opens the listener of a session whose model calls go through the daemon.
 *
 * The harness gets the listener's address and key in place of the provider's (session_model_provider), so it never
 * has the provider's key. The listener is in the session's network namespace if it has one, otherwise on the
 * daemon's loopback. It lives as long as the harness: session_model_open runs before the start,
 * session_model_close after the end. When the provider changes, only the allowed paths of the listener follow.
 */
#include "session/core/session_internal.h"

#include "fetcher/fetcher.h"
#include "session/parts/model/session_model_internal.h"
#include "proc/spaces/netns.h"

#include <sys/socket.h>

/* Only direct calls need acpd-fetch, and only a key needs locked memory. */
int session_model_check_way(const struct session *s, const struct harness_provider *p, bool keyed,
			    const char *field, struct err *e)
{
	_cleanup_(freep) char *program = p->via == PROVIDER_DIRECT ? fetcher_program() : NULL;

	if (p->via == PROVIDER_DIRECT && program && keyed)
		return fetcher_check_keys(s->store->fetcher, field, e);
	if (p->via != PROVIDER_DIRECT || program)
		return 0;
	return err_field(e, field, "FETCH_UNAVAILABLE",
			 "acpd-fetch is not installed: let the client make the calls (tunnel), or "
			 "expose the key (environment)");
}

/* Inside the network namespace of the session, if it has one. */
static int find_reach(const struct session *s, struct model_reach *ret, struct err *e)
{
	struct netns *netns = session_bounds(s).netns;

	*ret = (struct model_reach){ .socket = -1,
				     .one_user = s->user.switched,
				     .uid = s->user.uid };
	if (!netns)
		return 0;
	ret->socket = netns_socket(netns, AF_INET, SOCK_STREAM);
	return ret->socket >= 0 ?
		       0 :
		       err_set(e, ret->socket, RPC_INTERNAL_ERROR, "MODEL_LISTENER_FAILED",
			       "no socket for the session's model calls: %s",
			       strerror(-ret->socket));
}

/* Of the provider or of one of its fallbacks. */
static bool has_key(const struct session *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->setup.keys.of); i++)
		if (s->setup.keys.of[i])
			return true;
	return false;
}

int session_model_open(struct session *s, struct err *e)
{
	const struct harness_provider *p = &s->setup.gateway;
	struct model_reach reach;
	int r;

	if (!s->setup.provider || p->via == PROVIDER_ENVIRONMENT || model_of(s)->listener)
		return 0;
	r = session_model_check_way(s, p, has_key(s), "_meta.acpd.provider.via", e);
	if (r == 0)
		r = find_reach(s, &reach, e);
	if (r < 0)
		return r;
	model_of(s)->listener = model_listener_new(&store_model_of(s->store)->listeners, &reach,
						   (enum model_api)model_api_find(p->api),
						   &provider_call_listener_ops, s, e);
	if (!model_of(s)->listener)
		return -EADDRNOTAVAIL;
	model_listener_allow(model_of(s)->listener, p->paths);
	return 0;
}

static void allow_paths(struct session *s)
{
	if (model_of(s)->listener)
		model_listener_allow(model_of(s)->listener, s->setup.gateway.paths);
}

/* The harness is gone, or could not be started. The listener first: its end ends the calls, and call_record_close requires
 * that none is open. */
static void session_model_close(struct session *s)
{
	model_of(s)->listener = model_listener_free(model_of(s)->listener);
	call_record_close(s);
	loop_task_cancel(&model_of(s)->review);
	direct_drop_keys(s);
}

bool session_is_metered(const struct session *s)
{
	return s->setup.provider && s->setup.gateway.via != PROVIDER_ENVIRONMENT;
}

/* What the harness is given instead of the session's provider: ret, or NULL for none. ret borrows. */
static const struct harness_provider *session_model_provider(const struct session *s,
							     struct harness_provider *ret)
{
	if (!s->setup.provider)
		return NULL;
	*ret = s->setup.gateway;
	if (model_of(s)->listener) {
		const struct model_place *at = model_listener_place(model_of(s)->listener);

		/* The members are not const, but readers do not change them: ret borrows. */
		ret->base_url = (char *)at->url;
		ret->key = (char *)at->key;
		ret->headers = SLICE_NONE; /* for the provider */
	}
	return ret;
}

/* Without a provider the harness can still have a key of one in its environment, and clients are to see that. */
void session_put_provider(struct jw *w, const struct session *s)
{
	enum harness_via via = s->setup.gateway.via;
	bool exposed = provider_key_in_env(s);

	if (!s->setup.provider && (s->setup.needs_provider || !exposed))
		return;
	jw_obj(w, "provider");
	jw_str(w, "via", harness_via_name(via));
	jw_bool(w, "keyExposed", via == PROVIDER_ENVIRONMENT || exposed);
	if (model_of(s)->listener)
		jw_bool(w, "callerChecked",
			model_listener_place(model_of(s)->listener)->checks_caller);
	jw_end_obj(w);
}

static bool has_calls(const struct session *s)
{
	return !list_empty((struct list *)&model_of(s)->calls);
}

/* Calls that wait for a taker or a budget count too. */
static void put_calls_work(const struct session *s, struct store_work *ret)
{
	list_each(c, (struct list *)&model_of(s)->calls, struct provider_call, link)
		ret->model_calls++;
}

static int open_models(struct session_store *st, const struct store_config *cfg _unused_,
		       struct err *e _unused_)
{
	store_model_of(st)->listeners.loop = st->loop;
	return 0;
}

static void free_models(struct session_store *st)
{
	model_listeners_done(&store_model_of(st)->listeners);
}

static void put_model_totals(const struct session_store *st, struct store_totals *ret)
{
	const struct store_model *m = store_model_of(st);

	ret->model.calls = m->listeners.calls;
	for (int i = 0; i < MODEL_REFUSAL_MAX; i++)
		ret->model.refused[i] = m->listeners.refused[i];
	ret->model.asked_again = m->asked_again;
	ret->model.dropped = m->strays;
}

static void create_model(struct session *s)
{
	list_init(&model_of(s)->takers);
	list_init(&model_of(s)->calls);
}

/* Calls first: a call that ends notifies its taker, which must still exist. */
static void drop_model(struct session *s)
{
	session_model_close(s);
	takers_drop(s);
}

static void free_model(struct session *s)
{
	call_rate_done(&model_of(s)->rate);
	call_rate_done(&model_of(s)->logged);
}

static void put_model_request(const struct session *s, struct harness_request *r)
{
	r->of.provider = session_model_provider(s, &r->provider);
	if (model_of(s)->listener)
		r->model_host = model_listener_place(model_of(s)->listener)->host;
}

const struct session_part model_part = {
	.name = "model",
	.size = sizeof(struct session_model),
	.create = create_model,
	.setup_changed = allow_paths,
	.forget_keys = direct_drop_keys,
	.put_status = session_put_provider,
	.drop = drop_model,
	.free = free_model,
	.store_size = sizeof(struct store_model),
	.store_open = open_models,
	.store_free = free_models,
	.store_totals = put_model_totals,
	.is_working = has_calls,
	.put_work = put_calls_work,
	.connect = session_model_open,
	.disconnect = session_model_close,
	.put_request = put_model_request,
	.meters_calls = session_is_metered,
	.turn_left = calls_leave_turn,
};
