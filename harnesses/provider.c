/*
 * provider.c - the one input that names the model and its place; each adapter translates it.
 *
 * The object is strict: a misspelt baseUrl must not send a key to the public API. Checked are the API, who makes the calls
 * (via), what that excludes, and then what the calls need. The same table reads the text without keys that the core keeps.
 */
#include "harnesses/provider.h"

#include "base/http/http_fields.h"
#include "base/limits.h"
#include "json/json.h"

#define MODEL_LEN_MAX 256
#define MODELS_MAX 256
#define FIELD "_meta.acpd.provider."

static const struct jfield fields[] = {
	JF_STR(struct harness_provider, api, "api", JF_REQUIRED, 64),
	JF_STR(struct harness_provider, base_url, "baseUrl", JF_FILLED, 4096),
	JF_STR(struct harness_provider, given_key, "key", 0, PROVIDER_KEY_MAX),
	JF_STR(struct harness_provider, via_name, "via", 0, 32),
	JF_STR(struct harness_provider, model, "model", JF_FILLED, MODEL_LEN_MAX),
	JF_ARR(struct harness_provider, models, "models", 0),
	JF_STR(struct harness_provider, small_model, "smallModel", JF_FILLED, MODEL_LEN_MAX),
	JF_ARR(struct harness_provider, paths, "paths", 0),
	JF_OBJ(struct harness_provider, headers, "headers", 0),
	JF_OBJ(struct harness_provider, auth, "auth", 0),
	JF_ARR(struct harness_provider, fallbacks, "fallbacks", 0),
	JF_OBJ(struct harness_provider, prices, "prices", 0),
	JF_OBJ(struct harness_provider, limits_raw, "limits", 0),
	JF_INT(struct harness_provider, idle_timeout_ms, "idleTimeoutMs", 0, PROVIDER_IDLE_MIN_MS,
	       PROVIDER_IDLE_MAX_MS),
	JF_END,
};

static const struct jfield limit_fields[] = {
	JF_INT(struct harness_limits, concurrency, "concurrency", 0, 1, MODEL_CALLS_MAX),
	JF_INT(struct harness_limits, calls_per_minute, "callsPerMinute", 0, 1,
	       MODEL_PER_MINUTE_MAX),
	JF_END,
};

static const char *const apis[] = { "openai-responses", "openai-chat", "anthropic", "google" };

static int check_provider_api(const char *api, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(apis); i++)
		if (strcmp(apis[i], api) == 0)
			return 0;
	return err_field(
		e, FIELD "api", "PROVIDER_API_UNSUPPORTED",
		"api must be openai-responses, openai-chat, anthropic or google: what the "
		"harness speaks. The client can make its calls to any other provider (Bedrock, "
		"Vertex): via tunnel");
}

static int check_models(struct slice models, struct err *e)
{
	if (!models.n)
		return 0;
	jarr_each_at(i, v, models) {
		_cleanup_(freep) char *text = NULL;
		const char *path = SHORT_TEXT(64, FIELD "models[%zu]", i);

		if (i >= MODELS_MAX)
			return err_field(e, path, "TOO_MANY", "more than %d models", MODELS_MAX);
		if (jstr_decode(v, MODEL_LEN_MAX, &text) < 0 || !*text)
			return err_field(e, path, "FIELD_INVALID", "%s must be a model's id", path);
	}
	return 0;
}

static const char *const via_names[PROVIDER_VIA_MAX] = {
	[PROVIDER_ENVIRONMENT] = "environment", [PROVIDER_TUNNEL] = "tunnel", [PROVIDER_DIRECT] = "direct"
};

const char *harness_via_name(enum harness_via via)
{
	return via_names[via];
}

/* Without a word the key decides: who gives none makes the calls itself. */
static int choose_via(struct harness_provider *p, struct err *e)
{
	p->via = p->given_key ? PROVIDER_DIRECT : PROVIDER_TUNNEL;
	if (!p->via_name)
		return 0;
	for (size_t i = 0; i < PROVIDER_VIA_MAX; i++)
		if (strcmp(via_names[i], p->via_name) == 0) {
			p->via = (enum harness_via)i;
			return 0;
		}
	return err_field(e, FIELD "via", "PROVIDER_VIA_UNSUPPORTED",
			 "via must be direct, tunnel or environment");
}

/* A key that goes nowhere, or a place that nobody asks, was meant otherwise. */
static int check_via(const struct harness_provider *p, struct err *e)
{
	const struct {
		bool is_set;
		const char *field;
		unsigned only; /* bit per enum harness_via */
		const char *why;
	} rows[] = {
		{ p->given_key, FIELD "key", 1u << PROVIDER_DIRECT | 1u << PROVIDER_ENVIRONMENT,
		  "the client makes the calls of a tunnel: it keeps the key" },
		{ p->base_url, FIELD "baseUrl", 1u << PROVIDER_DIRECT | 1u << PROVIDER_ENVIRONMENT,
		  "the client makes the calls of a tunnel: it knows where they go" },
		{ p->auth.n, FIELD "auth", 1u << PROVIDER_DIRECT,
		  "auth says how the daemon sends the key: via direct" },
		{ p->fallbacks.n, FIELD "fallbacks", 1u << PROVIDER_DIRECT,
		  "fallbacks are for calls that the daemon makes: via direct" },
		{ p->prices.n, FIELD "prices", 1u << PROVIDER_DIRECT | 1u << PROVIDER_TUNNEL,
		  "prices are for calls that pass the daemon: via direct or tunnel" },
		{ p->limits_raw.n, FIELD "limits", 1u << PROVIDER_DIRECT | 1u << PROVIDER_TUNNEL,
		  "limits are for calls that pass the daemon: via direct or tunnel" },
		{ p->paths.n, FIELD "paths", 1u << PROVIDER_DIRECT | 1u << PROVIDER_TUNNEL,
		  "the harness makes the calls of environment itself: nobody checks their paths" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].is_set && !(rows[i].only & 1u << p->via))
			return err_field(e, rows[i].field, "FIELD_INVALID", "%s", rows[i].why);
	if (p->via == PROVIDER_ENVIRONMENT && !p->given_key)
		return err_field(e, FIELD "key", "FIELD_MISSING",
				 FIELD "key is required where via is environment");
	return 0;
}

