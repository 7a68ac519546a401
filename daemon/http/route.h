/* route.h - paths of routes: literal segments, and "{}" for one that is a parameter. Pure. */
#pragma once

#include "base/slice.h"

#define ROUTE_PARAMS_MAX 2

/* True if path fits pattern; its parameters (never empty, without "/") go to params in order. */
bool route_match(const char *pattern, const char *path, struct slice params[ROUTE_PARAMS_MAX]);
/* True if an Accept header has the media type, with any parameters. */
bool route_accepts(struct slice accept, const char *type);
