/*
 * direct.c - model calls that the daemon makes itself, by acpd-fetch: to the provider, then to its fallbacks in
 * order.
 *
 * A fallback is asked only while the harness has nothing of an answer, after a status from 500 on, an address that
 * cannot be reached, or a connection that was cut. acpd-fetch gets the header of each key once; later requests
 * refer to it (key_ready).
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/os/locked.h"
#include "fetcher/fetcher.h"
#include "json/jenc.h"
#include "session/parts/model/session_model_internal.h"

/* What the carrier has of a call. */
struct direct_call {
	struct provider_call *of;
	struct fetch *fetch;
	unsigned upstream; /* that it is at: 0 is the provider, fallbacks follow */
};

/* What the API has when the client says nothing else. */
static const struct {
	const char *base_url, *header, *prefix;
} apis[MODEL_API_MAX] = {
	[MODEL_OPENAI_RESPONSES] = { "https://api.openai.com/v1", "authorization", "Bearer " },
	[MODEL_OPENAI_CHAT] = { "https://api.openai.com/v1", "authorization", "Bearer " },
	[MODEL_ANTHROPIC] = { "https://api.anthropic.com/v1", "x-api-key", "" },
	[MODEL_GOOGLE] = { "https://generativelanguage.googleapis.com/v1beta", "x-goog-api-key",
			   "" },
};

static void ask_upstream(struct direct_call *c);

/* --- keys --------------------------------------------------------------------------------------------------- */

static void key_drop(struct upstream_key *k)
{
	k->key = fetch_key_free(k->key);
	k->of = locked_text_unref(k->of);
}

void direct_drop_keys(struct session *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(model_of(s)->keys); i++)
		key_drop(&model_of(s)->keys[i]);
}

/* The header with the key of an upstream, made once for each key. False with e: it cannot be had. */
static bool key_ready(struct session *s, unsigned i, const struct provider_upstream *u,
		      const struct fetch_key **ret, struct err *e)
{
	struct locked_text *text = s->setup.keys.of[i];
	struct upstream_key *k = &model_of(s)->keys[i];
	int api = model_api_find(s->setup.gateway.api);

	*ret = NULL;
	/* Compared by identity: a new key is a new locked text. */
	if (k->of != text) {
		key_drop(k);
		k->of = locked_text_ref(text);
	}
	if (text && !k->key)
		k->key = fetch_key_new(s->store->fetcher,
				       u->auth_header ? u->auth_header : apis[api].header,
				       u->auth_prefix ? u->auth_prefix :
				       u->auth_header ? "" :
							apis[api].prefix,
				       text, e);
	*ret = k->key;
	return !text || k->key;
}

/* --- one attempt ------------------------------------------------------------------------------------------------ */

/* Of n bytes, without slashes at their end. */
static size_t base_length(const char *base, size_t n)
{
	while (n && base[n - 1] == '/')
		n--;
	return n;
}

/* The provider's address replaces the listener's; a query of it stands before one of the request's. */
static void put_url(struct buf *b, const struct model_request *r, const char *base)
{
	size_t root = strlen(model_api_root(r->api)), n;
	struct slice query = { r->path.p + root, r->path.n - root }, below = query;
	bool asks = slice_cut(&query, '?', &below);

	if (!base)
		base = apis[r->api].base_url;
	n = strcspn(base, "?");
	buf_add(b, base, base_length(base, n));
	buf_add_slice(b, below);
	buf_puts(b, base + n);
	if (asks) {
		buf_putc(b, base[n] ? '&' : '?');
		buf_add_slice(b, query);
	}
	buf_putc(b, '\0');
}

static bool open_fetch(struct direct_call *c, const struct provider_upstream *u,
		       const struct fetch_ops *ops, struct err *e)
{
	const struct model_request *r = model_call_request(c->of->call);
	_cleanup_(buf_done) struct buf url = { 0 }, headers = { 0 };
	_cleanup_(freep) char *method = xstrndup(r->method.p, r->method.n);
	struct session *s = c->of->session;
	int64_t silence = s->setup.gateway.idle_timeout_ms;
	struct jw w = JW(&headers);
	struct fetch_request f = { .method = method, .named = true, .body = r->body };

	put_url(&url, r, u->base_url);
	provider_call_put_headers(c->of, &w, NULL, u->headers);
	f.url = url.data;
	f.headers = buf_slice(&headers);
	/* Limits the time between two pieces of an answer, not that of the whole answer. */
	f.idle_ms = silence ? (unsigned)silence : MODEL_SILENCE_MS;
	if (!key_ready(s, c->upstream, u, &f.key, e))
		return false;
	c->fetch = fetch_open(s->store->fetcher, &f, ops, c, e);
	return c->fetch;
}

