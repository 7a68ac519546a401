/*
 * provider_keys.c - the keys of a provider, apart from its text.
 *
 * The text without keys can be copied, compared and written to a journal. Each key is decoded into memory that is wiped and
 * kept in locked memory, which its owners share by reference.
 */
#include "harnesses/provider.h"

#include "base/limits.h"
#include "base/os/locked.h"
#include "json/json.h"

/* A key is decoded into a buffer that is wiped before it is freed. */
static struct locked_text *lock_key(struct jval v)
{
	_cleanup_(secret_buf_done) struct buf b = { .max = PROVIDER_KEY_MAX };

	buf_reserve(&b, v.raw.n); /* it does not move while it grows */
	if (v.type != J_STRING || jstr_decode_bytes(v, &b) < 0)
		return NULL;
	return locked_text_new(buf_slice(&b));
}

static void put_fallbacks_without_keys(struct jw *w, struct jval list)
{
	if (list.type != J_ARRAY)
		return;
	jw_arr(w, "fallbacks");
	jarr_each(v, list) {
		jw_obj(w, NULL);
		jw_members(w, v.raw, "key");
		jw_end_obj(w);
	}
	jw_end_arr(w);
}

/* via is written as resolved, because without the key it would be resolved differently. */
static bool is_stored_member(struct slice key)
{
	return !jkey_is(key, "key") && !jkey_is(key, "via") && !jkey_is(key, "fallbacks");
}

static void put_stored_text(struct jw *w, struct slice raw, enum harness_via via)
{
	jw_obj(w, NULL);
	jobj_each(key, v, raw)
		if (is_stored_member(key))
			jw_member_raw(w, key, v.raw);
	jw_str(w, "via", harness_via_name(via));
	put_fallbacks_without_keys(w, jobj_get(raw, "fallbacks"));
	jw_end_obj(w);
}

void provider_split(struct slice raw, struct buf *text, struct provider_keys *keys)
{
	struct harness_provider p;
	struct jw w = JW(text);

	provider_keys_done(keys);
	if (harness_provider_parse(raw, &p, NULL) < 0)
		return;
	put_stored_text(&w, raw, p.via);
	harness_provider_done(&p);
	keys->of[0] = lock_key(jobj_get(raw, "key"));
	for (unsigned i = 0; i < PROVIDER_FALLBACKS_MAX; i++)
		keys->of[1 + i] = lock_key(provider_fallback_key(raw, i));
}

void provider_keys_copy(struct provider_keys *to, const struct provider_keys *from)
{
	/* References are taken before the old ones are dropped: to and from can share keys. */
	struct provider_keys old = *to;

	for (size_t i = 0; i < PROVIDER_UPSTREAMS_MAX; i++)
		to->of[i] = locked_text_ref(from->of[i]);
	provider_keys_done(&old);
}

void provider_keys_done(struct provider_keys *k)
{
	for (size_t i = 0; i < PROVIDER_UPSTREAMS_MAX; i++)
		k->of[i] = locked_text_unref(k->of[i]);
}

bool provider_keys_equal(const struct provider_keys *a, const struct provider_keys *b)
{
	for (size_t i = 0; i < PROVIDER_UPSTREAMS_MAX; i++)
		if (!a->of[i] != !b->of[i] ||
		    !slice_eq(locked_text_slice(a->of[i]), locked_text_slice(b->of[i])))
			return false;
	return true;
}
