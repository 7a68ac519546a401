/*
 * frame.h - what goes over the socket between the daemon and a program of ours: frames of a type, a number and a
 * payload. Pure; each side takes the other's bytes for foreign.
 *
 * A frame is a head of FRAME_HEAD_SIZE bytes (length of the payload, number, type; in the machine's byte order) and the
 * payload. Types begin with 1; what they mean, and what the number is of, is a matter of the two.
 */
#pragma once

#include "base/limits.h"
#include "base/slice.h"

#include <stdint.h>
#include <sys/types.h>

#define FRAME_HEAD_SIZE 12
#define FRAME_PAYLOAD_MAX (256 * KIB)

struct frame {
	unsigned type;
	uint32_t number;
	struct slice payload; /* a part of the text */
};

void frame_head_put(unsigned char out[FRAME_HEAD_SIZE], unsigned type, uint32_t number,
		    size_t payload);
/* types: the first that does not exist. Length of the frame at the front of in; 0: more has to come; -EPROTO: it is
 * none. */
ssize_t frame_parse(struct slice in, unsigned types, struct frame *ret);
