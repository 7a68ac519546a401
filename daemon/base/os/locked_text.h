/*
 * locked_text.h - a secret in memory that is not swapped out, is in no core file and in no child, and is wiped when its
 * last owner lets go of it.
 *
 * A plain user may lock only so much (RLIMIT_MEMLOCK): beyond that a text is kept without, as to refuse the key would
 * protect nobody. Not for threads.
 */
#pragma once

#include "base/slice.h"

struct locked_text;

/* A copy of the bytes, NUL-terminated; the caller wipes its own. */
struct locked_text *locked_text_new(struct slice bytes);
/* One owner more. Takes NULL. */
struct locked_text *locked_text_ref(struct locked_text *t);
/* Always NULL. Takes NULL. */
struct locked_text *locked_text_unref(struct locked_text *t);
/* Empty for NULL. */
struct slice locked_text_slice(const struct locked_text *t);
/* NULL for NULL. */
const char *locked_text_str(const struct locked_text *t);
