/*
 * inflate.h - the two compressions a tar may be in, as producers of a ring (ring.h); ctx is a struct feed that stands
 * at the beginning.
 *
 * gzip: every member's header is read by us (all its flags, the CRC of the header too), CRC32 and size of its trailer
 * are compared, members follow one another, and behind the last one there may be zero bytes and nothing else. zstd:
 * frames and skippable frames one after the other and nothing else, checksums verified, windows up to
 * UNPACK_ZSTD_WINDOW_LOG, no dictionary. One layer: what comes out is not looked at here.
 */
#pragma once

#include "unpack/bytes/feed.h"
#include "unpack/bytes/ring.h"

int inflate_plain(void *feed, struct ring *r);
int inflate_gzip(void *feed, struct ring *r);
int inflate_zstd(void *feed, struct ring *r);
