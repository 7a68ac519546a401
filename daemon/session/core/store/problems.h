/*
 * problems.h - what is wrong with the state on disk and does not keep the daemon from going on: damaged files, and what
 * was set aside. Each is an error in the log, and stays in /ready and in the answer to doctor until the daemon ends. At
 * most PROBLEMS_MAX are kept; the rest is counted.
 */
#pragma once

#include "base/list.h"

#include <stddef.h>

struct problems {
	struct list list;
	size_t n;
};

void problems_init(struct problems *p);
void problems_done(struct problems *p);
/* what: "ledger", "journal", "archive", ...; name: which one, or NULL. */
void problems_add(struct problems *p, const char *what, const char *name, const char *text);
/* Array of {what, name?, text}; empty: nothing is wrong. */
struct jw;
void problems_put(const struct problems *p, struct jw *w, const char *key);
