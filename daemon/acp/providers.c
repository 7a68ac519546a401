/*
 * providers.c - ACP's unstable providers/list, set and disable: the provider of a connection. Its sessions that name none
 * take it, via direct, and those that did follow it at their next call. It goes with the connection.
 */
#include "acp/params.h"

#include "base/limits.h"
#include "fetcher/fetcher.h"

#define PROVIDER_ID "main"

struct conn_provider {
	char *id, *type, *base_url;
	char *headers; /* raw object of strings, or NULL: secrets */
	struct slice headers_given;
};

/* ACP's words for APIs, and ours for what it has none. api NULL: one of OpenAI's, as the harness speaks it. */
static const struct {
	const char *type, *api;
} types[] = {
	{ "anthropic", "anthropic" },	   { "openai", NULL },
	{ "_openai-chat", "openai-chat" }, { "_openai-responses", "openai-responses" },
	{ "_google", "google" },
};

static const struct jfield set_fields[] = {
	JF_STR(struct conn_provider, id, "providerId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct conn_provider, type, "apiType", JF_REQUIRED, 64),
	JF_STR(struct conn_provider, base_url, "baseUrl", JF_REQUIRED | JF_FILLED, 4096),
	JF_OBJ(struct conn_provider, headers_given, "headers", 0),
	JF_END,
};

static const struct jfield id_fields[] = {
	JF_STR(struct conn_provider, id, "providerId", JF_REQUIRED, RPC_ID_MAX),
	JF_END,
};

static struct conn_provider *provider_free(struct conn_provider *p)
{
	if (!p)
		return NULL;
	/* Only this copy: the text of the message is wiped by acp_conn_feed. */
	secret_text_wipe(p->headers);
	free(p->headers);
	jdec_free(set_fields, p);
	free(p);
	return NULL;
}

void conn_drop_provider(struct acp_conn *c)
{
	c->provider = provider_free(c->provider);
}

/* Its calls are made by acpd-fetch. */
static bool can_call(void)
{
	_cleanup_(freep) char *program = fetcher_program();

	return program;
}

void conn_put_providers(struct jw *w)
{
	if (can_call())
		jw_raw(w, "providers", SLICE("{}"));
}

/* --- as the provider of a session ---------------------------------------------------------------------------- */

static const char *api_of(const char *type, const struct harness_def *def)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(types[i].type, type) == 0)
			return types[i].api		? types[i].api :
			       def->caps.responses_only ? "openai-responses" :
							  "openai-chat";
	return NULL;
}

static void put_conn_provider(const struct conn_provider *p, const struct harness_def *def,
			      struct buf *text)
{
	struct jw w = JW(text);

	jw_object(&w, NULL, JW_STR("api", api_of(p->type, def)), JW_STR("via", "direct"),
		  JW_STR("baseUrl", p->base_url), JW_RAW("headers", slice_of(p->headers)));
}

void conn_give_provider(const struct acp_conn *c, const struct harness_def *def,
			struct session_args *a, struct buf *text)
{
	if (!c->provider || setup_given(&a->setup, &provider_parameter))
		return;
	put_conn_provider(c->provider, def, text);
	setup_give(&a->setup, &provider_parameter, (struct jval){ J_OBJECT, buf_slice(text) });
	a->setup.provider_follows = true; /* it is the connection's */
}

/* Those that cannot have it while their harness runs keep what they had: their ids. */
static void tell_sessions(struct acp_conn *c, struct jw *kept)
{
	list_each(v, &c->views, struct view, link) {
		_cleanup_(secret_buf_done) struct buf text = { 0 };
		struct session *s = v->w.session;
		struct err e;

		if (!session_is_open(s) || !session_follows_provider(s))
			continue;
		put_conn_provider(c->provider, session_harness(s), &text);
		if (session_set_provider(s, buf_slice(&text), true, &e) < 0)
			jw_str(kept, NULL, v->session_id);
	}
}

/* --- the methods -------------------------------------------------------------------------------------------------- */

