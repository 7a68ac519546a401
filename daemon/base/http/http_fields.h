/*
 * http_fields.h - the lines of an HTTP/1.1 head (RFC 9112, 2 to 6), of requests to us and of answers to us. Pure.
 *
 * Strict where leniency would let two readers disagree: CRLF only, no folded lines, no blank before a colon, no control
 * bytes, one Content-Length of digits, one Transfer-Encoding, which is "chunked".
 */
#pragma once

#include "base/slice.h"

#include <stdint.h>
#include <sys/types.h>

/* Names and values of fields that come from others. */
/* True for a token of HTTP. */
bool header_name_ok(struct slice name);
/* True without a control byte, which could break the line. */
bool header_value_ok(const char *value);

/* What the fields say of the body. */
struct http_extent {
	bool has_length, chunked;
	uint64_t length; /* Content-Length; 0 without one */
};

/* Length of the head at the front of in up to the CRLF of its last line; its empty line follows. 0: more has to come.
 * -EMSGSIZE: it is longer than max. */
ssize_t http_lines_end(struct slice in, size_t max);
/* Takes a line off the front of lines, each of which ends with CRLF. False: there is none. */
bool http_line_next(struct slice *lines, struct slice *line);
/* False: it is no field. value is without blanks around it. */
bool http_field_split(struct slice line, struct slice *name, struct slice *value);
/* Names of fields, and some values, are compared without regard to case. */
bool http_words_same(struct slice a, struct slice b);
bool http_word_is(struct slice word, const char *want);
/* words: with one space between two. */
bool http_word_among(struct slice word, const char *words);
/* It has no control byte but tabs. */
bool http_text_ok(struct slice s);
/* Checks all lines; false: one is no field, or the framing is unclear. */
bool http_fields_read(struct slice lines, struct http_extent *ret);
/* The value, without blanks around it, of the first field of this name; false: there is none. lines have been read before. */
bool http_field_find(struct slice lines, const char *name, struct slice *ret);

/* The value of Content-Length: digits, up to INT64_MAX. */
bool http_length_parse(struct slice value, uint64_t *ret);
/* The value of Transfer-Encoding is "chunked", the only one that we support. */
bool http_coding_is_chunked(struct slice value);
