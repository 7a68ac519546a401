/*
 * nearest_text.h - where is what is most like a text that is not there?
 *
 * A model that edits from memory has the right lines with a wrong indent, a wrong quote, or one line that has changed
 * since. Told where the most of its lines are, and what really stands there, it needs no second reading of the file.
 * Lines are compared without the blanks at their ends and in between; a place is reported only if at least half
 * of the lines are there, in their order. A text of one line is compared by pairs of characters, also with parts of
 * lines. Where nothing but blanks differs, that is said.
 */
#pragma once

#include "json/jenc.h"

/* Writes the member "nearest": [{line, lines, alike, differs "blanks" | percent, text}] of an error, best first;
 * nothing if there is none. */
void nearest_text_put(struct jw *w, struct slice text, struct slice wanted);
