/*
 * jpretty.h - a JSON document laid out for human eyes, by cJSON. For command-line output only: cJSON holds numbers as
 * doubles and ends strings at NUL, which is why nothing on the wire goes through it.
 */
#pragma once

#include "base/slice.h"

/* NULL if text is not valid JSON; the caller frees. */
char *jpretty(struct slice text);
