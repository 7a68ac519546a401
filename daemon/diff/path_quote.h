/* path_quote.h - a path as git prints it. */
#pragma once

#include "base/buf.h"

/* prefix and path, between double quotes with C escapes where git's core.quotePath would: control bytes, '"',
 * '\\', DEL and everything that is not ASCII; and, which git does not do, where a directory ends in a space. */
void quote_path(struct buf *out, const char *prefix, const char *path);