static int check_installed(struct err *e)
{
	return can_call() ? 0 :
			    err_set(e, -ENOSYS, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND",
				    "acpd-fetch is not installed");
}

static int check_id(const struct conn_provider *p, struct err *e)
{
	return strcmp(p->id, PROVIDER_ID) == 0 ?
		       0 :
		       err_field(e, "providerId", "PROVIDER_UNKNOWN",
				 "there is no such provider; there is " PROVIDER_ID);
}

/* As it would be checked for a session of the connection's harness. */
static int check_set(const struct acp_conn *c, const struct conn_provider *p, struct err *e)
{
	_cleanup_(secret_buf_done) struct buf text = { 0 };
	int r = check_id(p, e);

	if (r < 0)
		return r;
	if (!api_of(p->type, c->harness))
		return err_field(e, "apiType", "PROVIDER_API_UNSUPPORTED",
				 "apiType must be anthropic, openai, _openai-chat, "
				 "_openai-responses or _google");
	put_conn_provider(p, c->harness, &text);
	r = provider_check(buf_slice(&text), 0, e);
	if (r < 0)
		err_unprefix(e, "_meta.acpd.provider.");
	return r;
}

static void put_kept(struct jw *w, struct acp_conn *c)
{
	JW_BUF(kept, b);

	jw_arr(&kept, NULL);
	tell_sessions(c, &kept);
	jw_end_arr(&kept);
	/* Only the list is for clients that announced acpd: the sessions have the provider in any case. */
	if (slice_is(buf_slice(&b), "[]") || !(c->client & CLIENT_ACPD))
		return;
	jw_object(w, "_meta", JW_OBJ("acpd", JW_RAW("kept", buf_slice(&b))));
}

static int providers_set(struct acp_request *q, struct err *e)
{
	struct conn_provider *p = new0(struct conn_provider);
	struct acp_conn *c = q->conn;
	int r = check_installed(e);

	if (r == 0)
		r = jdec_object(q->msg->params, set_fields, NULL, p, e);
	/* Copied: headers_given points into the message. */
	if (r == 0 && p->headers_given.n)
		p->headers = xstrndup(p->headers_given.p, p->headers_given.n);
	if (r == 0)
		r = check_set(c, p, e);
	if (r < 0) {
		provider_free(p);
		return r;
	}
	/* the one before holds until the new one has passed every check */
	conn_drop_provider(c);
	c->provider = p;
	put_kept(request_answer(q), c);
	return REQUEST_ANSWER;
}

static int providers_disable(struct acp_request *q, struct err *e)
{
	struct conn_provider p = { 0 };
	int r = check_installed(e);

	if (r == 0)
		r = jdec_object(q->msg->params, id_fields, NULL, &p, e);
	if (r == 0)
		r = check_id(&p, e);
	jdec_free(id_fields, &p);
	if (r < 0)
		return r;
	conn_drop_provider(q->conn);
	return REQUEST_ANSWER;
}

static void put_current(struct jw *w, const struct conn_provider *p)
{
	if (!p) {
		jw_null(w, "current");
		return;
	}
	/* Without the headers, which are secrets. */
	jw_object(w, "current", JW_STR("apiType", p->type), JW_STR("baseUrl", p->base_url));
}

static int providers_list(struct acp_request *q, struct err *e)
{
	struct jw *w;
	int r = check_installed(e);

	if (r < 0)
		return r;
	w = request_answer(q);
	jw_arr(w, "providers");
	jw_obj(w, NULL);
	jw_str(w, "providerId", PROVIDER_ID);
	jw_arr(w, "supported");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		jw_str(w, NULL, types[i].type);
	jw_end_arr(w);
	jw_bool(w, "required", false);
	put_current(w, q->conn->provider);
	jw_end_obj(w);
	jw_end_arr(w);
	return REQUEST_ANSWER;
}

const struct acp_handler on_providers_set = { .run = providers_set };
const struct acp_handler on_providers_disable = { .run = providers_disable };
const struct acp_handler on_providers_list = { .run = providers_list };
