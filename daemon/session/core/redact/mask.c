/*
 * mask.c - searches text for secrets in all encodings, and replaces them.
 *
 * Each value yields one plain pattern and three base64 patterns, one per alignment. Line breaks and
 * backslashes are removed from the pattern, because mask_match.c skips them in the text. A byte
 * class and a bitmap of byte pairs reject almost every position; only then are the patterns with
 * that first byte compared. A match that the end of the text cuts off is recorded as a tail: the
 * caller waits for more text, or hides it. Patterns are wiped when the mask is freed.
 */
#include "session/core/redact/mask.h"

#include "base/util.h"
#include "digest/base64.h"
#include "digest/digest.h"
#include "session/core/redact/mask_match.h"

#define PAIR_BITS 4096
#define NONE UINT16_MAX

enum byte_class {
	BYTE_STARTS_PATTERN = 1, /* some pattern */
	BYTE_IS_ESCAPE = 2, /* a backslash, a percent sign or a line break: may stand for another */
};

struct mask {
	struct mask_pattern *patterns;
	uint16_t n;
	unsigned refs; /* beside the first owner */
	size_t longest;
	uint8_t classes[256];
	uint8_t pairs[PAIR_BITS / 8];
	uint16_t first[2][256]; /* [base64] */
};

struct mask *mask_new(void)
{
	struct mask *m = new0(struct mask);

	memset(m->first, 0xff, sizeof(m->first));
	for (const char *p = "\\%\n\r"; *p; p++)
		m->classes[(uint8_t)*p] = BYTE_IS_ESCAPE;
	return m;
}

struct mask *mask_ref(struct mask *m)
{
	if (m)
		m->refs++;
	return m;
}

struct mask *mask_free(struct mask *m)
{
	if (!m || m->refs) {
		if (m)
			m->refs--;
		return NULL;
	}
	for (size_t i = 0; i < m->n; i++) {
		secret_wipe(m->patterns[i].p, m->patterns[i].n);
		free(m->patterns[i].p);
	}
	free_each(m->patterns, m);
	return NULL;
}

/* --- patterns ---------------------------------------------------------------------------------------- */

static unsigned pair_bit(uint8_t a, uint8_t b)
{
	return (a * 61u + b * 7u + (b << 5)) % PAIR_BITS;
}

static void note_pair(struct mask *m, uint8_t a, uint8_t b)
{
	unsigned bit = pair_bit(a, b);

	m->classes[a] |= BYTE_STARTS_PATTERN;
	m->pairs[bit / 8] |= (uint8_t)(1u << bit % 8);
}

/* Both ways to write the two characters of base64 that have two. */
static void note_start(struct mask *m, const struct mask_pattern *p)
{
	static const char other[][2] = { { '+', '-' }, { '/', '_' } };
	uint8_t a[2] = { (uint8_t)p->p[0], (uint8_t)p->p[0] };
	uint8_t b[2] = { (uint8_t)p->p[1], (uint8_t)p->p[1] };

	for (size_t i = 0; p->base64 && i < ARRAY_SIZE(other); i++) {
		if (a[0] == other[i][0])
			a[1] = (uint8_t)other[i][1];
		if (b[0] == other[i][0])
			b[1] = (uint8_t)other[i][1];
	}
	for (size_t i = 0; i < 4; i++)
		note_pair(m, a[i & 1], b[i >> 1]);
}

static bool known(const struct mask *m, struct slice text, bool base64)
{
	for (uint16_t i = m->first[base64][(uint8_t)text.p[0]]; i != NONE; i = m->patterns[i].next)
		if (slice_eq((struct slice){ m->patterns[i].p, m->patterns[i].n }, text))
			return true;
	return false;
}

static void add_pattern(struct mask *m, struct slice text, bool base64)
{
	uint8_t begin = text.n ? (uint8_t)text.p[0] : 0;
	struct mask_pattern *p;

	/* The filter looks at pairs of bytes, so a pattern needs two. */
	if (text.n < 2 || m->n == NONE - 1 || known(m, text, base64))
		return;
	p = GROW(m->patterns, m->n);
	*p = (struct mask_pattern){ xstrndup(text.p, text.n), text.n, base64,
				    m->first[base64][begin] };
	m->first[base64][begin] = m->n - 1;
	m->longest = MAX(m->longest, p->n);
	note_start(m, p);
}

/* The characters of its base64 that depend on nothing else, when it begins at a byte whose number is skip modulo 3. */
static void add_base64(struct mask *m, struct slice value, size_t skip)
{
	_cleanup_(buf_done) struct buf bytes = { .max = SIZE_MAX / 2 },
				       text = { .max = SIZE_MAX / 2 };
	size_t from = (skip * 8 + 5) / 6, to = (skip + value.n) * 8 / 6;

	buf_add(&bytes, "\0\0", skip);
	buf_add_slice(&bytes, value);
	if (base64_encode(buf_slice(&bytes), &text) == 0)
		add_pattern(m, (struct slice){ text.data + from, to - from }, true);
	secret_wipe(bytes.data, bytes.cap);
	secret_wipe(text.data, text.cap);
}

