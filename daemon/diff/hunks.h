/* hunks.h - line_diff ranges as the hunks of a unified diff: "@@ -1,4 +1,5 @@" and the lines with ' ', '-' or '+'
 * before them. */
#pragma once

#include "base/buf.h"
#include "diff/diff_lines.h"

#include <stdint.h>

/* What fails is noted in out only (buf.h). */
void hunks_append(struct buf *out, struct slice from, struct slice to, const struct line_diff *diff,
		  unsigned context);
