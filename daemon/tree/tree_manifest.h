/*
 * tree_manifest.h - the entries of a tree, path by path: those that an archive brings, that a generation wrote, or that
 * a tree held at its baseline.
 *
 * Written form, the one that digests are taken of (an orchestrator can compute it): one line per entry but the root,
 *
 *	f 0755 1234 <sha256 of the bytes, hex> dir/name
 *	d 0755 0 - dir
 *	l 0777 7 <sha256 of the target, hex> dir/link -> target
 *
 * each ending in a newline (names hold none: path_rules.h), in the order of a walk that takes the names of a directory
 * by their bytes; in other words sorted by path with "/" taken as the smallest byte. Modes are the permission bits
 * alone. manifestDigest is the SHA-256 of all lines.
 *
 * No path is longer than PATH_BYTES_MAX.
 *
 * Functions return 0 or a node, or a negative errno: -ENOTDIR where a parent is no directory, -ENOENT, -E2BIG beyond
 * the limit, -ENAMETOOLONG where a path would be too long, -EBADMSG for a file that is no manifest.
 */
#pragma once

#include "base/buf.h"
#include "digest/digest.h"

enum node_type { NODE_DIR = 'd', NODE_FILE = 'f', NODE_LINK = 'l' };

struct node {
	uint32_t parent;
	uint32_t name;	 /* offset into names */
	uint32_t next;	 /* in its hash chain, + 1 */
	uint32_t target; /* links: offset of the target in names */
	uint64_t size;
	struct sha256 digest; /* files and links */
	uint16_t mode;	      /* permission bits */
	uint16_t below;	      /* at least the length of the longest path below it, in bytes */
	uint8_t type;	      /* enum node_type */
	uint8_t implied : 1;  /* a directory that no entry names, only paths below it */
	uint8_t gone : 1;     /* not written, not found */
	uint8_t shared : 1; /* a directory that others made: found, but without a line; implied when read back */
	uint8_t mark : 4;  /* for the caller's use */
	uint8_t fresh : 1; /* written or removed by the generation at hand */
};

struct manifest {
	struct node *v;
	size_t n, cap;
	size_t max; /* entries, without the root */
	struct buf names;
	uint64_t seed;	 /* of the hash: an archive cannot choose names that share a chain */
	uint32_t *heads; /* hash chains: node + 1 */
	size_t nheads;
};

void manifest_init(struct manifest *m, size_t max);
void manifest_done(struct manifest *m);

/* Finds or makes the node at path, with the directories above it (implied, 0755). The caller fills in the rest. A node
 * that was there keeps everything, and *existed is true. */
int64_t manifest_put(struct manifest *m, const char *path, bool *existed);
/* -ENOENT: no node, or it is gone. */
int64_t manifest_find(const struct manifest *m, struct slice path);
/* name in the directory dir. */
int64_t manifest_child(const struct manifest *m, uint32_t dir, struct slice name);
/* Moves node, with everything below it, to a place where there is nothing. */
int manifest_move(struct manifest *m, uint32_t node, uint32_t dir, struct slice name);
int manifest_set_target(struct manifest *m, uint32_t node, struct slice target);
const char *manifest_target(const struct manifest *m, uint32_t node);
const char *manifest_name(const struct manifest *m, uint32_t node);
/* Writes the path of node at the end of buf (of PATH_BYTES_MAX + 1 bytes) and returns where it begins. */
char *manifest_path(const struct manifest *m, uint32_t node, char *buf);

/* All nodes but the root and those gone or shared, in the order of the written form: an array of their numbers, *n of
 * them, that the caller frees. */
uint32_t *manifest_order(const struct manifest *m, size_t *n);
/* Writes all lines to fd (-1: only the digest) in pieces; *digest is their digest. */
int manifest_write(const struct manifest *m, int fd, struct sha256 *digest);
/* Reads the written form into m, which is empty and initialised. */
int manifest_read(struct manifest *m, int fd);
