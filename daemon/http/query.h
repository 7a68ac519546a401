/*
 * query.h - the query of a URL into a plain struct, by a table of fields; strict, so that a misspelt parameter is an
 * error and not a different answer.
 *
 * Items are "name=value" as the HTTP parser has split and then decoded them, so that a value may hold any byte.
 * Refused: a name not in the table, a name twice, an item without "=", a value that does not fit.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

enum query_type {
	QUERY_UINT, /* uint64_t: decimal digits; absent: left as it is */
	QUERY_BOOL, /* enum query_flag: "true" or "false" */
	QUERY_WORD, /* unsigned: 1 + index in words; absent: left as it is */
	QUERY_NAME, /* struct slice: 1 to QUERY_NAME_MAX bytes of UTF-8 without control characters, borrowed */
	QUERY_TEXT, /* struct slice: 1 to QUERY_TEXT_MAX printable ASCII characters, borrowed from the item */
};

enum query_flag { QUERY_ABSENT, QUERY_NO, QUERY_YES };

#define QUERY_TEXT_MAX 1024
#define QUERY_NAME_MAX 4096
#define QUERY_ITEMS_MAX 16

struct query_field {
	const char *name; /* NULL: end of the table */
	enum query_type type;
	size_t offset;
	const char *const *words; /* QUERY_WORD: NULL-terminated */
};

/* 0, or -EINVAL with reason QUERY_UNKNOWN, QUERY_DUPLICATE or QUERY_INVALID and the name in the text. */
int query_decode(const struct slice *items, size_t n, const struct query_field *fields, void *ret,
		 struct err *e);
