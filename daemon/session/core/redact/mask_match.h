/*
 * mask_match.h - one pattern against a text at one place: mask.c says where, mask_match.c in how many ways a character
 * can be written there.
 *
 * A character of the pattern may stand as it is, behind backslashes (JSON, to any depth that anybody uses), as \u0041
 * or as %41. Between two of them there may be line breaks, themselves in any of these forms. No heap, no recursion but
 * where a text can be read in two ways.
 */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct mask_pattern {
	char *p;
	size_t n;
	bool base64;   /* - and _ are + and / */
	uint16_t next; /* with the same first byte */
};

enum match_outcome { FAILS, MATCH_PARTIAL, MATCH_FULL }; /* MATCH_PARTIAL: the text ends in it */

/* quotes: a quote that the pattern does not have ends the text. *end: behind what matches. */
enum match_outcome mask_match_compare(const struct mask_pattern *p, struct slice text, bool quotes,
				      size_t i, size_t *end);
/* At a backslash or percent sign: the first byte of the character that it stands for. FAILS: it stands for the one that
 * follows, if any. */
enum match_outcome mask_match_first(struct slice text, bool quotes, size_t i, uint8_t *ret);
/* Of both alphabets of base64 the first. */
uint8_t mask_match_fold(uint8_t c);
