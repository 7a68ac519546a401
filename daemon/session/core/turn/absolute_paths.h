/*
 * absolute_paths.h - ACP wants absolute paths; harnesses write relative ones into tool calls all the same. Those in
 * locations[].path and in diffs are made absolute against the session's working directory; everything else stays as it
 * is, byte for byte.
 */
#pragma once

#include "base/buf.h"

/* call: a tool_call or tool_call_update object, or the toolCall of a permission request. True if it had relative paths;
 * b then holds the mended object. */
bool absolute_paths_put(struct slice call, const char *cwd, struct buf *b);
