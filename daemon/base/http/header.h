/* header.h - checks names and values of HTTP header lines that come from others. */
#pragma once

#include "base/slice.h"

/* It is a token of HTTP. */
bool header_name_ok(struct slice name);
/* It has no control byte that could break the line. */
bool header_value_ok(const char *value);
