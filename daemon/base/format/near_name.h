/* near_name.h - how much alike two names are, for hints at a misspelt one. */
#pragma once

#define NEAR_NAME_MAX 64 /* bytes of a known name, its end included */

/* Returns how many characters have to be inserted, removed or replaced to make b, a known name, of a. */
unsigned near_name_distance(const char *a, const char *b);
