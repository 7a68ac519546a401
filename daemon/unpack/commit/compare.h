/*
 * compare.h - reads what is at a path of a tree, and compares it with a manifest. It uses held_tree.h only, so that it
 * never leaves the tree. It opens only regular files, and reads no more of one than its size before.
 */
#pragma once

#include "tree/held_tree.h"
#include "tree/tree_manifest.h"
#include "unpack/commit/intent_log.h"

enum {
	SEEN_NOTHING = 0,
	SEEN_OTHER =
		'o', /* device, FIFO, socket; files, directories and links have the letters of enum node_type */
};

struct seen {
	int type;
	struct stamp id;
	struct sha256 digest; /* of a file, once it was needed */
	bool hashed;
	bool unreadable; /* or it changed while it was read: not the same as anything */
};

/* 0 also if there is nothing; 1: something that is no directory, or another file system, is on the way. */
int seen_look(struct held *h, const char *path, struct seen *s);
/* True if it is the same as node: type, permission bits, content. Of directories only the type. */
bool seen_same(struct held *h, const char *path, struct seen *s, const struct manifest *m,
	       uint32_t node);
/* Finds out s->digest of the file or link that was looked at; false: it cannot be read, or has changed. */
bool seen_digest(struct held *h, const char *path, struct seen *s);
/* True if two entries of manifests are the same, permission bits included. */
bool nodes_same(const struct manifest *ma, uint32_t a, const struct manifest *mb, uint32_t b);
