#include "session/secrets.h"

#include "base/util.h"
#include "digest/digest.h"
#include "json/jscan.h"

#include <strings.h>

#define SECRET_MIN 8 /* shorter ones are likely to be words */
#define MASK "***"

static void add(struct secrets *x, struct jval v)
{
	if (v.type != J_STRING || v.raw.n < SECRET_MIN + 2)
		return;
	x->values = reallocarray(x->values, x->n + 1, sizeof(*x->values));
	if (!x->values)
		abort();
	x->values[x->n++] = xstrndup(v.raw.p + 1, v.raw.n - 2);
}

static bool name_is_secret(struct slice name)
{
	static const char *const words[] = { "KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (size_t at = 0; at + strlen(words[i]) <= name.n; at++)
			if (strncasecmp(name.p + at, words[i], strlen(words[i])) == 0)
				return true;
	return false;
}

static void add_members(struct secrets *x, struct slice object, bool all)
{
	struct slice key;
	struct jiter it;
	struct jval v;

	if (jscan_value(object, &v) != JSCAN_OK || !jiter_init(&it, v))
		return;
	while (jiter_next(&it, &key, &v))
		if (all || name_is_secret(key))
			add(x, v);
}

/* A header or variable: {name, value}. Of "Bearer abc" what comes after the scheme is one, too. */
static void add_pairs(struct secrets *x, struct jval list, bool all)
{
	struct jiter it;
	struct jval pair;

	if (list.type != J_ARRAY || !jiter_init(&it, list))
		return;
	while (jiter_next(&it, NULL, &pair)) {
		struct jval v = jobj_get(pair.raw, "value");
		const char *space;

		if (!all && !name_is_secret(jobj_get(pair.raw, "name").raw))
			continue;
		add(x, v);
		space = v.type == J_STRING ? memchr(v.raw.p, ' ', v.raw.n) : NULL;
		if (all && space)
			add(x, (struct jval){ J_STRING,
					      { space, (size_t)(v.raw.p + v.raw.n - space) } });
	}
}

static void add_servers(struct secrets *x, const char *servers)
{
	struct jiter it;
	struct jval list, v;

	if (jscan_value(slice_of(servers), &list) != JSCAN_OK || !jiter_init(&it, list))
		return;
	while (jiter_next(&it, NULL, &v)) {
		if (v.type != J_OBJECT)
			continue;
		add_pairs(x, jobj_get(v.raw, "headers"), true);
		add_pairs(x, jobj_get(v.raw, "env"), false);
	}
}

void secrets_load(struct secrets *x, const char *provider, const char *env, const char *servers)
{
	secrets_done(x);
	if (provider) {
		add(x, jobj_get(slice_of(provider), "key"));
		add_members(x, jobj_get(slice_of(provider), "headers").raw, true);
	}
	if (env)
		add_members(x, slice_of(env), false);
	if (servers)
		add_servers(x, servers);
}

void secrets_done(struct secrets *x)
{
	for (size_t i = 0; i < x->n; i++) {
		secret_wipe(x->values[i], strlen(x->values[i]));
		free(x->values[i]);
	}
	free(x->values);
	*x = (struct secrets){ 0 };
}

bool secrets_redact(const struct secrets *x, struct buf *b)
{
	bool found = false;

	for (size_t i = 0; buf_len(b) && i < x->n; i++) {
		size_t n = strlen(x->values[i]);
		char *at = b->data + b->pos;

		while ((at = memmem(at, (size_t)(b->data + b->len - at), x->values[i], n))) {
			memcpy(at, MASK, strlen(MASK));
			memmove(at + strlen(MASK), at + n, (size_t)(b->data + b->len - (at + n)));
			b->len -= n - strlen(MASK);
			at += strlen(MASK);
			found = true;
		}
	}
	return found;
}
