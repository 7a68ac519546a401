/*
 * jstr.c - decodes, compares, repairs and writes JSON strings.
 *
 * The decoders expect text that jscan.h has validated, and check only what the syntax allows but a
 * C string or Unicode does not: NUL and lone surrogates. A decoded string is never longer than its
 * text, so one allocation of that size is enough. The encoder accepts any bytes, and its output is
 * always valid JSON and UTF-8.
 */
#include "json/jstr.h"

#include "base/format/utf8.h"
#include "base/util.h"
#include "json/jplain.h"

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static int hex4(const char *p)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		char c = p[i];

		/* The scanner has checked the digits, so a letter only needs its case folded. */
		v = v * 16 + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return v;
}

static char *jstr_put_utf8(char *o, unsigned u)
{
	if (u < 0x80) {
		*o++ = (char)u;
	} else if (u < 0x800) {
		*o++ = (char)(0xc0 | u >> 6);
		*o++ = (char)(0x80 | (u & 63));
	} else if (u < 0x10000) {
		*o++ = (char)(0xe0 | u >> 12);
		*o++ = (char)(0x80 | (u >> 6 & 63));
		*o++ = (char)(0x80 | (u & 63));
	} else {
		*o++ = (char)(0xf0 | u >> 18);
		*o++ = (char)(0x80 | (u >> 12 & 63));
		*o++ = (char)(0x80 | (u >> 6 & 63));
		*o++ = (char)(0x80 | (u & 63));
	}
	return o;
}

size_t jstr_surrogates(const char *p, const char *end)
{
	const char *second = p + JSTR_U_LENGTH;

	if (hex4(p + 2) >= 0xdc00 || !jstr_is_u(second, (size_t)(end - second)) ||
	    (hex4(second + 2) & 0xfc00) != 0xdc00)
		return 0;
	return 2 * JSTR_U_LENGTH;
}

/* Of what begins with the backslash at p; 0: half of a surrogate pair. */
static size_t escape_length(const char *p, const char *end)
{
	if (!jstr_is_u(p, (size_t)(end - p)))
		return 2;
	return (hex4(p + 2) & 0xf800) == 0xd800 ? jstr_surrogates(p, end) : JSTR_U_LENGTH;
}

size_t jstr_repair_halves(char *text, size_t n)
{
	char *p = text, *end = text + n;
	size_t halves = 0, used;

	for (; p < end && (p = memchr(p, '\\', (size_t)(end - p))); p += used) {
		used = escape_length(p, end);
		if (used)
			continue;
		/* Six bytes for six bytes: the length stays, and with it every span into the text. */
		memcpy(p, "\\ufffd", JSTR_U_LENGTH);
		used = JSTR_U_LENGTH;
		halves++;
	}
	return halves;
}

/* Where the first byte is that is not UTF-8, or the end. */
static const char *utf8_upto(const char *p, const char *end)
{
	size_t n = 1;

	for (; p < end && n; p += n)
		n = (unsigned char)*p < 0x80 ?
			    1 :
			    utf8_sequence((const unsigned char *)p, (size_t)(end - p));
	return p;
}

size_t jstr_repair(struct slice text, struct buf *ret)
{
	const char *p = text.p, *end = text.p + text.n;
	size_t start = ret->len, bytes = 0;

	while (p < end) {
		const char *bad = utf8_upto(p, end);

		buf_add(ret, p, (size_t)(bad - p));
		if (bad < end)
			buf_puts(ret, UTF8_REPLACEMENT);
		bytes += bad < end;
		p = bad + 1;
	}
	/* Only what was appended: ret may have other text before it. */
	return ret->len > start ? bytes + jstr_repair_halves(ret->data + start, ret->len - start) :
				  0;
}

