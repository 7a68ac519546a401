/*
 * secrets.c - collects the secrets of a session, and reports values that cannot be masked.
 *
 * A value must be long and irregular enough: hiding a common string would destroy the events
 * (refusal()). repeats() rejects periodic values, whose search could cost far more than the length
 * of the text. Values of an earlier load stay, marked `old`: they can still occur in output. Each
 * change builds a new mask, because threads can search with the old one.
 */
#include "session/core/redact/secrets.h"

#include "base/limits.h"
#include "base/os/locked.h"
#include "base/util.h"
#include "digest/digest.h"
#include "json/json.h"

#include <strings.h>

#define LINE_MIN 16 /* a line of a longer value is a secret by itself from this length on */

/* What is being loaded. */
struct loading {
	struct secrets *x;
	const struct secrets_given *given;
	struct jw unmasked;
};

/* --- the list: oldest first; what is forgotten is wiped -------------------------------------------------- */

static void secret_forget(struct secrets *x, size_t i)
{
	struct secret *gone = &x->list[i];

	x->bytes -= gone->n;
	/* A locked value belongs to its locked_text, which is wiped with its last reference. */
	if (!gone->locked) {
		secret_wipe(gone->value, gone->n);
		free(gone->value);
	}
	locked_text_unref(gone->locked);
	memmove(&x->list[i], &x->list[i + 1], (x->n - i - 1) * sizeof(*x->list));
	x->n--;
}

/* Not again: one that is there moves to the end, as the oldest are first. */
static void forget_same(struct secrets *x, struct slice v)
{
	for (size_t i = 0; i < x->n; i++)
		if (slice_eq((struct slice){ x->list[i].value, x->list[i].n }, v)) {
			secret_forget(x, i);
			return;
		}
}

/* locked: the text whose value is v, of which the list is one owner more, without a copy; NULL: v is copied. */
static void secret_keep(struct secrets *x, struct slice v, struct locked_text *locked, bool old)
{
	forget_same(x, v);
	*GROW(x->list, x->n) = (struct secret){ locked ? (char *)v.p : xstrndup(v.p, v.n), v.n,
						locked_text_ref(locked), old };
	x->bytes += v.n;
}

/* Room for n bytes: of those that are in force no more the oldest go. */
static void secrets_make_room(struct secrets *x, size_t n)
{
	/* Only values of earlier loads are evicted, the oldest first. Current ones are refused instead. */
	while (x->n && x->list[0].old && (x->n >= SECRETS_MAX || x->bytes + n > SECRETS_BYTES_MAX))
		secret_forget(x, 0);
}

/* The mask of what is in the list now: nothing is hidden by a change of the list before. */
static void secrets_rebuild(struct secrets *x)
{
	/* A new mask, not a changed one: a thread may search with a reference to the old one. */
	x->mask = mask_free(x->mask);
	if (x->n)
		x->mask = mask_new();
	for (size_t i = 0; i < x->n; i++)
		mask_add(x->mask, (struct slice){ x->list[i].value, x->list[i].n });
}

/* --- what is no secret --------------------------------------------------------------------------------- */

/* Backslashes and line breaks are not compared. */
static size_t length_compared(struct slice v)
{
	/* mask_add leaves these characters out of the pattern, so they do not make a value longer. */
	size_t n = 0;

	for (size_t i = 0; i < v.n; i++)
		n += v.p[i] != '\\' && v.p[i] != '\n' && v.p[i] != '\r';
	return n;
}

/*
 * True if much of it is like its own beginning. It is a placeholder then; and a text made for it would cost far more
 * than its length to be searched. By the Z function: how much of the beginning each of its ends begins with.
 */
static bool repeats(struct slice v)
{
	size_t *z = xalloc(v.n * sizeof(*z)), left = 0, right = 0, sum = 0;

	for (size_t i = 1; i < v.n; i++) {
		z[i] = i < right ? MIN(right - i, z[i - left]) : 0;
		while (i + z[i] < v.n && v.p[z[i]] == v.p[i + z[i]])
			z[i]++;
		if (i + z[i] > right) {
			left = i;
			right = i + z[i];
		}
		sum += z[i];
	}
	free(z);
	return sum > v.n;
}

