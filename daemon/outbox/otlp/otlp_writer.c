/*
 * otlp_writer.c - writes OTLP messages as protobuf or JSON, by the same calls.
 *
 * Protobuf puts the length of a message before it: the text is written first, then moved for the
 * varint. In JSON 64-bit integers are strings and ids are hex digits, as the OTLP specification
 * defines. Strings of protobuf are UTF-8, so other text is repaired by encoding and decoding it as
 * JSON. at[] wraps around: OTLP_DEPTH must not be below the deepest nesting.
 */
#include "outbox/otlp/otlp_writer.h"

#include "base/format/digits.h"
#include "base/util.h"
#include "json/jstr.h"

#include <math.h>

enum wire { WIRE_VARINT = 0, WIRE_FIXED = 1, WIRE_BYTES = 2 };

/* --- protobuf ---------------------------------------------------------------------------------------------- */

static size_t varint(uint64_t v, char out[10])
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (char)(v | 0x80);
	out[n++] = (char)v;
	return n;
}

static void put_varint(struct buf *b, uint64_t v)
{
	char text[10];

	buf_add(b, text, varint(v, text));
}

static void put_tag(struct otlp_writer *w, unsigned field, enum wire wire)
{
	put_varint(w->b, (uint64_t)field << 3 | wire);
}

/* Little-endian, as protobuf defines fixed64. */
static void put_fixed(struct buf *b, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		buf_putc(b, (char)(v >> 8 * i));
}

static uint64_t bits_of(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

/* Its length is known now, and goes before what has been written. */
static void put_length(struct otlp_writer *w, size_t from)
{
	char text[10];
	size_t n = varint(w->b->len - from, text);

	if (buf_reserve(w->b, n) < 0)
		return;
	memmove(w->b->data + from + n, w->b->data + from, w->b->len - from);
	memcpy(w->b->data + from, text, n);
	w->b->len += n;
}

/* --- messages ---------------------------------------------------------------------------------------------- */

void otlp_open(struct otlp_writer *w, struct buf *b, bool json)
{
	*w = (struct otlp_writer){ .b = b, .json = json, .jw = JW(b) };
	if (json)
		jw_obj(&w->jw, NULL);
}

void otlp_close(struct otlp_writer *w)
{
	if (w->json)
		jw_end_obj(&w->jw);
}

void otlp_begin(struct otlp_writer *w, unsigned field, const char *name)
{
	if (w->json) {
		jw_obj(&w->jw, name);
		return;
	}
	put_tag(w, field, WIRE_BYTES);
	w->at[w->depth++ % OTLP_DEPTH] = w->b->len;
}

void otlp_end(struct otlp_writer *w)
{
	if (w->json) {
		jw_end_obj(&w->jw);
		return;
	}
	put_length(w, w->at[--w->depth % OTLP_DEPTH]);
}

void otlp_list(struct otlp_writer *w, const char *name)
{
	if (w->json)
		jw_arr(&w->jw, name);
}

void otlp_list_end(struct otlp_writer *w)
{
	if (w->json)
		jw_end_arr(&w->jw);
}

void otlp_item(struct otlp_writer *w, unsigned field, struct slice message)
{
	if (w->json) {
		jw_raw(&w->jw, NULL, message);
		return;
	}
	put_tag(w, field, WIRE_BYTES);
	put_varint(w->b, message.n);
	buf_add_slice(w->b, message);
}

/* --- members ----------------------------------------------------------------------------------------------- */

static struct slice otlp_cut(struct slice text)
{
	if (text.n <= OTLP_TEXT_MAX)
		return text;
	text.n = OTLP_TEXT_MAX;
	/* Not within a character: the following bytes of one are 10xxxxxx in UTF-8. */
	while (text.n && ((unsigned char)text.p[text.n] & 0xc0) == 0x80)
		text.n--;
	return text;
}

static bool is_ascii(struct slice text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] & 0x80)
			return false;
	return true;
}

/* The text between the quotes of its JSON has no byte that is no UTF-8; only what had to be mended goes that way. */
static void otlp_put_utf8(struct otlp_writer *w, unsigned field, struct slice text)
{
	_cleanup_(buf_done) struct buf json = { 0 }, plain = { 0 };
	struct jval v = { .type = J_STRING };

	if (!is_ascii(text)) {
		jstr_encode(&json, text);
		v.raw = buf_slice(&json);
		jstr_decode_bytes(v, &plain);
		text = buf_slice(&plain);
	}
	put_tag(w, field, WIRE_BYTES);
	put_varint(w->b, text.n);
	buf_add_slice(w->b, text);
}

void otlp_text(struct otlp_writer *w, unsigned field, const char *name, struct slice text)
{
	text = otlp_cut(text);
	if (w->json)
		jw_slice(&w->jw, name, text);
	else
		otlp_put_utf8(w, field, text);
}

