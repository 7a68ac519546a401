/*
 * bundle_tree.h - a directory with the files of a bundle, written as one, or read as one.
 *
 * bundle_write reads each file twice: for its hash, and for the archive. The files are the daemon's own, and nobody
 * writes them meanwhile; should one have changed all the same, the archive ends torn.
 *
 * bundle_check reads what was unpacked from anywhere. Every file must be in the manifest with its size and its SHA-256, and every
 * file of the manifest must be there: else BUNDLE_TAMPERED, with the member's name. Links, devices and folders of others
 * are no members.
 */
#pragma once

#include "unpack/bundle/bundle_manifest.h"
#include "unpack/export/tree_pack.h"

/* about: raw object, members of the manifest besides ours: "sessionId" must be one. */
int bundle_write(int root, struct slice about, int out, struct tree_pack_report *report,
		 struct verdict *v);
/* ret: the manifest, the caller's to free in any case. */
int bundle_check(int root, struct bundle_manifest *ret, struct verdict *v);
