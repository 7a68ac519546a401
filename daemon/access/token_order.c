#include "access/token_order.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

#define DAY_MS 86400000ULL

struct token_order {
	char *scope, *expires, *label;
	struct slice sessions;
	struct slice meta;
};

static const struct jfield order_fields[] = {
	JF_STR(struct token_order, scope, "scope", JF_REQUIRED, 16),
	JF_ARR(struct token_order, sessions, "sessions", 0),
	JF_STR(struct token_order, expires, "expiresAt", JF_REQUIRED, CLOCK_ISO_SIZE),
	JF_STR(struct token_order, label, "label", JF_REQUIRED | JF_FILLED, TOKEN_LABEL_MAX),
	JF_OBJ(struct token_order, meta, "_meta", 0),
	JF_END,
};

static int take_scope(struct token *k, const char *word, struct err *e)
{
	int scope = grant_scope_find(word);

	if (scope < 0)
		return err_field(e, "scope", "FIELD_INVALID",
				 "scope is one of admin, drive, observe, usage, model and tools");
	k->scope = (enum grant_scope)scope;
	return 0;
}

static int take_expiry(struct token *k, const char *text, struct err *e)
{
	uint64_t now = clock_real_ms();

	if (!clock_iso_read(slice_of(text), &k->expires_ms))
		return err_field(e, "expiresAt", "FIELD_INVALID",
				 "expiresAt is a time as 2026-11-21T08:00:00Z");
	if (k->expires_ms > now && k->expires_ms - now <= TOKEN_LIFE_DAYS_MAX * DAY_MS)
		return 0;
	return err_field(e, "expiresAt", "FIELD_OUT_OF_RANGE",
			 "expiresAt is a time to come, at most %d days away", TOKEN_LIFE_DAYS_MAX);
}

/* It is printed by command lines. */
static int take_label(struct token *k, char **label, struct err *e)
{
	for (const char *p = *label; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return err_field(e, "label", "FIELD_INVALID",
					 "label has no control characters");
	k->label = TAKE_PTR(*label);
	return 0;
}

struct known_fn {
	bool (*fn)(void *ctx, const char *id);
	void *ctx;
};

static int take_session(struct token *k, struct jval v, const struct known_fn *known, struct err *e)
{
	char field[32];

	snprintf(field, sizeof(field), "sessions[%zu]", k->nsessions);
	if (k->nsessions == TOKEN_SESSIONS_MAX)
		return err_field(e, "sessions", "TOO_MANY", "sessions has more than %d ids",
				 TOKEN_SESSIONS_MAX);
	if (jstr_decode(v, RPC_ID_MAX, &k->sessions[k->nsessions]) < 0)
		return err_field(e, field, "FIELD_INVALID", "%s must be a session's id", field);
	if (known->fn(known->ctx, k->sessions[k->nsessions++]))
		return 0;
	return err_field(e, field, "SESSION_UNKNOWN", "%s: there is no such session", field);
}

static int take_sessions(struct token *k, struct slice raw, const struct known_fn *known,
			 struct err *e)
{
	struct jiter it;
	struct jval v;
	int r = 0;

	k->sessions = xalloc(TOKEN_SESSIONS_MAX * sizeof(*k->sessions));
	if (!raw.n)
		return 0;
	if (k->scope == GRANT_ADMIN)
		return err_field(e, "sessions", "FIELD_INVALID",
				 "sessions: the scope admin is of all sessions");
	jiter_init(&it, (struct jval){ J_ARRAY, raw });
	while (r == 0 && jiter_next(&it, NULL, &v))
		r = take_session(k, v, known, e);
	if (r == 0 && !k->nsessions)
		r = err_field(e, "sessions", "FIELD_INVALID",
			      "sessions is empty: such a token would be good for nothing");
	return r;
}

int token_order_parse(struct slice params, bool (*known)(void *ctx, const char *id), void *ctx,
		      struct token **ret, struct err *e)
{
	struct known_fn whether = { known, ctx };
	struct token_order a = { 0 };
	struct token *k = *ret = new0(struct token);
	int r = jdec_strict(params, order_fields, NULL, "a token has no such member", &a, e);

	list_init(&k->link);
	if (r < 0)
		return r;
	r = take_scope(k, a.scope, e);
	if (r == 0)
		r = take_expiry(k, a.expires, e);
	if (r == 0)
		r = take_label(k, &a.label, e);
	if (r == 0)
		r = take_sessions(k, a.sessions, &whether, e);
	jdec_free(order_fields, &a);
	return r;
}
