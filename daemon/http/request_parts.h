/* request_parts.h - what routes read of a request: its path, its query, Accept and ranges. Pure. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

/* --- path and Accept ------------------------------------------------------------------------------------------- */

#define ROUTE_PARAMS_MAX 2

/* True if path fits pattern, of literal segments and "{}" for one that is a parameter; its parameters (never empty, without "/") go to params in order. */
bool route_match(const char *pattern, const char *path, struct slice params[ROUTE_PARAMS_MAX]);
/* True if an Accept header has the media type, with any parameters. */
bool route_accepts(struct slice accept, const char *type);

/* --- ranges of unit bytes ---------------------------------------------------------------------------------------- */

/* Content-Range of a request. Of "bytes N-M/T": these bytes of so many. Of "bytes * /T" (written without the blank): none, count is 0 and
 * first is T. */
struct content_range {
	uint64_t first, count, total;
};

/* 0, or -EINVAL unless it is one of the two and N <= M < T. */
int content_range_parse(struct slice text, struct content_range *ret);
/* Range of a resource of size bytes. 0: the whole (no such header, several ranges, another unit, or "bytes=-N");
 * 1: these bytes; -ERANGE: it begins after the end. */
int range_parse(struct slice text, uint64_t size, uint64_t *first, uint64_t *count);

/* --- query: into a plain struct, by a table of fields; strict, so that a misspelt parameter is an error and not a different
 * answer.
 *
 * Items are "name=value" as the HTTP parser has split and then decoded them, so that a value may hold any byte.
 * Refused: a name not in the table, a name twice, an item without "=", a value that does not fit. */

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
