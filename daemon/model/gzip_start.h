/* gzip_start.h - recognizes a body in gzip by its first two bytes, which may arrive in separate pieces. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

enum gzip_start_state {
	GZIP_START_OPEN, /* too few bytes so far to decide */
	GZIP_START_NO,
	GZIP_START_YES,
};

/* All zeros: no bytes so far. */
struct gzip_start {
	enum gzip_start_state state;
	struct slice seen; /* while it is open: the bytes so far, which are a constant */
};

/* Takes the next piece, and returns the state with it. */
enum gzip_start_state gzip_start_take(struct gzip_start *g, struct slice piece);
