/* route.h - paths of routes: literal segments, and "{}" for one that is a parameter. Pure. */
#pragma once

#include "base/slice.h"

#define ROUTE_PARAMS_MAX 2

/* True if path fits pattern; its parameters (never empty, without "/") go to params in order. */
bool route_match(const char *pattern, const char *path, struct slice params[ROUTE_PARAMS_MAX]);
/* The media type stands in an Accept header, whatever its parameters. */
bool route_accepts(struct slice accept, const char *type);
