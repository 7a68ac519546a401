/*
 * jdec.c - decodes an object by a field table, in one scan of its text.
 *
 * jscan_object validates the whole object and finds the values; this file only converts them, so
 * there is no second parser that could disagree. On the first error the strings that were already
 * decoded are freed: the caller's struct must start zeroed.
 */
#include "json/jdec.h"

#include "json/jstr.h"

static const char *const type_names[] = {
	[JF_T_STR] = "a string",  [JF_T_BOOL] = "a boolean", [JF_T_INT] = "an integer",
	[JF_T_OBJ] = "an object", [JF_T_ARR] = "an array",   [JF_T_RAW] = "a value",
	[JF_T_TEXT] = "a string",
};

int jdec_int(struct jval v, int64_t *ret)
{
	char text[24];
	char *end;

	if (v.type != J_NUMBER)
		return -EINVAL;
	/* An int64 has 20 characters at most, with its sign. */
	if (v.raw.n >= sizeof(text))
		return -ERANGE;
	memcpy(text, v.raw.p, v.raw.n);
	text[v.raw.n] = '\0';
	errno = 0;
	*ret = strtoll(text, &end, 10);
	/* A fraction or an exponent, even where the value is whole: 1.0, 1e3. */
	if (*end)
		return -EINVAL;
	return errno ? -ERANGE : 0;
}

static int decode_int(const struct jfield *f, struct jval v, int64_t *ret)
{
	int64_t n = 0;
	int r = jdec_int(v, &n);

	if (r == 0 && (n < f->min || n > f->max))
		r = -ERANGE;
	/* ret is unchanged after an error: a JF_LENIENT field keeps its default. */
	if (r == 0)
		*ret = n;
	return r;
}

static int decode_span(enum jtype want, struct jval v, struct slice *ret)
{
	if (v.type != want)
		return -EINVAL;
	*ret = v.raw;
	return 0;
}

static int decode_field(const struct jfield *f, struct jval v, void *slot)
{
	switch (f->type) {
	case JF_T_STR:
		if ((f->flags & JF_FILLED) && v.type == J_STRING && v.raw.n == 2)
			return -ENODATA;
		return jstr_decode(v, (size_t)f->max, slot);
	case JF_T_BOOL:
		if (v.type != J_TRUE && v.type != J_FALSE)
			return -EINVAL;
		*(bool *)slot = v.type == J_TRUE;
		return 0;
	case JF_T_INT:
		return decode_int(f, v, slot);
	/* These borrow from the text that is decoded: only JF_T_STR allocates (jdec_free). */
	case JF_T_OBJ:
		return decode_span(J_OBJECT, v, slot);
	case JF_T_ARR:
		return decode_span(J_ARRAY, v, slot);
	case JF_T_TEXT:
		if (v.type != J_STRING)
			return -EINVAL;
		*(struct jval *)slot = v;
		return 0;
	case JF_T_RAW:
		*(struct jval *)slot = v;
		return 0;
	}
	return -EINVAL;
}

static int field_error(const struct jfield *f, const char *prefix, int r, struct err *e)
{
	const char *path = SHORT_TEXT(96, "%s%s", prefix ? prefix : "", f->name);

	if (r == -ENAMETOOLONG)
		return err_field(e, path, "FIELD_TOO_LONG", "%s is longer than %lld bytes", path,
				 (long long)f->max);
	if (r == -ERANGE)
		return err_field(e, path, "FIELD_OUT_OF_RANGE", "%s is out of range", path);
	if (r == -ENODATA)
		return err_field(e, path, "FIELD_INVALID", "%s must not be empty", path);
	if (r == -ENOENT)
		return err_field(e, path, "FIELD_MISSING", "%s is required", path);
	return err_field(e, path, "FIELD_INVALID", "%s must be %s", path, type_names[f->type]);
}

static int decode_one(const struct jfield *f, struct jval v, void *ret, const char *prefix,
		      struct err *e)
{
	int r;

