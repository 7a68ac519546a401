/*
 * nearest_text.h - finds the places that are most like a text that is not in a file.
 *
 * A model that edits from memory has the right lines with a wrong indent, a wrong quote, or one line that has changed
 * since. If the error names the place with most of its lines, and the text there, the model need not read the file
 * again. Lines are compared without the blanks at their ends and in between. A place is reported only if at least half
 * of the lines are there, in their order. A text of one line is compared by pairs of characters, also with parts of
 * lines. The error says so if only blanks differ.
 */
#pragma once

#include "json/jenc.h"

/* Writes the member "nearest": [{line, lines, alike, differs "blanks" | percent, text}] of an error, best first;
 * nothing if there is none. */
void nearest_text_put(struct jw *w, struct slice text, struct slice wanted);
