/*
 * jpush.c - a push parser for JSON of unknown length, used to meter model responses while they are
 * forwarded.
 *
 * Memory is constant: a path of JPUSH_PATH_MAX bytes, one collected scalar of JPUSH_TEXT_MAX bytes,
 * and a bit per level. Two flags outlive a token: text.failed marks a scalar that was too long, and
 * a path_n above JPUSH_PATH_MAX a path that cannot match. A broken text never stops the forwarding;
 * the reader only reports no further values.
 */
#include "json/jpush.h"

#include "base/format/utf8.h"
#include "base/util.h"
#include "json/jstr.h"

_Static_assert(JSON_DEPTH_MAX <= 64, "a bit for each level");

/* What comes next. */
enum {
	PUSH_VALUE,	 /* a value */
	PUSH_FIRST,	 /* a value, or the end of the array */
	PUSH_NAME,	 /* a member's name */
	PUSH_FIRST_NAME, /* a name, or the end of the object */
	PUSH_COLON,
	PUSH_AFTER, /* a comma, or the end of what is open */
	PUSH_IN_NAME,
	PUSH_IN_STRING,
	PUSH_IN_WORD, /* a number, or true, false or null */
	PUSH_DONE,
	PUSH_BROKEN,
};

void jpush_begin(struct jpush *j, const struct jpush_ops *ops, void *ctx)
{
	j->ops = ops;
	j->ctx = ctx;
	j->state = PUSH_VALUE;
	j->escaped = j->keeps = false;
	j->depth = 0;
	j->arrays = 0;
	j->path_n = 0;
	j->text.max = JPUSH_TEXT_MAX;
	buf_reset(&j->text);
}

void jpush_release(struct jpush *j)
{
	buf_done(&j->text);
}

/* --- where we are ----------------------------------------------------------------------------------------------- */

static bool in_array(const struct jpush *j)
{
	return j->depth && (j->arrays >> (j->depth - 1) & 1);
}

/* A path that is too long is none that anybody asks for, and so is all below it. */
static void path_add(struct jpush *j, struct slice name)
{
	size_t dot = j->path_n > 0, n = j->path_n + dot + name.n;

	if (n > JPUSH_PATH_MAX) {
		j->path_n = JPUSH_PATH_MAX + 1;
		return;
	}
	if (dot)
		j->path[j->path_n] = '.';
	memcpy(j->path + j->path_n + dot, name.p, name.n);
	j->path_n = n;
}

/* The path of the next member or element. */
static void path_next(struct jpush *j, struct slice name)
{
	/* The previous member or element is cut off again. */
	j->path_n = j->level_n[j->depth];
	path_add(j, name);
}

static void push_open_level(struct jpush *j, bool array)
{
	if (j->depth == JSON_DEPTH_MAX) {
		j->state = PUSH_BROKEN;
		return;
	}
	/* The bit is cleared first: an earlier level of this depth may have set it. */
	j->arrays = (j->arrays & ~(1ull << j->depth)) | (uint64_t)array << j->depth;
	j->depth++;
	j->level_n[j->depth] = j->path_n;
	j->state = array ? PUSH_FIRST : PUSH_FIRST_NAME;
	if (array)
		path_next(j, SLICE("*"));
}

static void after_value(struct jpush *j)
{
	j->state = j->depth ? PUSH_AFTER : PUSH_DONE;
}

static void close_level(struct jpush *j, bool array)
{
	if (in_array(j) != array) {
		j->state = PUSH_BROKEN;
		return;
	}
	j->path_n = j->level_n[j->depth];
	j->depth--;
	after_value(j);
}

/* --- scalars ---------------------------------------------------------------------------------------------------- */

/* Of a text that is too long its beginning is kept. It stays too long, whatever comes behind it. */
static void push_keep(struct jpush *j, struct slice bytes)
{
	size_t space = JPUSH_TEXT_MAX - buf_len(&j->text);

	if (!j->keeps || j->text.failed)
		return;
	buf_add(&j->text, bytes.p, MIN(bytes.n, space));
	j->text.failed |= bytes.n > space;
}

