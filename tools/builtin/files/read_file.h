/* read_file.h - what readFile has read, for the file that writes the text for models. */
#pragma once

#include "base/buf.h"
#include "base/format/image_type.h"

#include <sys/stat.h>

struct file_reading {
	struct buf bytes;
	struct stat sb;
	int64_t offset;	      /* of bytes in the file */
	int64_t first, lines; /* by lines: the first there is, and how many */
	bool truncated;	      /* the range did not fit, and the file goes on after it */
	bool ends;	      /* it is the end of the file */
	bool base64;	      /* returned as base64 */
	struct image image;   /* type NULL: none */
};

/* read_file_text.c. line: the first that was asked for; 0: not by lines. */
void file_reading_text(const struct file_reading *r, int64_t line, size_t room, struct buf *out);
