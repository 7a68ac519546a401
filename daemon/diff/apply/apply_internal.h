/*
 * apply_internal.h - what the files of the patch reader share. They call each other in one direction: apply_read, apply_stars,
 * apply_parse, apply_hunks, apply_binary, apply_names, apply_reader; apply_lines, apply_place.
 */
#pragma once

#include "diff/apply/apply.h"

/* The text, line by line. */
struct patch_reader {
	const char *p, *end;
	size_t line; /* of p, from 1 */
};

/* apply_reader.c */
/* Returns the line at p with its newline; empty at the end. */
struct slice reader_line(const struct patch_reader *r);
void reader_skip(struct patch_reader *r, size_t n);
int patch_corrupt(size_t line, const char *what, struct err *e);
/* Reports two ways of writing in one text. */
int patch_mixed(size_t line, struct err *e);
/* Two lines with the names of both sides; next: what follows them. */
bool is_names(const struct patch_reader *r, struct patch_reader *next);
/* "--- ", "+++ " and a hunk; is_labels: a hunk or nothing below them. */
bool is_plain(const struct patch_reader *r);
bool is_labels(const struct patch_reader *r);
/* "\ No newline at end of file", in any language. */
bool is_note(struct slice line);
/* The first line of "*** Begin Patch", or one that stands only below that. */
bool is_stars(struct slice line);

/* apply_parse.c */
/* The headers of git begin here. */
bool is_git(const struct patch_reader *r);
/* Adds one more, empty. */
int patch_set_add(struct patch_set *set, size_t line, struct err *e);
void patch_file_done(struct patch_file *f);
int file_parse(struct patch_reader *r, unsigned strip, struct patch_file *f, struct err *e);
/* Checks that the parts of its head agree. */
int file_check(struct patch_file *f, struct err *e);

/* apply_stars.c: "*** Begin Patch". */
bool has_stars(struct slice text); /* it has such a first line */
int stars_parse(struct slice text, struct patch_set *ret, struct err *e);

/* apply_names.c: a name as patches write it, quoted or not; strip parts are taken off. 0, or -EINVAL. end: a date
 * may follow a tab. */
int patch_name_parse(struct slice text, unsigned strip, char **ret);
int patch_name_parse_dated(struct slice text, unsigned strip, char **ret);
/* Cuts off a date after a blank, as some programs write it. */
struct slice patch_name_undated(struct slice text);
/* Both names of "diff --git a/x b/x" if they are the same. */
int patch_name_parse_both(struct slice text, unsigned strip, char **ret);
bool patch_name_is_null(struct slice text);
/* False for what git would not touch. */
bool patch_name_valid(const char *path);

/* apply_hunks.c */
int hunk_add(struct patch_file *f, struct err *e);
/* Reads the hunks at r; hunks that do not match their headers are counted by their lines. */
int hunks_read(struct patch_reader *r, struct patch_file *f, struct err *e);
/* Always counts. f->stars: without "@@" before the first, up to a line with stars. */
int hunks_count(struct patch_reader *r, struct patch_file *f, struct err *e);

/* A file, line by line. */
struct patch_line {
	struct slice text;
	uint32_t no; /* of an image: its number in the file as it was, from 1. Of the lines that a hunk leaves: which of
		      * the lines it expects this is; 0: it is new */
	bool made; /* by an earlier hunk: no context for a later one */
};

struct patch_image {
	struct patch_line *v;
	size_t n, cap;
};

/* The expected lines stand there. */
static inline bool image_fits(const struct patch_image *img, const struct patch_image *pre,
			      size_t at)
{
	if (at + pre->n > img->n)
		return false;
	for (size_t i = 0; i < pre->n; i++)
		if (img->v[at + i].made || !slice_eq(img->v[at + i].text, pre->v[i].text))
			return false;
	return true;
}

/* apply_place.c */
struct patch_spot {
	const struct patch_file *f;
	const struct patch_hunk *h;
	size_t behind; /* where the hunk before it ended */
	int64_t delta; /* lines that those before it have added */
};
/* Where a hunk of a loose file goes, from 0; -1: ret says why not; -ENOMEM. */
ssize_t place_loose(const struct patch_image *img, const struct patch_image *pre,
		    const struct patch_spot *spot, struct patch_place *ret);
/* Reports what is wrong with the first hunk that has no place. */
int patch_misfit(const struct patch_file *f, const struct patch_place *places, struct err *e);

/* Line ends of a loose file. ends_take: out has the lines as the patch has them; it is empty if old has them so
 * already. ends_give turns them back. */
struct patch_ends {
	bool crlf, open;
};
struct patch_ends ends_take(const struct patch_file *f, struct slice old, struct buf *out);
void ends_give(const struct patch_ends *ends, struct buf *text);

/* apply_binary.c */
int binary_skip(struct patch_reader *r, struct patch_file *f, struct err *e);
int binary_apply(const struct patch_file *f, struct slice old, struct buf *out, struct err *e);
