/*
 * inflate.h - the two compressions of a tar, as producers of a ring (ring.h). ctx is a struct feed at its beginning.
 *
 * gzip: we read every member's header (all its flags, and its CRC), and compare CRC32 and size of its trailer. Members
 * follow one another; after the last one there may only be zero bytes. zstd: frames and skippable frames follow one
 * another, with nothing else; checksums are verified; windows are at most UNPACK_ZSTD_WINDOW_LOG; no dictionary. One
 * layer only: the bytes that come out are not inspected.
 */
#pragma once

#include "unpack/bytes/feed.h"
#include "unpack/bytes/ring.h"

int inflate_plain(void *feed, struct ring *r);
int inflate_gzip(void *feed, struct ring *r);
int inflate_zstd(void *feed, struct ring *r);
