/*
 * image_type.h - whether a file is an image that a model can be shown.
 *
 * Providers refuse a whole request for one image that they cannot read, and a harness sends its history with each
 * request: one broken image would end a session for good. So a file counts as an image only if its frame is whole,
 * from its signature to its end. The data inside of the frame are not checked, and bytes behind it do not matter:
 * decoders pass over them.
 */
#pragma once

#include "base/slice.h"

struct image {
	const char *type; /* image/png, image/jpeg, image/gif, image/webp */
	unsigned width, height;
};

/* Returns false for any other file, and for one that is cut off. */
bool image_type_find(struct slice file, struct image *ret);
/* Returns whether providers take an image with such sides (TOOL_IMAGE_SIDE). */
bool image_type_fits(const struct image *i);
