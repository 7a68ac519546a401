/*
 * viewer.h - the files of the run viewer (images/ui): which there are, where they are, and the headers that go with them;
 * for the daemon's /ui and for `acpd ui`.
 *
 * A fixed list of names: nothing of a request becomes a name on disk. The files are opened when they are asked for, so
 * that an idle daemon keeps nothing of them.
 */
#pragma once

#include "http/endpoints.h"

struct viewer_file {
	const char *path, *type;
	const char *name, *packed; /* packed: the same, compressed with gzip; or NULL */
};

/* Go with every file, up to the one without a name. The page speaks to where it comes from alone, and nobody frames it. */
extern const struct http_header viewer_headers[];

/* Returns the directory that is named, else the one of the installed or built viewer near the executable, which may not
 * exist. The caller frees. */
char *viewer_dir(const char *named);
/* NULL: there is no such file. */
const struct viewer_file *viewer_find(const char *path);

struct viewer_open {
	int fd;
	uint64_t size;
	bool packed;
	char etag[64];
};

/* gzip: the client takes it. False: the viewer is not installed. The caller closes ret->fd. */
bool viewer_open(const char *dir, const struct viewer_file *f, bool gzip, struct viewer_open *ret);
