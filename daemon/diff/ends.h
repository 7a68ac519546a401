/* ends.h - line ends of a text: CR LF in all of it, or not. */
#pragma once

#include "base/buf.h"

/* Every line ends in CR LF, and there is one. */
bool ends_are_crlf(struct slice text);
void ends_to_crlf(struct buf *text);
/* Appends it without the CR of each CR LF. */
void ends_to_lf(struct slice text, struct buf *out);
