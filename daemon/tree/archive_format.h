/*
 * archive_format.h - the kinds of archives that are accepted, known by their first bytes. Pure.
 *
 * "tar" is recognized by its header's checksum, in any dialect, or as an empty archive (a block of zeros). The contents
 * of a compressed archive are not checked.
 */
#pragma once

#include "base/slice.h"

enum archive_format {
	ARCHIVE_UNKNOWN, /* as a declaration: any of the others */
	ARCHIVE_TAR,
	ARCHIVE_TAR_GZ,
	ARCHIVE_TAR_ZST,
	ARCHIVE_ZIP,
};

#define ARCHIVE_HEAD_BYTES 512 /* what archive_format_of needs to see */

/* head: the first ARCHIVE_HEAD_BYTES, or all there is. */
enum archive_format archive_format_of(struct slice head);
/* The first ARCHIVE_HEAD_BYTES of head are a tar header with its checksum. */
bool archive_is_tar_header(struct slice head);
/* "tar", "tar.gz", "tar.zst", "zip"; "unknown". */
const char *archive_format_word(enum archive_format f);
/* ARCHIVE_UNKNOWN: not the name of one that is accepted. */
enum archive_format archive_format_by_name(const char *name);
