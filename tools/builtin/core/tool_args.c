/*
 * tool_args.c - checks the arguments of a call against the table of its tool, and reads them
 * afterwards.
 *
 * tool_schema.c announces the same table, so both must agree: 3.0 is an integer, null counts as
 * absent, lengths are in characters. A member given twice is refused, because two readers could see
 * different calls. Strings hold no NUL unless the field has TOOL_BYTES, because tools use them as C
 * strings.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"
#include "tools/builtin/core/toolbox_internal.h"

#define CODE "INVALID_ARGUMENT"
#define FIELD_MAX 96

static int object_check(const struct tool_field *fields, const struct tool_field *more,
			struct jval v, const char *prefix, struct err *e);

/* 3.0 is an integer to JSON Schema. */
static int whole(struct jval v, int64_t *ret)
{
	size_t dot = 0, n = v.raw.n;

	while (dot < n && v.raw.p[dot] != '.')
		dot++;
	while (dot < n && n > dot + 1 && v.raw.p[n - 1] == '0')
		n--;
	if (dot < v.raw.n && n == dot + 1)
		v.raw.n = dot;
	return jdec_int(v, ret);
}

/* Bytes that do not continue a character. The text is valid UTF-8 here. */
static size_t characters(struct slice s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

static bool arg_is_among(const char *const *words, struct slice s)
{
	for (; words && *words; words++)
		if (slice_is(s, *words))
			return true;
	return !words;
}

static int string_check(const struct tool_field *f, struct jval v, const char *path, struct err *e)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	if (v.type != J_STRING)
		return err_field(e, path, CODE, "%s must be a string", path);
	if (jstr_decode_bytes(v, &text) < 0)
		return err_field(e, path, CODE, "%s holds half of a surrogate pair", path);
	if (!(f->flags & TOOL_BYTES) && memchr(text.data, '\0', text.len))
		return err_field(e, path, CODE, "%s holds NUL", path);
	/* JSON Schema counts minLength and maxLength in characters, not in bytes. */
	if (f->min && characters(buf_slice(&text)) < (size_t)f->min)
		return err_field(e, path, CODE, "%s is %s", path,
				 buf_len(&text) ? "too short" : "empty");
	if (f->max && characters(buf_slice(&text)) > (size_t)f->max)
		return err_field(e, path, CODE, "%s is longer than %lld characters", path,
				 (long long)f->max);
	if (!arg_is_among(f->words, buf_slice(&text)))
		return err_field(e, path, CODE, "%s is not one of the values it may have", path);
	return 0;
}

static int arg_time(struct jval v, int64_t *ms)
{
	_cleanup_(freep) char *text = NULL;
	uint64_t at;

	if (jstr_decode(v, CLOCK_ISO_SIZE + 16, &text) < 0 || !clock_iso_read(slice_of(text), &at))
		return -EINVAL;
	*ms = (int64_t)at;
	return 0;
}

static int int_check(const struct tool_field *f, struct jval v, const char *path, struct err *e)
{
	int64_t n;

	if ((f->flags & TOOL_TIME) && v.type == J_STRING)
		return arg_time(v, &n) < 0 ?
			       err_field(
				       e, path, CODE,
				       "%s must be a time as 2026-01-31T12:00:00.000Z, or ms since 1970",
				       path) :
			       0;
	if (v.type != J_NUMBER || whole(v, &n) < 0)
		return err_field(e, path, CODE, "%s must be an integer", path);
	/* Both are 0 if the field has no range. */
	if ((f->min || f->max) && (n < f->min || n > f->max))
		return err_field(e, path, CODE, "%s must be from %lld to %lld", path,
				 (long long)f->min, (long long)f->max);
	return 0;
}

/* The kernel would read the text after the first "=" as the value. Escaped or not, a NUL ends a name. */
static bool arg_is_variable(struct slice key)
{
	_cleanup_(freep) char *name = NULL;

	return jstr_decode(jkey_string(key), MESSAGE_MAX, &name) == 0 && *name &&
	       !strchr(name, '=');
}

