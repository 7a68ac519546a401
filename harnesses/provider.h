/*
 * provider.h - what the core makes of a provider, besides what adapters see of it (harness.h): its keys apart from its
 * text, and the places where the core's own calls go.
 *
 * A provider comes as the raw object _meta.acpd.provider. harness_provider_parse admits it. The core then keeps it in
 * two parts: a text without keys, which may be copied and compared, and the keys, each in locked memory
 * (base/os/locked.h). Where via was chosen for the client, the text names it, because the keys no longer tell.
 */
#pragma once

#include "base/buf.h"
#include "harnesses/harness.h"

#define PROVIDER_FALLBACKS_MAX 4
#define PROVIDER_UPSTREAMS_MAX (1 + PROVIDER_FALLBACKS_MAX)

struct locked_text;

/* Of the provider, then of its fallbacks; NULL: it has none. */
struct provider_keys {
	struct locked_text *of[PROVIDER_UPSTREAMS_MAX];
};

const char *harness_via_name(enum harness_via via);
/* Of the text of provider_split. ret borrows from it; ret->key is NULL. */
int provider_load(struct slice text, struct harness_provider *ret);

/* --- usage_costs.c: what a provider charges, as the client specifies it ------------------------------------------------
 *
 * {MODEL: {input?, output?, cacheRead?, cacheWrite5m?, cacheWrite1h?}}: amounts of currency for a million tokens. They
 * are decimal and exact to 10^-12, and so is what is computed with them; it is rounded once, at its end. Where a kind of
 * token was used that has no price, there is no cost. */

/* raw: an object, or empty. prefix: of the fields that errors name, with a dot at its end. */
int prices_check(struct slice raw, const char *prefix, struct err *e);
/* What u cost with the prices of model. False: there is no such model, or not all is known. */
bool prices_cost(struct slice raw, const char *model, const struct harness_usage *u, int64_t *ret);

/* --- provider_error.c: what a provider's refusal means --------------------------------------------------------------
 *
 * The class of a failed turn, from the status of its answer, from its word for it, and from its text where there is
 * neither. Adapters use it for what a harness reports of its provider, the reader of answers (model/call_meter.h) for what
 * passes. */

/* Class and retryable of a provider's HTTP status; the message must be set before. */
void provider_error_by_status(struct turn_error *te, int status);
/* Class, status and retryable of the word that a provider has for an error ("overloaded_error", "RESOURCE_EXHAUSTED"),
 * for errors inside an answer of status 200; the message must be set before. False: it is not known. */
bool provider_error_by_word(struct turn_error *te, const char *word);
/* A provider reports that the conversation is too long. */
bool provider_text_overflow(const char *text);
/* A provider reports that its customer has no money or usage left. */
bool provider_text_quota(const char *text);

/* --- provider_keys.c ---------------------------------------------------------------------------------------- */

/* raw: as harness_provider_parse has admitted it. What keys held before is let go of. */
void provider_split(struct slice raw, struct buf *text, struct provider_keys *keys);
/* to gets the keys of from as one more owner. */
void provider_keys_copy(struct provider_keys *to, const struct provider_keys *from);
void provider_keys_done(struct provider_keys *k);
bool provider_keys_equal(const struct provider_keys *a, const struct provider_keys *b);

/* --- provider_upstream.c -------------------------------------------------------------------------------------- */

/* One place where calls go. Slices borrow from the provider. */
struct provider_upstream {
	char *base_url;			 /* NULL: the API's public one */
	char *auth_header, *auth_prefix; /* how the key is sent; NULL: as the API has it */
	struct slice headers;		 /* raw object of strings, or empty */
};

/* 0: the provider's own, then its fallbacks. False: there is none of that number. */
bool provider_upstream(const struct harness_provider *p, unsigned i, struct provider_upstream *ret);
void provider_upstream_done(struct provider_upstream *u);
/* Raw key of a fallback, or of none. */
struct jval provider_fallback_key(struct slice provider, unsigned i);

/* path: of the member, for errors. An empty slice is right. */
int provider_check_auth(struct slice auth, const char *path, struct err *e);
int provider_check_headers(struct slice headers, const char *path, struct err *e);
int provider_check_url(const char *url, const char *path, struct err *e);
int provider_check_fallbacks(struct slice fallbacks, const char *path, struct err *e);
