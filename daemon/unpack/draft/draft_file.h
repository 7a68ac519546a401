/*
 * draft_file.h - one file, directory or link of a tree as a new one in another: its bytes, permission bits and time of
 * change; its owner is who makes it. Both trees are held open (held_tree.h), and no link is followed.
 */
#pragma once

#include "digest/digest.h"
#include "tree/held_tree.h"

struct draft_sent {
	struct sha256 digest; /* of what was written */
	uint64_t bytes;
};

/* A regular file as long as it is when it is opened, holes as holes; more than max bytes: -EFBIG. */
int draft_file_copy(struct held *from, struct held *to, const char *path, mode_t mode, uint64_t max,
		    struct draft_sent *ret);
int draft_link_copy(struct held *from, struct held *to, const char *path, struct draft_sent *ret);