	/* null counts as absent, except for JF_T_RAW, whose caller decides. */
	if (v.type == J_NONE || (v.type == J_NULL && f->type != JF_T_RAW)) {
		if (!(f->flags & JF_REQUIRED))
			return 0;
		if (v.type == J_NULL && (f->flags & JF_NULLABLE))
			return 0;
		return field_error(f, prefix, v.type == J_NONE ? -ENOENT : -EINVAL, e);
	}
	r = decode_field(f, v, (char *)ret + f->offset);
	if (r == 0 || (f->flags & JF_LENIENT))
		return 0;
	return field_error(f, prefix, r, e);
}

int jdec_object(struct slice text, const struct jfield *fields, const char *prefix, void *ret,
		struct err *e)
{
	struct jslot slots[JDEC_FIELDS_MAX];
	enum jscan_error scan;
	size_t n = 0;
	int r = 0;

	for (; fields[n].name; n++) {
		if (n >= JDEC_FIELDS_MAX)
			abort(); /* a table too long is a bug, caught by the first test that uses it */
		slots[n] = (struct jslot){ .key = fields[n].name };
	}
	scan = jscan_object(text, slots, n);
	if (scan != JSCAN_OK)
		return err_field(e, prefix ? prefix : "params", "PARAMS_INVALID", "parameters: %s",
				 jscan_strerror(scan));
	for (size_t i = 0; i < n && r == 0; i++)
		r = decode_one(&fields[i], slots[i].v, ret, prefix, e);
	if (r < 0)
		jdec_free(fields, ret);
	return r;
}

#define KNOWN_SIZE 160

/* "; known are a, b": empty where that is too long to help. */
static const char *known_fields(const struct jfield *fields, char out[KNOWN_SIZE])
{
	size_t n = 0;

	for (const struct jfield *f = fields; f->name && n < KNOWN_SIZE; f++)
		n += (size_t)snprintf(out + n, KNOWN_SIZE - n, "%s%s",
				      f == fields ? "; known are " : ", ", f->name);
	if (!n || n >= KNOWN_SIZE)
		out[0] = '\0';
	return out;
}

int jdec_refuse_unknown(struct slice object, const struct jfield *fields, const char *prefix,
			const char *refusal, struct err *e)
{
	char path[96], known[KNOWN_SIZE];

	jobj_each(key, v, object) {
		const struct jfield *f = fields;

		while (f->name && !jkey_is(key, f->name))
			f++;
		if (f->name)
			continue;
		/* The key is the peer's text: cut, and still escaped, so it has no control characters. */
		snprintf(path, sizeof(path), "%s%.*s", prefix ? prefix : "", (int)MIN(key.n, 40u),
			 key.p);
		return err_field(e, path, "PARAM_UNSUPPORTED", "%s: %s%s", path, refusal,
				 known_fields(fields, known));
	}
	return 0;
}

int jdec_strict(struct slice object, const struct jfield *fields, const char *prefix,
		const char *refusal, void *ret, struct err *e)
{
	/* In this order a refusal leaves nothing to free. */
	int r = jdec_refuse_unknown(object, fields, prefix, refusal, e);

	return r < 0 ? r : jdec_object(object, fields, prefix, ret, e);
}

int jdec_refuse(struct err *e, const char *prefix, const char *member, const char *reason,
		const char *text)
{
	const char *path = SHORT_TEXT(96, "%s%s", prefix, member);

	return err_field(e, path, reason, "%s %s", path, text);
}

void jdec_free(const struct jfield *fields, void *st)
{
	for (; fields->name; fields++) {
		char **s = (char **)((char *)st + fields->offset);

		if (fields->type != JF_T_STR)
			continue;
		/* Then NULL: callers also free the struct of a decode that failed. */
		free(*s);
		*s = NULL;
	}
}

int64_t jobj_int(struct slice object, const char *key)
{
	int64_t n = 0;

	return jdec_int(jobj_get(object, key), &n) == 0 ? n : 0;
}

uint64_t jobj_uint(struct slice object, const char *key)
{
	int64_t n = jobj_int(object, key);

	return n > 0 ? (uint64_t)n : 0;
}
