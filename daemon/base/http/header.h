/* header.h - what may stand in a header line of HTTP, when names and values come from others. */
#pragma once

#include "base/slice.h"

/* A token of HTTP. */
bool header_name_ok(struct slice name);
/* No line may be broken in it. */
bool header_value_ok(const char *value);
