/* apply_internal.h - what the files of the patch reader share. */
#pragma once

#include "diff/apply.h"

/* The text, line by line. */
struct patch_reader {
	const char *p, *end;
	size_t line; /* of p, from 1 */
};

/* The line at p with its newline; empty at the end. */
struct slice reader_line(const struct patch_reader *r);
void reader_skip(struct patch_reader *r, size_t n);

/* apply_names.c: a name as patches write it, quoted or not; strip parts are taken off. 0, or -EINVAL. end: a date may follow a tab. */
int patch_name_parse(struct slice text, unsigned strip, char **ret);
int patch_name_parse_dated(struct slice text, unsigned strip, char **ret);
/* Both names of "diff --git a/x b/x" if they are the same. */
int patch_name_parse_both(struct slice text, unsigned strip, char **ret);
bool patch_name_is_null(struct slice text);
/* What git would not touch. */
bool patch_name_valid(const char *path);

/* apply_hunks.c: as long as there are hunks at r. */
int hunks_parse(struct patch_reader *r, struct patch_file *f, struct err *e);

/* apply_binary.c */
int binary_skip(struct patch_reader *r, struct patch_file *f, struct err *e);
int binary_apply(const struct patch_file *f, struct slice old, struct buf *out, struct err *e);