static struct slice json_unquoted(struct jval v)
{
	return v.type == J_STRING ? (struct slice){ v.raw.p + 1, v.raw.n - 2 } : SLICE_NONE;
}

static bool in_use(const struct secrets_given *g, struct slice v)
{
	for (size_t i = 0; i < ARRAY_SIZE(g->in_use); i++)
		if (g->in_use[i] && slice_is(v, g->in_use[i]))
			return true;
	/* The name of a model is in every usage record. Masked, the records would have no model. */
	jarr_each(model, g->models)
		if (slice_eq(json_unquoted(model), v))
			return true;
	return word_of_protocol(v);
}

static const char *refusal(const struct loading *l, struct slice v)
{
	if (length_compared(v) < SECRET_MIN)
		return "short";
	if (v.n > SECRET_MAX)
		return "long";
	if (in_use(l->given, v))
		return "word";
	if (repeats(v))
		return "repetitive";
	if (l->x->n >= SECRETS_MAX || l->x->bytes + v.n > SECRETS_BYTES_MAX)
		return "too_many";
	return NULL;
}

/* --- together with what is there -------------------------------------------------------------------------- */

static void add_quietly(struct loading *l, struct slice v)
{
	/* Not reported if refused: the client has not marked this part of a value as a secret. */
	secrets_make_room(l->x, v.n);
	if (!refusal(l, v))
		secret_keep(l->x, v, NULL, false);
}

static struct slice trimmed(struct slice v)
{
	while (v.n && strchr(" \t\r", v.p[0]) && v.p[0]) {
		v.p++;
		v.n--;
	}
	while (v.n && strchr(" \t\r", v.p[v.n - 1]) && v.p[v.n - 1])
		v.n--;
	return v;
}

/* A key of several lines is shown with numbers before each, or signs of a patch. */
static void add_lines(struct loading *l, struct slice v)
{
	while (v.n) {
		size_t left = v.n;
		struct slice line;

		slice_item(&v, '\n', &line);
		line = trimmed(line);
		/* Lines with blanks are prose or headers ("-----BEGIN ..."): to mask those would damage other text. */
		if (line.n < left && line.n >= LINE_MIN && !memchr(line.p, ' ', line.n))
			add_quietly(l, line);
	}
}

static void note_unmasked(struct loading *l, struct slice name, const char *reason)
{
	jw_object(&l->unmasked, NULL, JW_SLICE("name", name), JW_STR("reason", reason));
}

static void add(struct loading *l, const char *prefix, struct slice name, struct slice v)
{
	_cleanup_(buf_done) struct buf path = { 0 };
	const char *why;

	secrets_make_room(l->x, v.n);
	why = refusal(l, v);
	if (!why) {
		secret_keep(l->x, v, NULL, false);
		add_lines(l, v);
		return;
	}
	/* An empty value is not a secret, and is not worth a report. */
	if (!v.n)
		return;
	buf_puts(&path, prefix);
	buf_add_slice(&path, name);
	note_unmasked(l, buf_slice(&path), why);
}

static void add_json(struct loading *l, const char *prefix, struct slice name, struct jval v)
{
	_cleanup_(buf_done) struct buf b = { .max = 4 * MIB };

	if (jstr_decode_bytes(v, &b) == 0)
		add(l, prefix, name, buf_slice(&b));
	/* The decoded copy is on the heap. Freed memory must not keep a secret. */
	if (b.data)
		secret_wipe(b.data, b.cap);
}

static void add_locked(struct loading *l, struct locked_text *t, const char *name)
{
	struct slice v = locked_text_slice(t);
	const char *why;

	secrets_make_room(l->x, v.n);
	why = v.n ? refusal(l, v) : NULL;
	if (why) {
		note_unmasked(l, slice_of(name), why);
	} else if (v.n) {
		/* By reference: the key stays in locked memory, and has no second copy in the list. */
		secret_keep(l->x, v, t, false);
		add_lines(l, v);
	}
}

