/*
 * bundle_manifest.h - manifest.json of a bundle: what is in it, and the SHA-256 of each member (protocol/bundles.md).
 *
 *	{"format": "acpd-bundle", "version": 1, "sessionId": ..., "files": [{"path", "bytes", "sha256"}, ...]}
 *
 * Members of the object that are not named here are not ours to read. Names of members are those that a daemon gives:
 * no other is taken, so none leads anywhere. Pure: text in, table out; the text may be anybody's.
 */
#pragma once

#include "digest/digest.h"
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