/* One \uXXXX (or a surrogate pair) at p, which points at the 'u'. Returns bytes used, 0 if refused. */
static size_t unescape_u(const char *p, const char *end, bool nul, char **o)
{
	int u = hex4(p + 1), low;

	if ((u == 0 && !nul) || (u >= 0xdc00 && u <= 0xdfff))
		return 0;
	if (u < 0xd800 || u > 0xdbff) {
		*o = jstr_put_utf8(*o, (unsigned)u);
		return 5;
	}
	/* 11: the u, four digits, and all of a second escape. A pair is one code point (RFC 8259, section 7). */
	if (end - p < 11 || p[5] != '\\' || p[6] != 'u')
		return 0;
	low = hex4(p + 7);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	*o = jstr_put_utf8(*o,
			   0x10000u + ((unsigned)(u - 0xd800) << 10) + (unsigned)(low - 0xdc00));
	return 11;
}

static char unescape_short(char c)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *at = strchr(from, c);

	/* Quote, backslash and slash stand for themselves. */
	return at ? to[at - from] : c;
}

/* Text between quotes, already validated. out has room for raw.n bytes. Returns length or -EINVAL. */
static ssize_t unescape(struct slice raw, bool nul, char *out)
{
	const char *p = raw.p, *end = raw.p + raw.n;
	char *o = out;

	while (p < end) {
		size_t n;

		if (*p != '\\') {
			*o++ = *p++;
			continue;
		}
		p++;
		if (*p != 'u') {
			*o++ = unescape_short(*p++);
			continue;
		}
		n = unescape_u(p, end, nul, &o);
		if (!n)
			return -EINVAL;
		p += n;
	}
	return o - out;
}

/* Apart, so that names without escapes, nearly all, do not pay for it. */
__attribute__((noinline)) static bool unescaped_is(struct slice raw, const char *key)
{
	_cleanup_(freep) char *plain = malloc(raw.n);
	ssize_t n = plain ? unescape(raw, false, plain) : -ENOMEM;

	return n >= 0 && slice_is((struct slice){ plain, (size_t)n }, key);
}

bool jkey_same(struct slice raw_key, const char *key)
{
	if (!raw_key.n)
		return !*key;
	/* A peer may write any name with escapes: "\u0069d" is id. */
	if (memchr(raw_key.p, '\\', raw_key.n))
		return unescaped_is(raw_key, key);
	return strncmp(raw_key.p, key, raw_key.n) == 0 && !key[raw_key.n];
}

int jstr_decode(struct jval v, size_t max, char **ret)
{
	_cleanup_(freep) char *out = NULL;
	ssize_t n;

	if (v.type != J_STRING)
		return -EINVAL;
	/* raw.n counts the two quotes, so there is a byte for the NUL. */
	out = malloc(v.raw.n);
	if (!out)
		return -ENOMEM;
	n = unescape((struct slice){ v.raw.p + 1, v.raw.n - 2 }, false, out);
	if (n < 0)
		return -EINVAL;
	if ((size_t)n > max)
		return -ENAMETOOLONG;
	out[n] = '\0';
	*ret = TAKE_PTR(out);
	return 0;
}

static void add_shown(struct buf *b, struct slice text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i])
			buf_putc(b, text.p[i]);
		else
			buf_puts(b, UTF8_REPLACEMENT);
}

int jstr_decode_shown(struct jval v, size_t max, char **ret)
{
	_cleanup_(buf_done) struct buf raw = { 0 }, bytes = { 0 }, shown = { 0 };
	size_t len;
	int r;

	if (v.type != J_STRING)
		return -EINVAL;
	jstr_repair(v.raw, &raw);
	r = raw.failed ? -ENOMEM :
			 jstr_decode_bytes((struct jval){ J_STRING, buf_slice(&raw) }, &bytes);
	if (r < 0)
		return r;
	add_shown(&shown, buf_slice(&bytes));
	if (shown.failed)
		return -ENOMEM;
	len = utf8_fitting(buf_slice(&shown), max);
	*ret = xstrndup(len ? shown.data : "", len);
	return 0;
}

