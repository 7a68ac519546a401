/* provider.c - the one input that names the model and its place; each adapter translates it. */
#include "harnesses/harness.h"

#include "base/http/header.h"
#include "base/limits.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <stdio.h>

#define MODEL_LEN_MAX 256
#define MODELS_MAX 256
#define HEADERS_MAX 64
#define HEADER_VALUE_MAX (64 * KIB)
#define FIELD "_meta.acpd.provider."

static const struct jfield fields[] = {
	JF_STR(struct harness_provider, api, "api", JF_REQUIRED, 64),
	JF_STR(struct harness_provider, base_url, "baseUrl", JF_FILLED, 4096),
	JF_STR(struct harness_provider, key, "key", 0, 16384),
	JF_STR(struct harness_provider, via_name, "via", 0, 32),
	JF_STR(struct harness_provider, model, "model", JF_FILLED, MODEL_LEN_MAX),
	JF_ARR(struct harness_provider, models, "models", 0),
	JF_OBJ(struct harness_provider, headers, "headers", 0),
	JF_INT(struct harness_provider, idle_timeout_ms, "idleTimeoutMs", 0, PROVIDER_IDLE_MIN_MS,
	       PROVIDER_IDLE_MAX_MS),
	JF_END,
};

static const char *const apis[] = { "openai-responses", "openai-chat", "anthropic", "google" };

static int check_api(const char *api, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(apis); i++)
		if (strcmp(apis[i], api) == 0)
			return 0;
	return err_field(e, FIELD "api", "PROVIDER_API_UNSUPPORTED",
			 "api must be openai-responses, openai-chat, anthropic or google");
}

static int check_models(struct slice models, struct err *e)
{
	struct jiter it;
	struct jval v;
	char path[64];

	if (!models.n)
		return 0;
	jiter_init(&it, (struct jval){ J_ARRAY, models });
	for (size_t i = 0; jiter_next(&it, NULL, &v); i++) {
		_cleanup_(freep) char *text = NULL;

		snprintf(path, sizeof(path), FIELD "models[%zu]", i);
		if (i >= MODELS_MAX)
			return err_field(e, path, "TOO_MANY", "more than %d models", MODELS_MAX);
		if (jstr_decode(v, MODEL_LEN_MAX, &text) < 0 || !*text)
			return err_field(e, path, "FIELD_INVALID", "%s must be a model's id", path);
	}
	return 0;
}

static bool header_ok(struct slice key, struct jval v)
{
	_cleanup_(freep) char *value = NULL;

	return header_name_ok(key) && jstr_decode(v, HEADER_VALUE_MAX, &value) == 0 &&
	       header_value_ok(value);
}

/* They end up in header lines of requests that the harness makes. */
static int check_headers(struct slice headers, struct err *e)
{
	struct slice key;
	struct jiter it;
	struct jval v;
	char path[96];
	size_t n = 0;

	if (!headers.n)
		return 0;
	jiter_init(&it, (struct jval){ J_OBJECT, headers });
	for (; jiter_next(&it, &key, &v); n++) {
		snprintf(path, sizeof(path), FIELD "headers.%.*s", (int)MIN(key.n, 40u), key.p);
		if (n >= HEADERS_MAX)
			return err_field(e, path, "TOO_MANY", "more than %d headers", HEADERS_MAX);
		if (!header_ok(key, v))
			return err_field(e, path, "FIELD_INVALID",
					 "a header is a name and a string that is one line");
	}
	return 0;
}

/* Without a word the key decides: who gives none makes the calls itself. */
static int choose_via(struct harness_provider *p, struct err *e)
{
	static const char *const names[] = {
		[PROVIDER_ENVIRONMENT] = "environment", [PROVIDER_TUNNEL] = "tunnel"
	};

	p->via = p->key ? PROVIDER_ENVIRONMENT : PROVIDER_TUNNEL;
	if (!p->via_name)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], p->via_name) == 0) {
			p->via = (enum harness_via)i;
			return 0;
		}
	return err_field(e, FIELD "via", "PROVIDER_VIA_UNSUPPORTED",
			 "via must be environment or tunnel");
}

/* A key that goes nowhere, or a place that nobody asks, was meant otherwise. */
static int check_via(struct harness_provider *p, struct err *e)
{
	int r = choose_via(p, e);

	if (r < 0)
		return r;
	if (p->via == PROVIDER_ENVIRONMENT)
		return p->key ? 0 :
				err_field(e, FIELD "key", "FIELD_MISSING",
					  FIELD "key is required where via is environment");
	if (p->key || p->base_url)
		return err_field(
			e, p->key ? FIELD "key" : FIELD "baseUrl", "FIELD_INVALID",
			"the client makes the calls of a tunnel: it keeps key and baseUrl");
	return 0;
}

int harness_provider_parse(struct slice raw, struct harness_provider *ret, struct err *e)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	/* a misspelt baseUrl must not send the key to the public API */
	r = jdec_strict(raw, fields, FIELD, "a provider has no such member", ret, e);
	if (r == 0)
		r = check_api(ret->api, e);
	if (r == 0)
		r = check_via(ret, e);
	if (r == 0)
		r = check_models(ret->models, e);
	if (r == 0)
		r = check_headers(ret->headers, e);
	if (r < 0)
		harness_provider_done(ret);
	return r;
}

void harness_provider_done(struct harness_provider *p)
{
	jdec_free(fields, p);
	memset(p, 0, sizeof(*p));
}

/* True if an earlier element of the array, or the wanted model, is the same. */
static bool seen_before(const struct harness_provider *p, struct slice element)
{
	struct jiter it;
	struct jval v;

	jiter_init(&it, (struct jval){ J_ARRAY, p->models });
	while (jiter_next(&it, NULL, &v) && v.raw.p != element.p)
		if (slice_eq(v.raw, element))
			return true;
	return p->model && jstr_is((struct jval){ J_STRING, element }, p->model);
}

void harness_provider_each_model(const struct harness_provider *p,
				 bool (*fn)(void *ctx, const char *model), void *ctx)
{
	struct jiter it;
	struct jval v;

	if (p->model && !fn(ctx, p->model))
		return;
	if (!p->models.n)
		return;
	jiter_init(&it, (struct jval){ J_ARRAY, p->models });
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *id = NULL;

		if (seen_before(p, v.raw) || jstr_decode(v, MODEL_LEN_MAX, &id) < 0)
			continue;
		if (!fn(ctx, id))
			return;
	}
}