/* --- where they stand ------------------------------------------------------------------------------------ */

/* part: not within a longer word. */
static bool name_has_word(struct slice name, const char *word, bool part)
{
	size_t n = strlen(word);

	for (size_t at = 0; at + n <= name.n; at++)
		if (strncasecmp(name.p + at, word, n) == 0 &&
		    (!part || ((!at || name.p[at - 1] == '_') &&
			       (at + n == name.n || name.p[at + n] == '_'))))
			return true;
	return false;
}

bool secrets_name(struct slice name)
{
	/* The last four are common within other words. */
	static const char *const words[] = { "KEY",    "TOKEN",	 "SECRET",     "PASSWORD",
					     "PASSWD", "COOKIE", "CREDENTIAL", "PASSPHRASE",
					     "PAT",    "PASS",	 "AUTH",       "DSN" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (name_has_word(name, words[i], i >= ARRAY_SIZE(words) - 4))
			return true;
	return false;
}

/* scheme://user:password@host */
static void add_password(struct loading *l, struct slice v)
{
	const char *at = memmem(v.p, v.n, "://", 3), *end = v.p + v.n, *colon, *host;

	if (!at)
		return;
	at += 3;
	for (const char *p = at; p < end; p++)
		if (strchr("/?# \n", *p) && *p) {
			end = p;
			break;
		}
	colon = memchr(at, ':', (size_t)(end - at));
	host = memrchr(at, '@', (size_t)(end - at));
	/* The last "@" ends the password: a host cannot contain one (RFC 3986). */
	if (colon && host && colon < host)
		add_quietly(l, (struct slice){ colon + 1, (size_t)(host - colon - 1) });
}

static void add_variable(struct loading *l, const char *prefix, struct slice name, struct jval v)
{
	_cleanup_(buf_done) struct buf b = { .max = 4 * MIB };

	if (secrets_name(name))
		add_json(l, prefix, name, v);
	/* A variable with a common name may still have an address with a password (DATABASE_URL). */
	else if (jstr_decode_bytes(v, &b) == 0)
		add_password(l, buf_slice(&b));
	if (b.data)
		secret_wipe(b.data, b.cap);
}

static void add_operators(struct loading *l)
{
	for (size_t i = 0; i < l->given->noperators; i++) {
		const struct harness_env *e = &l->given->operators[i];

		/* Quietly: the client did not give these values, so its report does not list them. */
		if (secrets_name(slice_of(e->name)))
			add_quietly(l, slice_of(e->value));
		else
			add_password(l, slice_of(e->value));
	}
}

static void add_address(struct loading *l, struct jval url)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (jstr_decode_bytes(url, &b) == 0)
		add_password(l, buf_slice(&b));
}

/* Of "Bearer abc" what comes after the scheme is one, too. */
static void add_header(struct loading *l, const char *prefix, struct slice name, struct jval v)
{
	_cleanup_(buf_done) struct buf b = { .max = 4 * MIB };
	const char *space;

	add_json(l, prefix, name, v);
	if (jstr_decode_bytes(v, &b) == 0 && (space = memchr(b.data, ' ', b.len)))
		add_quietly(l, (struct slice){ space + 1, b.len - (size_t)(space + 1 - b.data) });
	if (b.data)
		secret_wipe(b.data, b.cap);
}

static void secrets_add_members(struct loading *l, const char *prefix, struct slice object,
				bool headers)
{
	jobj_each(key, v, object) {
		if (headers)
			add_header(l, prefix, key, v);
		else
			add_json(l, prefix, key, v);
	}
}

/* One of the provider's addresses, or of its fallbacks: key, headers, password in the URL. */
static void add_upstream(struct loading *l, struct slice at, struct locked_text *key,
			 const char *path)
{
	char name[64];

	snprintf(name, sizeof(name), "%skey", path);
	add_locked(l, key, name);
	snprintf(name, sizeof(name), "%sheaders.", path);
	secrets_add_members(l, name, jobj_get(at, "headers").raw, true);
	add_address(l, jobj_get(at, "baseUrl"));
}