static void begin_text(struct jpush *j, unsigned char state, bool keeps)
{
	j->state = state;
	j->escaped = false;
	j->keeps = keeps;
	buf_reset(&j->text);
}

static void begin_scalar(struct jpush *j, unsigned char state)
{
	j->wanted = -1;
	if (j->path_n <= JPUSH_PATH_MAX) {
		/* The array has a byte more than the longest path. */
		j->path[j->path_n] = '\0';
		j->wanted = j->ops->wants(j->ctx, j->path);
	}
	begin_text(j, state, j->wanted >= 0);
}

/* Bytes of the character or escape at the beginning of text; 0: it is not whole. */
static size_t unit_length(struct slice text)
{
	size_t n;

	if (text.p[0] == '\\')
		n = text.n > 1 && text.p[1] == 'u' ? 6 : 2;
	else
		n = (unsigned char)text.p[0] < 0x80 ?
			    1 :
			    utf8_sequence((const unsigned char *)text.p, text.n);
	return n <= text.n ? n : 0;
}

/* The beginning of a string that is too long, as a string of whole characters; empty: it is a number, or not valid. */
static struct slice beginning(struct jpush *j)
{
	size_t len = buf_len(&j->text), at = 1, n;
	char *text = j->text.data;
	struct jval v;

	if (len < 2 || text[0] != '"')
		return SLICE_NONE;
	/* at stays below len, so the closing quote overwrites a byte and needs no allocation. */
	while ((n = unit_length((struct slice){ text + at, len - at })) && at + n < len)
		at += n;
	text[at] = '"';
	return jscan_value((struct slice){ text, at + 1 }, &v) == JSCAN_OK ? v.raw : SLICE_NONE;
}

/* A string that is not Unicode must not spoil what stands around it. */
static bool scan_repaired(struct jpush *j, struct jval *ret)
{
	struct buf b = { 0 };

	/* The text may outgrow JPUSH_TEXT_MAX: each repaired byte becomes three. */
	jstr_repair(buf_slice(&j->text), &b);
	buf_done(&j->text);
	j->text = b;
	return !b.failed && jscan_value(buf_slice(&j->text), ret) == JSCAN_OK;
}

static void end_scalar(struct jpush *j)
{
	struct jval v = { J_NONE, SLICE_NONE };

	/* First, because a scalar that is not valid replaces this state with PUSH_BROKEN. */
	after_value(j);
	if (!j->keeps)
		return;
	j->keeps = false;
	if (j->text.failed)
		v.raw = beginning(j);
	else if (jscan_value(buf_slice(&j->text), &v) != JSCAN_OK && !scan_repaired(j, &v))
		j->state = PUSH_BROKEN;
	if (j->state != PUSH_BROKEN)
		j->ops->value(j->ctx, j->wanted, v);
}

/* A name that could be taken for a path of several is none. */
static bool name_is_plain(struct slice name)
{
	return !memchr(name.p, '.', name.n) && !slice_is(name, "*");
}

static void end_name(struct jpush *j)
{
	struct jval v = { J_STRING, buf_slice(&j->text) };
	_cleanup_(freep) char *name = NULL;

	j->state = PUSH_COLON;
	/* A name that cannot be read does not stop the walk: only the values below it are not reported. */
	if (j->text.failed || jscan_value(v.raw, &v) != JSCAN_OK ||
	    jstr_decode(v, JPUSH_PATH_MAX, &name) < 0 || !name_is_plain(slice_of(name)))
		j->path_n = JPUSH_PATH_MAX + 1;
	else
		path_next(j, slice_of(name));
}