void otlp_id(struct otlp_writer *w, unsigned field, const char *name, const char *hex)
{
	size_t n = strlen(hex) / 2;

	if (w->json) {
		jw_str(&w->jw, name, hex);
		return;
	}
	put_tag(w, field, WIRE_BYTES);
	put_varint(w->b, n);
	for (size_t i = 0; i < n; i++)
		buf_putc(w->b, (char)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1])));
}

void otlp_number(struct otlp_writer *w, unsigned field, const char *name, uint64_t v)
{
	if (w->json) {
		jw_uint(&w->jw, name, v);
		return;
	}
	put_tag(w, field, WIRE_VARINT);
	put_varint(w->b, v);
}

/* As a string: JSON has no number of 64 bits that every reader can hold. */
static void put_wide(struct otlp_writer *w, const char *name, uint64_t v, bool is_signed)
{
	jw_str(&w->jw, name,
	       is_signed ? NUMBER_TEXT(v) : SHORT_TEXT(24, "%llu", (unsigned long long)v));
}

void otlp_wide(struct otlp_writer *w, unsigned field, const char *name, uint64_t v, bool fixed)
{
	if (w->json) {
		put_wide(w, name, v, !fixed);
		return;
	}
	put_tag(w, field, fixed ? WIRE_FIXED : WIRE_VARINT);
	if (fixed)
		put_fixed(w->b, v);
	else
		put_varint(w->b, v);
}

static void put_double(struct otlp_writer *w, const char *name, double v)
{
	/* 17 digits restore any double. JSON of protobuf has strings for what is not finite. */
	if (isfinite(v))
		jw_raw(&w->jw, name, slice_of(SHORT_TEXT(32, "%.17g", v)));
	else
		jw_str(&w->jw, name, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
}

void otlp_double(struct otlp_writer *w, unsigned field, const char *name, double v)
{
	if (w->json) {
		put_double(w, name, v);
		return;
	}
	put_tag(w, field, WIRE_FIXED);
	put_fixed(w->b, bits_of(v));
}

void otlp_bool(struct otlp_writer *w, unsigned field, const char *name, bool v)
{
	if (w->json)
		jw_bool(&w->jw, name, v);
	else
		otlp_number(w, field, name, v);
}

/* Numbers of eight bytes each, in a list of their own: then n times the value, then otlp_list_end. */
static void begin_packed(struct otlp_writer *w, unsigned field, const char *name, size_t n)
{
	otlp_list(w, name);
	if (w->json)
		return;
	put_tag(w, field, WIRE_BYTES);
	put_varint(w->b, 8 * n);
}

void otlp_packed(struct otlp_writer *w, unsigned field, const char *name, const uint64_t *v,
		 size_t n)
{
	begin_packed(w, field, name, n);
	for (size_t i = 0; i < n; i++) {
		if (w->json)
			put_wide(w, NULL, v[i], false);
		else
			put_fixed(w->b, v[i]);
	}
	otlp_list_end(w);
}

void otlp_packed_doubles(struct otlp_writer *w, unsigned field, const char *name, const double *v,
			 size_t n)
{
	begin_packed(w, field, name, n);
	for (size_t i = 0; i < n; i++) {
		if (w->json)
			put_double(w, NULL, v[i]);
		else
			put_fixed(w->b, bits_of(v[i]));
	}
	otlp_list_end(w);
}

/* --- attributes: KeyValue {key 1, value 2}, AnyValue {string 1, bool 2, int 3, double 4, array 5} --------------- */

static void attr_begin(struct otlp_writer *w, unsigned field, struct slice key)
{
	otlp_begin(w, field, NULL);
	otlp_text(w, 1, "key", key);
	otlp_begin(w, 2, "value");
}

static void attr_end(struct otlp_writer *w)
{
	otlp_end(w);
	otlp_end(w);
}

void otlp_attr_slice(struct otlp_writer *w, unsigned field, struct slice key, struct slice text)
{
	attr_begin(w, field, key);
	otlp_text(w, 1, "stringValue", text);
	attr_end(w);
}

void otlp_attr_text(struct otlp_writer *w, unsigned field, const char *key, const char *text)
{
	if (text && *text)
		otlp_attr_slice(w, field, slice_of(key), slice_of(text));
}

void otlp_attr_int(struct otlp_writer *w, unsigned field, const char *key, int64_t v)
{
	attr_begin(w, field, slice_of(key));
	otlp_wide(w, 3, "intValue", (uint64_t)v, false);
	attr_end(w);
}

void otlp_attr_bool(struct otlp_writer *w, unsigned field, const char *key, bool v)
{
	attr_begin(w, field, slice_of(key));
	otlp_bool(w, 2, "boolValue", v);
	attr_end(w);
}

void otlp_attr_only(struct otlp_writer *w, unsigned field, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	attr_begin(w, field, slice_of(key));
	otlp_begin(w, 5, "arrayValue");
	otlp_list(w, "values");
	otlp_begin(w, 1, NULL);
	otlp_text(w, 1, "stringValue", slice_of(text));
	otlp_end(w);
	otlp_list_end(w);
	otlp_end(w);
	attr_end(w);
}