/* Arrays and maps: each element by the row item. */
static int each_check(const struct tool_field *f, const struct tool_field *item, struct jval v,
		      const char *path, struct err *e)
{
	struct jiter it;
	struct slice key;
	struct jval el;
	char at[FIELD_MAX];
	size_t n = 0;
	int r = 0;

	if (v.type != (f->type == TOOL_MAP ? J_OBJECT : J_ARRAY) || !jiter_init(&it, v))
		return err_field(e, path, CODE, "%s must be an %s", path,
				 f->type == TOOL_MAP ? "object" : "array");
	while (r == 0 && jiter_next(&it, &key, &el)) {
		if (f->type == TOOL_MAP)
			snprintf(at, sizeof(at), "%s.%.*s", path, (int)MIN(key.n, 64), key.p);
		else
			snprintf(at, sizeof(at), "%s[%zu]", path, n);
		n++;
		if ((f->flags & TOOL_VARIABLES) && !arg_is_variable(key))
			return err_field(
				e, at, CODE,
				"%s: the name of a variable is not empty and has no =", at);
		r = item ? string_check(item, el, at, e) : object_check(f->sub, NULL, el, at, e);
	}
	if (r == 0 && f->max && n > (size_t)f->max)
		return err_field(e, path, CODE, "%s has more than %lld elements", path,
				 (long long)f->max);
	return r;
}

static int value_check(const struct tool_field *f, struct jval v, const char *path, struct err *e)
{
	static const struct tool_field text = { .type = TOOL_STRING };

	switch (f->type) {
	case TOOL_STRING:
		return string_check(f, v, path, e);
	case TOOL_INT:
		return int_check(f, v, path, e);
	case TOOL_BOOL:
		if (v.type != J_TRUE && v.type != J_FALSE)
			return err_field(e, path, CODE, "%s must be true or false", path);
		return 0;
	case TOOL_STRINGS:
	case TOOL_MAP:
		return each_check(f, &text, v, path, e);
	case TOOL_OBJECT:
		return object_check(f->sub, NULL, v, path, e);
	case TOOL_OBJECTS:
		return each_check(f, NULL, v, path, e);
	case TOOL_ANY:
		break;
	}
	return 0;
}

static const struct tool_field *row(const struct tool_field *fields, struct slice key)
{
	for (; fields && fields->name; fields++)
		if (jkey_is(key, fields->name))
			return fields;
	return NULL;
}

static int missing_check(const struct tool_field *fields, struct jval v, const char *prefix,
			 struct err *e)
{
	char path[FIELD_MAX];
	struct jval got;

	for (const struct tool_field *f = fields; f->name; f++) {
		got = jobj_get(v.raw, f->name);
		if (!(f->flags & TOOL_REQUIRED) || (got.type != J_NONE && got.type != J_NULL))
			continue;
		snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", f->name);
		return err_field(e, path, CODE, "%s is missing", path);
	}
	return 0;
}

static int member_check(const struct tool_field *fields, const struct tool_field *more,
			struct slice key, struct jval v, const char *path, struct err *e)
{
	const struct tool_field *f = row(fields, key);

	if (!f)
		f = row(more, key);
	if (!f)
		return err_field(e, path, "UNKNOWN_ARGUMENT", "there is no argument %s", path);
	/* as good as absent: many models send it for what they leave out */
	return v.type == J_NULL && !(f->flags & TOOL_REQUIRED) ? 0 : value_check(f, v, path, e);
}

/* fields a member at most, so the square is small: members are unknown or twice before there are many. */
static bool comes_again(struct jiter it, struct slice key)
{
	struct slice other;
	struct jval v;

	while (jiter_next(&it, &other, &v))
		if (slice_eq(key, other))
			return true;
	return false;
}

static int object_check(const struct tool_field *fields, const struct tool_field *more,
			struct jval v, const char *prefix, struct err *e)
{
	char path[FIELD_MAX];
	struct jiter it;
	struct slice key;
	struct jval el;
	int r = 0;

