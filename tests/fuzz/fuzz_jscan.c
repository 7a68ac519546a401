/*
 * The scanner against a second reader of the same grammar, written byte by byte; and what it accepts, taken apart by the
 * iterators, decoded and written again, is accepted again and means the same.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "json/jenc.h"
#include "json/jstr.h"

/* --- the second reader ---------------------------------------------------------------------------------- */

struct reader {
	const uint8_t *p, *end;
	unsigned depth;
};

static int peek(const struct reader *r)
{
	return r->p < r->end ? *r->p : -1;
}

static bool eat(struct reader *r, int c)
{
	if (peek(r) != c)
		return false;
	r->p++;
	return true;
}

static void space(struct reader *r)
{
	while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\n' || peek(r) == '\r')
		r->p++;
}

static bool digits(struct reader *r)
{
	const uint8_t *start = r->p;

	while (peek(r) >= '0' && peek(r) <= '9')
		r->p++;
	return r->p > start;
}

static bool number(struct reader *r)
{
	eat(r, '-');
	if (!eat(r, '0') && !digits(r))
		return false;
	if (eat(r, '.') && !digits(r))
		return false;
	if (eat(r, 'e') || eat(r, 'E')) {
		if (!eat(r, '+'))
			eat(r, '-');
		return digits(r);
	}
	return true;
}

/* By value: the shortest form of a scalar value. */
static bool multibyte(struct reader *r)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c = *r->p++;
	int n = c >= 0xf8 ? 0 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 0;

	if (!n)
		return false;
	c &= 0x7fu >> n;
	for (int i = 1; i < n; i++) {
		if (peek(r) < 0 || (peek(r) & 0xc0) != 0x80)
			return false;
		c = c << 6 | (*r->p++ & 0x3f);
	}
	return c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

static bool hex_digit(int c)
{
	return c > 0 && strchr("0123456789abcdefABCDEF", c);
}

static bool escape(struct reader *r)
{
	int c = peek(r);

	if (c <= 0 || !strchr("\"\\/bfnrtu", c))
		return false;
	r->p++;
	for (int i = 0; c == 'u' && i < 4; i++) {
		if (!hex_digit(peek(r)))
			return false;
		r->p++;
	}
	return true;
}

static bool string(struct reader *r)
{
	if (!eat(r, '"'))
		return false;
	while (peek(r) >= 0) {
		if (eat(r, '"'))
			return true;
		if (peek(r) < 0x20)
			return false;
		if (peek(r) >= 0x80) {
			if (!multibyte(r))
				return false;
		} else if (eat(r, '\\')) {
			if (!escape(r))
				return false;
		} else {
			r->p++;
		}
	}
	return false;
}

static bool value(struct reader *r);

static bool word(struct reader *r, const char *s)
{
	while (*s)
		if (!eat(r, *s++))
			return false;
	return true;
}

static bool member(struct reader *r)
{
	if (!string(r))
		return false;
	space(r);
	if (!eat(r, ':'))
		return false;
	space(r);
	return value(r);
}

static bool container(struct reader *r, int close, bool (*item)(struct reader *))
{
	bool ok = ++r->depth <= JSON_DEPTH_MAX;

	r->p++;
	space(r);
	if (ok && eat(r, close)) {
		r->depth--;
		return true;
	}
	while (ok) {
		ok = item(r);
		space(r);
		if (ok && eat(r, close))
			break;
		ok = ok && eat(r, ',');
		space(r);
	}
	r->depth--;
	return ok;
}

static bool value(struct reader *r)
{
	switch (peek(r)) {
	case '{':
		return container(r, '}', member);
	case '[':
		return container(r, ']', value);
	case '"':
		return string(r);
	case 't':
		return word(r, "true");
	case 'f':
		return word(r, "false");
	case 'n':
		return word(r, "null");
	default:
		return number(r);
	}
}

static bool second_opinion(struct slice text)
{
	struct reader r = { (const uint8_t *)text.p, (const uint8_t *)text.p + text.n, 0 };

	space(&r);
	if (!value(&r))
		return false;
	space(&r);
	return r.p == r.end;
}

/* --- taken apart and written again ---------------------------------------------------------------------- */

static void rewrite(struct jw *w, struct jval v);

static void rewrite_string(struct jw *w, struct slice raw)
{
	struct jval v = { J_STRING, raw };
	_cleanup_(freep) char *s = NULL;

	if (jstr_decode(v, raw.n, &s) == 0) {
		FUZZ_CHECK(jstr_is(v, s));
		FUZZ_CHECK(strlen(s) <= raw.n - 2);
		jw_str(w, NULL, s);
	} else {
		jw_raw(w, NULL, raw); /* holds NUL or a lone surrogate */
	}
}

