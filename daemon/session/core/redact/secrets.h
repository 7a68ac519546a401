/*
 * secrets.h - the values a session was given that nobody else may read, and the one way by which text of others goes
 * out.
 *
 * Secret are: what the client marks (_meta.acpd.secrets); the provider's key and headers; headers of MCP servers;
 * environment values, the session's own, the operator's (manifest, --pass-env) and those of MCP servers, whose names
 * say so (secrets_name); the password in a URL that is an environment value or an address; of a value with several
 * lines also each long line. A value below 8 characters, or that is a word of the protocol, the name of the harness or
 * of a model in use, is no secret: to hide it would hide half of what is said. Nor is one above 32 KiB, or one that
 * repeats itself ("xxxxxxxxxx"). The client learns what was given and is not hidden (secrets_put_unmasked).
 *
 * A value that is replaced stays hidden until the session is deleted. Values are in memory only, and wiped when they
 * go; after a restart of the daemon the journal, which never held them, is as it was written.
 *
 * Where text goes out: event_emit and event_note hide it by the tables of event_fields.h; errors, titles,
 * questions, patches and lines of the log go through mask_line and mask_put. No finished frame and no line of the
 * ledger is ever changed.
 */
#pragma once

#include "base/buf.h"
#include "harnesses/provider.h"
#include "json/jenc.h"
#include "session/core/redact/mask.h"

struct secret {
	char *value;
	size_t n;
	struct locked_text *locked; /* whose value is; NULL: it is our own */
	bool old;		    /* of an earlier load */
};

struct secrets {
	struct mask *mask; /* NULL: there are none */
	struct secret *list;
	size_t n, bytes, learned;
	char *unmasked; /* raw array, or NULL */
};

/* Raw JSON, each may be empty: objects, and the array mcpServers of ACP. */
struct secrets_given {
	struct slice marked, provider, env, servers, models; /* models: names that are no secrets */
	const struct provider_keys *keys;		     /* of the provider */
	const struct harness_env *operators; /* variables that the client did not give */
	size_t noperators;
	const char *in_use[8]; /* as models; NULL: nothing */
};

void secrets_load(struct secrets *x, const struct secrets_given *g);
/* Variables that came later, from the agent's side: a raw object. Those whose names say so are secrets from here on, up
 * to SECRETS_LEARNED_MAX values, so that there is room for what the client gives. */
void secrets_learn(struct secrets *x, const struct secrets_given *g, struct slice env);
/* Those of another session are secrets of this one, too. */
void secrets_inherit(struct secrets *x, const struct secrets *from);
void secrets_done(struct secrets *x);
/* True for names of variables that hold secrets: API_KEY, GH_TOKEN, DB_PASSWORD, GH_PAT, SENTRY_DSN. */
bool secrets_name(struct slice name);
/* Member "unmasked": [{name, reason}], if there is one. */
void secrets_put_unmasked(const struct secrets *x, struct jw *w);

/* protocol_words.c */
/* A name, status, kind or method of ACP or of ours. */
bool word_of_protocol(struct slice text);
