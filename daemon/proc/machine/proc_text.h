/* proc_text.h - the beginning of a file of /proc. */
#pragma once

#include "base/limits.h"

#include <stdbool.h>

struct proc_text {
	char text[METRIC_FILE_BYTES + 1];
};

/* NUL-terminated; false: it is not there. */
bool proc_text_read(const char *path, struct proc_text *ret);