int jstr_copy(struct jval v, char *ret, size_t size)
{
	_cleanup_(freep) char *text = NULL;
	int r;

	if (v.type == J_STRING && v.raw.n - 2 < size && !memchr(v.raw.p, '\\', v.raw.n)) {
		memcpy(ret, v.raw.p + 1, v.raw.n - 2);
		ret[v.raw.n - 2] = '\0';
		return 0;
	}
	r = jstr_decode(v, size - 1, &text);
	if (r == 0)
		memcpy(ret, text, strlen(text) + 1);
	return r;
}

int jstr_decode_bytes(struct jval v, struct buf *ret)
{
	ssize_t n;
	int r;

	if (v.type != J_STRING)
		return -EINVAL;
	r = buf_reserve(ret, v.raw.n);
	if (r < 0)
		return r;
	n = unescape((struct slice){ v.raw.p + 1, v.raw.n - 2 }, true, ret->data + ret->len);
	if (n < 0)
		return -EINVAL;
	ret->len += (size_t)n;
	return 0;
}

static int jstr_put_escaped(struct buf *b, unsigned char c)
{
	/* strchr also finds the NUL at the end of from, so 0 is excluded below. */
	static const char from[] = "\b\f\n\r\t\"\\", to[] = "bfnrt\"\\";
	const char *at = c ? strchr(from, c) : NULL;

	if (at)
		return buf_printf(b, "\\%c", to[at - from]);
	return buf_printf(b, "\\u%04x", c);
}

/* How much of it from i on stands for itself. */
static size_t plain_upto(struct slice s, size_t i)
{
	const unsigned char *p = (const unsigned char *)s.p;

	return (size_t)(jplain_skip(p + i, p + s.n) - p);
}

/* Most texts are short, and all of them plain: as one piece. */
static int put_plain(struct buf *b, struct slice s)
{
	char *p;

	if (buf_reserve(b, s.n + 2) < 0)
		return -E2BIG;
	p = b->data + b->len;
	b->len += s.n + 2;
	*p++ = '"';
	memcpy(p, s.p ? s.p : "", s.n);
	p[s.n] = '"';
	return b->failed ? -E2BIG : 0;
}

int jstr_encode(struct buf *b, struct slice s)
{
	size_t start = 0, i = s.n ? plain_upto(s, 0) : 0;

	if (i == s.n)
		return put_plain(b, s);
	buf_putc(b, '"');
	/* Bytes from start on are not written yet, so plain runs are copied as a whole. */
	for (; i < s.n; i = plain_upto(s, i)) {
		unsigned char c = (unsigned char)s.p[i];
		size_t n = c >= 0x80 ? utf8_sequence((const unsigned char *)s.p + i, s.n - i) : 0;

		if (n) {
			i += n;
			continue;
		}
		buf_add(b, s.p + start, i - start);
		if (c < 0x80)
			jstr_put_escaped(b, c);
		else
			buf_puts(b, UTF8_REPLACEMENT);
		start = ++i;
	}
	if (s.n > start) /* s may be all zeros */
		buf_add(b, s.p + start, s.n - start);
	buf_putc(b, '"');
	return b->failed ? -E2BIG : 0;
}

char *jobj_str(struct slice object, const char *key, size_t max)
{
	char *s = NULL;

	return jstr_decode(jobj_get(object, key), max, &s) == 0 ? s : NULL;
}

char *jobj_shown(struct slice object, const char *key, size_t max)
{
	char *s = NULL;

	return jstr_decode_shown(jobj_get(object, key), max, &s) == 0 ? s : NULL;
}

bool jstr_set(char **slot, struct jval v, size_t max)
{
	char *s = NULL;

	if (jstr_decode(v, max, &s) < 0)
		return false;
	free(*slot);
	*slot = s;
	return true;
}

bool jraw_set(char **slot, struct jval v, enum jtype type)
{
	if (v.type != type)
		return false;
	free(*slot);
	*slot = xstrndup(v.raw.p, v.raw.n);
	return true;
}
