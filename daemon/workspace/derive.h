/*
 * derive.h - the decompressed stream of an archive that has been unpacked, kept beside it in the store, so that the
 * next session's workspace is made without inflating it again. acpd-unpack writes it, niced and behind everybody's
 * back; nobody waits for it, and without it all goes on as before. One at a time; none for a small archive
 * (DERIVE_BYTES_MIN), and none for which something else would have to go from the store.
 *
 * The archive is not pinned meanwhile: it may be deleted, and then nothing becomes of it. Like everything in the store
 * the file is the daemon's own: named by the digest of the archive it was made of, not writable for anybody, and on
 * disk before it gets its name. Unpacking checks it like any other tar, its digest too.
 */
#pragma once

#include "workspace/workspaces.h"

/* The archive has just been unpacked: its report tells how large the stream can be. */
void derive_begin(struct workspaces *ws, const struct sha256 *digest, struct slice report);
/* What is being made is dropped, and nothing more is begun. */
void derive_stop(struct workspaces *ws);
/* The path to unpack from: the derived file where there is one, else the archive; NULL: it is not whole. Caller
 * frees. file: the digest that it has to have. */
char *derive_source(struct workspaces *ws, const struct sha256 *digest, struct sha256 *file);