static void add_provider(struct loading *l)
{
	static const struct provider_keys none;
	const struct provider_keys *keys = l->given->keys ? l->given->keys : &none;
	char path[48];

	add_upstream(l, l->given->provider, keys->of[0], "provider.");
	jarr_each_at(i, v, jobj_get(l->given->provider, "fallbacks")) {
		if (i == PROVIDER_FALLBACKS_MAX)
			break;
		snprintf(path, sizeof(path), "provider.fallbacks[%zu].", i);
		add_upstream(l, v.raw, keys->of[1 + i], path);
	}
}

/* Headers or variables of a server: [{name, value}]. */
static void add_pairs(struct loading *l, const char *prefix, struct jval list, bool headers)
{
	jarr_each(pair, list) {
		struct slice name = json_unquoted(jobj_get(pair.raw, "name"));
		struct jval v = jobj_get(pair.raw, "value");

		if (headers)
			add_header(l, prefix, name, v);
		else
			add_variable(l, prefix, name, v);
	}
}

static void add_servers(struct loading *l, struct slice servers)
{
	jarr_each(v, servers) {
		if (v.type != J_OBJECT)
			continue;
		add_address(l, jobj_get(v.raw, "url"));
		add_pairs(l, "mcpServers.headers.", jobj_get(v.raw, "headers"), true);
		add_pairs(l, "mcpServers.env.", jobj_get(v.raw, "env"), false);
	}
}

/* --- together -------------------------------------------------------------------------------------------- */

void secrets_load(struct secrets *x, const struct secrets_given *g)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct loading l = { x, g, JW(&b) };

	for (size_t i = 0; i < x->n; i++)
		x->list[i].old = true;
	jw_arr(&l.unmasked, NULL);
	/* The order counts: when the list is full, later values are refused with "too_many". */
	secrets_add_members(&l, "secrets.", g->marked, false);
	if (g->provider.n)
		add_provider(&l);
	add_servers(&l, g->servers);
	jobj_each(key, v, g->env)
		add_variable(&l, "env.", key, v);
	add_operators(&l);
	jw_end_arr(&l.unmasked);
	free(x->unmasked);
	x->unmasked = b.failed || slice_is(buf_slice(&b), "[]") ? NULL : xstrndup(b.data, b.len);
	/* Once, at the end: each rebuild makes all patterns again. */
	secrets_rebuild(x);
}

void secrets_learn(struct secrets *x, const struct secrets_given *g, struct slice env)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct loading l = { x, g, JW(&b) };
	size_t all = x->n;

	/* The sandbox controls this text: the limits bound what it can add to the mask. */
	jobj_each(key, v, env) {
		size_t before = x->n;

		if (x->learned >= SECRETS_LEARNED_MAX)
			break;
		if (v.type == J_STRING && v.raw.n <= SECRET_LEARNED_BYTES)
			add_variable(&l, "env.", key, v);
		x->learned += x->n > before ? x->n - before : 0;
	}
	if (x->n != all)
		secrets_rebuild(x);
}

void secrets_inherit(struct secrets *x, const struct secrets *from)
{
	for (size_t i = 0; i < from->n; i++)
		/* The history of the original is copied with the fork, and later output may repeat it. */
		if (x->n < SECRETS_MAX && x->bytes + from->list[i].n <= SECRETS_BYTES_MAX)
			secret_keep(x, (struct slice){ from->list[i].value, from->list[i].n },
				    from->list[i].locked, true);
	secrets_rebuild(x);
}

void secrets_done(struct secrets *x)
{
	/* From the end: secret_forget moves what is behind an entry. */
	while (x->n)
		secret_forget(x, x->n - 1);
	free_each(x->list, x->unmasked);
	mask_free(x->mask);
	*x = (struct secrets){ 0 };
}

void secrets_put_unmasked(const struct secrets *x, struct jw *w)
{
	if (x->unmasked)
		jw_raw(w, "unmasked", slice_of(x->unmasked));
}
