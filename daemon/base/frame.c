#include "base/frame.h"

#include <errno.h>

struct frame_head {
	uint32_t payload, number, type;
};

_Static_assert(sizeof(struct frame_head) == FRAME_HEAD_SIZE, "its length is part of the wire");

void frame_head_put(unsigned char out[FRAME_HEAD_SIZE], unsigned type, uint32_t number,
		    size_t payload)
{
	struct frame_head h = { (uint32_t)payload, number, type };

	memcpy(out, &h, sizeof(h));
}

ssize_t frame_parse(struct slice in, unsigned types, struct frame *ret)
{
	struct frame_head h;

	if (in.n < sizeof(h))
		return 0;
	memcpy(&h, in.p, sizeof(h));
	if (h.payload > FRAME_PAYLOAD_MAX || h.type < 1 || h.type >= types)
		return -EPROTO;
	if (in.n - sizeof(h) < h.payload)
		return 0;
	*ret = (struct frame){ h.type, h.number, { in.p + sizeof(h), h.payload } };
	return (ssize_t)(sizeof(h) + h.payload);
}