/* --- what comes of it ------------------------------------------------------------------------------------------- */

static const enum model_refusal refusals[] = {
	[FETCH_COMPLETE] = MODEL_CALL_FAILED,	 [FETCH_REFUSED] = MODEL_ADDRESS_REFUSED,
	[FETCH_UNREACHABLE] = MODEL_UNREACHABLE, [FETCH_CUT] = MODEL_CALL_FAILED,
	[FETCH_SILENT] = MODEL_CALL_TIMEOUT,	 [FETCH_GONE] = MODEL_CALL_FAILED,
	[FETCH_UNAVAILABLE] = MODEL_NO_FETCH,	 [FETCH_NO_LOCK] = MODEL_NO_LOCK,
};

/* Closes the fetch of the upstream that failed, and moves on to the next one. True: that one is asked. Only before the
 * harness has anything of an answer. */
static bool fall_back(struct direct_call *c)
{
	struct provider_upstream u;
	bool more;

	if (c->of->answered)
		return false;
	more = provider_upstream(&c->of->session->setup.gateway, c->upstream + 1, &u);
	provider_upstream_done(&u);
	if (!more)
		return false;
	c->fetch = fetch_close(c->fetch);
	c->upstream++;
	return true;
}

static void direct_on_head(void *ctx, int status, struct slice headers)
{
	struct direct_call *c = ctx;

	if (status >= 500 && fall_back(c)) {
		/* The status belongs to the record of this attempt, which the next one completes. */
		call_use_head(c->of, status, headers);
		ask_upstream(c);
		return;
	}
	provider_call_head(c->of, status, headers);
}

static void direct_on_data(void *ctx, struct slice bytes)
{
	struct direct_call *c = ctx;

	provider_call_data(c->of, bytes);
}

static void direct_on_end(void *ctx, enum fetch_end how, const char *why)
{
	struct direct_call *c = ctx;

	if (how == FETCH_COMPLETE && c->of->answered) {
		provider_call_end(c->of);
		return;
	}
	log_info("model", "a model call failed", "session", c->of->session->id, "call", c->of->id,
		 "text", why);
	if ((how == FETCH_UNREACHABLE || how == FETCH_CUT) && fall_back(c))
		ask_upstream(c);
	else
		provider_call_fail(c->of, refusals[how]);
}

static const struct fetch_ops fetch_ops = { direct_on_head, direct_on_data, direct_on_end };

/* It may be over before this returns. */
static void ask_upstream(struct direct_call *c)
{
	struct session *s = c->of->session;
	struct provider_upstream u;
	struct err e = { 0 };
	bool asked;

	provider_call_attempt(c->of);
	provider_upstream(&s->setup.gateway, c->upstream, &u);
	asked = open_fetch(c, &u, &fetch_ops, &e);
	provider_upstream_done(&u);
	if (asked)
		return;
	log_warn("model", "a model call cannot be made", "session", s->id, "text", e.msg);
	provider_call_fail(c->of, MODEL_CALL_FAILED);
}

/* --- the carrier ------------------------------------------------------------------------------------------------ */

static void direct_ask(struct provider_call *call)
{
	struct direct_call *c = new0(struct direct_call);

	c->of = call;
	call->carried = c;
	ask_upstream(c);
}

static void direct_taken(struct provider_call *call, size_t n)
{
	struct direct_call *c = call->carried;

	if (c->fetch)
		fetch_taken(c->fetch, n);
}

static void direct_stop(struct provider_call *call)
{
	struct direct_call *c = call->carried;

	if (c)
		c->fetch = fetch_close(c->fetch);
}

static void direct_forget(struct provider_call *call)
{
	struct direct_call *c = TAKE_PTR(call->carried);

	if (c)
		fetch_close(c->fetch);
	free(c);
}

const struct call_carrier direct_carrier = { direct_ask, direct_taken, direct_stop, direct_forget };
