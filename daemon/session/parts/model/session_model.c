/* session_model.c - opens the listener of a session whose model calls go through the daemon. */
#include "session/core/session_internal.h"

#include "fetcher/fetcher.h"
#include "session/core/session_part.h"

#include <errno.h>
#include <sys/socket.h>

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
	*ret = (struct model_reach){ .socket = -1,
				     .one_user = s->user.switched,
				     .uid = s->user.uid };
	if (!s->network.netns)
		return 0;
	ret->socket = netns_socket(s->network.netns, AF_INET, SOCK_STREAM);
	return ret->socket >= 0 ?
		       0 :
		       err_set(e, ret->socket, RPC_INTERNAL_ERROR, "MODEL_LISTENER_FAILED",
			       "no socket for the session's model calls: %s",
			       strerror(-ret->socket));
}

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

	if (!s->setup.provider || p->via == PROVIDER_ENVIRONMENT || s->model.listener)
		return 0;
	r = session_model_check_way(s, p, has_key(s), "_meta.acpd.provider.via", e);
	if (r == 0)
		r = find_reach(s, &reach, e);
	if (r < 0)
		return r;
	s->model.listener = model_listener_new(&s->store->model.listeners, &reach,
					       (enum model_api)model_api_find(p->api),
					       &provider_call_listener_ops, s, e);
	if (!s->model.listener)
		return -EADDRNOTAVAIL;
	model_listener_allow(s->model.listener, p->paths);
	return 0;
}

static void allow_paths(struct session *s)
{
	if (s->model.listener)
		model_listener_allow(s->model.listener, s->setup.gateway.paths);
}

void session_model_close(struct session *s)
{
	s->model.listener = model_listener_free(s->model.listener);
	call_record_close(s);
	loop_task_cancel(&s->model.review);
	direct_drop_keys(s);
}

bool session_metered(const struct session *s)
{
	return s->setup.provider && s->setup.gateway.via != PROVIDER_ENVIRONMENT;
}

const struct harness_provider *session_model_provider(const struct session *s,
						      struct harness_provider *ret)
{
	if (!s->setup.provider)
		return NULL;
	*ret = s->setup.gateway;
	if (s->model.listener) {
		ret->base_url = (char *)model_listener_url(s->model.listener);
		ret->key = (char *)model_listener_key(s->model.listener);
		ret->headers = SLICE_NONE; /* for the provider */
	}
	return ret;
}

void session_put_provider(struct jw *w, const struct session *s)
{
	enum harness_via via = s->setup.gateway.via;
	bool exposed = provider_key_in_env(s);

	if (!s->setup.provider && (s->setup.needs_provider || !exposed))
		return;
	jw_obj(w, "provider");
	jw_str(w, "via", harness_via_name(via));
	jw_bool(w, "keyExposed", via == PROVIDER_ENVIRONMENT || exposed);
	if (s->model.listener)
		jw_bool(w, "callerChecked", model_listener_checks_caller(s->model.listener));
	jw_end_obj(w);
}

void session_model_totals(const struct store_model *m, struct store_totals *ret)
{
	ret->model.calls = m->listeners.calls;
	for (int i = 0; i < MODEL_REFUSAL_MAX; i++)
		ret->model.refused[i] = m->listeners.refused[i];
	ret->model.asked_again = m->asked_again;
	ret->model.dropped = m->strays;
}

static void create_model(struct session *s)
{
	list_init(&s->model.takers);
	list_init(&s->model.calls);
}

static void drop_model(struct session *s)
{
	session_model_close(s);
	takers_drop(s);
}

static void free_model(struct session *s)
{
	call_rate_done(&s->model.rate);
	call_rate_done(&s->model.logged);
}

const struct session_part model_part = {
	.name = "model",
	.create = create_model,
	.setup_changed = allow_paths,
	.forget_keys = direct_drop_keys,
	.put_status = session_put_provider,
	.drop = drop_model,
	.free = free_model,
};
