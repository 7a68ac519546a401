/*
 * jknown.c - the index of long values in a text: filled by one scan, then searched by start
 * address.
 *
 * Long lines of a harness are scanned in a worker thread, and the loop's later scans of the same
 * text skip the long values. The index is thread-local state of the scanner, so that jscan.h needs
 * no further parameter. It is valid only for the same bytes at the same address, because entries
 * are pointers into the text.
 */
#include "json/jknown.h"

#include "base/util.h"
#include "base/limits.h"
#include "json/jwalk.h"

_Thread_local struct jknown *jknown_used;

/* The last value that begins at p or before it; NULL: there is none. */
static const struct jknown_value *last_before(const struct jknown *k, const unsigned char *p)
{
	size_t lo = 0, hi = k->n;

	/* The thread scans other texts, too: only addresses within this one count. */
	if (p < k->start || p >= k->end)
		return NULL;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (k->values[mid].start <= p)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &k->values[lo - 1] : NULL;
}

static const struct jknown_value *known_at(const struct jwalk *w)
{
	const struct jknown_value *v = NULL;

	/* While it is filled the index is not sorted. */
	if (w->known && !w->known->noting)
		v = last_before(w->known, w->p);
	return v && v->start == w->p ? v : NULL;
}

size_t jknown_size(const struct jwalk *w)
{
	const struct jknown_value *v = known_at(w);

	return v ? (size_t)(v->end - v->start) : 0;
}

static bool known_pass(struct jwalk *w, const struct jknown_value *v)
{
	/* a scan of a part that ends within the value finds out by itself */
	if (!v || v->end > w->end)
		return false;
	w->p = v->end;
	w->half |= v->half;
	return true;
}

bool jknown_skip(struct jwalk *w)
{
	return known_pass(w, known_at(w));
}

/* Nothing begins within a string, so the last value that begins before p is the string, if that is long. */
bool jknown_skip_rest(struct jwalk *w)
{
	const struct jknown_value *v = w->known->noting ? NULL : last_before(w->known, w->p);

	return v && *v->start == '"' && v->start < w->p && w->p < v->end && known_pass(w, v);
}

void jknown_note(const struct jwalk *w, const unsigned char *start)
{
	struct jknown *k = w->known;

	if (k->noting && w->p - start >= (ptrdiff_t)JKNOWN_MIN)
		*GROW(k->values, k->n) = (struct jknown_value){ start, w->p, w->half };
}

static int by_start(const void *a, const void *b)
{
	const struct jknown_value *x = a, *y = b;

	/* A difference of pointers need not fit an int. */
	return (x->start > y->start) - (x->start < y->start);
}

enum jscan_error jknown_scan(struct jknown *k, struct slice text, bool *repair)
{
	struct jknown *before = jknown_used;
	enum jscan_error e;

	*k = (struct jknown){ .start = (const unsigned char *)text.p,
			      .end = (const unsigned char *)text.p + text.n,
			      .noting = true };
	jknown_used = k;
	e = jscan_message(text, NULL, 0, repair);
	jknown_used = before;
	k->noting = false;
	/* Nothing is known of a text that is not valid: each scan has to find the error. */
	if (e)
		jknown_done(k);
	/* Values are recorded when they end, so inner ones precede outer ones. The binary search
	 * needs them by start. */
	if (k->n)
		qsort(k->values, k->n, sizeof(*k->values), by_start);
	return e;
}

void jknown_done(struct jknown *k)
{
	free(k->values);
	k->values = NULL;
	k->n = 0;
}

void jknown_use(struct jknown *k)
{
	jknown_used = k;
}
