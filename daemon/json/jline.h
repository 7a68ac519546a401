/* jline.h - where in a file a value stands, for messages to the people who wrote it. */
#pragma once

#include "base/slice.h"

/* The line (from 1) of what path names in a valid object or array: "harnesses[2].env.A", members as they stand in
 * text. Of a path of which a part is not there: the line of what holds it. */
unsigned long jline_of(struct slice text, const char *path);