	if (v.type != J_OBJECT || !jiter_init(&it, v))
		return err_field(e, *prefix ? prefix : "arguments", CODE, "%s must be an object",
				 *prefix ? prefix : "arguments");
	while (r == 0 && jiter_next(&it, &key, &el)) {
		snprintf(path, sizeof(path), "%s%s%.*s", prefix, *prefix ? "." : "",
			 (int)MIN(key.n, 64), key.p);
		r = member_check(fields, more, key, el, path, e);
		/* The iterator is passed as a copy, so only the members after this one are
		 * searched. */
		if (r == 0 && comes_again(it, key))
			r = err_field(e, path, CODE, "%s is given twice", path);
	}
	return r < 0 ? r : missing_check(fields, v, prefix, e);
}

int tool_args_check(const struct builtin_tool *t, struct slice args, struct err *e)
{
	struct jval v;

	if (jscan_value(args, &v) != JSCAN_OK)
		return err_field(e, "arguments", CODE, "arguments are no JSON");
	return object_check(t->in, tool_common, v, "", e);
}

/* null counts as absent, and an absent argument has the default of its row. */
struct jval tool_arg(const struct builtin_call *c, const char *name)
{
	struct jval v = jobj_get(c->args, name);
	const struct tool_field *f = row(c->tool->in, slice_of(name));

	if (v.type == J_NULL)
		v.type = J_NONE;
	if (v.type == J_NONE && f && f->fallback)
		jscan_value(slice_of(f->fallback), &v);
	return v;
}

char *tool_arg_str(const struct builtin_call *c, const char *name)
{
	char *s = NULL;

	jstr_decode(tool_arg(c, name), MESSAGE_MAX, &s);
	return s;
}

bool tool_arg_bytes(const struct builtin_call *c, const char *name, struct buf *ret)
{
	struct jval v = tool_arg(c, name);

	return v.type == J_STRING && jstr_decode_bytes(v, ret) == 0;
}

int64_t tool_arg_int(const struct builtin_call *c, const char *name, int64_t absent)
{
	struct jval v = tool_arg(c, name);
	int64_t n;

	if (v.type == J_STRING)
		return arg_time(v, &n) == 0 ? n : absent;
	return v.type == J_NUMBER && whole(v, &n) == 0 ? n : absent;
}

bool tool_arg_is(const struct builtin_call *c, const char *name, const char *word)
{
	return jstr_is(tool_arg(c, name), word);
}

bool tool_arg_bool(const struct builtin_call *c, const char *name, bool absent)
{
	struct jval v = tool_arg(c, name);

	return v.type == J_TRUE ? true : v.type == J_FALSE ? false : absent;
}

/* NAME=value, or the value alone. */
static char *arg_strv_element(struct slice key, struct jval v)
{
	char *s = NULL, *name = NULL, *both = NULL;

	if (jstr_decode(v, MESSAGE_MAX, &s) < 0 || !key.p)
		return s;
	if (jstr_decode(jkey_string(key), MESSAGE_MAX, &name) < 0 ||
	    asprintf(&both, "%s=%s", name, s) < 0)
		both = NULL;
	free_each(name, s);
	return both;
}

char **tool_arg_strv(const struct builtin_call *c, const char *name)
{
	struct slice key = SLICE_NONE;
	struct jiter it;
	struct jval v;
	size_t n = 0;
	char **ret;

	if (!jiter_init(&it, tool_arg(c, name)))
		return NULL;
	while (jiter_next(&it, NULL, &v))
		n++;
	/* xalloc returns zeroed memory, so the list ends with NULL. */
	ret = xalloc((n + 1) * sizeof(*ret));
	n = 0;
	jiter_init(&it, tool_arg(c, name));
	while (jiter_next(&it, it.object ? &key : NULL, &v)) {
		ret[n] = arg_strv_element(key, v);
		n += ret[n] != NULL;
	}
	return ret;
}
