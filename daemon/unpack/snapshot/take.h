/*
 * take.h - one file or link of a living tree: its contents and the stat data that belong to them.
 */
#pragma once

#include "unpack/snapshot/index.h"

#include <sys/stat.h>

int64_t take_ns(struct timespec t);
/* What stat says, into e. */
void take_stat(struct index_entry *e, const struct stat *sb);
/* True if the entry matches what is there, without reading the contents. */
bool take_is_same(const struct index_entry *e, const struct stat *sb);
/* An entry that is left out, with the stat data if there are (sb may be NULL). */
struct index_entry take_omitted(enum omit_reason reason, const struct stat *sb);
/* Its contents do not fit into the store. */
void take_unstored(struct index_entry *e);
/* Of what is neither file, link nor directory. */
enum omit_reason take_special(mode_t mode);
/* leaf in dir, which lstat said is sb. Contents to ret, emptied before; a file of more than max bytes is
 * INDEX_OMITTED, one that is gone INDEX_NONE. 0, or -ENOMEM, -EMFILE, -ENFILE; everything else the tree's owner may
 * have brought about is an entry. */
int take_content(int dir, const char *leaf, const struct stat *sb, uint64_t max, struct buf *ret,
		 struct index_entry *e);

/* The same in steps, for a file that is read later, in another thread. Opens leaf, without following or waiting; a
 * descriptor or a negative errno. */
int take_fd(int dir, const char *leaf);
/* Reads a regular file from its start, once; sb: what it was before. Has no digest yet. Positive: it was written
 * meanwhile; -ENOMEM. */
int take_open(int fd, const struct stat *sb, uint64_t max, struct buf *ret, struct index_entry *e);
/* Reads it as take_content does. */
int take_again(int fd, uint64_t max, struct buf *ret, struct index_entry *e);