void mask_add(struct mask *m, struct slice value)
{
	_cleanup_(buf_done) struct buf plain = { .max = SIZE_MAX / 2 };

	/* before any character there may be backslashes and line breaks, so that its own need not be looked for */
	for (size_t i = 0; i < value.n; i++)
		if (!strchr("\\\n\r", value.p[i]) || !value.p[i])
			buf_putc(&plain, value.p[i]);
	add_pattern(m, buf_slice(&plain), false);
	for (size_t skip = 0; skip < 3; skip++)
		add_base64(m, value, skip);
	if (plain.data)
		secret_wipe(plain.data, plain.cap);
}

/* --- a whole text ---------------------------------------------------------------------------------------- */

struct mask_search {
	const struct mask *m;
	struct slice text;
	bool quotes;
	size_t start, end; /* of the secret that was found */
	size_t tail; /* where the first begins that the end of the text may cut off; SIZE_MAX: none */
	struct mask_known *known; /* NULL: nobody wants to know all of them */
};

static void note_tail(struct mask_search *x, size_t i)
{
	struct mask_known *k = x->known;

	x->tail = MIN(x->tail, i);
	/* The same place may be reported by several patterns. */
	if (!k || k->ntails > MASK_TAILS_MAX ||
	    (k->ntails && k->tails[k->ntails - 1] == x->text.p + i))
		return;
	if (k->ntails < MASK_TAILS_MAX)
		k->tails[k->ntails] = x->text.p + i;
	k->ntails++;
}

/* All patterns with that first byte; the longest match counts. */
static bool try_chain(struct mask_search *x, size_t i, uint8_t first, bool base64)
{
	bool found = false;

	for (uint16_t at = x->m->first[base64][base64 ? mask_match_fold(first) : first]; at != NONE;
	     at = x->m->patterns[at].next) {
		size_t end = 0;
		enum match_outcome o =
			mask_match_compare(&x->m->patterns[at], x->text, x->quotes, i, &end);

		if (o == MATCH_PARTIAL)
			note_tail(x, i);
		if (o != MATCH_FULL)
			continue;
		x->end = found ? MAX(x->end, end) : end;
		found = true;
	}
	x->start = found ? i : x->start;
	return found;
}

static bool try_at(struct mask_search *x, size_t i, uint8_t first)
{
	bool plain, coded;

	if (!(x->m->classes[first] & BYTE_STARTS_PATTERN))
		return false;
	plain = try_chain(x, i, first, false);
	coded = !plain && try_chain(x, i, first, true);
	return plain || coded;
}

/* At a backslash or percent sign: what it stands for, if that is not the character after it. */
static bool try_coded(struct mask_search *x, size_t i)
{
	uint8_t first = 0;
	enum match_outcome o = mask_match_first(x->text, x->quotes, i, &first);

	if (o == MATCH_PARTIAL) /* of what kind it will be nobody knows yet */
		note_tail(x, i);
	return o == MATCH_FULL && try_at(x, i, first);
}

/* The next secret from i on. */
static bool mask_search_next(struct mask_search *x, size_t i)
{
	const uint8_t *t = (const uint8_t *)x->text.p;
	const struct mask *m = x->m;

	for (; i < x->text.n; i++) {
		unsigned bit;

		if (!m->classes[t[i]])
			continue;
		if (t[i] == '\\' || t[i] == '%') {
			/* Within a run of backslashes only the first one is tried: mask_match.c reads the run as a
			 * whole. */
			if ((!i || t[i - 1] != '\\') && try_coded(x, i))
				return true;
		}
		if (!(m->classes[t[i]] & BYTE_STARTS_PATTERN))
			continue;
		bit = i + 1 < x->text.n ? pair_bit(t[i], t[i + 1]) : 0;
		/* A second byte that may be written otherwise, or a quote that may end a string, says nothing:
		 * compare. */
		if (i + 1 < x->text.n && !(m->pairs[bit / 8] & 1u << bit % 8) &&
		    !(m->classes[t[i + 1]] & BYTE_IS_ESCAPE) && !(x->quotes && t[i + 1] == '"'))
			continue;
		if (try_at(x, i, t[i]))
			return true;
	}
	return false;
}

static _Thread_local const struct mask_known *used;

static unsigned search(const struct mask *m, struct slice text, struct mask_known *known)
{
	struct mask_search x = {
		.m = m, .text = text, .quotes = true, .tail = SIZE_MAX, .known = known
	};
	unsigned found;

	if (!m || !m->n)
		return 0;
	found = mask_search_next(&x, 0) ? MASK_HIT : 0;
	return found | (x.tail != SIZE_MAX ? MASK_TAIL : 0);
}

