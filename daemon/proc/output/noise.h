/*
 * noise.h - counts and limits what a child writes to its stdout besides messages.
 *
 * A line without a message is skipped and counts against the limits; a line that holds a message among other bytes is
 * cleaned and does not. The owner of the child logs both, as often as noise_shown says.
 */
#pragma once

#include "base/bucket.h"
#include "base/limits.h"
#include "base/slice.h"

enum noise_from { NOISE_HARNESS, NOISE_MCP, NOISE_FROM_MAX };

struct noise_counts {
	uint64_t skipped, cleaned; /* lines */
};

struct noise {
	struct noise_counts lines;
	uint64_t minute_began_ms;
	uint64_t minute, all; /* weight of the skipped lines */
	struct bucket log;
};

/* Counts a skipped line of n bytes. Returns false if the child has written too many. */
bool noise_skipped(struct noise *n, size_t bytes, uint64_t now_ms);
/* Returns true if the log has room for a line about this child. */
bool noise_shown(struct noise *n, uint64_t now_ms);

/* The beginning of a line for the log: more than is shown, because half a secret is not found. The owner hides secrets
 * in it, then cuts it at NOISE_SHOWN. */
struct noise_text {
	char text[4 * KIB];
};
void noise_text_set(struct noise_text *t, struct slice line);
