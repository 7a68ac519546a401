/*
 * packer.h - contents in the form in which they are kept (packfile.h): a zstd frame where that is much smaller, else the
 * bytes as they are.
 */
#pragma once

#include "base/buf.h"

struct packer {
	void *zstd; /* made when it is first needed */
};

struct packed {
	struct slice bytes; /* of frame, or the content itself */
	struct buf frame;
};

/* ret is used again and again. Without memory for a frame it is the content itself. */
void packer_pack(struct packer *p, struct slice content, struct packed *ret);
/* Whether a frame would be worth it, by a part of the content. */
bool packer_pays(struct packer *p, struct slice content);
void packer_done(struct packer *p);
/* zstd's context, ready for one more frame; NULL: no memory. */
void *packer_ready(struct packer *p);