/* Whether text is a part of one in which no secret is. */
static bool mask_is_known(const struct mask *m, struct slice text)
{
	return used && used->mask == m && !(used->found & MASK_HIT) && text.p >= used->text.p &&
	       text.p + text.n <= used->text.p + used->text.n;
}

/* False: it is not known whether one of the tails stands in text. */
static bool known_tail(struct slice text, unsigned *found)
{
	size_t n = MIN(used->ntails, (size_t)MASK_TAILS_MAX);

	*found = 0;
	for (size_t i = 0; i < n; i++)
		if (used->tails[i] >= text.p && used->tails[i] < text.p + text.n)
			*found = MASK_TAIL;
	return *found || used->ntails == n || text.p + text.n <= used->tails[n - 1];
}

unsigned mask_find(const struct mask *m, struct slice text)
{
	unsigned found;

	return mask_is_known(m, text) && known_tail(text, &found) ? found : search(m, text, NULL);
}

bool mask_hits(const struct mask *m, struct slice text)
{
	return !mask_is_known(m, text) && (search(m, text, NULL) & MASK_HIT);
}

void mask_know(const struct mask *m, struct slice text, struct mask_known *ret)
{
	*ret = (struct mask_known){ .mask = m, .text = text };
	ret->found = search(m, text, ret);
}

void mask_use(const struct mask_known *k)
{
	used = k;
}

/* The boundary between escapes and characters of a JSON string that is the last at or before i (up: the first at or
 * after). *unit: one before, which is moved along. */
static size_t boundary(struct slice text, size_t i, bool up, size_t *unit)
{
	while (*unit < i) {
		size_t n = text.p[*unit] != '\\'			  ? 1 :
			   *unit + 1 < text.n && text.p[*unit + 1] == 'u' ? 6 :
									    2;
		size_t next = MIN(*unit + n, text.n);

		if (next > i && !up)
			return *unit;
		*unit = next;
	}
	return *unit;
}

/* Where the backslashes begin that stand before i: one that was left without what it escapes would escape something else,
 * in the text of whatever is written in that string. */
static size_t before_escape(struct slice text, size_t i, size_t *unit)
{
	i = boundary(text, i, false, unit);
	while (i && text.p[i - 1] == '\\')
		i--;
	return i;
}

size_t mask_walk(const struct mask *m, struct slice text, bool json, bool last, mask_on_hit *on_hit,
		 void *ctx)
{
	struct mask_search x = { .m = m, .text = text, .tail = SIZE_MAX };
	size_t done = 0, unit = 0;

	for (size_t i = 0; m && m->n && mask_search_next(&x, i); i = done = x.end) {
		/* A possible secret that began earlier may be longer, and contain this one. It waits for more text. */
		if (!last && x.tail <= x.start)
			break;
		x.tail = SIZE_MAX;
		x.start = json ? before_escape(text, x.start, &unit) : x.start;
		x.end = json ? boundary(text, x.end, true, &unit) : x.end;
		on_hit(ctx, MAX(x.start, done), x.end);
	}
	if (last || x.tail == SIZE_MAX)
		return text.n;
	return json ? MAX(before_escape(text, x.tail, &unit), done) : x.tail;
}

struct mask_copy {
	struct slice text;
	size_t done; /* of it */
	struct buf *ret;
};

static void copy_up_to(struct mask_copy *c, size_t end)
{
	if (end > c->done)
		buf_add(c->ret, c->text.p + c->done, end - c->done);
	c->done = MAX(c->done, end);
}

static void hide(void *ctx, size_t start, size_t end)
{
	struct mask_copy *c = ctx;

	/* start may be before `done`, if the caller skips text that was sent (from). */
	copy_up_to(c, start);
	if (end > c->done)
		buf_puts(c->ret, MASK);
	c->done = MAX(c->done, end);
}

void mask_put(const struct mask *m, struct slice text, bool json, size_t from, size_t *tail,
	      struct buf *ret)
{
	struct mask_copy c = { text, from, ret };
	size_t limit = mask_walk(m, text, json, !tail, hide, &c);

	copy_up_to(&c, limit);
	if (tail)
		*tail = limit;
}

void mask_line(const struct mask *m, char *text, size_t size)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice whole = slice_of(text);
	bool cut = whole.n + 4 >= size; /* a character that did not fit may be gone, too */
	size_t tail = whole.n;

	if (!m || !mask_find(m, whole))
		return;
	mask_put(m, whole, false, 0, cut ? &tail : NULL, &b);
	if (tail < whole.n)
		buf_puts(&b, MASK);
	/* Out of memory: an empty line, and never the secret. */
	if (b.failed)
		buf_reset(&b);
	whole = buf_slice(&b);
	memcpy(text, whole.p ? whole.p : "", MIN(whole.n, size - 1));
	text[MIN(whole.n, size - 1)] = '\0';
}
