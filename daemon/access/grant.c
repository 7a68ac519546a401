/*
 * grant.c - reference-counted grants, and the holders that must stop when a grant ends.
 *
 * grant_keep links a holder into its grant, so grant_cut reaches every connection, stream and
 * upload that uses it. grant_admin is const and has no references: counting, holding and freeing
 * skip it. `over` denies every later check, and is never reset. A holder that is cut still owns its
 * reference until it calls grant_let_go.
 */
#include "access/grant.h"

#include "base/strv.h"
#include "json/jenc.h"

struct grant {
	enum grant_scope scope;
	bool over;
	unsigned connections;
	unsigned refs; /* 0: it is grant_admin, which nobody counts */
	char *id, *ceiling, **sessions;
	size_t nsessions;
	struct list holds;
};

const struct grant grant_admin = { .scope = GRANT_ADMIN, .id = "" };

struct grant *grant_new(enum grant_scope scope, const char *id, char *const *sessions, size_t n)
{
	struct grant *g = new0(struct grant);

	g->scope = scope;
	g->refs = 1;
	g->id = xstrdup(id);
	g->sessions = xalloc((n + 1) * sizeof(*g->sessions));
	for (size_t i = 0; i < n; i++)
		g->sessions[i] = xstrdup(sessions[i]);
	g->nsessions = n;
	list_init(&g->holds);
	return g;
}

struct grant *grant_new_claim(void)
{
	return grant_new(GRANT_ADMIN, "", NULL, 0);
}

struct grant *grant_unref(struct grant *g)
{
	if (!g || !g->refs || --g->refs)
		return NULL;
	strv_free_n(g->sessions, g->nsessions);
	free_each(g->ceiling, g->id, g);
	return NULL;
}

void grant_set_ceiling(struct grant *g, const char *ceiling)
{
	xstrset(&g->ceiling, ceiling);
}

struct slice grant_ceiling(const struct grant *g)
{
	return g->ceiling ? slice_of(g->ceiling) : SLICE_NONE;
}

enum grant_scope grant_scope(const struct grant *g)
{
	return g->scope;
}

const char *grant_id(const struct grant *g)
{
	return g->id;
}

bool grant_minted(const struct grant *g)
{
	return *g->id;
}

bool grant_over(const struct grant *g)
{
	return g->over;
}

bool grant_limited(const struct grant *g)
{
	return g->nsessions > 0;
}

bool grant_sees(const struct grant *g, const char *session_id)
{
	/* Without a list a grant sees all sessions. */
	for (size_t i = 0; i < g->nsessions; i++)
		if (strcmp(g->sessions[i], session_id) == 0)
			return true;
	return !g->nsessions;
}

void grant_put(const struct grant *g, struct jw *w, const char *key)
{
	jw_obj(w, key);
	jw_str(w, "id", g->id);
	jw_str(w, "scope", grant_scope_word(g->scope));
	if (grant_limited(g)) {
		jw_arr(w, "sessions");
		for (size_t i = 0; i < g->nsessions; i++)
			jw_str(w, NULL, g->sessions[i]);
		jw_end_arr(w);
	}
	jw_end_obj(w);
}

int grant_missing(enum grant_need n, struct err *e)
{
	const char *word = need_word(n);

	err_set(e, -EACCES, RPC_INVALID_REQUEST, "SCOPE_REQUIRED", "this needs the scope %s",
		word ? word : "of nobody");
	snprintf(e->scope, sizeof(e->scope), "%s", word ? word : "");
	return -EACCES;
}

int grant_check(const struct grant *g, enum grant_need n, enum need_sessions s, struct err *e)
{
	if (g->over)
		return err_set(e, -EACCES, RPC_INVALID_REQUEST, "TOKEN_OVER",
			       "the token was revoked or replaced, or has expired");
	if (!need_met(n, g->scope))
		return grant_missing(n, e);
	/* Named and own sessions are checked where a call names or shows them. */
	if (s != SESSIONS_ALL || !grant_limited(g))
		return 0;
	grant_missing(n, e);
	snprintf(e->msg, sizeof(e->msg), "this needs a token that is not limited to some sessions");
	return -EACCES;
}

/* --- who keeps one ----------------------------------------------------------------------------------------- */

void grant_keep(struct grant_hold *h, const struct grant *g,
		void (*cut)(void *ctx, const char *why), void *ctx)
{
	struct grant *own = (struct grant *)g;

	/* Before grant_let_go: h can be the last holder of this same grant. */
	if (own->refs)
		own->refs++;
	grant_let_go(h);
	*h = (struct grant_hold){ .grant = g, .cut = cut, .ctx = ctx };
	list_init(&h->link);
	if (own->refs)
		list_add_tail(&own->holds, &h->link);
}

void grant_let_go(struct grant_hold *h)
{
	struct grant *g = (struct grant *)h->grant;

	if (!g)
		return;
	h->grant = NULL;
	list_del(&h->link);
	grant_unref(g);
}

void grant_count(const struct grant *g, bool more)
{
	if (g->refs)
		/* grant_admin, with refs 0, is shared and const: it is never written. */
		((struct grant *)g)->connections += more ? 1 : -1U;
}

unsigned grant_connections(const struct grant *g)
{
	return g->connections;
}

void grant_end(struct grant *g)
{
	g->over = true;
}

/* Each leaves the list before it is told: it may let go in there, and so may others. */
void grant_cut(struct grant *g, const char *why)
{
	g->over = true;
	/* A callback can drop the last reference; the loop still uses the list. */
	g->refs++;
	list_drain(h, &g->holds, struct grant_hold, link) {
		list_del(&h->link);
		h->cut(h->ctx, why);
	}
	grant_unref(g);
}
