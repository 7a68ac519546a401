/*
 * token_order.c - decodes and checks the parameters of a new token.
 *
 * An unknown member is an error, so a misspelled limit cannot silently give a token more than was
 * meant. An expiry time is mandatory and bounded. The functions that know sessions and ceilings are
 * passed in (struct token_rules), because access/ is a lower layer than session/ and acp/.
 */
#include "access/token_file.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"

#define DAY_MS 86400000ULL

struct token_order {
	char *scope, *expires, *label;
	struct slice sessions, network, limits, meta;
	struct jval level;
};

static const struct jfield order_fields[] = {
	JF_STR(struct token_order, scope, "scope", JF_REQUIRED, 16),
	JF_ARR(struct token_order, sessions, "sessions", 0),
	JF_STR(struct token_order, expires, "expiresAt", JF_REQUIRED, CLOCK_ISO_SIZE),
	JF_STR(struct token_order, label, "label", JF_REQUIRED | JF_FILLED, TOKEN_LABEL_MAX),
	JF_RAW(struct token_order, level, "level", 0),
	JF_OBJ(struct token_order, network, "network", 0),
	JF_OBJ(struct token_order, limits, "limits", 0),
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
	/* Subtracted after the comparison: the numbers are unsigned. */
	if (k->expires_ms > now && k->expires_ms - now <= TOKEN_LIFE_DAYS_MAX * DAY_MS)
		return 0;
	return err_field(e, "expiresAt", "FIELD_OUT_OF_RANGE",
			 "expiresAt is a time to come, at most %d days away", TOKEN_LIFE_DAYS_MAX);
}

/* It is printed by command lines. */
static int take_label(struct token *k, char **label, struct err *e)
{
	if (slice_has_control(slice_of(*label)))
		return err_field(e, "label", "FIELD_INVALID", "label has no control characters");
	k->label = TAKE_PTR(*label);
	return 0;
}

static int order_take_session(struct token *k, struct jval v, const struct token_rules *rules,
			      struct err *e)
{
	const char *field = SHORT_TEXT(32, "sessions[%zu]", k->nsessions);

	if (k->nsessions == TOKEN_SESSIONS_MAX)
		return err_field(e, "sessions", "TOO_MANY", "sessions has more than %d ids",
				 TOKEN_SESSIONS_MAX);
	if (jstr_decode(v, RPC_ID_MAX, &k->sessions[k->nsessions]) < 0)
		return err_field(e, field, "FIELD_INVALID", "%s must be a session's id", field);
	if (rules->known(rules->ctx, k->sessions[k->nsessions++]))
		return 0;
	return err_field(e, field, "SESSION_UNKNOWN", "%s: there is no such session", field);
}

static int order_take_sessions(struct token *k, struct slice raw, const struct token_rules *rules,
			       struct err *e)
{
	k->sessions = xalloc(TOKEN_SESSIONS_MAX * sizeof(*k->sessions));
	if (!raw.n)
		return 0;
	if (k->scope == GRANT_ADMIN)
		return err_field(e, "sessions", "FIELD_INVALID",
				 "sessions: the scope admin is of all sessions");
	jarr_each(v, raw) {
		int r = order_take_session(k, v, rules, e);

		if (r < 0)
			return r;
	}
	if (k->nsessions)
		return 0;
	return err_field(e, "sessions", "FIELD_INVALID",
			 "sessions is empty: such a token would be good for nothing");
}

/* Whoever may make sessions may make them so: it says something of a token with sessions alone. */
static int take_ceiling(struct token *k, const struct token_order *a,
			const struct token_rules *rules, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { .max = TOKEN_CEILING_MAX };
	bool named = a->level.type != J_NONE && a->level.type != J_NULL;
	const char *field = named	 ? "level" :
			    a->network.n ? "network" :
			    a->limits.n	 ? "limits" :
					   NULL;
	struct jw w = JW(&b);
	int r;

	if (!field)
		return 0;
	if (!k->nsessions || k->scope != GRANT_DRIVE)
		return err_field(e, field, "FIELD_INVALID",
				 "%s: only for the scope drive, with sessions", field);
	jw_obj(&w, NULL);
	if (named)
		jw_raw(&w, "level", a->level.raw);
	jw_raw(&w, "network", a->network);
	jw_raw(&w, "limits", a->limits);
	jw_end_obj(&w);
	if (b.failed)
		return err_field(e, field, "FIELD_TOO_LONG",
				 "level, network and limits have more than %lu bytes",
				 TOKEN_CEILING_MAX);
	r = rules->ceiling(buf_slice(&b), e);
	if (r == 0)
		k->ceiling = xstrndup(b.data, buf_len(&b));
	return r;
}

int token_order_parse(struct slice params, const struct token_rules *rules, struct token **ret,
		      struct err *e)
{
	struct token_order a = { 0 };
	struct token *k = *ret = new0(struct token);
	int r = jdec_strict(params, order_fields, NULL, "a token has no such member", &a, e);

	list_init(&k->link);
	if (r < 0)
		return r;
	/* First: take_sessions and take_ceiling depend on the scope. */
	r = take_scope(k, a.scope, e);
	if (r == 0)
		r = take_expiry(k, a.expires, e);
	if (r == 0)
		r = take_label(k, &a.label, e);
	if (r == 0)
		r = order_take_sessions(k, a.sessions, rules, e);
	if (r == 0)
		r = take_ceiling(k, &a, rules, e);
	jdec_free(order_fields, &a);
	return r;
}
