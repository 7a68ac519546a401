/*
 * regex.h - regular expressions as people and models write them (those of JavaScript and Perl), on lines of files
 * that may hold anything.
 *
 * By PCRE2 rather than the C library's POSIX expressions: those know neither \d nor (?:...) nor lazy stars, which
 * half of all patterns given to a grep have, and nothing bounds the time and memory of one match. PCRE2 bounds
 * both: REGEX_TOO_COSTLY.
 *
 * Bytes that are no UTF-8 match nothing, and a match never spans them. One regex may be used by one thread at a time.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"

struct regex;

enum regex_found { REGEX_UNMATCHED, REGEX_MATCHED, REGEX_TOO_COSTLY };

/* literal: the text itself. NULL: EUNSUPPORTED_PATTERN, field "pattern". */
struct regex *regex_new(struct slice pattern, bool literal, bool ignore_case, struct err *e);
struct regex *regex_free(struct regex *r);
/* The first match in text; its place in bytes. */
enum regex_found regex_find(struct regex *r, struct slice text, size_t *start, size_t *end);
