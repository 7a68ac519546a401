/*
 * jshape.c - checks a value against a table of shapes, and repairs one that does not fit.
 *
 * The check runs for every update of a harness, so it walks the text once and compares raw names
 * first. The repair is rare, and may scan parts repeatedly. Both must agree: object_mend retains
 * the first of repeated members, so arm_at reads the first tag. Members are tracked in a bit mask,
 * so a table has at most JSHAPE_MEMBERS_MAX of them.
 */
#include "json/jshape.h"

#include "json/jdec.h"
#include "json/jstr.h"

const struct jshape jshape_any = { .kind = JS_ANY };
const struct jshape jshape_string = { .kind = JS_STRING };
const struct jshape jshape_name = { .kind = JS_NAME };
const struct jshape jshape_time = { .kind = JS_TIME };
const struct jshape jshape_bool = { .kind = JS_BOOL };
const struct jshape jshape_number = { .kind = JS_NUMBER };
const struct jshape jshape_map = { .kind = JS_MAP };

/* --- values without parts -------------------------------------------------------------------------------- */

static bool is_one_of_words(const char *const *words, struct jval v)
{
	for (; *words; words++)
		if (jstr_is(v, *words))
			return true;
	return false;
}

static bool fits_form(struct slice text, const char *form)
{
	size_t n = strlen(form);

	if (text.n < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (form[i] == '0' ? text.p[i] < '0' || text.p[i] > '9' : text.p[i] != form[i])
			return false;
	return true;
}

/* "2026-01-31T12:34:56", a fraction, and Z or an offset, between quotes. */
static bool is_time(struct jval v)
{
	static const char form[] = "\"0000-00-00T00:00:00";
	struct slice rest = v.raw;

	/* The form of RFC 3339 only: month 13 passes. */
	if (v.type != J_STRING || !fits_form(rest, form))
		return false;
	rest.p += sizeof(form) - 1;
	rest.n -= sizeof(form) - 1;
	if (slice_skip(&rest, ".")) {
		if (!rest.n || *rest.p < '0' || *rest.p > '9')
			return false;
		while (rest.n && *rest.p >= '0' && *rest.p <= '9') {
			rest.p++;
			rest.n--;
		}
	}
	if (slice_is(rest, "Z\""))
		return true;
	return rest.n == 7 && (fits_form(rest, "+00:00\"") || fits_form(rest, "-00:00\""));
}

static bool is_integer(const struct jshape *s, struct jval v)
{
	int64_t n;

	return v.type == J_NUMBER && jdec_int(v, &n) == 0 && n >= s->min && n <= s->max;
}

static bool fits_plain(const struct jshape *s, struct jval v)
{
	switch (s->kind) {
	case JS_ANY:
		return true;
	case JS_NAME:
		return v.type == J_STRING && v.raw.n > 2;
	case JS_TIME:
		return is_time(v);
	case JS_WORD:
		return v.type == J_STRING && is_one_of_words(s->words, v);
	case JS_BOOL:
		return v.type == J_TRUE || v.type == J_FALSE;
	case JS_NUMBER:
		return v.type == J_NUMBER;
	case JS_INTEGER:
		return is_integer(s, v);
	case JS_MAP:
		return v.type == J_OBJECT;
	default:
		return false;
	}
}

/* --- objects ----------------------------------------------------------------------------------------------- */

static bool shape_fits(const struct jshape *s, struct jwalk *w, struct jval *id);

static const struct jmember *member_find(const struct jmember *m, struct slice key)
{
	for (; m->name; m++)
		if (jkey_is(key, m->name))
			return m;
	return NULL;
}

/* Reads the next name with its colon. NULL: it is none of them, and then stands in key; or it is none at all. Nearly all
 * names are written as they are. */
static const struct jmember *member_at(const struct jmember *members, struct jwalk *w,
				       struct slice *key)
{
	const unsigned char *name = w->p + 1;

	if (w->p >= w->end || *w->p != '"')
		return NULL;
	for (const struct jmember *m = members; m->name; m++) {
		/* The closing quote must fit, too. */
		if (m->n >= (size_t)(w->end - name) || name[m->n] != '"' ||
		    memcmp(name, m->name, m->n) != 0)
			continue;
		w->p = name + m->n + 1;
		return jwalk_colon(w) ? m : NULL;
	}
	return jwalk_key(w, key) ? member_find(members, *key) : NULL;
}

/* id (may be NULL): set if it is the member JS_ID, which is a string. */
static bool member_fits(const struct jmember *m, struct jwalk *w, struct jval *id)
{
	const char *start = (const char *)w->p;
	struct jval v;

	if (jwalk_type(w) == J_NULL && (m->flags & JS_NULLABLE))
		return jwalk_value(w, &v);
	/* NULL: JS_ID is a member of the value itself, not of what is nested in it (jshape.h). */
	if (!shape_fits(m->shape, w, NULL))
		return false;
	if (id && (m->flags & JS_ID))
		*id = (struct jval){ J_STRING, { start, (size_t)((const char *)w->p - start) } };
	return true;
}

static bool has_required(const struct jmember *members, unsigned seen)
{
	for (unsigned i = 0; members[i].name; i++)
		if ((members[i].flags & JS_REQUIRED) && !(seen & 1u << i))
			return false;
	return true;
}

/* From the part on that w is at. tag: a member that is no part of members and is checked elsewhere; NULL: none, or it has
 * been passed. */
static bool members_fit(const struct jmember *members, const char *tag, struct jwalk *w,
			enum jwalk_part part, struct jval *id)
{
	unsigned seen = 0, bit;
	struct jval v;

	for (; part == JWALK_PART; part = jwalk_next(w, '}')) {
		struct slice key = SLICE_NONE;
		const struct jmember *m = member_at(members, w, &key);

		if (!m && tag && jkey_is(key, tag) && jwalk_value(w, &v)) {
			tag = NULL;
			continue;
		}
		if (!m)
			return false;
		bit = 1u << (m - members);
		/* A repeated member does not fit: two readers may see two values. */
		if ((seen & bit) || !member_fits(m, w, id))
			return false;
		seen |= bit;
	}
	return part == JWALK_END && has_required(members, seen);
}

static bool object_fits(const struct jmember *members, const char *tag, struct jwalk *w,
			struct jval *id)
{
	enum jwalk_part part = jwalk_enter(w, '{', '}');

	return members_fit(members, tag, w, part, id);
}

bool jshape_fits_rest(const struct jshape *s, struct jwalk *w, struct jval *id)
{
	*id = (struct jval){ J_NONE, SLICE_NONE };
	return members_fit(s->members, NULL, w, jwalk_next(w, '}'), id);
}

static bool member_mend(const struct jmember *m, struct jval v, struct jw *w)
{
	_cleanup_(buf_done) struct buf part = { 0 };

	if (v.type == J_NULL && (m->flags & JS_NULLABLE))
		jw_raw(w, m->name, v.raw);
	else if (jshape_mend(m->shape, v, &part))
		jw_raw(w, m->name, buf_slice(&part));
	else
		return false;
	return true;
}

static bool put_fallbacks(const struct jmember *members, unsigned seen, struct jw *w)
{
	for (unsigned i = 0; members[i].name; i++) {
		if (!(members[i].flags & JS_REQUIRED) || (seen & 1u << i))
			continue;
		/* Then the object cannot be repaired, and is removed as a whole. */
		if (!members[i].fallback)
			return false;
		jw_raw(w, members[i].name, slice_of(members[i].fallback));
	}
	return true;
}

static bool object_mend(const struct jmember *members, const char *tag, struct jval v,
			struct buf *out)
{
	struct jw w = JW(out);
	unsigned seen = 0, bit;
	bool tagged = false;

	if (v.type != J_OBJECT)
		return false;
	jw_obj(&w, NULL);
	jobj_each(key, part, v) {
		const struct jmember *m = member_find(members, key);

		/* The tag is checked by arm_at, and the first one counts. */
		if (!m && tag && !tagged && jkey_is(key, tag)) {
			jw_raw(&w, tag, part.raw);
			tagged = true;
		}
		/* Unknown members are removed: a strict reader would refuse the object. */
		if (!m)
			continue;
		bit = 1u << (m - members);
		/* A member that cannot be repaired is left out: a later one of its name, or its fallback, replaces it. */
		if (!(seen & bit) && member_mend(m, part, &w))
			seen |= bit;
	}
	if (!put_fallbacks(members, seen, &w))
		return false;
	jw_end_obj(&w);
	return true;
}

static const struct jmember *arm_of(const struct jshape *s, struct jval tag)
{
	for (const struct jarm *a = s->arms; a->tag; a++)
		if (jstr_is(tag, a->tag))
			return a->members;
	return NULL;
}

/* Of a valid object; w stays where it is. */
static const struct jmember *arm_at(const struct jshape *s, struct jwalk w)
{
	enum jwalk_part part = jwalk_enter(&w, '{', '}');
	struct slice key;
	struct jval v;

	/* the first of that name, which object_mend keeps */
	for (; part == JWALK_PART; part = jwalk_next(&w, '}')) {
		if (!jwalk_key(&w, &key) || !jwalk_value(&w, &v))
			return NULL;
		if (jkey_is(key, s->tag))
			return arm_of(s, v);
	}
	return NULL;
}

/* The tag is almost always the first member. */
static bool tagged_fits(const struct jshape *s, struct jwalk *w, struct jval *id)
{
	struct jwalk start = *w;
	const struct jmember *arm;
	struct slice key;
	struct jval tag;

	if (jwalk_enter(w, '{', '}') == JWALK_PART && jwalk_key(w, &key) && jkey_is(key, s->tag)) {
		arm = jwalk_value(w, &tag) ? arm_of(s, tag) : NULL;
		return arm && members_fit(arm, NULL, w, jwalk_next(w, '}'), id);
	}
	/* The tag is not first: the object is read twice. */
	*w = start;
	arm = arm_at(s, *w);
	return arm && object_fits(arm, s->tag, w, id);
}

/* --- arrays -------------------------------------------------------------------------------------------------- */

/* w stays where it is. */
static const struct jshape *items_at(const struct jshape *s, struct jwalk w)
{
	struct jval first;

	if (s->kind != JS_EITHER || jwalk_enter(&w, '[', ']') != JWALK_PART ||
	    !jwalk_value(&w, &first))
		return s->items;
	/* The first element decides for the whole array: elements of the other kind do not fit. */
	return first.type == J_OBJECT && jobj_get(first.raw, s->tag).type != J_NONE ? s->other :
										      s->items;
}

static bool array_fits(const struct jshape *items, struct jwalk *w)
{
	enum jwalk_part part = jwalk_enter(w, '[', ']');

	for (; part == JWALK_PART; part = jwalk_next(w, ']'))
		if (!shape_fits(items, w, NULL))
			return false;
	return part == JWALK_END;
}

static bool array_mend(const struct jshape *items, struct jval v, struct buf *out)
{
	struct jw w = JW(out);

	if (v.type != J_ARRAY)
		return false;
	jw_arr(&w, NULL);
	jarr_each(part, v) {
		_cleanup_(buf_done) struct buf b = { 0 };

		/* An element that cannot be repaired is left out, so the others stay usable. */
		if (jshape_mend(items, part, &b))
			jw_raw(&w, NULL, buf_slice(&b));
	}
	jw_end_arr(&w);
	return true;
}

/* --- any ------------------------------------------------------------------------------------------------------- */

static bool either_fits(const struct jshape *s, struct jwalk *w)
{
	struct jwalk first = *w;

	/* w moves only by the alternative that fits: a failed attempt stops anywhere in the text. */
	if (object_fits(s->members, NULL, &first, NULL)) {
		*w = first;
		return true;
	}
	return object_fits(s->more, NULL, w, NULL);
}

/* Of what comes now, which has been read then. */
static bool shape_fits(const struct jshape *s, struct jwalk *w, struct jval *id)
{
	struct jval v;

	switch (s->kind) {
	case JS_OBJECT:
		return object_fits(s->members, s->tag, w, id);
	case JS_TAGGED:
		return tagged_fits(s, w, id);
	case JS_ONE_OF:
		return either_fits(s, w);
	case JS_ARRAY:
	case JS_EITHER:
		return array_fits(items_at(s, *w), w);
	case JS_STRING:
		return jwalk_type(w) == J_STRING && jwalk_string(w) == JSCAN_OK;
	default:
		return jwalk_value(w, &v) && fits_plain(s, v);
	}
}

bool jshape_fits(const struct jshape *s, struct jval v, struct jval *id)
{
	struct jwalk w = jwalk_of(v.raw);
	struct jval found = { J_NONE, SLICE_NONE };
	bool ret = shape_fits(s, &w, &found);

	if (id)
		*id = found;
	return ret;
}

/* An integer that was written as 12.0 is one. */
static bool integer_mend(const struct jshape *s, struct jval v, struct buf *out)
{
	const char *dot = v.type == J_NUMBER ? memchr(v.raw.p, '.', v.raw.n) : NULL;
	struct jval whole = { J_NUMBER, { v.raw.p, dot ? (size_t)(dot - v.raw.p) : 0 } };

	if (!dot)
		return false;
	/* As text and without rounding: a double is not exact above 2^53. */
	for (const char *p = dot + 1; p < v.raw.p + v.raw.n; p++)
		if (*p != '0')
			return false;
	return is_integer(s, whole) && buf_add_slice(out, whole.raw) == 0;
}

bool jshape_mend(const struct jshape *s, struct jval v, struct buf *out)
{
	const struct jmember *arm;

	/* Text that fits is copied byte for byte. */
	if (jshape_fits(s, v, NULL))
		return buf_add_slice(out, v.raw) == 0;
	switch (s->kind) {
	case JS_OBJECT:
		return object_mend(s->members, s->tag, v, out);
	case JS_TAGGED:
		arm = arm_at(s, jwalk_of(v.raw));
		return arm && object_mend(arm, s->tag, v, out);
	case JS_ONE_OF:
		if (object_mend(s->members, NULL, v, out))
			return true;
		/* The failed attempt has left partial text. */
		buf_reset(out);
		return object_mend(s->more, NULL, v, out);
	case JS_ARRAY:
	case JS_EITHER:
		return array_mend(items_at(s, jwalk_of(v.raw)), v, out);
	case JS_INTEGER:
		return integer_mend(s, v, out);
	default:
		return false;
	}
}
