/*
 * bundle.h - bundles of sessions (protocol/bundles.md): their manifest, what is in it and the SHA-256 of each member, and the
 * directory of their files. The text of a manifest may be anybody's.
 */
#pragma once

#include "digest/digest.h"
#include "unpack/export/tree_pack.h"
#include "unpack/job/verdict.h"

#define BUNDLE_FORMAT "acpd-bundle"
#define BUNDLE_VERSION 1
#define BUNDLE_MANIFEST "manifest.json"

struct bundle_file {
	char *path;
	uint64_t bytes;
	struct sha256 digest;
	bool seen; /* the checker's */
};

struct bundle_manifest {
	char *session_id;
	struct bundle_file *files; /* by the bytes of their names */
	size_t n;
	uint64_t bytes; /* of all of them */
};

/* -EBADMSG with v: BUNDLE_INVALID, BUNDLE_VERSION, TOO_LARGE, TOO_MANY_ENTRIES. ret is the caller's to free in any case. */
int bundle_manifest_parse(struct slice text, struct bundle_manifest *ret, struct verdict *v);
void bundle_manifest_done(struct bundle_manifest *m);
/* NULL: it has none of that name. */
struct bundle_file *bundle_manifest_find(struct bundle_manifest *m, const char *path);
/* A name that a member may have. */
bool bundle_name_allowed(const char *path);

/* about: raw object, members of the manifest besides ours: "sessionId" must be one. */
int bundle_write(int root, struct slice about, int out, struct tree_pack_report *report,
		 struct verdict *v);
/* ret: the manifest, the caller's to free in any case. */
int bundle_check(int root, struct bundle_manifest *ret, struct verdict *v);