/* Up to the closing quote. */
static size_t push_take_string(struct jpush *j, struct slice in)
{
	size_t n = 0;
	bool ends = false;

	for (; n < in.n && !ends; n++) {
		char c = in.p[n];

		/* Control characters in a string must be escaped (RFC 8259, section 7). */
		if ((unsigned char)c < 0x20) {
			j->state = PUSH_BROKEN;
			return in.n;
		}
		ends = c == '"' && !j->escaped;
		j->escaped = c == '\\' && !j->escaped;
	}
	push_keep(j, (struct slice){ in.p, n });
	if (ends)
		(j->state == PUSH_IN_NAME ? end_name : end_scalar)(j);
	return n;
}

/* More than numbers and literals have. jscan_value decides, and only for a scalar that is collected. */
static bool is_word_byte(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-' ||
	       c == '+' || c == 'E';
}

static size_t push_take_word(struct jpush *j, struct slice in)
{
	size_t n = 0;

	while (n < in.n && is_word_byte(in.p[n]))
		n++;
	push_keep(j, (struct slice){ in.p, n });
	/* A number has no closing byte: at the end of the input it may continue in the next chunk. */
	if (n < in.n)
		end_scalar(j);
	return n;
}

/* --- tokens ----------------------------------------------------------------------------------------------------- */

static void push_take_value(struct jpush *j, char c)
{
	if (c == '{' || c == '[') {
		push_open_level(j, c == '[');
	} else if (c == ']' && j->state == PUSH_FIRST) {
		close_level(j, true);
	} else if (c == '"' || is_word_byte(c)) {
		begin_scalar(j, c == '"' ? PUSH_IN_STRING : PUSH_IN_WORD);
		push_keep(j, (struct slice){ &c, 1 });
	} else {
		j->state = PUSH_BROKEN;
	}
}

static void take_name_start(struct jpush *j, char c)
{
	if (c == '"') {
		/* Names are always collected: the path decides which values are wanted. */
		begin_text(j, PUSH_IN_NAME, true);
		push_keep(j, (struct slice){ &c, 1 });
	} else if (c == '}' && j->state == PUSH_FIRST_NAME) {
		close_level(j, false);
	} else {
		j->state = PUSH_BROKEN;
	}
}

static void take_after(struct jpush *j, char c)
{
	if (c == '}' || c == ']') {
		close_level(j, c == ']');
	} else if (c == ',') {
		j->state = in_array(j) ? PUSH_VALUE : PUSH_NAME;
		if (in_array(j))
			path_next(j, SLICE("*"));
	} else {
		j->state = PUSH_BROKEN;
	}
}

static void push_take_token(struct jpush *j, char c)
{
	if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
		return;
	switch (j->state) {
	case PUSH_VALUE:
	case PUSH_FIRST:
		push_take_value(j, c);
		break;
	case PUSH_NAME:
	case PUSH_FIRST_NAME:
		take_name_start(j, c);
		break;
	case PUSH_AFTER:
		take_after(j, c);
		break;
	case PUSH_COLON:
		j->state = c == ':' ? PUSH_VALUE : PUSH_BROKEN;
		break;
	default:
		j->state = PUSH_BROKEN;
	}
}

void jpush_feed(struct jpush *j, struct slice bytes)
{
	while (bytes.n && j->state != PUSH_BROKEN) {
		size_t n = 1;

		if (j->state == PUSH_IN_STRING || j->state == PUSH_IN_NAME)
			n = push_take_string(j, bytes);
		else if (j->state == PUSH_IN_WORD)
			n = push_take_word(j, bytes);
		else
			push_take_token(j, *bytes.p);
		bytes = slice_after(bytes, n);
	}
}

bool jpush_end(struct jpush *j)
{
	/* Only the end of the text ends a number that is the whole value. */
	if (j->state == PUSH_IN_WORD && !j->depth)
		end_scalar(j);
	return jpush_done(j);
}

bool jpush_done(const struct jpush *j)
{
	return j->state == PUSH_DONE;
}

bool jpush_empty(const struct jpush *j)
{
	return j->state == PUSH_VALUE && !j->depth;
}
