/*
 * file_describe.h - the members for a file: times, type, version.
 *
 * Times are milliseconds since 1970 (mtime) and ISO 8601 in UTC (modifiedTime). etag stands for the content as far as
 * the file system tells: inode, size and change of content to the nanosecond. Types: file, dir, symlink, fifo,
 * socket, block, char.
 */
#pragma once

#include "base/buf.h"
#include "json/jenc.h"
#include "tools/builtin/core/tool.h"

#include <sys/stat.h>

#define ETAG_BYTES 64

int64_t stat_mtime_ms(const struct stat *sb);
const char *stat_type(const struct stat *sb);
/* "mtime", "etag" */
void stat_put_version(struct jw *w, const struct stat *sb);
/* 2026-01-31T12:00:00.000Z */
void time_put(struct jw *w, const char *key, const struct timespec *t);
/* Text as JSON string, bytes that are no UTF-8 as base64 with "encoding":"base64", else "encoding":"utf-8". */
void content_put(struct jw *w, const char *key, struct slice bytes, bool base64);
/* A name: "KEY" and, if it is no UTF-8, its bytes in "KEYBase64". */
void name_put(struct jw *w, const char *key, const char *name);
/* The target of a link as it is written; the caller frees, NULL if it is no link. */
char *link_target(int dir, const char *name);

/* Arguments expectedMtime and expectedEtag against what is there (NULL: nothing). 0 or -ESTALE. */
int version_check(const struct builtin_call *c, const struct stat *sb, const char *path,
		  struct err *e);

/* Rows of tables. */
#define VERSION_IN                                                                                 \
	TF_INT("expectedMtime", TOOL_TIME,                                                         \
	       "Time of the last change, in ms or as ISO 8601 in UTC; ESTALE if it differs.",      \
	       .max = SAFE_INT_MAX),                                                               \
		TF_STRING("expectedEtag", 0, "etag that the file must still have, else ESTALE",    \
			  .max = ETAG_BYTES)
#define VERSION_OUT                                                                                \
	TF_INT("mtime", 0, "last change in ms since 1970"),                                        \
		TF_STRING("etag", 0, "changes when the content does")

/* read_file.c. Appends at most n bytes at offset. 0 or -errno, with what came before. */
int file_read_part(int fd, int64_t offset, size_t n, struct buf *ret);

/*
 * Finds the places that are most like a text that is not in a file.
 *
 * A model that edits from memory has the right lines with a wrong indent, a wrong quote, or one line that has changed
 * since. If the error names the place with most of its lines, and the text there, the model need not read the file
 * again. Lines are compared without the blanks at their ends and in between. A place is reported only if at least half
 * of the lines are there, in their order. A text of one line is compared by pairs of characters, also with parts of
 * lines. The error says so if only blanks differ.
 */

/* Writes the member "nearest": [{line, lines, alike, differs "blanks" | percent, text}] of an error, best first;
 * nothing if there is none. */
void nearest_text_put(struct jw *w, struct slice text, struct slice wanted);
