/*
 * derive.h - keeps the decompressed stream of an unpacked archive beside it in the store, so that the next session's
 * workspace is made without inflating it again. acpd-unpack writes it in the background, with a low priority. No
 * request waits for it, and everything works without it. One stream is made at a time; none for a small archive
 * (DERIVE_BYTES_MIN), and none if other files would have to leave the store.
 */
#pragma once

#include "workspace/workspaces.h"

/* The archive has just been unpacked: its report gives an upper bound of the stream. */
void derive_begin(struct workspaces *ws, const struct sha256 *digest, struct slice report);
/* Drops the stream that is being made, and begins no more. */
void derive_stop(struct workspaces *ws);
/* The path to unpack from: the derived file if there is one, else the archive; NULL: it is not whole. The caller frees.
 * file: the digest that the file must have. */
char *derive_source(struct workspaces *ws, const struct sha256 *digest, struct sha256 *file);