/* What the core's own calls are made of. */
static int check_upstream(const struct harness_provider *p, struct err *e)
{
	int r = 0;

	if (p->via == PROVIDER_DIRECT)
		r = provider_check_url(p->base_url, FIELD "baseUrl", e);
	if (r == 0 && p->via == PROVIDER_DIRECT && p->given_key && !header_value_ok(p->given_key))
		r = err_field(e, FIELD "key", "FIELD_INVALID", FIELD "key must be one line");
	if (r == 0)
		r = provider_check_auth(p->auth, FIELD "auth", e);
	if (r == 0)
		r = provider_check_headers(p->headers, FIELD "headers", e);
	return r == 0 ? provider_check_fallbacks(p->fallbacks, FIELD "fallbacks", e) : r;
}

static int read_limits(struct harness_provider *p, struct err *e)
{
	p->limits.concurrency = MODEL_CALLS_DEFAULT;
	return p->limits_raw.n ? jdec_strict(p->limits_raw, limit_fields, FIELD "limits.",
					     "there is no such limit", &p->limits, e) :
				 0;
}

int harness_provider_parse(struct slice raw, struct harness_provider *ret, struct err *e)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	/* a misspelt baseUrl must not send the key to the public API */
	r = jdec_strict(raw, fields, FIELD, "a provider has no such member", ret, e);
	if (r == 0)
		r = check_provider_api(ret->api, e);
	if (r == 0)
		r = choose_via(ret, e);
	if (r == 0)
		r = check_via(ret, e);
	if (r == 0)
		r = read_limits(ret, e);
	if (r == 0)
		r = check_models(ret->models, e);
	if (r == 0)
		r = check_upstream(ret, e);
	if (r == 0)
		r = prices_check(ret->prices, FIELD "prices.", e);
	/* The core may put its own key there (session_model.c); given_key stays the one that is wiped. */
	ret->key = ret->given_key;
	if (r < 0)
		harness_provider_done(ret);
	return r;
}

int provider_load(struct slice text, struct harness_provider *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (jdec_object(text, fields, NULL, ret, NULL) < 0)
		return -EINVAL;
	/* The text was checked when it was given, so an error here changes nothing. */
	read_limits(ret, NULL);
	return choose_via(ret, NULL);
}

void harness_provider_done(struct harness_provider *p)
{
	/* First: jdec_free frees the text without wiping it. */
	secret_text_wipe(p->given_key);
	jdec_free(fields, p);
	memset(p, 0, sizeof(*p));
}

bool harness_provider_alike(const struct harness_provider *a, const struct harness_provider *b)
{
	return a->via != PROVIDER_ENVIRONMENT && b->via != PROVIDER_ENVIRONMENT &&
	       str_equal(a->api, b->api) && str_equal(a->model, b->model) &&
	       str_equal(a->small_model, b->small_model) && slice_eq(a->models, b->models) &&
	       a->idle_timeout_ms == b->idle_timeout_ms;
}

bool harness_keeps_silence(const struct harness_provider *p)
{
	return p && p->idle_timeout_ms && p->via != PROVIDER_DIRECT;
}

/* True if an earlier element of the array, or the wanted model, is the same. */
static bool seen_before(const struct harness_provider *p, struct slice element)
{
	jarr_each(v, p->models) {
		/* Compares addresses: only elements before this one count. */
		if (v.raw.p == element.p)
			break;
		if (slice_eq(v.raw, element))
			return true;
	}
	return p->model && jstr_is((struct jval){ J_STRING, element }, p->model);
}

void harness_provider_each_model(const struct harness_provider *p,
				 bool (*fn)(void *ctx, const char *model), void *ctx)
{
	if (p->model && !fn(ctx, p->model))
		return;
	jarr_each(v, p->models) {
		_cleanup_(freep) char *id = NULL;

		if (seen_before(p, v.raw) || jstr_decode(v, MODEL_LEN_MAX, &id) < 0)
			continue;
		if (!fn(ctx, id))
			return;
	}
}

bool harness_provider_offers(const struct harness_provider *p, const char *model)
{
	if (p->model && strcmp(p->model, model) == 0)
		return true;
	jarr_each(v, p->models)
		if (jstr_is(v, model))
			return true;
	return false;
}

static bool keep_first_model(void *ctx, const char *model)
{
	xstrset(ctx, model);
	return false;
}

char *harness_provider_first(const struct harness_provider *p)
{
	char *model = NULL;

	harness_provider_each_model(p, keep_first_model, &model);
	return model;
}
