/*
 * jpretty.h - lays out a JSON document for human eyes, by cJSON. For command-line output only.
 *
 * cJSON holds numbers as doubles and ends strings at NUL, so it gets neither: json/jscan.h takes the text apart, and
 * every number and string goes into cJSON's tree as its raw text. The output means what the input meant, to the last
 * digit.
 */
#pragma once

#include "base/slice.h"

/* NULL if text is not valid JSON; the caller frees. */
char *jpretty(struct slice text);
