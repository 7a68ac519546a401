/* path_below.h - whether one path lies in the tree of another, by their text alone: neither is looked up. */
#pragma once

/* What comes of path after dir, without a slash at its beginning: "" if both are the same. NULL: path is elsewhere. Everything is
 * below "" and "/". Neither ends in a slash but "/". */
const char *path_below(const char *path, const char *dir);