static void rewrite_members(struct jw *w, struct jval v)
{
	struct slice key;
	struct jiter it;

	jw_obj(w, NULL);
	FUZZ_CHECK(jiter_init(&it, v));
	while (jiter_next(&it, &key, &v)) {
		rewrite_string(w, (struct slice){ key.p - 1, key.n + 2 });
		buf_putc(w->b, ':');
		w->comma = false;
		rewrite(w, v);
	}
	jw_end_obj(w);
}

static void rewrite(struct jw *w, struct jval v)
{
	struct jiter it;

	if (v.type == J_STRING) {
		rewrite_string(w, v.raw);
	} else if (v.type == J_OBJECT) {
		rewrite_members(w, v);
	} else if (v.type == J_ARRAY) {
		jw_arr(w, NULL);
		FUZZ_CHECK(jiter_init(&it, v));
		while (jiter_next(&it, NULL, &v))
			rewrite(w, v);
		jw_end_arr(w);
	} else {
		FUZZ_CHECK(!jiter_init(&it, v));
		jw_raw(w, NULL, v.raw);
	}
}

static void rewritten(struct slice text, struct buf *b)
{
	struct jw w = JW(b);
	struct jval v;

	FUZZ_CHECK(jscan_value(text, &v) == JSCAN_OK);
	FUZZ_CHECK(slice_inside(v.raw, text));
	rewrite(&w, v);
	FUZZ_CHECK(!b->failed);
}

static void check_round(struct slice text)
{
	_cleanup_(buf_done) struct buf once = { 0 }, twice = { 0 };

	rewritten(text, &once);
	FUZZ_CHECK(second_opinion(buf_slice(&once)));
	rewritten(buf_slice(&once), &twice);
	FUZZ_CHECK(slice_eq(buf_slice(&once), buf_slice(&twice)));
}

/* --- members ---------------------------------------------------------------------------------------------- */

/* Looking a member up finds what walking finds, and refuses exactly those that stand there twice. */
static void check_lookup(struct slice object, const char *key)
{
	struct jslot slot = { .key = key };
	enum jscan_error e = jscan_object(object, &slot, 1);
	struct jval v, found = { J_NONE, SLICE_NONE };
	struct slice name;
	struct jiter it;
	unsigned n = 0;

	FUZZ_CHECK(jscan_value(object, &v) == JSCAN_OK && jiter_init(&it, v));
	while (jiter_next(&it, &name, &v)) {
		if (!jkey_is(name, key))
			continue;
		found = v;
		n++;
	}
	FUZZ_CHECK(e == (n > 1 ? JSCAN_E_DUPLICATE : JSCAN_OK));
	if (n <= 1)
		FUZZ_CHECK(slot.v.type == found.type && slice_eq(slot.v.raw, found.raw));
}

/* Members of a member, found in one pass, are those that two look-ups find. */
static void check_sub(struct slice object)
{
	struct jslot inner[] = { { .key = "id" }, { .key = "a" } };
	struct jslot outer = { .key = "params", .sub = inner, .nsub = ARRAY_SIZE(inner) };
	enum jscan_error e = jscan_object(object, &outer, 1);

	if (e != JSCAN_OK) {
		FUZZ_CHECK(e == JSCAN_E_DUPLICATE);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
		struct jval v = jobj_get(outer.v.raw, inner[i].key);

		FUZZ_CHECK(v.type == inner[i].v.type && slice_eq(v.raw, inner[i].v.raw));
	}
}

static void check_object(struct slice text)
{
	struct slice name;
	struct jiter it;
	struct jval v;

	jscan_value(text, &v);
	jiter_init(&it, v);
	check_lookup(text, "id");
	check_sub(text);
	while (jiter_next(&it, &name, &v)) {
		struct jval key = { J_STRING, { name.p - 1, name.n + 2 } };
		_cleanup_(freep) char *s = NULL;

		if (jstr_decode(key, name.n, &s) == 0)
			check_lookup(text, s);
	}
}

static void check_refused(struct slice text)
{
	struct jslot slots[] = { { .key = "id" }, { .key = "method" }, { .key = "params" } };
	enum jscan_error e = jscan_object(text, slots, ARRAY_SIZE(slots));

	FUZZ_CHECK(e != JSCAN_OK && e != JSCAN_E_NOT_OBJECT);
	FUZZ_CHECK(jobj_get(text, "id").type == J_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);
	struct jval v = { J_NONE, SLICE_NONE };
	enum jscan_error e = jscan_value(text, &v);

	FUZZ_CHECK((e == JSCAN_OK) == second_opinion(text));
	if (e != JSCAN_OK) {
		check_refused(text);
		return 0;
	}
	check_round(text);
	if (v.type == J_OBJECT)
		check_object(text);
	else
		FUZZ_CHECK(jscan_object(text, NULL, 0) == JSCAN_E_NOT_OBJECT);
	return 0;
}
