/* usage_ahead_format.h - how a frame of usage.ahead lies on disk, for usage_ahead.c and usage_ahead_restore.c alone. In the byte order of
 * the machine: another's is no frame. */
#pragma once

#include <stdint.h>

#define USAGE_AHEAD_MAGIC "acpdfrm1"
#define USAGE_AHEAD_BLOCK 4096u
#define USAGE_AHEAD_NAME_MAX 255u
#define USAGE_AHEAD_CONTEXT 64u /* bytes before a piece, by which its place is known again */

struct usage_ahead_head {
	char magic[8];
	uint64_t salt, seq;
	uint32_t bytes; /* of the frame, this head included */
	uint32_t crc;	/* of the frame, with 0 here */
};

/* Followed by name, context and the piece. */
struct usage_ahead_entry {
	uint64_t offset;
	uint32_t bytes;
	uint16_t name, context;
};
