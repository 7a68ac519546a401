/*
 * jpretty.h - a JSON document laid out for human eyes, by cJSON. For command-line output only.
 *
 * cJSON holds numbers as doubles and ends strings at NUL, so it is given neither: json/jscan.h takes the text apart,
 * and every number and string goes into cJSON's tree as the raw text it came as. What is printed means what was
 * given, to the last digit.
 */
#pragma once

#include "base/slice.h"

/* NULL if text is not valid JSON; the caller frees. */
char *jpretty(struct slice text);
