/* keyed_result.c - what became of prompts that had a key: kept, found again, and read back by a later daemon. */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "json/json.h"
#include "session/core/session_part.h"

static void result_free(struct session *s, struct keyed_result *k)
{
	s->turn.nkeys--;
	list_del(&k->link);
	free_each(k->key, k->result, k->proof, k);
}

/* A prompt that the daemon's end had cut off was sent again: what came of it then counts. */
static struct keyed_result *result_new(struct session *s, char *key)
{
	struct keyed_result *k = new0(struct keyed_result);

	list_each(old, &s->turn.keys, struct keyed_result, link)
		if (strcmp(old->key, key) == 0)
			result_free(s, old);
	/* The list owns the key from here on. */
	k->key = key;
	list_add_tail(&s->turn.keys, &k->link);
	s->turn.nkeys++;
	return k;
}

void keyed_results_free(struct session *s)
{
	list_each(k, &s->turn.keys, struct keyed_result, link)
		result_free(s, k);
}

/* Checks show what the sandbox says, and there may be many keys: only the outline of it is kept. */
void keyed_result_add(struct session *s, const struct session_turn *t, const struct turn_result *r)
{
	struct keyed_result *k = result_new(s, xstrdup(t->key));
	_cleanup_(buf_done) struct buf brief = { 0 };

	k->turn = r->turn;
	k->seq = r->seq;
	memcpy(k->digest, t->digest, sizeof(k->digest));
	/* The texts are copied: t and r do not outlive the end of the turn. */
	if (r->failed) {
		k->error = *r->error;
		k->proof = r->proof.n ? xstrndup(r->proof.p, r->proof.n) : NULL;
		return;
	}
	turn_put_result(&brief, t, r->seq, END_KEPT);
	k->result = xstrndup(brief.data, brief.len);
}

const struct keyed_result *keyed_result_find(const struct session *s, const char *key)
{
	list_each(k, (struct list *)&s->turn.keys, struct keyed_result, link)
		if (strcmp(k->key, key) == 0)
			return k;
	return NULL;
}

bool keyed_result_answer(const struct session *s, const char *key, turn_done_fn done, void *ctx)
{
	const struct keyed_result *k = keyed_result_find(s, key);
	struct turn_result r = { .session = s->id };

	/* same_key: the daemon stopped the turn. The client may send the prompt again under this key, and it runs
	 * again. */
	if (!k || (!k->result && k->error.same_key))
		return false;
	r.failed = !k->result;
	r.turn = k->turn;
	r.seq = k->seq;
	r.result = slice_of(k->result);
	r.error = &k->error;
	r.proof = slice_of(k->proof);
	done(ctx, &r);
	return true;
}

/* --- by the event of the turn's end --------------------------------------------------------------------------- */

static char *result_of(struct slice params, struct slice acpd)
{
	struct slice meta = jobj_get(params, "_meta").raw;
	struct slice usage = jobj_get(acpd, "promptUsage").raw;
	struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_raw(&w, "stopReason", jobj_get(params, "stopReason").raw);
	/* promptUsage is that of all turns of the prompt. Without it the prompt had one turn, and usage is the same. */
	jw_raw(&w, "usage", usage.n ? usage : jobj_get(params, "usage").raw);
	jw_obj(&w, "_meta");
	jw_members(&w, meta, "acpd");
	jw_obj(&w, "acpd");
	if (!PARTS_FIRST(put_kept, &w, acpd, false))
		jw_members(&w, acpd, NULL);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	buf_putc(&b, '\0');
	return b.data;
}

static char *failure_of(struct slice acpd)
{
	struct buf b = { 0 };
	struct jw w = JW(&b);

	if (!PARTS_FIRST(put_kept, &w, acpd, true))
		return NULL;
	buf_putc(&b, '\0');
	return b.data;
}

void keyed_result_recall(struct session *s, struct slice params, struct slice begun)
{
	struct slice acpd = jobj_get(jobj_get(params, "_meta").raw, "acpd").raw;
	char *key = jobj_str(params, "key", SESSION_KEY_LEN);
	struct keyed_result *k;

	if (!key)
		return;
	k = result_new(s, key);
	k->turn = jobj_uint(params, "turn");
	k->seq = jobj_uint(params, "seq");
	/* The record of the beginning has the digest. It may be that of another turn if damage has taken the right
	 * one. */
	if (jobj_uint(begun, "turn") == k->turn)
		jstr_copy(jobj_get(begun, "prompt"), k->digest, sizeof(k->digest));
	if (jobj_get(params, "stopReason").type == J_STRING) {
		k->result = result_of(params, acpd);
		return;
	}
	turn_error_load(jobj_get(params, "error").raw, &k->error);
	k->proof = failure_of(acpd);
}

/* --- all of them, in what stands for events that are given up --------------------------------------------------- */

static void keyed_result_put(struct jw *w, const struct keyed_result *k)
{
	jw_obj(w, NULL);
	jw_str(w, "key", k->key);
	jw_uint(w, "turn", k->turn);
	jw_uint(w, "seq", k->seq);
	jw_str(w, "prompt", *k->digest ? k->digest : NULL);
	if (k->result) {
		jw_raw(w, "result", slice_of(k->result));
	} else {
		turn_error_put(w, "error", &k->error);
		jw_raw(w, "proof", slice_of(k->proof));
	}
	jw_end_obj(w);
}

void keyed_results_put(const struct session *s, struct jw *w, const char *name)
{
	jw_arr(w, name);
	list_each(k, (struct list *)&s->turn.keys, struct keyed_result, link)
		keyed_result_put(w, k);
	jw_end_arr(w);
}

static void keyed_result_load(struct session *s, struct slice object)
{
	char *key = jobj_str(object, "key", SESSION_KEY_LEN);
	struct keyed_result *k;

	if (!key || keyed_result_find(s, key)) {
		free(key);
		return;
	}
	k = result_new(s, key);
	k->turn = jobj_uint(object, "turn");
	k->seq = jobj_uint(object, "seq");
	jstr_copy(jobj_get(object, "prompt"), k->digest, sizeof(k->digest));
	jraw_set(&k->result, jobj_get(object, "result"), J_OBJECT);
	jraw_set(&k->proof, jobj_get(object, "proof"), J_OBJECT);
	if (!k->result)
		turn_error_load(jobj_get(object, "error").raw, &k->error);
}

void keyed_results_load(struct session *s, struct jval list)
{
	jarr_each(v, list)
		keyed_result_load(s, v.raw);
}
